"""Whether an output is close enough to its reference, and if not, why: codes with evidence."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from enginescope.analysis.accuracy import error_limits
from enginescope.analysis.accuracy.output_diff import Code, OutputReason
from enginescope.analysis.accuracy.sample_checks import (
    BestClasses,
    NearestArrangement,
    NearestReference,
    ValueSteps,
)
from enginescope.analysis.errors.channel_errors import ChannelErrors
from enginescope.analysis.errors.element_errors import ElementErrors
from enginescope.analysis.errors.output_tolerance import Tolerance
from enginescope.judge.units import format_significant

#: FP16's smallest normal value: smaller ones lose digits, or all of them.
_SMALLEST_FP16 = 2.0**-14
#: Fewer elements than these fit one factor and one offset by chance; or nearly.
_FEW_ELEMENTS, _SOME_ELEMENTS = 8, 64
#: Share of the squared error from which on it is taken for one factor and one offset; of few
#: elements, where two numbers explain much by chance; and the fewest that can say anything.
_SYSTEMATIC, _SYSTEMATIC_OF_SOME, _SYSTEMATIC_OF_FEW = 0.75, 0.9, 0.999
FEWEST_ELEMENTS = 4
#: Share of the spread that one element has where it decides the slope; and of the relative errors'
#: squares that may be scatter where all are off by one factor.
_LEVERAGE, _SCATTER = 0.05, 0.2
#: How far slope and mean relative error may differ, relative to the larger (BF16 rounds coarsely).
_UNLIKE = 0.75
#: A factor may be as far from 1 as so many times the rounded reference's own factor.
_ROUNDED_SLOPES = 2.0
#: What one factor and one offset explain is no rounding beyond so many times the honest error.
_ROUNDED_SHARE = 1.5
#: Share of samples nearer to another's reference from which on they are taken for mixed up.
_ASTRAY_PCT = 10.0
#: A best class may change where it leads by less than so many times the RMSE that is allowed.
_CLEAR = 3.0
#: Runs of channels that a message names.
_MOST_RUNS = 4
#: Channels that the evidence lists.
_MOST_NAMED = 64


class Compared(NamedTuple):
    """One output's errors: of all elements, by channel, and those that rounding should cause."""

    elements: ElementErrors
    channels: Sequence[ChannelErrors] = ()
    noise: error_limits.ExpectedNoise | None = None
    best: BestClasses | None = None
    steps: ValueSteps | None = None


def reasons_of(compared: Compared, tolerance: Tolerance, kind: str) -> tuple[OutputReason, ...]:
    """Return every limit that an output breaks; the most telling first.

    `kind` is ``float``, ``complex``, ``int``, ``bool`` or ``string``.
    """
    found = compared.elements
    reasons = [*_nonfinite(found)]
    if kind in ("float", "complex"):
        if not tolerance.is_given:
            beyond = _beyond_limits(compared, tolerance)
            reasons += sorted(beyond, key=lambda reason: reason.code != "underflow")
        reasons += _mismatch(found, tolerance)
    elif tolerance.is_given and kind == "int":
        reasons += _mismatch(found, tolerance)
    else:
        reasons += _too_many("unequal", found.unequal, found, tolerance.unequal_pct, "not equal")
    return tuple(reasons)


def accepts_noise(found: ElementErrors, tolerance: Tolerance) -> bool:
    """Whether the tolerance for elements alone would pass the reference in another order."""
    if not tolerance.is_given or found.elements < _FEW_ELEMENTS or found.moments.is_constant:
        return False
    return 100 * found.control_mismatched <= (tolerance.mismatch_pct or 0.0) * found.elements


def _nonfinite(found: ElementErrors) -> Iterator[OutputReason]:
    if not found.disagreeing_nonfinite:
        return
    counts = (found.new_nan, found.new_infinite, found.lost_nonfinite)
    words = zip(counts, ("NaN", "infinite", "finite only here"), strict=True)
    parts = [f"{count:,} {word}" for count, word in words if count]
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


def misplaced(
    nearest: NearestReference, arranged: NearestArrangement, *, is_hidden: bool
) -> Iterator[OutputReason]:
    """Yield what shows that outputs are the right values in the wrong places.

    `is_hidden`: the row's resolution exceeds the error. Rounding may then move all elements alike,
    so only an output that is three times nearer to another sample's reference counts.
    """
    astray = nearest.clearly_astray if is_hidden else nearest.astray
    # no mix-up concerns a single sample
    if astray > 1 and 100 * astray >= _ASTRAY_PCT * nearest.samples:
        yield OutputReason(
            code="other-samples",
            message=f"{astray:,} of {nearest.samples:,} samples are nearer to another sample's "
            "reference than to their own",
            evidence={"astray": astray, "samples": nearest.samples},
        )
    if is_hidden:
        return
    for name, samples in arranged.samples.items():
        astray = arranged.astray.get(name, 0)
        if 100 * astray >= _ASTRAY_PCT * samples:
            yield OutputReason(
                code="arrangement",
                message=f"{astray:,} of {samples:,} samples are nearer to the reference with "
                f"{name}",
                evidence={"astray": astray, "samples": samples, "arrangement": name},
            )


