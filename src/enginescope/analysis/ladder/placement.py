"""Place a figure of the user on a ladder."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from enginescope.core.errors import UsageError
from enginescope.core.units import parse_duration_ms
from enginescope.records.verdict.ladder import Placement, Rung

_DIGITS = re.compile(r"[0-9]*\.?([0-9]*)(?:[eE]([-+]?[0-9]+))?")


def read_figure(text: str) -> tuple[float, float]:
    """Return a duration in ms, and half a step of its last digit: 1.9 ms ± 0.05 ms.

    Raises:
        UsageError: No duration, or not above 0.
    """
    value_ms = parse_duration_ms(text)
    if value_ms <= 0:
        raise UsageError(f"`mine` {text}", why="a latency is above 0", hint="`mine` 1.9ms")
    stripped = text.strip()
    match = _DIGITS.match(stripped)
    assert match is not None
    unit = stripped[match.end() :].strip()
    decimals = len(match[1]) if "." in match[0] else 0
    step = parse_duration_ms(f"1{unit}") * 10.0 ** (int(match[2] or 0) - decimals)
    return value_ms, min(step / 2, value_ms / 2)


def placed(text: str, rungs: Sequence[Rung]) -> Placement | None:
    """Return where a figure is on the ladder; ``None`` if no rung was measured.

    The figure fits a rung whose interval overlaps what its digits stand for.

    Raises:
        UsageError: As `read_figure`.
    """
    value_ms, half_ms = read_figure(text)
    low_ms, high_ms = value_ms - half_ms, value_ms + half_ms
    known = [(rung.value_ms, rung) for rung in rungs if rung.value_ms]
    if not known:
        return None
    nearest = min(known, key=lambda pair: abs(math.log(value_ms / pair[0])))[1]
    alike = [rung.key for level_ms, rung in known if _overlaps(level_ms, rung, low_ms, high_ms)]
    less = [pair for pair in known if pair[0] < low_ms and pair[1].key not in alike]
    more = [pair for pair in known if pair[0] > high_ms and pair[1].key not in alike]
    return Placement(
        text=text,
        value_ms=value_ms,
        low_ms=low_ms,
        high_ms=high_ms,
        nearest=nearest.key,
        alike=tuple(alike),
        below=max(less, key=_level)[1].key if less else None,
        above=min(more, key=_level)[1].key if more else None,
    )


def _level(pair: tuple[float, Rung]) -> float:
    return pair[0]


def _overlaps(level_ms: float, rung: Rung, low_ms: float, high_ms: float) -> bool:
    ends = rung.interval
    return (ends.low if ends else level_ms) <= high_ms and (
        ends.high if ends else level_ms
    ) >= low_ms
