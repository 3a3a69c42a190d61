"""Samples and what is right for them, brought together by base name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from enginescope.core.record import Record


class Pairing(Record, frozen=True, kw_only=True):
    """Which sample has which target.

    Attributes:
        pairs: A sample's number and its target's key.
        without_target, unused: Samples and targets that nothing was found for.
    """

    pairs: tuple[tuple[int, str], ...]
    without_target: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()


def base_name(name: str) -> str:
    """Return a path below a folder without its ending: ``b/img001.jpg`` → ``b/img001``."""
    return PurePosixPath(name).with_suffix("").as_posix() if name else name


def paired(samples: Sequence[str], keys: Sequence[str]) -> Pairing:
    """Return pairs of the same base name.

    Whole paths first, so that equal names in several folders stay apart; then the last part of the
    path, where it is the only one of its name on either side.
    """
    left = dict.fromkeys(keys)
    found: dict[int, str] = {}
    for number, name in enumerate(samples):
        key = base_name(name)
        if key in left:
            found[number] = key
            del left[key]
    short = _unique(list(left))
    open_numbers = [number for number in range(len(samples)) if number not in found]
    ours = _unique([base_name(samples[number]) for number in open_numbers])
    for number in open_numbers:
        name = base_name(samples[number])
        last = PurePosixPath(name).name
        key = short.get(last) or ""
        if key and ours.get(last) == name:
            found[number] = key
            del left[key]
    return Pairing(
        pairs=tuple(sorted(found.items())),
        without_target=tuple(name for n, name in enumerate(samples) if n not in found),
        unused=tuple(left),
    )


def in_order(samples: Sequence[str], keys: Sequence[str]) -> Pairing:
    """Return pairs of the same place; what is over on either side has no pair."""
    count = min(len(samples), len(keys))
    return Pairing(
        pairs=tuple(enumerate(keys[:count])),
        without_target=tuple(samples[count:]),
        unused=tuple(keys[count:]),
    )


def _unique(paths: Sequence[str]) -> dict[str, str | None]:
    """Return last part -> path; ``None`` where several end alike."""
    found: dict[str, str | None] = {}
    for path in paths:
        last = PurePosixPath(path).name
        found[last] = None if last in found else path
    return found
