"""Names that fit: their middle left out, and still told apart."""

from __future__ import annotations

from collections.abc import Sequence

#: Characters kept before the first that differs.
_CONTEXT = 10


def shorten(text: str, limit: int) -> str:
    """Return `text`, its middle left out when it is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    return _cut(text, limit, limit // 2)


def shorten_apart(texts: Sequence[str], limit: int) -> list[str]:
    """Return texts as `shorten` does, such that those that differ still do.

    Of texts that would look alike another part is left out: the one nearest their middle that lets
    them differ, else all but the beginning and where they differ first. Where that is not enough
    they get a number.
    """
    whole = list(dict.fromkeys(texts))
    short = {one: shorten(one, limit) for one in whole}
    alike: dict[str, list[str]] = {}
    for one in whole:
        alike.setdefault(short[one], []).append(one)
    for group in alike.values():
        if len(group) > 1:
            short.update(zip(group, _apart(group, limit), strict=True))
    return [short[text] for text in texts]


def _apart(group: Sequence[str], limit: int) -> list[str]:
    for head in sorted(range(limit), key=lambda one: abs(one - limit // 2)):
        found = [_cut(one, limit, head) for one in group]
        if len(set(found)) == len(group):
            return found
    columns = enumerate(zip(*group, strict=False))
    differing = next((at for at, column in columns if len(set(column)) > 1), 0)
    begin = limit // 4
    start = max(begin, differing - _CONTEXT)
    found = [f"{one[:begin]}…{one[start:][: limit - begin - 2]}…" for one in group]
    if len(set(found)) == len(group):
        return found
    room = max(1, limit - len(f" #{len(group)}"))
    return [f"{shorten(one, room)} #{number}" for number, one in enumerate(group, 1)]


def _cut(text: str, limit: int, head: int) -> str:
    tail = limit - 1 - head
    return f"{text[:head]}…{text[len(text) - tail :]}"
