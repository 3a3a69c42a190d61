"""Models of which some layers are in a lower precision, and their outputs against those of FP32."""

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from enginescope.analysis.accuracy.output_diff import Figures, OutputDiff, SampleDiff, SideDiff
from enginescope.analysis.bisection.precision_proposals import worst_error
from enginescope.analysis.errors.output_tolerance import tolerance_named
from enginescope.analysis.sensitivity.layer_ranking import LayerNodes, layers_of
from enginescope.backends.onnxruntime.convert.fp16 import operators_in_fp32
from enginescope.backends.onnxruntime.convert.mixed_precision import quantize
from enginescope.core.errors import DiskFullError, EnginescopeError, UnsupportedError, UsageError
from enginescope.core.jsonio import decode, encode, sha256_of, write_atomic
from enginescope.core.record import copied, replace
from enginescope.formats.onnx import onnx_precision
from enginescope.formats.onnx.onnx_graph import read_onnx_flow
from enginescope.formats.tensors.tensor_files import answer_file, read_answers
from enginescope.records.progress import Progress
from enginescope.records.run.job import CPU_BACKEND, Job
from enginescope.records.run.sample_set import AnswerRequest, Sample
from enginescope.records.verdict.sensitivity import (
    ConvertedModel,
    Granularity,
    LowerPrecision,
    OutputError,
)
from enginescope.services.accuracy.validation_run import collect_outputs, compare_folders
from enginescope.services.bisection.fp32_fallback import fallback_strategy
from enginescope.services.measurement.observer import MeasurementObserver

_INT8 = "model.int8.onnx"
_REFERENCE = "FP32"


