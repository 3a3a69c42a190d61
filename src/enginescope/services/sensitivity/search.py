"""The search: each layer alone, then more and more layers together, and the time of each model."""

from collections.abc import Mapping, Sequence
from statistics import median
from time import perf_counter
from typing import Annotated

from enginescope.analysis.sensitivity import layer_ranking
from enginescope.analysis.verdicts.evidence_levels import evidence_level
from enginescope.core.errors import BackendError, UsageError
from enginescope.core.record import copied, replace
from enginescope.judge.comparison.ratio import ratio_of_few_rounds
from enginescope.judge.experiment import SPARE_SHARE, Entry
from enginescope.judge.units import counted, format_span
from enginescope.judge.verdict import EvidenceLevel
from enginescope.records.run.job import Job
from enginescope.records.run.run import Run
from enginescope.records.verdict.sensitivity import (
    ConvertedModel,
    Granularity,
    LowerPrecision,
    SensitiveLayer,
)
from enginescope.services.accuracy.request import SampledRequest
from enginescope.services.declared import Param
from enginescope.services.measurement.jobs import LEAST_ROUNDS, ROUNDS, Rounds, raise_unless_ok
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.measurement.rounds import JobRounds, Pacing
from enginescope.services.sensitivity.conversion import Conversion, Outputs
from enginescope.store.archive import Store

#: Layers whose time alone is measured: the most sensitive ones, which are the ones to decide on.
MOST_TIMED = 12
_LATE = "the maximum time was over"
#: Names of the layers that are converted.
Names = tuple[str, ...]
_FP32: Names = ()


class SensitivityRequest(SampledRequest, frozen=True, kw_only=True):
    """A model and a lower precision; the fields are the parameters of `sensitivity`."""

    to: Annotated[
        LowerPrecision,
        Param(
            "Precision to convert to. INT8 is ONNX Runtime's static quantization.",
            heading="Model and inputs",
        ),
    ] = "fp16"
    by: Annotated[
        Granularity,
        Param(
            "Convert one node that computes, or all nodes of a block, at a time.",
            heading="Model and inputs",
        ),
    ] = "layer"
    on: Annotated[
        str, Param("Backend in FP32: ONNX Runtime, or TensorRT up to version 10 for FP16.")
    ] = "ort-cpu"
    max_error: Annotated[
        float | None,
        Param(
            "Pass a model with an error ÷ spread up to this, instead of the limits of validate.",
            above=0,
            metavar="NUMBER",
        ),
    ] = None
    rounds: Rounds = ROUNDS


def check_sensitivity_request(request: SensitivityRequest) -> None:
    if request.path.suffix.lower() in (".engine", ".plan", ".trt"):
        why = "its layers have their precision"
        hint = "name the ONNX model that it was built from"
        raise UsageError(f"{request.path.name} is an engine", why=why, hint=hint)


