"""What each layer of a model loses in a lower precision, and which ones to keep in FP32."""

from __future__ import annotations

from typing import Literal

from enginescope.core.record import Record, Result
from enginescope.judge.samples import Interval
from enginescope.judge.verdict import EvidenceLevel, RatioEstimate, VerdictKind
from enginescope.records.run.rounds import MadeReport

#: The lower precision.
LowerPrecision = Literal["fp16", "int8"]
#: What is converted at once.
Granularity = Literal["layer", "block"]
#: ``unchanged``: the converter leaves all of it in FP32. ``unreached``: no time was left.
PointState = Literal["compared", "unchanged", "failed", "unreached"]


class OutputError(Record, frozen=True, kw_only=True):
    """One output against FP32, over all samples; figures are those of ``validate``.

    Attributes:
        error_to_spread: RMSE ÷ spread of the FP32 output; ``None`` where it is not defined.
        nan, infinite: Elements that are finite in FP32 and not here.
    """

    output: str
    passes: bool
    why: str | None = None
    error_to_spread: float | None = None
    max_abs_error: float | None = None
    rmse: float | None = None
    cosine: float | None = None
    snr_db: float | None = None
    nan: int = 0
    infinite: int = 0


class LayerTime(Record, frozen=True, kw_only=True):
    """The time of a model against FP32, from interleaved processes.

    Attributes:
        value_ms: Median over the processes.
        ratio: Its time ÷ FP32's.
        saved_ms: What it saves of FP32's time; below 0 it costs time.
        saved: Interval of `saved_ms`.
    """

    value_ms: float
    ratio: RatioEstimate
    saved_ms: float
    saved: Interval | None
    rounds: int

    @property
    def is_gain(self) -> bool:
        """Whether the interval shows that time is saved."""
        return self.saved is not None and self.saved.low > 0

    @property
    def is_loss(self) -> bool:
        """Whether the interval shows that it costs time."""
        return self.saved is not None and self.saved.high < 0


class ConvertedModel(Record, frozen=True, kw_only=True):
    """The model with some of its layers in the lower precision.

    Attributes:
        layers: Those that are converted; the others are in FP32.
        passes: Whether the outputs are within the limits; ``None``: not known.
        error: Largest `error_to_spread` of an output; ``None`` where one is not finite or unknown.
        is_finite: Whether every element is finite that is finite in FP32.
        sample_errors: The same for each sample.
        time: ``None``: not measured.
        why: Why there is no error, or no time.
        runs: Its processes.
    """

    layers: tuple[str, ...]
    state: PointState = "compared"
    outputs: tuple[OutputError, ...] = ()
    passes: bool | None = None
    error: float | None = None
    is_finite: bool | None = None
    sample_errors: tuple[float | None, ...] = ()
    time: LayerTime | None = None
    why: str | None = None
    runs: tuple[str, ...] = ()


class SensitiveLayer(Record, frozen=True, kw_only=True):
    """A layer or block, and the model in which it alone is converted.

    Attributes:
        name: Of its first node; of a block, what the names of its nodes begin with.
        nodes: Of the ONNX model: one that computes, and those up to the next that does.
        rank: 1 has the largest error. Layers whose errors the samples do not distinguish have one
            rank; ``None``: not known.
        is_kept: Whether the proposal keeps it in FP32.
    """

    name: str
    operators: tuple[str, ...]
    nodes: tuple[str, ...]
    alone: ConvertedModel
    rank: int | None = None
    is_kept: bool = False


class FrontPoint(Record, frozen=True, kw_only=True):
    """A model that no other one is both faster and closer to FP32 than.

    Attributes:
        number: Among `SensitivityReport.cumulative`.
        is_distinct: Whether its time is clearly another than that of the next faster point;
            ``None``: there is none, or not known.
    """

    number: int
    is_distinct: bool | None = None


class SensitivityReport(Result, MadeReport, frozen=True, kw_only=True):
    """Layers of a model by what each loses in a lower precision, and which to keep in FP32.

    Attributes:
        to: The lower precision.
        tolerance: The row of limits, as in ``validate``.
        max_error: What `error_to_spread` may be at most, in place of the row's limits.
        layers: The most sensitive first.
        cumulative: FP32 first, then models with more and more layers converted.
        order: Layers in the order in which they are converted.
        ordered_by: ``"error per time saved"`` where a layer saves time beyond noise.
        front: The Pareto front of error and time, the fastest first.
        proposed: Number of the proposed model among `cumulative`; ``None``: no model passes.
        kind: Latency of the proposed model against FP32.
        baseline_ms: Median of FP32.
        use: Backend that converts all but the layers to keep; ``None`` where no backend does.
        exclude: Nodes to keep in FP32.
        samples: Number of samples.
    """

    model: str
    backend: str
    to: LowerPrecision
    by: Granularity
    tolerance: str
    max_error: float | None = None
    layers: tuple[SensitiveLayer, ...]
    cumulative: tuple[ConvertedModel, ...]
    order: tuple[str, ...] = ()
    ordered_by: Literal["error", "error per time saved"] = "error"
    front: tuple[FrontPoint, ...] = ()
    proposed: int | None = None
    kind: VerdictKind = VerdictKind.INCONCLUSIVE
    baseline_ms: float | None = None
    use: str | None = None
    exclude: tuple[str, ...] = ()
    samples: int = 0
    random_samples: bool = False
    rounds: int = 0
    evidence: EvidenceLevel | None = None
    comparisons: tuple[str, ...] = ()
    duration_s: float = 0.0

    @property
    def proposal(self) -> ConvertedModel | None:
        """The model to use: as many layers converted as the limits allow, or the fastest."""
        return None if self.proposed is None else self.cumulative[self.proposed]

    @property
    def whole(self) -> ConvertedModel:
        """The model of which most layers are converted."""
        return self.cumulative[-1]

    @property
    def keep(self) -> tuple[str, ...]:
        """Layers that the proposal keeps in FP32."""
        return tuple(layer.name for layer in self.layers if layer.is_kept)

    @property
    def is_harmless(self) -> bool:
        """Whether each layer alone and all together are within the limits."""
        known = [layer.alone for layer in self.layers if layer.alone.state != "unchanged"]
        is_whole = len(self.whole.layers) == len(known)
        return bool(known) and is_whole and all(one.passes for one in (*known, self.whole))
