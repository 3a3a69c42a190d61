"""Models of which some layers are in a lower precision."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from enginescope.analysis.sensitivity.layers import LayerNodes, layers_of
from enginescope.core.digest import sha256_of
from enginescope.core.errors import UnsupportedError, UsageError
from enginescope.core.record import replace
from enginescope.formats.onnx.onnx_graph import read_onnx_flow
from enginescope.formats.onnx.onnx_precision import (
    graphs_of,
    inner_graphs,
    load_without_weights,
    node_name,
    onnx_precision,
)
from enginescope.records.run.job import Job
from enginescope.records.verdict.sensitivity import Granularity, LowerPrecision
from enginescope.services.bisection.fp32_fallback import fallback_strategy

_INT8 = "model.int8.onnx"


def read_layers(model: Path, by: Granularity) -> tuple[LayerNodes, ...]:
    """Return the layers or blocks of a model in FP32.

    Raises:
        UsageError: It holds another precision, or nothing in it depends on its inputs.
        BackendError, FormatError: It is not an ONNX model.
    """
    precision = onnx_precision(model)
    if precision != "fp32":
        raise UsageError(
            f"{model.name} holds {precision}",
            why="layers are converted from FP32",
            hint="name the FP32 model that it was made from",
        )
    graph = load_without_weights(str(model)).graph
    inner = {
        node_name(node): tuple(
            node_name(part)
            for body in inner_graphs(node)
            for subgraph in graphs_of(body)
            for part in subgraph.node
        )
        for node in graph.node
    }
    layers = layers_of(read_onnx_flow(model), by, inner)
    if not layers:
        raise UsageError(f"{model.name} has no layers", why="no FP32 value depends on its inputs")
    return layers


class Conversion:
    """Makes jobs of a model in FP32 into jobs of which some layers are in a lower precision.

    Args:
        folder: For converted models and engines; the caller removes it.

    Raises:
        UnsupportedError: The backend cannot hold layers in FP32.
    """

    def __init__(
        self, to: LowerPrecision, layers: Sequence[LayerNodes], job: Job, folder: Path
    ) -> None:
        self._to, self._layers, self._folder = to, layers, folder
        self._model = Path(job.subject.path or "")
        self._feeds: Sequence[Mapping[str, Any]] = ()
        name = job.backend.name
        if to == "int8" and not name.startswith("ort"):
            raise UnsupportedError(
                f"int8 layers on {name}",
                why="they are Q/DQ nodes of ONNX Runtime's quantizer, with unsigned activations, "
                "which other backends refuse",
                hint="measure on ort-cpu",
            )
        if to == "fp16":
            way, why = fallback_strategy(_lowered(job), job)
            if way is None:
                raise UnsupportedError(f"fp16 layers on {name}", why=why, hint="ort-cpu, or trt")

    def calibrate(self, feeds: Sequence[Mapping[str, Any]]) -> None:
        """Set the inputs of the calibration, by name."""
        self._feeds = feeds

    def unchanged(self) -> Mapping[str, str]:
        """Return layers that the conversion leaves in FP32, and why; the rest is tried."""
        if self._to != "fp16" or not self._layers:
            return {}
        from enginescope.backends.onnxruntime.convert.fp16 import operators_in_fp32

        stay = operators_in_fp32(self._model)
        return {
            layer.name: f"the conversion to fp16 leaves {', '.join(layer.operators)} in FP32"
            for layer in self._layers
            if stay.issuperset(layer.operators)
        }

    def job(self, job: Job, names: Sequence[str], key: str) -> Job:
        """Return a job with some layers converted.

        Args:
            job: In FP32.
            names: Of layers.
            key: Of the conversion; one key has the same layers always.

        Raises:
            EnginescopeError: The model cannot be converted so.
            UnsupportedError: No node of these layers has an INT8 form.
        """
        home = self._folder / key
        if self._to == "fp16":
            lowered = replace(_lowered(job), engine_cache=str(home))
            way, _ = fallback_strategy(lowered, job)
            assert way is not None
            return way.keeping(self.kept_nodes(names), home)
        target = home / _INT8
        if not target.exists():
            self._quantize(names, target)
        subject = replace(job.subject, path=str(target), sha256=sha256_of(target))
        return replace(job, subject=subject)

    def _quantize(self, names: Sequence[str], target: Path) -> None:
        from enginescope.backends.onnxruntime.convert.int8 import quantize

        wanted = set(names)
        layers = [layer for layer in self._layers if layer.name in wanted]
        nodes = [node for layer in layers for node in layer.nodes]
        if not quantize(self._model, target, self._feeds, nodes):
            operators = dict.fromkeys(one for layer in layers for one in layer.operators)
            raise UnchangedError(f"ONNX Runtime has no INT8 form of {', '.join(operators)} here")

    def kept_nodes(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the nodes that stay in FP32 where some layers are converted."""
        converted = set(names)
        return tuple(
            node for layer in self._layers if layer.name not in converted for node in layer.nodes
        )

    def use(self, job: Job, names: Sequence[str]) -> str | None:
        """Return the backend that converts these layers, as it is typed; ``None``: none does."""
        if self._to == "int8":
            return None
        way, _ = fallback_strategy(_lowered(job), job)
        return way.specification(self.kept_nodes(names)) if way is not None else None

    def drop(self, key: str) -> None:
        """Remove what a conversion wrote."""
        shutil.rmtree(self._folder / key, ignore_errors=True)


class UnchangedError(UnsupportedError):
    """The conversion leaves every node of these layers in FP32."""


def _lowered(job: Job) -> Job:
    return replace(job, backend=replace(job.backend, precision="fp16"))
