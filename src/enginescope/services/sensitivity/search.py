"""The search: each layer alone, then more and more layers together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter

from enginescope.analysis.sensitivity.layers import LayerNodes
from enginescope.analysis.sensitivity.ranking import (
    badness,
    conversion_order,
    prefix_sizes,
    ranked,
)
from enginescope.core.errors import BackendError
from enginescope.core.record import replace
from enginescope.judge.units import counted
from enginescope.records.run.job import Job
from enginescope.records.verdict.sensitivity import ConvertedModel, SensitiveLayer
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.sensitivity.conversion import Conversion
from enginescope.services.sensitivity.outputs import Outputs
from enginescope.services.sensitivity.request import SensitivityRequest
from enginescope.services.sensitivity.timing import Timing
from enginescope.store.archive import Store

#: Layers whose time alone is measured: the most sensitive ones, which are the ones to decide on.
MOST_TIMED = 12
_LATE = "the maximum time was over"


class SensitivitySearch:
    """Compares and times converted models.

    Args:
        base: In FP32, with the workload of the timing.

    Attributes:
        timings: Of layers alone, and of the cumulative models, as far as they were measured.
        order: Layers in the order of conversion.
        is_by_time: Whether a layer saves time beyond noise, so that `order` weighs it.
    """

    def __init__(
        self,
        request: SensitivityRequest,
        layers: Sequence[LayerNodes],
        base: Job,
        conversion: Conversion,
        outputs: Outputs,
        store: Store,
        observer: MeasurementObserver,
    ) -> None:
        self._request, self._layers, self._base = request, layers, base
        self._conversion, self._outputs = conversion, outputs
        self._store, self._observer = store, observer
        self.timings: list[Timing] = []
        self.order: tuple[str, ...] = ()
        self.is_by_time = False
        self._keys: dict[int, str | None] = {0: None}

    def alone(self, compare_until: float, time_until: float) -> tuple[SensitiveLayer, ...]:
        """Return every layer with the error and time of the model in which it alone is converted.

        Raises:
            BackendError: No layer could be converted and run.
        """
        unchanged = self._conversion.unchanged()
        layers: list[SensitiveLayer] = []
        for number, layer in enumerate(self._layers):
            key, text = f"layer-{number}", f"layer {number + 1} of {len(self._layers)}"
            if layer.name in unchanged:
                alone = ConvertedModel(
                    layers=(layer.name,), state="unchanged", why=unchanged[layer.name]
                )
            elif perf_counter() > compare_until:
                alone = ConvertedModel(layers=(layer.name,), state="unreached", why=_LATE)
            else:
                alone = self._outputs.compared((layer.name,), key, f"{text}, {layer.name}")
                if len(self._layers) > MOST_TIMED:
                    self._conversion.drop(key)
            layers.append(
                SensitiveLayer(
                    name=layer.name, operators=layer.operators, nodes=layer.nodes, alone=alone
                )
            )
        failed = [layer.alone for layer in layers if layer.alone.state == "failed"]
        if failed and len(failed) == len(layers):
            raise BackendError(f"no layer runs in {self._request.to}", why=failed[0].why)
        return ranked(self._timed_alone(layers, time_until))

    def _timed_alone(
        self, layers: Sequence[SensitiveLayer], until: float
    ) -> tuple[SensitiveLayer, ...]:
        compared = [layer for layer in layers if layer.alone.state == "compared"]
        chosen = sorted(compared, key=lambda layer: -badness(layer.alone))[:MOST_TIMED]
        numbers = {layer.name: number for number, layer in enumerate(self._layers)}
        keys = {layer.name: f"layer-{numbers[layer.name]}" for layer in chosen}
        timing = self._time({keys[layer.name]: layer.alone for layer in chosen}, "layers", until)
        timed = []
        for layer in layers:
            alone = layer.alone
            if layer.name in keys:
                alone = timing.timed(keys[layer.name], alone) if timing else _late(alone)
                self._conversion.drop(keys[layer.name])
            timed.append(replace(layer, alone=alone))
        return tuple(timed)

    def _time(self, models: Mapping[str, ConvertedModel], what: str, until: float) -> Timing | None:
        """Measure models by key; ``None``: there is none, or no time."""
        if not models or perf_counter() > until:
            return None
        jobs = {
            key: self._conversion.job(self._base, model.layers, key)
            for key, model in models.items()
        }
        timing = Timing(self._request, self._base, jobs, self._store, self._observer, what)
        self.timings.append(timing)
        timing.run(until)
        if timing.not_stored is not None:
            self._observer.warn(timing.not_stored)
        return timing

    def cumulative(
        self, layers: Sequence[SensitiveLayer], compare_until: float, time_until: float
    ) -> tuple[ConvertedModel, ...]:
        """Return FP32, and models with more and more layers converted.

        The quarters of the layers, all of them, and what a bisection visits that looks for the most
        layers with which outputs pass.
        """
        self.order, self.is_by_time = conversion_order(layers)
        models_by_size: dict[int, ConvertedModel] = {}

        def compare(size: int) -> ConvertedModel:
            if size not in models_by_size:
                names, text = self.order[:size], f"the first {counted(size, 'layer')}"
                late = perf_counter() > compare_until
                models_by_size[size] = (
                    ConvertedModel(layers=names, state="unreached", why=_LATE)
                    if late
                    else self._outputs.compared(names, f"first-{size}", text)
                )
            return models_by_size[size]

        passing, failing = 0, len(self.order)
        tried = compare(failing) if self.order else None
        if tried is not None and tried.passes:
            passing = failing
        while tried is not None and tried.state != "unreached" and failing - passing > 1:
            middle = (passing + failing) // 2
            tried = compare(middle)
            passing, failing = (middle, failing) if tried.passes else (passing, middle)
        for size in prefix_sizes(len(self.order)):
            compare(size)
        models = {
            f"first-{size}": model
            for size, model in models_by_size.items()
            if model.state == "compared"
        }
        timing = self._time(models, "models", time_until)
        return self._with_times(models_by_size, timing)

    def _with_times(
        self, models_by_size: Mapping[int, ConvertedModel], timing: Timing | None
    ) -> tuple[ConvertedModel, ...]:
        models = [ConvertedModel(layers=(), passes=True, error=0.0, is_finite=True)]
        for number, size in enumerate(sorted(models_by_size), start=1):
            key = self._keys[number] = f"first-{size}"
            model = models_by_size[size]
            if timing is not None:
                model = timing.timed(key, model)
            elif model.state == "compared":
                model = _late(model)
            models.append(model)
        return tuple(models)

    def is_distinct(self, a: int, b: int) -> bool | None:
        """Return whether the times of two cumulative models clearly differ; ``None``: not known."""
        if not self.timings:
            return None
        return self.timings[-1].is_distinct(self._keys[a], self._keys[b])


def _late(model: ConvertedModel) -> ConvertedModel:
    return replace(model, why=f"not measured: {_LATE}")
