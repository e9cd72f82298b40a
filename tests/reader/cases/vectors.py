"""Golden vectors as they stand in the tests of `format`: string literals of a constant or a function."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TESTS = ROOT / "format/tests"


def literals(file, name):
    """All string literals within the constant or function of that name."""
    return [_value(one) for one in re.findall(r'"(?:[^"\\]|\\.)*"', _body(file, name), re.DOTALL)]


def literal(file, name):
    """The first string literal of a constant or function."""
    return literals(file, name)[0]


def octets(file, name):
    """The first string literal that is hexadecimal."""
    return bytes.fromhex(next(one for one in literals(file, name) if re.fullmatch("([0-9a-f]{2})+", one)))


def numbers(file, name):
    """The numbers in the list that a constant is."""
    return [int(one) for one in re.findall(r"\d+", _body(file, name).partition("= [")[2])]


def pages(file):
    """Pages as the golden files of trees hold them: id, height, references, plaintext."""
    found = []
    for line in (TESTS / "golden" / file).read_text(encoding="utf-8").splitlines():
        words = line.split()
        if words[0] == "page":
            found.append([bytes.fromhex(words[1]), int(words[3]), [], b""])
        elif words[0] == "reference":
            found[-1][2].append(bytes.fromhex(words[1]))
        else:
            found[-1][3] += bytes.fromhex(line)
    return found


def run(first, length):
    """Ascending bytes."""
    return bytes((first + i) % 256 for i in range(length))


def _body(file, name):
    source = (TESTS / file).read_text(encoding="utf-8")
    start = re.search(rf"\b(const|fn) {name}\b", source)
    if start is None:
        raise AssertionError(f"{file} has no {name}")
    end = re.compile(r";$" if start[1] == "const" else r"^}$", re.MULTILINE)
    return source[start.start() : end.search(source, start.end()).end()]


def _value(literal_text):
    return ast.literal_eval(re.sub(r"\\\n\s*", "", literal_text))
