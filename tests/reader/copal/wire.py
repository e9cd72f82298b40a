"""Bytes into values: the cursor, varints and deterministic CBOR (format §1)."""


class Damage(Exception):
    """Bytes that the format does not allow."""


def refuse(condition, message):
    """Raises the message as damage if the condition holds."""
    if condition:
        raise Damage(message)


class Cursor:
    """Reads bytes from the front to the back; every error names the offset."""

    def __init__(self, data, what):
        self.data = data
        self.what = what
        self.at = 0

    def fail(self, message):
        """Refuses what stands at the current offset."""
        raise Damage(f"{self.what}: {message} at offset {self.at}")

    def left(self):
        """How many bytes are not yet read."""
        return len(self.data) - self.at

    def take(self, count, name="bytes"):
        """The next bytes."""
        if count > self.left():
            self.fail(f"{name} needs {count} bytes, {self.left()} are left")
        self.at += count
        return bytes(self.data[self.at - count : self.at])

    def u8(self, name="u8"):
        """An integer of 8 bits."""
        return self.take(1, name)[0]

    def u16(self, name="u16"):
        """An integer of 16 bits."""
        return int.from_bytes(self.take(2, name), "little")

    def u32(self, name="u32"):
        """An integer of 32 bits."""
        return int.from_bytes(self.take(4, name), "little")

    def u64(self, name="u64"):
        """An integer of 64 bits."""
        return int.from_bytes(self.take(8, name), "little")

    def i64(self, name="i64"):
        """A signed integer of 64 bits."""
        return int.from_bytes(self.take(8, name), "little", signed=True)

    def expect(self, constant, name):
        """Reads a constant and refuses anything else."""
        at = self.at
        found = self.take(len(constant), name)
        if found != constant:
            self.at = at
            self.fail(f"{name} is {found.hex()}, should be {constant.hex()}")

    def zeros(self, count, name="padding"):
        """Reads zero bytes and refuses others."""
        self.expect(bytes(count), name)

    def array(self, count, width, name):
        """So many values of so many bytes each."""
        data = self.take(count * width, name)
        return [data[i : i + width] for i in range(0, len(data), width)]

    def varint(self, name="varint"):
        """LEB128 in its shortest form, at most 64 bits."""
        value = 0
        for place in range(10):
            byte = self.u8(name)
            value |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:
                if byte == 0 and place > 0:
                    self.fail(f"{name} is not in its shortest form")
                if value >= 1 << 64:
                    self.fail(f"{name} exceeds 64 bits")
                return value
        self.fail(f"{name} is longer than 10 bytes")

    def zigzag(self, name="zigzag"):
        """A signed varint."""
        value = self.varint(name)
        return (value >> 1) ^ -(value & 1)

    def done(self):
        """Refuses bytes that follow."""
        if self.left():
            self.fail(f"{self.left()} bytes follow the end")


def signed64(value):
    """The value that 64 bits hold after wrapping."""
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def decode_cbor(data, what):
    """One value in the deterministic encoding, and nothing after it."""
    cursor = Cursor(data, f"{what}: CBOR")
    value = _value(cursor, 0)
    cursor.done()
    return value


def encode_cbor(value):
    """The deterministic encoding of booleans, integers, bytes, texts, lists and maps."""
    if isinstance(value, bool):
        return bytes([0xF4 + value])
    if isinstance(value, int):
        return _head(0, value) if value >= 0 else _head(1, -1 - value)
    if isinstance(value, bytes):
        return _head(2, len(value)) + value
    if isinstance(value, str):
        encoded = value.encode()
        return _head(3, len(encoded)) + encoded
    if isinstance(value, dict):
        return _head(5, len(value)) + b"".join(encode_cbor(key) + encode_cbor(one) for key, one in sorted(value.items()))
    return _head(4, len(value)) + b"".join(encode_cbor(item) for item in value)


def _head(major, argument):
    if argument < 24:
        return bytes([major << 5 | argument])
    for code, width in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if argument < 1 << (8 * width):
            return bytes([major << 5 | code]) + argument.to_bytes(width, "big")
    raise ValueError("more than 64 bits")


def _value(cursor, depth):
    start = cursor.at
    if depth > MAX_DEPTH:
        cursor.fail(f"an item inside more than {MAX_DEPTH} arrays and maps")
    initial = cursor.u8("head")
    major, argument = initial >> 5, initial & 0x1F
    if major == 7:
        if argument in (20, 21):
            return argument == 21
        cursor.at = start
        cursor.fail(f"simple value or float {initial:#x} is not allowed")
    if argument >= 24:
        if argument > 27:
            cursor.at = start
            cursor.fail("head without a definite length")
        argument = int.from_bytes(cursor.take(1 << (argument - 24), "head"), "big")
        if bytes(cursor.data[start : cursor.at]) != _head(major, argument):
            cursor.at = start
            cursor.fail("head is not in its shortest form")
    if major == 0:
        return argument
    if major == 1:
        return -1 - argument
    if major == 2:
        return cursor.take(argument, "bytes")
    if major == 3:
        try:
            return cursor.take(argument, "text").decode()
        except UnicodeDecodeError:
            cursor.fail("text is not UTF-8")
    if major == 6:
        cursor.fail("tags are not allowed")
    if argument > cursor.left():
        cursor.fail(f"{argument} items cannot follow")
    if major == 4:
        return [_value(cursor, depth + 1) for _ in range(argument)]
    return _map(cursor, argument, depth)


def _map(cursor, count, depth):
    entries = {}
    last = b""
    for _ in range(count):
        start = cursor.at
        key = _value(cursor, depth + 1)
        encoded = bytes(cursor.data[start : cursor.at])
        if type(key) is not int or key < 0:
            cursor.fail("map key is not an unsigned integer")
        if encoded <= last:
            cursor.fail(f"map key {key} does not ascend")
        last = encoded
        entries[key] = _value(cursor, depth + 1)
    return entries


MAX_DEPTH = 16
