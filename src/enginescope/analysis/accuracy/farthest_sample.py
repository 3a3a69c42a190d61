"""Which sample is farthest from its reference: of all, and of each output."""

from __future__ import annotations

from collections.abc import Iterable

from enginescope.analysis.accuracy.output_diff import SampleDiff


def farthest(samples: Iterable[SampleDiff]) -> SampleDiff | None:
    """Return the sample and output with the largest error for its reference's spread.

    One that could not be compared, or is not finite where the reference is, comes before all.
    """
    return max(samples, key=_badness, default=None)


def farthest_by_output(samples: Iterable[SampleDiff]) -> tuple[SampleDiff, ...]:
    """Return the same for each output, in their order."""
    by_output: dict[str, SampleDiff] = {}
    for sample in samples:
        known = by_output.get(sample.output)
        if known is None or _badness(sample) > _badness(known):
            by_output[sample.output] = sample
    return tuple(by_output.values())


def _badness(one: SampleDiff) -> tuple[float, float]:
    if one.figures is None:
        return (1.0, 0.0)
    figures = one.figures
    odd = figures.nan + figures.infinite + figures.finite_only_here
    ratio = figures.error_to_spread
    unequal = figures.unequal / figures.elements if figures.elements else 0.0
    return (1.0 if odd else 0.0, ratio if ratio is not None else unequal)
