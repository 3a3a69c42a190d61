"""What the comparison of two sides' outputs comes to: by output, and by sample.

Which sample is farthest from its reference: of all, and of each output.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

import numpy as np

from enginescope.analysis.accuracy.error_limits import ExpectedNoise, Limits
from enginescope.analysis.accuracy.sample_checks import RankAgreement
from enginescope.analysis.errors.channel_errors import ChannelErrors
from enginescope.analysis.errors.element_errors import ElementErrors, Peak
from enginescope.analysis.errors.output_tolerance import Tolerance
from enginescope.core.record import Record
from enginescope.judge.notice import Notice
from enginescope.records.tensor import DataType

#: ``missing`` and ``extra``: an output of one side alone. ``not-finite``: NaN or an infinity where
#: the reference has none, or the other way round. ``channel-error``, ``channel-peak``: channels
#: beyond their own limits. ``nothing-compared``: no element shows anything. ``best-class``: it is
#: another though the reference's margin is large. ``few-values``: the output was rounded to 8 bits.
#: ``systematic-scale``: nearly all of the error is one factor and one offset. ``other-samples``:
#: outputs are nearer to other samples' references. ``arrangement``: they are nearer to the
#: reference with its axes swapped or its channels reversed. ``underflow``: FP16 loses the values,
#: which are all below its smallest.
Code: TypeAlias = Literal[
    "missing",
    "extra",
    "shape",
    "type",
    "not-finite",
    "nothing-compared",
    "underflow",
    "unequal",
    "mismatch",
    "error",
    "peak",
    "channel-error",
    "channel-peak",
    "best-class",
    "few-values",
    "systematic-scale",
    "other-samples",
    "arrangement",
]


class OutputReason(Record, frozen=True, kw_only=True):
    """One limit that does not hold, with what was found and what was allowed."""

    code: Code
    message: str
    evidence: Mapping[str, Any] = {}


class Figures(Record, frozen=True, kw_only=True):
    """How far an output is from its reference; ``None`` where a figure is not defined.

    Attributes:
        max_abs_error, mean_abs_error, rmse, bias: `bias` is the mean of candidate − reference.
        max_rel_error: Of elements whose reference is not 0.
        from_zero: Elements whose reference is 0 and whose candidate is not: they have no relative
            error.
        max_abs_index: Where the largest error is.
        spread, norm: Standard deviation and root mean square of the reference.
        error_to_spread: RMSE ÷ spread; ÷ norm where the reference is constant.
        snr_db, psnr_db: ``None`` where there is no error.
        mismatch_pct: Elements beyond ``atol + rtol·|reference|``.
        beyond_pct: Elements whose relative error is beyond the tolerance's percentage.
    """

    elements: int
    unequal: int
    max_abs_error: float | None
    mean_abs_error: float | None
    max_rel_error: float | None
    from_zero: int
    max_abs_sample: int | None
    max_abs_index: tuple[int, ...] | None
    rmse: float | None
    bias: float | None
    low: float | None
    high: float | None
    spread: float | None
    norm: float | None
    error_to_spread: float | None
    cosine: float | None
    correlation: float | None
    slope: float | None
    systematic_share: float | None
    snr_db: float | None
    psnr_db: float | None
    mismatch_pct: float | None
    beyond_pct: float | None
    nan: int
    infinite: int
    finite_only_here: int
    nonfinite_alike: int


class Channels(Record, frozen=True, kw_only=True):
    """Errors by channel, and their limits; ``None`` for a channel without a finite element.

    Attributes:
        rmse, norm: Root mean square of the error, and of the reference.
        rmse_limit: Largest RMSE allowed; empty where a user's own limits decide.
    """

    axis: int
    rmse: tuple[float | None, ...]
    norm: tuple[float | None, ...]
    max_abs_error: tuple[float | None, ...]
    rmse_limit: tuple[float | None, ...] = ()


class OutputDiff(Record, frozen=True, kw_only=True):
    """One output of one side against its reference, over all samples.

    Attributes:
        reference_dtype, dtype: ``None`` on the side that lacks the output.
        shapes: Those that were compared, each once.
        samples: Samples compared.
        reasons: Why it fails; empty where it passes.
        errors, ulps: Elements by size of the error and by distance in units in the last place; the
            edges are those of `element_errors` and `ulp_distance`. `ulps` is empty where types have
            none.
        zero_errors: Elements without an error.
        ranks: For what looks like a classifier's scores.
        expected_noise: Error of the rounded reference; ``None``: not known, and the row alone
            decides.
        error_limit: Largest `error_to_spread` allowed; ``None`` where a user's own limits decide,
            and for integers, truth values and texts.
        astray, told_apart: Samples nearer to another's reference, of so many that had another.
    """

    name: str
    reference_dtype: DataType | None
    dtype: DataType | None
    shapes: tuple[tuple[int, ...], ...] = ()
    samples: int = 0
    tolerance: Tolerance
    reasons: tuple[OutputReason, ...] = ()
    notices: tuple[Notice, ...] = ()
    figures: Figures | None = None
    errors: tuple[int, ...] = ()
    zero_errors: int = 0
    ulps: tuple[int, ...] = ()
    channels: Channels | None = None
    ranks: RankAgreement | None = None
    expected_noise: ExpectedNoise | None = None
    error_limit: float | None = None
    astray: int | None = None
    told_apart: int | None = None

    @property
    def passes(self) -> bool:
        """Whether every limit holds."""
        return not self.reasons


class SampleDiff(Record, frozen=True, kw_only=True):
    """One output of one sample.

    Attributes:
        sample: From 0.
        name: What the sample is called.
        reason: Why nothing was compared, or which limit its elements alone break.
    """

    sample: int
    name: str
    output: str
    shape: tuple[int, ...] | None
    figures: Figures | None
    reason: str | None = None


class SideDiff(Record, frozen=True, kw_only=True):
    """One side against the reference.

    Attributes:
        outputs: In the reference's order; what the reference lacks comes last.
        worst: Of all samples and outputs, the one farthest from its reference.
    """

    label: str
    outputs: tuple[OutputDiff, ...]
    samples: tuple[SampleDiff, ...]
    worst: SampleDiff | None

    @property
    def passes(self) -> bool:
        """Whether every output does, and there is one."""
        return bool(self.outputs) and all(output.passes for output in self.outputs)


_OF_MOMENTS = (
    *("rmse", "bias", "spread", "norm", "error_to_spread", "cosine", "correlation", "slope"),
    *("systematic_share", "snr_db"),
)


def figures_of(found: ElementErrors) -> Figures:
    """Return the figures that sums over elements come to."""
    moments, largest, relative = found.moments, found.largest, found.largest_relative
    place = largest.place if largest is not None and largest.value > 0 else None
    return Figures(
        elements=found.elements,
        unequal=found.unequal,
        max_abs_error=_value(largest),
        mean_abs_error=_known(moments.mean_absolute_error),
        max_rel_error=_value(relative),
        from_zero=found.from_zero,
        max_abs_sample=place.sample if place else None,
        max_abs_index=place.index if place else None,
        low=found.low,
        high=found.high,
        **{name: _known(getattr(moments, name)) for name in _OF_MOMENTS},
        psnr_db=_known(moments.psnr_db(found.low, found.high)),
        mismatch_pct=_share(found.mismatched, found.elements),
        beyond_pct=_share(found.beyond_pct, found.elements),
        nan=found.new_nan,
        infinite=found.new_infinite,
        finite_only_here=found.lost_nonfinite,
        nonfinite_alike=found.shared_nonfinite,
    )


def channels_of(found: ChannelErrors, limits: Limits | None) -> Channels:
    """Return the errors by channel."""
    return Channels(
        axis=found.axis,
        rmse=_each(found.rmse),
        norm=_each(found.norm),
        max_abs_error=_each(np.where(found.count > 0, found.largest, np.nan)),
        rmse_limit=() if limits is None else _each(limits.rmse),
    )


def _each(values: Any) -> tuple[float | None, ...]:
    return tuple(_known(float(value)) for value in values)


def _value(peak: Peak | None) -> float | None:
    return None if peak is None else _known(peak.value)


def _known(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _share(part: int, whole: int) -> float | None:
    return 100 * part / whole if whole else None


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