class SensitivitySearch:
    """Compares and times converted models, `base` being in FP32, with the workload of the timing.

    There are `timings` of layers alone, and of the cumulative models, as far as they were measured.
    Layers are converted in `order`, which weighs time if a layer saves more than noise
    (`is_by_time`).
    """

    def __init__(
        self,
        request: SensitivityRequest,
        layers: Sequence[layer_ranking.LayerNodes],
        base: Job,
        conversion: Conversion,
        outputs: Outputs,
        store: Store,
        observer: MeasurementObserver,
    ) -> None:
        self._request, self._layers, self.base = request, layers, base
        self._conversion, self._outputs = conversion, outputs
        self._store, self._observer = store, observer
        self.timings: list[Timing] = []
        self.order: Names = ()
        self.is_by_time = False

    def alone(self, compare_until: float, time_until: float) -> tuple[SensitiveLayer, ...]:
        """Return each layer with error and time of the model in which it alone is converted."""
        unchanged, begin = self._conversion.unchanged(), perf_counter()
        models: dict[str, ConvertedModel] = {}
        for number, layer in enumerate(self._layers):
            names = (layer.name,)
            if layer.name in unchanged:
                why = unchanged[layer.name]
                models[layer.name] = ConvertedModel(layers=names, state="unchanged", why=why)
                continue
            left_s = (perf_counter() - begin) / (number or 1) * (len(self._layers) - number)
            left_s = max(0.0, min(left_s, compare_until - perf_counter()))
            left = f", at most {format_span(left_s)} left" if number else ""
            text = f"layer {number + 1} of {len(self._layers)}, {layer.name}{left}"
            keeps = len(self._layers) <= MOST_TIMED
            models[layer.name] = self._compared(names, text, compare_until, keeps=keeps)
        failed = [model for model in models.values() if model.state == "failed"]
        if failed and len(failed) == len(models):
            raise BackendError(f"no layer runs in {self._request.to}", why=failed[0].why)
        compared = [model for model in models.values() if model.state == "compared"]
        chosen = sorted(compared, key=lambda model: -layer_ranking.badness(model))[:MOST_TIMED]
        for model in self._timed(chosen, "layers", time_until):
            models[model.layers[0]] = model
        layers = self._layers
        return layer_ranking.ranked(
            [copied(SensitiveLayer, one, alone=models[one.name]) for one in layers]
        )

    def _compared(
        self, names: Names, text: str, until: float, *, keeps: bool = True
    ) -> ConvertedModel:
        if perf_counter() > until:
            return ConvertedModel(layers=names, state="unreached", why=_LATE)
        return self._outputs.compared(names, text, keeps=keeps)

    def _timed(
        self, models: Sequence[ConvertedModel], what: str, until: float
    ) -> tuple[ConvertedModel, ...]:
        if not models or perf_counter() > until:
            return tuple(replace(model, why=f"not measured: {_LATE}") for model in models)
        jobs = {model.layers: self._conversion.job(self.base, model.layers) for model in models}
        timing = Timing(self._request, self.base, jobs, self._store, self._observer, what)
        self.timings.append(timing)
        timing.run(until)
        return tuple(map(timing.timed, models))

    def cumulative(
        self, layers: Sequence[SensitiveLayer], compare_until: float, time_until: float
    ) -> tuple[ConvertedModel, ...]:
        """Return FP32, and models with more and more layers converted.

        The quarters of the layers, all of them, and what a bisection visits that looks for the most
        layers with which outputs pass.
        """
        self.order, self.is_by_time = layer_ranking.conversion_order(layers)
        models: dict[int, ConvertedModel] = {}

        def compare(size: int) -> ConvertedModel:
            if size not in models:
                text = f"the first {counted(size, 'layer')}"
                models[size] = self._compared(self.order[:size], text, compare_until)
            return models[size]

        passing, failing = 0, len(self.order)
        tried = compare(failing) if self.order else None
        if tried is not None and tried.passes:
            passing = failing
        while tried is not None and tried.state != "unreached" and failing - passing > 1:
            middle = (passing + failing) // 2
            tried = compare(middle)
            passing, failing = (middle, failing) if tried.passes else (passing, middle)
        quarters = (round(len(self.order) * part / 4) for part in (1, 2, 3, 4) if self.order)
        for size in sorted({max(1, size) for size in quarters}):
            compare(size)
        compared = [model for model in models.values() if model.state == "compared"]
        for model in self._timed(compared, "models", time_until):
            models[len(model.layers)] = model
        base = ConvertedModel(layers=_FP32, passes=True, error=0.0, is_finite=True)
        return (base, *(models[size] for size in sorted(models)))

    def is_distinct(self, a: ConvertedModel, b: ConvertedModel) -> bool | None:
        """Return whether the times of two cumulative models clearly differ; ``None``: not known."""
        return self.timings[-1].is_distinct(a.layers, b.layers) if self.timings else None


