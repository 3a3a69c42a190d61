"""Names that fit: the part that siblings share is left out, and names that differ look different.

`assets/data.js` has the same rule for what the page shows.
"""

from __future__ import annotations

from collections.abc import Sequence

#: Characters kept before the first that differs.
_CONTEXT = 10


def outcome_word(outcome: str) -> str:
    """Return an outcome in a list: a process that is done may have figures with warnings."""
    word, times, count = outcome.replace("_", " ").partition(" × ")
    return f"{'done' if word == 'ok' else word}{times}{count}"


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
    short = {name: shorten(name, limit) for name in whole}
    alike: dict[str, list[str]] = {}
    for name in whole:
        if len(name) > limit:
            alike.setdefault(short[name], []).append(name)
    for group in alike.values():
        if len(group) > 1:
            short.update(zip(group, _apart(group, limit), strict=True))
    taken = {name for name in whole if len(name) <= limit}
    for name in whole:
        if len(name) > limit:
            short[name] = _free(name, short[name], limit, taken)
            taken.add(short[name])
    return [short[text] for text in texts]


def _apart(group: Sequence[str], limit: int) -> list[str]:
    for head in sorted(range(limit), key=lambda one: abs(one - limit // 2)):
        cuts = [_cut(one, limit, head) for one in group]
        if len(set(cuts)) == len(group):
            return cuts
    columns = enumerate(zip(*group, strict=False))
    differing = next((at for at, column in columns if len(set(column)) > 1), 0)
    begin = limit // 4
    start = max(begin, differing - _CONTEXT)
    cuts = [f"{one[:begin]}…{one[start:][: limit - begin - 2]}…" for one in group]
    if len(set(cuts)) == len(group):
        return cuts
    return [_numbered(one, limit, number) for number, one in enumerate(group, 1)]


def _free(text: str, short: str, limit: int, taken: set[str]) -> str:
    """Return `short`, or `text` with the first number that no other text has."""
    number = 1
    while short in taken:
        number += 1
        short = _numbered(text, limit, number)
    return short


def _numbered(text: str, limit: int, number: int) -> str:
    mark = f" #{number}"
    return f"{shorten(text, max(1, limit - len(mark)))}{mark}"


def _cut(text: str, limit: int, head: int) -> str:
    tail = limit - 1 - head
    return f"{text[:head]}…{text[len(text) - tail :]}"
