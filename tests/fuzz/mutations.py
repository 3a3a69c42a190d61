"""Ways in which a file of a stranger is not what it should be, drawn from a seed."""

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

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
    changed = bytearray(data or b"\0")
    for _ in range(chance.randint(1, 8)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def cut(data: bytes, chance: random.Random, _others: Sequence[bytes]) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def without_part(data: bytes, chance: random.Random, _others: Sequence[bytes]) -> bytes:
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
    text = json.dumps(data.decode("utf-8", "replace"))
    return (text if chance.random() < 0.5 else f'{{"log": {text}}}').encode()


MUTATIONS: tuple[Mutation, ...] = (
    *(flipped, cut, without_part, with_part_twice, spliced, joined),
    *(with_odd_values, with_odd_values, with_odd_values, with_odd_number, nested, prefixed),
    in_a_string,
)


def mutated(data: bytes, chance: random.Random, others: Sequence[bytes]) -> bytes:
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        data = chance.choice(MUTATIONS)(data, chance, others)
    return data


_NUMBERS = (0, 1, -1, 7, 16, 255, 1 << 20, (1 << 31) - 1, -(1 << 31), (1 << 63) - 1, -(1 << 63))
_NAMES = ("", "x", "y", "w", "Loop", "Conv", "\0", "ä", "x" * 5000, "../net", "ai.onnx.ml")


def with_odd_fields(data: bytes, chance: random.Random) -> bytes:
    """Change one to four fields of a model, which stays a protobuf message that can be read."""
    import onnx

    model = onnx.load_from_string(data)
    for _ in range(chance.randint(1, 4)):
        message, field = chance.choice(list(_fields(model)))
        _change(message, field, chance)
    return bytes(model.SerializeToString())


def _fields(message: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each field that has a value, with its message."""
    for field, value in message.ListFields():
        yield message, field
        if field.type == field.TYPE_MESSAGE:
            for inner in value if isinstance(value, Sequence) else [value]:
                yield from _fields(inner)


def _change(message: Any, field: Any, chance: random.Random) -> None:
    value = getattr(message, field.name)
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        if field.type == field.TYPE_MESSAGE or chance.random() < 0.1:
            message.ClearField(field.name)
        else:
            setattr(message, field.name, _odd(value, field, chance))
        return
    at = chance.randrange(len(value)) if value else 0
    kept = list(value)
    if chance.random() < 0.3:
        del kept[at]
    elif field.type == field.TYPE_MESSAGE or chance.random() < 0.3:
        kept.append(chance.choice(kept))
    else:
        kept[at] = _odd(kept[at], field, chance)
    message.ClearField(field.name)
    getattr(message, field.name).extend(kept)


def _odd(value: Any, field: Any, chance: random.Random) -> Any:
    if isinstance(value, bytes):
        return chance.choice((b"", value[:-3], value + b"\0", b"\xff" * len(value)))
    if isinstance(value, str):
        return chance.choice(_NAMES)
    if isinstance(value, float):
        return chance.choice((0.0, -1.0, float("nan"), float("inf"), 1e38))
    if field.type == field.TYPE_ENUM:
        return chance.choice(list(field.enum_type.values_by_number))
    fits = [each for each in _NUMBERS if field.type == field.TYPE_INT64 or abs(each) < 1 << 31]
    return chance.choice(fits)