def read_layers(model: Path, by: Granularity) -> tuple[LayerNodes, ...]:
    precision = onnx_precision.onnx_precision(model)
    if precision != "fp32":
        why = "layers are converted from FP32"
        hint = "name the FP32 model that it was made from"
        raise UsageError(f"{model.name} holds {precision}", why=why, hint=hint)
    graph = onnx_precision.load_without_weights(str(model)).graph
    inner = {
        onnx_precision.node_name(node): tuple(
            onnx_precision.node_name(part)
            for body in onnx_precision.inner_graphs(node)
            for subgraph in onnx_precision.graphs_of(body)
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

    Converted models and engines, and their compared outputs, are in `folder`; the caller removes
    it.
    """

    def __init__(
        self, to: LowerPrecision, layers: Sequence[LayerNodes], job: Job, folder: Path
    ) -> None:
        self.to, self._layers, self._folder = to, layers, folder
        self._model = Path(job.subject.path or "")
        self._feeds: Sequence[Mapping[str, Any]] = ()
        name, usual = job.backend.name, f"measure on {CPU_BACKEND}"
        if to == "int8" and not name.startswith("ort"):
            raise UnsupportedError(
                f"int8 layers on {name}",
                why="they are Q/DQ nodes of ONNX Runtime's quantizer, with unsigned activations, "
                "which other backends refuse",
                hint=usual,
            )
        if to == "fp16":
            way, why = fallback_strategy(_lowered(job), job)
            if way is None:
                raise UnsupportedError(f"fp16 layers on {name}", why=why, hint=usual)

    def calibrate(self, feeds: Sequence[Mapping[str, Any]]) -> None:
        self._feeds = feeds

    def unchanged(self) -> Mapping[str, str]:
        """Return layers that the conversion leaves in FP32, and why; the rest is tried."""
        if self.to != "fp16" or not self._layers:
            return {}
        stay = operators_in_fp32(self._model)
        return {
            layer.name: f"the conversion to fp16 leaves {', '.join(layer.operators)} in FP32"
            for layer in self._layers
            if stay.issuperset(layer.operators)
        }

    def job(self, job: Job, names: Sequence[str]) -> Job:
        """Return a job in FP32 with the layers of these names converted."""
        home = self.home(names)
        if self.to == "fp16":
            way, _ = fallback_strategy(replace(_lowered(job), engine_cache=str(home)), job)
            assert way is not None
            return way.keeping(self.kept_nodes(names), home)
        target = home / _INT8
        if not target.exists():
            self._quantize(names, target)
        subject = replace(job.subject, path=str(target), sha256=sha256_of(target))
        return replace(job, subject=subject, engine_cache=str(home))

    def _quantize(self, names: Sequence[str], target: Path) -> None:
        wanted = set(names)
        layers = [layer for layer in self._layers if layer.name in wanted]
        nodes = [node for layer in layers for node in layer.nodes]
        new = target.with_name(f"new.{_INT8}")
        if not quantize(self._model, new, self._feeds, nodes):
            operators = dict.fromkeys(one for layer in layers for one in layer.operators)
            raise UnchangedError(f"ONNX Runtime has no INT8 form of {', '.join(operators)} here")
        new.replace(target)

    def kept_nodes(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the nodes that stay in FP32 where some layers are converted."""
        converted = set(names)
        return tuple(
            node for layer in self._layers if layer.name not in converted for node in layer.nodes
        )

    def use(self, job: Job, names: Sequence[str]) -> str | None:
        """Return the backend that converts these layers, as it is typed; ``None``: none does."""
        if self.to == "int8":
            return None
        way, _ = fallback_strategy(_lowered(job), job)
        return way.specification(self.kept_nodes(names)) if way is not None else None

    def drop(self, names: Sequence[str]) -> None:
        shutil.rmtree(self.home(names), ignore_errors=True)

    def home(self, names: Sequence[str]) -> Path:
        """Return the folder of a model; rounds of an INT8 model that is gone are not continued."""
        digest = hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]
        own = f"-{self._folder.name}" if self.to == "int8" else ""
        return self._folder / f"{digest}{own}"


class UnchangedError(UnsupportedError):
    """The conversion leaves every node of these layers in FP32."""


def _lowered(job: Job) -> Job:
    return replace(job, backend=replace(job.backend, precision="fp16"))


class Outputs:
    """Collects the outputs of `job`, in FP32, and compares those of converted models with them.

    Rounding is what is measured, so that no expected noise widens the limits; `max_error`, of RMSE
    ÷ spread, replaces those of `validate`. The caller removes `folder`.
    """

    def __init__(
        self,
        job: Job,
        samples: Sequence[Sample],
        conversion: Conversion,
        observer: MeasurementObserver,
        folder: Path,
        max_error: float | None,
    ) -> None:
        self._job, self._samples, self._conversion = job, tuple(samples), conversion
        self._observer, self._folder = observer, folder
        self._row, self._max_error = tolerance_named(conversion.to), max_error
        self._collect(job, folder / _REFERENCE, _REFERENCE, inputs_folder=str(folder / "inputs"))

    def feeds(self) -> list[dict[str, Any]]:
        inputs = self._folder / "inputs"
        return [
            {one.name: one.data for one in read_answers(answer_file(inputs, number))}
            for number in range(len(self._samples))
        ]

    def compared(self, layers: tuple[str, ...], text: str, *, keeps: bool = True) -> ConvertedModel:
        """Return what the outputs lose if some layers are converted; a failure is a state.

        What an interrupted search has compared is not compared again; `keeps` the converted model.
        """
        self._observer.check_cancelled()
        folder, stored = self._folder / "side", self._conversion.home(layers).with_suffix(".json")
        if stored.exists():
            return decode(stored.read_bytes(), ConvertedModel, source=str(stored))
        try:
            self._collect(self._conversion.job(self._job, layers), folder, text)
            folders = self._folder / _REFERENCE, folder
            diff = compare_folders("converted", self._samples, folders, self._row)
            model = self._outcome(layers, diff)
        except DiskFullError:
            raise
        except UnchangedError as error:
            return ConvertedModel(layers=layers, state="unchanged", why=str(error))
        except EnginescopeError as error:
            return ConvertedModel(layers=layers, state="failed", why=str(error))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            if not keeps:
                self._conversion.drop(layers)
        write_atomic(stored, encode(model))
        return model

    def _collect(self, job: Job, folder: Path, text: str, **more: Any) -> None:
        def watch(_job: Job, progress: Progress | None) -> None:
            if progress is None:
                self._observer.process_started(f"outputs of {text}")
            else:
                self._observer.process_progressed(f"outputs of {text}", progress)

        collect_outputs(
            job, AnswerRequest(samples=self._samples, folder=str(folder), **more), watch
        )

    def _outcome(self, layers: tuple[str, ...], diff: SideDiff) -> ConvertedModel:
        outputs = tuple(map(_output_error, diff.outputs))
        is_finite = not any(_is_odd(one.figures) for one in diff.outputs)
        error = worst_error([one.error_to_spread for one in outputs]) if is_finite else None
        passes = diff.passes
        if self._max_error is not None:
            passes = error is not None and error <= self._max_error
        return ConvertedModel(
            layers=layers,
            outputs=outputs,
            passes=passes,
            error=error,
            is_finite=is_finite,
            sample_errors=_by_sample(diff.samples, len(self._samples)),
        )


def _output_error(output: OutputDiff) -> OutputError:
    why = output.reasons[0].message if output.reasons else None
    own: dict[str, Any] = {"output": output.name, "passes": output.passes, "why": why}
    return copied(OutputError, output.figures, **own) if output.figures else OutputError(**own)


def _is_odd(figures: Figures | None) -> bool:
    return figures is None or bool(figures.nan or figures.infinite or figures.finite_only_here)


def _by_sample(samples: Sequence[SampleDiff], count: int) -> tuple[float | None, ...]:
    """Return the largest error of an output for each sample; ``None`` where one is not known."""
    by_number: dict[int, list[float | None]] = {number: [] for number in range(count)}
    for sample in samples:
        figures = sample.figures
        error = None if _is_odd(figures) or figures is None else figures.error_to_spread
        by_number[sample.sample].append(error)
    return tuple(worst_error(errors) for errors in by_number.values())