class Timing:
    """Interleaved rounds of a fresh process each: of `base`, FP32, and `jobs` compared with it."""

    def __init__(
        self,
        request: SensitivityRequest,
        base: Job,
        jobs: Mapping[Names, Job],
        store: Store,
        observer: MeasurementObserver,
        what: str,
    ) -> None:
        self._request, self._observer = request, observer
        self._sides = (_FP32, *jobs)
        self._entries: dict[Names, list[Entry[Run]]] = {names: [] for names in self._sides}
        self.rounds = 0
        rounds = request.rounds
        self._measuring = JobRounds(
            (base, *jobs.values()),
            Pacing(
                looks=(rounds,),
                seed=request.workload.seed,
                text=lambda turn: f"{what}, round {turn.round + 1} of {rounds}",
            ),
            request.jobs(),
            store,
            observer,
            spare=max(1, len(self._sides) * rounds // SPARE_SHARE),
        )
        self.comparison = self._measuring.comparison

    def run(self, deadline: float) -> None:
        """Measure all rounds, or those that end before the deadline on the performance counter."""
        while self.rounds < self._request.rounds:
            begin = perf_counter()
            left = [at for at, names in enumerate(self._sides) if self._failure(names) is None]
            row = self._measuring.round(left, deadline)
            if not row:
                break
            raise_unless_ok(row[0].measured.source)
            self.rounds += 1
            for side, entry in row.items():
                self._entries[self._sides[side]].append(entry)
            seconds = perf_counter() - begin
            if perf_counter() + max(1, LEAST_ROUNDS - self.rounds) * seconds > deadline:
                break
        if self._measuring.not_stored is not None:
            self._observer.warn(self._measuring.not_stored)

    def _failure(self, names: Names) -> str | None:
        """Return why a model is not measured any more; ``None``: it is."""
        entries = self._entries.get(names)
        if not entries or _median_of(entries[-1]) is not None:
            return None
        return entries[-1].measured.failure or "it has no times"

    def _medians(self, names: Names) -> list[float]:
        medians = map(_median_of, self._entries.get(names, ()))
        return [value for value in medians if value is not None]

    @property
    def runs(self) -> tuple[Run, ...]:
        """Every process that counts."""
        return tuple(entry.measured.source for row in self._entries.values() for entry in row)

    @property
    def base_ms(self) -> float | None:
        """Median of FP32; ``None``: not measured."""
        return median(values) if (values := self._medians(_FP32)) else None

    @property
    def evidence(self) -> EvidenceLevel | None:
        """What the comparison of FP32 with the other models rests on."""
        measured = [row for names, row in self._entries.items() if self._failure(names) is None]
        if len(measured) < 2 or self.rounds < LEAST_ROUNDS:
            return None
        return evidence_level(*([entry.measured.source for entry in row] for row in measured))

    def timed(self, model: ConvertedModel) -> ConvertedModel:
        """Return a model with its time; without one and with the reason if it has none."""
        names, failure = model.layers, self._failure(model.layers)
        runs = tuple(entry.measured.source.id for entry in self._entries.get(names, ()))
        if failure is not None or self.rounds < LEAST_ROUNDS:
            return replace(model, why=f"not measured: {failure or _LATE}", runs=runs)
        base, values = self._medians(_FP32), self._medians(names)
        ratio = ratio_of_few_rounds(base, values)
        time = layer_ranking.saved_time(median(base), median(values), ratio, len(values))
        return replace(model, time=time, runs=runs)

    def is_distinct(self, a: Names, b: Names) -> bool | None:
        """Return whether the times of two models clearly differ; ``None`` where one has none."""
        first, second = self._medians(a), self._medians(b)
        if len(first) < LEAST_ROUNDS or len(first) != len(second):
            return None
        interval = ratio_of_few_rounds(first, second).interval
        return interval is not None and not interval.low <= 1 <= interval.high


def _median_of(entry: Entry[Run]) -> float | None:
    values = entry.measured.values
    return None if values is None or not len(values) else float(median(values))
