"""What the comparison of two sides' answers comes to: by output, and by sample."""

from __future__ import annotations

import math

from enginescope.analysis.channel_errors import ChannelErrors
from enginescope.analysis.element_errors import ElementErrors, Peak
from enginescope.analysis.output_tolerance import Tolerance
from enginescope.analysis.output_verdict import OutputReason
from enginescope.analysis.rank_agreement import RankAgreement
from enginescope.core.record import Record
from enginescope.model.notice import Notice
from enginescope.model.tensor import DataType


class Figures(Record, frozen=True, kw_only=True):
    """How far an output is from its reference; ``None`` where a figure is not defined.

    Attributes
    ----------
    elements : int
    max_abs_error, mean_abs_error, rmse, bias : float or None
        `bias` is the mean of candidate − reference.
    max_rel_error : float or None
        Of elements whose reference is not 0.
    from_zero : int
        Elements whose reference is 0 and whose candidate is not: they have no relative error.
    max_abs_sample : int or None
    max_abs_index : tuple of int or None
        Where the largest error is.
    spread, norm : float or None
        Standard deviation and root mean square of the reference.
    error_to_spread : float or None
        RMSE ÷ spread; ÷ norm where the reference is constant.
    cosine, correlation, slope, systematic_share : float or None
    snr_db, psnr_db : float or None
        ``None`` where there is no error.
    mismatch_pct : float or None
        Elements beyond ``atol + rtol·|reference|``.
    beyond_pct : float or None
        Elements whose relative error is beyond the tolerance's percentage.
    unequal : int
    nan, infinite, finite_only_here, nonfinite_alike : int
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
    """Errors by channel: as many of each."""

    axis: int
    rmse: tuple[float, ...]
    norm: tuple[float, ...]
    max_abs_error: tuple[float, ...]


class OutputDiff(Record, frozen=True, kw_only=True):
    """One output of one side against its reference, over all samples.

    Attributes
    ----------
    name : str
    reference_dtype, dtype : DataType or None
        ``None`` on the side that lacks the output.
    shapes : tuple of shapes
        Those that were compared, each once.
    samples : int
        Samples compared.
    tolerance : Tolerance
    reasons : tuple of OutputReason
        Why it fails; empty where it passes.
    errors, ulps : tuple of int
        Elements by size of the error and by distance in units in the last place; the edges are
        those of `element_errors` and `ulp_distance`. `ulps` is empty where types have none.
    zero_errors : int
        Elements without an error.
    ranks : RankAgreement or None
        For what looks like a classifier's scores.
    astray, told_apart : int or None
        Samples nearer to another's reference, of so many that had another.
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
    astray: int | None = None
    told_apart: int | None = None

    @property
    def passes(self) -> bool:
        """Whether every limit holds."""
        return not self.reasons


class SampleDiff(Record, frozen=True, kw_only=True):
    """One output of one sample.

    Attributes
    ----------
    sample : int
        From 0.
    name : str
        What the sample is called.
    output : str
    reason : str or None
        Why nothing was compared, or which limit its elements alone break.
    """

    sample: int
    name: str
    output: str
    shape: tuple[int, ...] | None
    figures: Figures | None
    reason: str | None = None


class SideDiff(Record, frozen=True, kw_only=True):
    """One side against the reference.

    Attributes
    ----------
    label : str
    outputs : tuple of OutputDiff
        In the reference's order; what the reference lacks comes last.
    samples : tuple of SampleDiff
    worst : SampleDiff or None
        Of all samples and outputs, the one farthest from its reference.
    """

    label: str
    outputs: tuple[OutputDiff, ...]
    samples: tuple[SampleDiff, ...]
    worst: SampleDiff | None

    @property
    def passes(self) -> bool:
        """Whether every output does, and there is one."""
        return bool(self.outputs) and all(one.passes for one in self.outputs)


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
        rmse=_known(moments.rmse),
        bias=_known(moments.bias),
        low=found.low,
        high=found.high,
        spread=_known(moments.spread),
        norm=_known(moments.norm),
        error_to_spread=_known(moments.error_to_spread),
        cosine=_known(moments.cosine),
        correlation=_known(moments.correlation),
        slope=_known(moments.slope),
        systematic_share=_known(moments.systematic_share),
        snr_db=_known(moments.snr_db),
        psnr_db=_known(moments.psnr_db(found.low, found.high)),
        mismatch_pct=_share(found.mismatched, found.elements),
        beyond_pct=_share(found.beyond_pct, found.elements),
        nan=found.new_nan,
        infinite=found.new_infinite,
        finite_only_here=found.lost_nonfinite,
        nonfinite_alike=found.shared_nonfinite,
    )


def channels_of(found: ChannelErrors) -> Channels | None:
    """Return the errors by channel, if the output has channels."""
    rmse = found.rmse()
    if found.axis is None or not rmse:
        return None
    return Channels(axis=found.axis, rmse=rmse, norm=found.norms(), max_abs_error=found.largest())


def _value(peak: Peak | None) -> float | None:
    return None if peak is None else _known(peak.value)


def _known(value: float | None) -> float | None:
    """Return a number; ``None`` for one beyond float64."""
    return value if value is not None and math.isfinite(value) else None


def _share(part: int, whole: int) -> float | None:
    return 100 * part / whole if whole else None
