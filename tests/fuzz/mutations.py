"""Ways in which a file of a stranger is not what it should be, drawn from a seed."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

#: Values that a reader does not expect.
_ODD = (
    *(b"null", b"true", b"-1", b"1e999", b"-1e308", b"123456789012345678901234567890", b"NaN"),
    *(
        b'""',
        b"[]",
        b"{}",
        b'["ms"]',
        b'{"a": 1}',
        b'"\\ud800"',
        b'"\\u0000"',
        b'"' + b"x" * 5000 + b'"',
    ),
)
_VALUE = re.compile(rb'(?<=[:\[,])\s*("[^"\\\n]{0,200}"|-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)')
_NUMBER = re.compile(rb"\d+(?:\.\d+)?")
_PREFIXES = (b"> ", b"    ", b"trt-1  | ", b"2026-11-27T10:00:00Z ", b"[I] ", b"\x1b[31m", b"\xff")

Mutation = Callable[[bytes, random.Random, Sequence[bytes]], bytes]


def flipped(data: bytes, chance: random.Random, _others: Sequence[bytes]) -> bytes:
    """Change one to eight bytes."""
    changed = bytearray(data or b"\0")
    for _ in range(chance.randint(1, 8)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def cut(data: bytes, chance: random.Random, _others: Sequence[bytes]) -> bytes:
    """Cut the end off."""
    return data[: chance.randrange(len(data) + 1)]


def without_part(data: bytes, chance: random.Random, _others: Sequence[bytes]) -> bytes:
    """Take a part out."""
    start = chance.randrange(len(data) + 1)
    return data[:start] + data[start + chance.randint(1, 400) :]


def with_part_twice(data: bytes, chance: random.Random, _others: Sequence[bytes]) -> bytes:
    """Put a part in again elsewhere."""
    start, place = chance.randrange(len(data) + 1), chance.randrange(len(data) + 1)
    return data[:place] + data[start : start + chance.randint(1, 400)] + data[place:]


def spliced(data: bytes, chance: random.Random, others: Sequence[bytes]) -> bytes:
    """End as another file does."""
    other = chance.choice(others)
    return data[: chance.randrange(len(data) + 1)] + other[chance.randrange(len(other) + 1) :]


def joined(data: bytes, chance: random.Random, others: Sequence[bytes]) -> bytes:
    """Put another file behind it."""
    return data + chance.choice((b"", b"\n", b"\n---\n", b",")) + chance.choice(others)


def with_odd_values(data: bytes, chance: random.Random, _others: Sequence[bytes]) -> bytes:
    """Replace one to three values by some of another type or size."""
    for _ in range(chance.randint(1, 3)):
        places = list(_VALUE.finditer(data[:60_000]))
        if not places:
            break
        start, end = chance.choice(places).span(1)
        data = data[:start] + chance.choice(_ODD) + data[end:]
    return data


def with_odd_number(data: bytes, chance: random.Random, _others: Sequence[bytes]) -> bytes:
    """Replace a number, also of a log."""
    places = list(_NUMBER.finditer(data[:60_000]))
    if not places:
        return data
    start, end = chance.choice(places).span()
    odd = chance.choice((b"", b"-", b"nan", b"inf", b"1e400", b"9" * 40, b"0x1", b"1,5", b"0"))
    return data[:start] + odd + data[end:]


def nested(data: bytes, chance: random.Random, _others: Sequence[bytes]) -> bytes:
    """Put a value into hundreds of brackets, or hundreds of brackets in the place of one."""
    depth = chance.choice((20, 200, 990, 5000))
    opening, closing = chance.choice(((b"[", b"]"), (b'{"a":', b"}")))
    places = list(_VALUE.finditer(data[:60_000]))
    if not places or chance.random() < 0.3:
        return opening * depth + data + closing * depth
    start, end = chance.choice(places).span(1)
    return data[:start] + opening * depth + data[start:end] + closing * depth + data[end:]


def prefixed(data: bytes, chance: random.Random, _others: Sequence[bytes]) -> bytes:
    """Put something before every line."""
    prefix = chance.choice(_PREFIXES)
    return b"\n".join(prefix + line for line in data.split(b"\n"))


def in_a_string(data: bytes, chance: random.Random, _others: Sequence[bytes]) -> bytes:
    """Put the file into a JSON string, alone or as a field."""
    import json

    text = json.dumps(data.decode("utf-8", "replace"))
    return (text if chance.random() < 0.5 else f'{{"log": {text}}}').encode()


MUTATIONS: tuple[Mutation, ...] = (
    *(flipped, cut, without_part, with_part_twice, spliced, joined),
    *(with_odd_values, with_odd_values, with_odd_values, with_odd_number, nested, prefixed),
    in_a_string,
)


def mutated(data: bytes, chance: random.Random, others: Sequence[bytes]) -> bytes:
    """Return a file after one to three mutations."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        data = chance.choice(MUTATIONS)(data, chance, others)
    return data