def _beyond_limits(compared: Compared, row: Tolerance) -> Iterator[OutputReason]:
    found, noise = compared.elements, compared.noise
    moments = found.moments
    if not moments.count:
        return
    limits = error_limits.whole_limits(moments, found.low, found.high, row, noise)
    rmse, largest = moments.rmse or 0.0, found.largest
    if not rmse <= limits.rmse:
        size = max(found.high or 0.0, -(found.low or 0.0))
        if row.name == "fp16" and 0 < size < _SMALLEST_FP16:
            yield _underflow("every element", size, {"largest": size})
        yield OutputReason(
            code="error",
            message=_ratio("RMSE", rmse, limits.rmse, limits.scale, limits.noise, row),
            evidence={"value": rmse, "limit": float(limits.rmse), "scale": limits.scale},
        )
    if largest is not None and not largest.value <= limits.peak:
        place, expected = largest.place, noise.peak if noise else 0.0
        text = _ratio("largest error", largest.value, limits.peak, limits.scale, expected, row)
        yield OutputReason(
            code="peak",
            message=f"{text}, at {list(place.index)} of sample {place.sample}",
            evidence={
                "value": largest.value,
                "limit": float(limits.peak),
                "scale": limits.scale,
                "sample": place.sample,
                "index": list(place.index),
            },
        )
    for errors in compared.channels:
        yield from _channels(errors, row, noise)
    if compared.best is not None and limits.scale:
        allowed = max(float(limits.rmse) / limits.scale, row.error_to_spread or 0.0)
        yield from _best_class(compared, _CLEAR * allowed)
    if limits.hidden:  # no value is large enough to show anything else
        return
    if compared.steps is not None and compared.steps.are_few:
        yield OutputReason(
            code="few-values",
            message=f"the output has {compared.steps.candidate} different values and the reference "
            f"has at least {compared.steps.reference:,} in {row.name.upper()}: it was rounded to "
            "8 bits",
            evidence={"values": compared.steps.candidate, "reference": compared.steps.reference},
        )
    if not is_negligible(found, row):
        yield from _systematic(found, row, noise)


def _channels(
    errors: ChannelErrors, row: Tolerance, noise: error_limits.ExpectedNoise | None
) -> Iterator[OutputReason]:
    expected = noise.along(errors.axis, errors.count.size) if noise else None
    limits = error_limits.channel_limits(errors, row, expected)
    lost = (errors.count > 0) & ~(errors.rmse <= limits.rmse) & (row.name == "fp16")
    lost &= (errors.high > 0) & (errors.high < _SMALLEST_FP16)
    if lost.any():
        at, high = np.flatnonzero(lost), float(errors.high[lost].max())
        evidence = {"axis": errors.axis, "channels": at[:_MOST_NAMED].tolist(), "largest": high}
        yield _underflow(f"{runs_text(at)} of axis {errors.axis}", high, evidence)
    peak = expected.peak if expected else [0.0] * errors.count.size
    judged: tuple[tuple[Code, str, Any, Any, Any], ...] = (
        ("channel-error", "RMSE", errors.rmse, limits.rmse, limits.noise),
        ("channel-peak", "largest error", errors.largest, limits.peak, peak),
    )
    for code, what, values, allowed, usual in judged:
        bad = np.flatnonzero((errors.count > 0) & ~(values <= allowed))
        if not bad.size:
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            worst = int(bad[np.argmax(values[bad] / allowed[bad])])
        value, limit, scale = (float(each[worst]) for each in (values, allowed, limits.scale))
        text = _ratio(what, value, limit, scale, usual[worst] or 0.0, row)
        several = f" (worst of {bad.size:,}: {worst})" if bad.size > 1 else ""
        yield OutputReason(
            code=code,
            message=f"{text} on {runs_text(bad)} of axis {errors.axis}{several}",
            evidence={
                "axis": errors.axis,
                "channels": [int(channel) for channel in bad[:_MOST_NAMED]],
                "count": int(bad.size),
                "worst": worst,
                "sample": int(errors.where[worst]),
                "value": value,
                "limit": limit,
                "scale": scale,
            },
        )


def _underflow(what: str, size: float, evidence: dict[str, Any]) -> OutputReason:
    return OutputReason(
        code="underflow",
        message=f"FP16 underflow: the reference's values in {what} are at most {_digits(size)}, "
        f"below FP16's smallest normal value of {_digits(_SMALLEST_FP16)}: scale the output, or "
        "keep its last layers in FP32",
        evidence=evidence,
    )


