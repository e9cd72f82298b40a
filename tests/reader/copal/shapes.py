"""Shapes of decoded CBOR: what a field may hold. Each is a function of a value and its place that gives the checked value."""

from . import limits
from .wire import encode_cbor, refuse


def integer(low, high):
    """An integer within bounds, both included."""

    def check(value, where):
        refuse(type(value) is not int, f"{where} is not an integer")
        refuse(not low <= value <= high, f"{where} is {value}, allowed are {low} to {high}")
        return value

    return check


def data(low, high=None):
    """Bytes of one length, or of a length within bounds."""
    high = low if high is None else high

    def check(value, where):
        refuse(type(value) is not bytes, f"{where} is not a byte string")
        refuse(not low <= len(value) <= high, f"{where} has {len(value)} bytes, allowed are {low} to {high}")
        return value

    return check


def text(at_most):
    """Text of so many bytes in UTF-8."""

    def check(value, where):
        refuse(type(value) is not str, f"{where} is not a text")
        refuse(len(value.encode()) > at_most, f"{where} is longer than {at_most} bytes")
        return value

    return check


def boolean(value, where):
    """True or false."""
    refuse(type(value) is not bool, f"{where} is not a boolean")
    return value


def choice(**names):
    """One of some numbers, each with a name."""
    by_number = {number: name for name, number in names.items()}

    def check(value, where):
        refuse(type(value) is not int or value not in by_number, f"{where} is {value!r}, allowed are {sorted(by_number)}")
        return by_number[value]

    return check


def one_of(*allowed):
    """One of some numbers."""

    def check(value, where):
        refuse(type(value) is not int or value not in allowed, f"{where} is {value!r}, allowed are {allowed}")
        return value

    return check


def constant(expected):
    """One value and no other."""

    def check(value, where):
        refuse(type(value) is not type(expected) or value != expected, f"{where} is {value!r}, should be {expected!r}")
        return value

    return check


def array(item, at_most, at_least=0):
    """A list of things of one shape."""

    def check(value, where):
        refuse(type(value) is not list, f"{where} is not an array")
        refuse(not at_least <= len(value) <= at_most, f"{where} has {len(value)} items, allowed are {at_least} to {at_most}")
        return [item(one, f"{where}[{i}]") for i, one in enumerate(value)]

    return check


def ascending(item, at_most, key=lambda one: one, at_least=0):
    """A list whose items ascend strictly."""
    plain = array(item, at_most, at_least)

    def check(value, where):
        items = plain(value, where)
        for i, (one, next_one) in enumerate(zip(items, items[1:])):
            refuse(key(one) >= key(next_one), f"{where}[{i + 1}] does not ascend")
        return items

    return check


def row(*items):
    """An array of fixed length, each place with its own shape."""

    def check(value, where):
        refuse(type(value) is not list or len(value) != len(items), f"{where} is not an array of {len(items)}")
        return [item(one, f"{where}[{i}]") for i, (item, one) in enumerate(zip(items, value))]

    return check


def fields(table):
    """A map: number → (name, shape), with a third item `True` if the field may be absent. Gives a dictionary by name. Keys
    from 64 on that are not in the table are ignored, as long as they are not too large."""

    def check(value, where):
        refuse(type(value) is not dict, f"{where} is not a map")
        unknown = sorted(set(value) - set(table))
        refused = [key for key in unknown if key < IGNORABLE]
        refuse(refused, f"{where} has unknown keys {refused}")
        ignored = sum(len(encode_cbor(key)) + len(encode_cbor(value[key])) for key in unknown)
        refuse(ignored > limits.IGNORED, f"{where} has {ignored} bytes that may be ignored")
        found = {}
        for number, (name, shape, *optional) in table.items():
            if number in value:
                found[name] = shape(value[number], f"{where} {name}")
            else:
                refuse(not optional, f"{where} lacks {number} ({name})")
        return found

    check.keys = frozenset(table)
    return check


IGNORABLE = 64
"""Keys of maps from here on may be ignored."""

U8 = integer(0, 2**8 - 1)
U16 = integer(0, 2**16 - 1)
U32 = integer(0, 2**32 - 1)
U64 = integer(0, 2**64 - 1)
NUMBER = integer(0, limits.NUMBER)
TIME = integer(-(2**63), 2**63 - 1)
ID = data(16)
CHUNK_ID = data(24)
HASH = data(32)
