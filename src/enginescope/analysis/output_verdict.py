"""Whether an output is close enough to its reference, and if not, why: codes with evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

from enginescope.analysis.element_errors import ElementErrors
from enginescope.analysis.nearest_arrangement import NearestArrangement
from enginescope.analysis.nearest_reference import NearestReference
from enginescope.analysis.output_tolerance import Tolerance
from enginescope.core.record import Record
from enginescope.core.units import format_significant

#: ``missing`` and ``extra``: an output of one side alone. ``not-finite``: NaN or an infinity where
#: the reference has none, or the other way round. ``systematic-scale``: nearly all of the error is
#: one factor and one offset. ``other-samples``: answers are nearer to other samples' references.
#: ``arrangement``: they are nearer to the reference with its axes swapped or its channels reversed.
Code: TypeAlias = Literal[
    "missing",
    "extra",
    "shape",
    "type",
    "not-finite",
    "unequal",
    "mismatch",
    "error",
    "peak",
    "correlation",
    "slope",
    "systematic-scale",
    "other-samples",
    "arrangement",
]
#: Fewer elements than these carry no correlation and no slope.
_FEW_ELEMENTS = 8
#: Share of the squared error from which on it is taken for one factor and one offset; of few
#: elements, where two numbers explain much by chance; and the fewest that can say anything.
_SYSTEMATIC, _SYSTEMATIC_OF_FEW = 0.9, 0.999
FEWEST_ELEMENTS = 4
#: Share of the spread that one element has where it decides the slope; and of the relative errors'
#: squares that may be scatter where all are off by one factor.
_LEVERAGE, _SCATTER = 0.05, 0.2
#: How far slope and mean relative error may be apart, as a part of the larger: BF16 rounds one
#: element by up to half of what 1 % is.
_UNLIKE = 0.75
#: Share of samples nearer to another's reference from which on they are taken for mixed up.
_ASTRAY_PCT = 10.0


class OutputReason(Record, frozen=True, kw_only=True):
    """One limit that does not hold, with what was found and what was allowed."""

    code: Code
    message: str
    evidence: Mapping[str, Any] = {}


def reasons_of(found: ElementErrors, tolerance: Tolerance, kind: str) -> tuple[OutputReason, ...]:
    """Return every limit that the elements of an output break; the most telling first.

    Parameters
    ----------
    kind : str
        ``float``, ``complex``, ``int``, ``bool`` or ``string``.
    """
    made = [*_nonfinite(found)]
    if kind in ("float", "complex"):
        made += _statistics(found, tolerance)
        made += _peak(found, tolerance)
        made += _mismatch(found, tolerance)
    elif tolerance.is_given and kind == "int":
        made += _mismatch(found, tolerance)
    else:
        made += _unequal(found, tolerance)
    return tuple(made)


def accepts_noise(found: ElementErrors, tolerance: Tolerance) -> bool:
    """Whether the tolerance for elements alone would pass the reference in another order."""
    if not tolerance.is_given or found.elements < _FEW_ELEMENTS or found.moments.is_constant:
        return False
    return 100 * found.control_mismatched <= tolerance.mismatch_pct * found.elements


def _nonfinite(found: ElementErrors) -> Iterator[OutputReason]:
    if not found.disagreeing_nonfinite:
        return
    parts = [
        f"{count:,} {word}"
        for count, word in (
            (found.new_nan, "NaN"),
            (found.new_infinite, "infinite"),
            (found.lost_nonfinite, "finite only here"),
        )
        if count
    ]
    first = found.first_nonfinite
    where = f", the first at {list(first.index)} of sample {first.sample}" if first else ""
    yield OutputReason(
        code="not-finite",
        message=f"{', '.join(parts)} of {found.elements:,} elements{where}",
        evidence={
            "nan": found.new_nan,
            "infinite": found.new_infinite,
            "finite_only_here": found.lost_nonfinite,
            "first_sample": first.sample if first else None,
            "first_index": list(first.index) if first else None,
        },
    )


def misplaced(nearest: NearestReference, arranged: NearestArrangement) -> Iterator[OutputReason]:
    """Yield what shows that answers are the right values in the wrong places."""
    if nearest.samples and 100 * nearest.astray >= _ASTRAY_PCT * nearest.samples:
        yield OutputReason(
            code="other-samples",
            message=f"{nearest.astray:,} of {nearest.samples:,} samples are nearer to another "
            "sample's reference than to their own",
            evidence={"astray": nearest.astray, "samples": nearest.samples},
        )
    for name, samples in arranged.samples.items():
        astray = arranged.astray.get(name, 0)
        if 100 * astray >= _ASTRAY_PCT * samples:
            yield OutputReason(
                code="arrangement",
                message=f"{astray:,} of {samples:,} samples are nearer to the reference with "
                f"{name}",
                evidence={"astray": astray, "samples": samples, "arrangement": name},
            )


def _statistics(found: ElementErrors, tolerance: Tolerance) -> Iterator[OutputReason]:
    moments, limit = found.moments, tolerance.error_to_spread
    if limit is None or not moments.count:
        return
    ratio = moments.error_to_spread
    if ratio is None:
        yield OutputReason(code="error", message="the reference is 0 throughout, this side is not")
    elif ratio > limit:
        yield _beyond("error", "RMSE ÷ spread of the reference", ratio, limit)
    correlation, least = moments.correlation, tolerance.correlation
    judged = moments.count >= _FEW_ELEMENTS and not moments.is_constant
    if judged and least is not None and (correlation or 0.0) < least - 1e-15:
        yield OutputReason(
            code="correlation",
            message=f"correlation {_digits(correlation or 0.0)}, at least {_digits(least)} wanted",
            evidence={"value": correlation, "limit": least},
        )
    yield from _slopes(found, tolerance)


def _slopes(found: ElementErrors, tolerance: Tolerance) -> Iterator[OutputReason]:
    moments = found.moments
    slope, share = moments.slope, moments.systematic_share
    if slope is None or tolerance.slope is None or moments.count < FEWEST_ELEMENTS:
        return
    off = abs(slope - 1)
    evidence = {"slope": slope, "systematic_share": share}
    is_few = moments.count < _FEW_ELEMENTS
    enough = _SYSTEMATIC_OF_FEW if is_few else _SYSTEMATIC
    if off > tolerance.slope + 1e-15 and not is_few:
        yield OutputReason(
            code="slope",
            message=f"values are {format_significant(slope, 5)} × the reference's, within "
            f"± {tolerance.slope:g} of 1 wanted",
            evidence={**evidence, "limit": tolerance.slope},
        )
    elif (
        (share or 0.0) >= enough
        and off > (tolerance.systematic_slope or 0.0) + 1e-15
        and not _is_carried(found, slope - 1)
    ):
        yield OutputReason(
            code="systematic-scale",
            message=f"values are {format_significant(slope, 5)} × the reference's, and that is "
            f"{100 * (share or 0.0):.0f} % of the error: rounding would scatter",
            evidence={**evidence, "limit": tolerance.systematic_slope},
        )


def _is_carried(found: ElementErrors, off: float) -> bool:
    """Whether few elements carry the slope, and the others are not off by the same factor.

    A line always passes through an element far from all others, as the best class of softmax's
    probabilities is. A wrong scale changes the others by that factor too.
    """
    scatter, mean = found.relative_scatter, found.mean_relative
    if found.leverage <= _LEVERAGE or scatter is None or mean is None:
        return False
    return scatter > _SCATTER or abs(mean - off) > _UNLIKE * max(abs(off), abs(mean))


def _peak(found: ElementErrors, tolerance: Tolerance) -> Iterator[OutputReason]:
    limit, scale = tolerance.peak_to_spread, found.moments.scale
    if limit is None or not scale or found.farthest is None:
        return
    ratio = found.farthest.value / scale
    if ratio > limit:
        place, rtol = found.farthest.place, tolerance.rtol
        less = f" less {rtol:g} × the reference's distance from its mean," if rtol else ""
        what = f"largest error{less} ÷ spread of the reference"
        reason = _beyond("peak", what, ratio, limit)
        yield OutputReason(
            code=reason.code,
            message=f"{reason.message}, at {list(place.index)} of sample {place.sample}",
            evidence={**reason.evidence, "sample": place.sample, "index": list(place.index)},
        )


def _mismatch(found: ElementErrors, tolerance: Tolerance) -> Iterator[OutputReason]:
    share = 100 * found.mismatched / found.elements if found.elements else 0.0
    if share > tolerance.mismatch_pct:
        spread = tolerance.atol_to_spread
        rule = f"{tolerance.atol:g}" if not spread else f"{spread:g} × spread"
        yield OutputReason(
            code="mismatch",
            message=f"{found.mismatched:,} of {found.elements:,} elements ({_digits(share)} %) are "
            f"off by more than {rule} + {tolerance.rtol:g} × |reference|, "
            f"{tolerance.mismatch_pct:g} % may be",
            evidence={"pct": share, "limit_pct": tolerance.mismatch_pct},
        )


def _unequal(found: ElementErrors, tolerance: Tolerance) -> Iterator[OutputReason]:
    share = 100 * found.unequal / found.elements if found.elements else 0.0
    if share > tolerance.unequal_pct:
        yield OutputReason(
            code="unequal",
            message=f"{found.unequal:,} of {found.elements:,} elements ({_digits(share)} %) are "
            f"not equal, {tolerance.unequal_pct:g} % may be",
            evidence={"pct": share, "limit_pct": tolerance.unequal_pct},
        )


def _beyond(code: Code, what: str, value: float, limit: float) -> OutputReason:
    return OutputReason(
        code=code,
        message=f"{what} is {_digits(value)}, at most {_digits(limit)} wanted",
        evidence={"value": value, "limit": limit},
    )


def _digits(value: float) -> str:
    """Return three significant figures; those of the distance to 1 where it is near."""
    if 0.99 < value < 1:
        return f"{value:.7f}".rstrip("0")
    return f"{value:.3g}"