def _best_class(compared: Compared, most: float) -> Iterator[OutputReason]:
    """Yield that best classes changed that the allowed error does not change."""
    best = compared.best or BestClasses()
    changes = best.clear(most, compared.channels)
    if changes:
        count, margin = len(changes), changes[0].margin
        yield OutputReason(
            code="best-class",
            message=f"the best class differs in {count:,} of {best.items:,} items, "
            f"though it leads by up to {_digits(margin)} × the spread of the item's scores; "
            f"{_digits(most)} may be noise",
            evidence={"items": best.items, "changed": count, "margin": margin, "limit": most},
        )


def runs_text(channels: Any) -> str:
    """Return ascending numbers as ``channel 3`` or ``channels 1–4, 7 …``."""
    runs = np.split(channels, np.flatnonzero(np.diff(channels) > 1) + 1)
    texts = [f"{run[0]}" if run.size == 1 else f"{run[0]}–{run[-1]}" for run in runs[:_MOST_RUNS]]
    more = f" and {sum(run.size for run in runs[_MOST_RUNS:]):,} more" if runs[_MOST_RUNS:] else ""
    return f"channel{'s' if channels.size > 1 else ''} {', '.join(texts)}{more}"


def _ratio(
    what: str, value: float, limit: float, scale: float, honest: float, row: Tolerance
) -> str:
    """Return an error beside its limit: in honest errors, where these decide the limit."""
    if honest and 1 < limit / honest <= error_limits.NOISE_FACTOR * (1 + 1e-9):
        far, allowed = (format_significant(one / honest, 2) for one in (value, limit))
        text = f"{what} is {far} × that of honest {row.name.upper()}, at most {allowed} × wanted"
        return f"{text}: {_digits(value)}"
    if not scale:
        return f"{what} is {_digits(value)} where the reference is 0"
    part, most = value / scale, limit / scale
    return f"{what} is {_digits(part)} of the reference's spread, at most {_digits(most)} wanted"


def is_negligible(found: ElementErrors, row: Tolerance, *, places: bool = False) -> bool:
    """Whether the largest error is what another order of summation causes.

    Args:
        places: Whether values are to be accused of the wrong places: of probabilities, those must
            differ by more than the row resolves.
    """
    low, high = found.low or 0.0, found.high or 0.0
    is_natural = low >= 0 and high <= 1
    size = 1.0 if is_natural else max(high, -low)
    part = row.resolution if places and is_natural else min(row.resolution, error_limits.NEGLIGIBLE)
    return found.largest is None or found.largest.value <= part * size


def _systematic(
    found: ElementErrors, tolerance: Tolerance, noise: error_limits.ExpectedNoise | None
) -> Iterator[OutputReason]:
    moments = found.moments
    limit = tolerance.systematic_slope or 0.0
    if noise is not None and noise.slope is not None:  # rounding itself shows such a factor
        limit += _ROUNDED_SLOPES * abs(noise.slope - 1)
    slope, share = moments.slope, moments.systematic_share
    if slope is None or moments.count < FEWEST_ELEMENTS:
        return
    enough = _SYSTEMATIC if moments.count >= _SOME_ELEMENTS else _SYSTEMATIC_OF_SOME
    enough = _SYSTEMATIC_OF_FEW if moments.count < _FEW_ELEMENTS else enough
    if noise is not None and moments.count >= _SOME_ELEMENTS and moments.rmse:
        enough = min(enough, (_ROUNDED_SHARE * noise.rmse / moments.rmse) ** 2)
    is_off = (share or 0.0) >= enough and abs(slope - 1) > limit + 1e-15
    if is_off and not _is_carried(found, slope - 1):
        yield OutputReason(
            code="systematic-scale",
            message=f"values are {format_significant(slope, 5)} × the reference's, and that is "
            f"{100 * (share or 0.0):.0f} % of the error: rounding errors would be random",
            evidence={
                "slope": slope,
                "systematic_share": share,
                "limit": limit if noise is not None else tolerance.systematic_slope,
            },
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


def _mismatch(found: ElementErrors, tolerance: Tolerance) -> Iterator[OutputReason]:
    spread = tolerance.atol_to_spread
    rule = f"{spread:g} × spread" if spread else f"{tolerance.atol:g}"
    what = f"off by more than {rule} + {tolerance.rtol:g} × |reference|"
    return _too_many("mismatch", found.mismatched, found, tolerance.mismatch_pct, what)


def _too_many(
    code: Code, count: int, found: ElementErrors, limit_pct: float | None, what: str
) -> Iterator[OutputReason]:
    share = 100 * count / found.elements if found.elements else 0.0
    if limit_pct is not None and share > limit_pct:
        yield OutputReason(
            code=code,
            message=f"{count:,} of {found.elements:,} elements ({_digits(share)} %) are {what}, "
            f"{limit_pct:g} % may be",
            evidence={"pct": share, "limit_pct": limit_pct},
        )


def _digits(value: float) -> str:
    """Return three significant figures; those of the distance to 1 where it is near."""
    return f"{value:.7f}".rstrip("0") if 0.99 < value < 1 else f"{value:.3g}"
