"""ONNX Runtime as it behaves with a GPU, on a machine without one: the CPU computes.

Providers of a GPU are listed and started; device memory is the host's. The TensorRT provider keeps
an engine by the name of the graph alone, as the real one does, and one of another shape is as wrong
here as there.
"""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import onnxruntime

TENSORRT, CUDA = "TensorrtExecutionProvider", "CUDAExecutionProvider"
CPU = "CPUExecutionProvider"


class GpuRuntime:
    """Stands in for the package ``onnxruntime``.

    Args:
        leaves: Operators that the GPU's provider does not take.
        wants_shapes: The TensorRT provider refuses a model without the shapes of its tensors.
        keeps_assignment: From 1.24 on; ``False`` is an older one.
        without: Providers that do not start.

    Attributes:
        opened: Providers, and options of the first.
        runs: Requests by the device their inputs lie on.
    """

    __version__ = onnxruntime.__version__
    __path__, __spec__ = onnxruntime.__path__, onnxruntime.__spec__  # its tools are the real ones
    SessionOptions = onnxruntime.SessionOptions
    RunOptions = onnxruntime.RunOptions
    GraphOptimizationLevel = onnxruntime.GraphOptimizationLevel
    ExecutionMode = onnxruntime.ExecutionMode

    def __init__(
        self,
        leaves: tuple[str, ...] = (),
        *,
        wants_shapes: bool = False,
        keeps_assignment: bool = True,
        without: tuple[str, ...] = (),
    ) -> None:
        self.leaves = leaves
        self.wants_shapes = wants_shapes
        self.keeps_assignment = keeps_assignment
        self.without = without
        self.opened: list[tuple[tuple[str, ...], dict[str, str]]] = []
        self.engines_built: list[str] = []
        self.runs: Counter[str] = Counter()
        self.on_open: Callable[[Any], object] = lambda _options: None
        self.OrtValue = _Values(self)

    def get_available_providers(self) -> list[str]:
        return [TENSORRT, CUDA, CPU]

    def set_default_logger_severity(self, severity: int) -> None:
        onnxruntime.set_default_logger_severity(severity)

    def InferenceSession(self, path, options, providers, enable_fallback):  # noqa: N802
        assert enable_fallback == 0
        self.on_open(options)
        first, own = providers[0]
        names = tuple(name for name, _ in providers if name not in self.without)
        self.opened.append((names, dict(own)))
        model = onnx.load(path)
        if first == TENSORRT:
            self._engine(model, own)
        captures = {own.get(one) for one in ("enable_cuda_graph", "trt_cuda_graph_enable")}
        session = _Session(self, path, options, names, model)
        session.captures = bool(captures & {"1", "True"})
        return session

    def _engine(self, model: Any, own: dict[str, str]) -> None:
        made_by = [one.name for one in model.graph.value_info]
        outputs = {name for node in model.graph.node[:-1] for name in node.output}
        if self.wants_shapes and not outputs <= set(made_by):
            raise RuntimeError("input r has no shape specified. Please run shape inference first.")
        switches = {key: value for key, value in own.items() if key.endswith("_enable")}
        assert set(switches.values()) <= {"True", "False"}, switches  # all that 1.16 reads
        if own.get("trt_engine_cache_enable") != "True":
            return
        file = Path(own["trt_engine_cache_path"]) / f"{TENSORRT}_{model.graph.name}.engine"
        shapes = json.dumps([str(one.type) for one in model.graph.input])
        if file.exists():
            assert file.read_text() == shapes, "an engine of another shape is used"
            return
        file.write_text(shapes)
        self.engines_built.append(str(file))


class _Session:
    """A session of the CPU, with the providers of a GPU."""

    def __init__(self, owner: GpuRuntime, path, options, names, model) -> None:
        self._owner = owner
        self._real = onnxruntime.InferenceSession(path, options, providers=[CPU])
        self._names = names
        self.captures = False
        self._operators = [(node.name, node.op_type) for node in model.graph.node]
        self.get_inputs = self._real.get_inputs
        self.get_outputs = self._real.get_outputs
        self.run_with_ort_values = self._real.run_with_ort_values
        self.run = self._real.run
        self.end_profiling = self._end_profiling
        self.get_profiling_start_time_ns = self._real.get_profiling_start_time_ns
        if owner.keeps_assignment:
            self.get_provider_graph_assignment_info = self._assignment

    def get_providers(self) -> list[str]:
        return [*self._names, CPU]

    def _place(self, operator: str) -> str:
        return CPU if operator in self._owner.leaves else self.get_providers()[0]

    def _assignment(self) -> list[Any]:
        parts = []
        for name, operator in self._operators:
            node = SimpleNamespace(name=name, op_type=operator, domain="")
            place = self._place(operator)
            parts.append(SimpleNamespace(ep_name=place, get_nodes=lambda one=node: [one]))
        return parts

    def _end_profiling(self) -> str:
        """The CPU's profile, its kernels where the GPU's provider would have run them."""
        path = self._real.end_profiling()
        events = json.loads(Path(path).read_text())
        for event in events:
            if "provider" in event.get("args", {}):
                event["args"]["provider"] = self._place(event["args"]["op_name"])
        Path(path).write_text(json.dumps(events))
        return path

    def io_binding(self) -> Any:
        return _Binding(self._real.io_binding())

    def run_with_iobinding(self, binding: Any, options: Any = None) -> None:
        self._owner.runs[binding.device] += 1
        self._real.run_with_iobinding(binding.real)
        is_eager = options is not None and options.get_run_config_entry("gpu_graph_id") == "-1"
        if self.captures and not is_eager and not binding.bound_outputs:
            binding.get_outputs = list  # as 1.31 on an H200: what it allocated is lost


class _Binding:
    def __init__(self, real: Any) -> None:
        self.real = real
        self.device = "cpu"
        self.bound_outputs = 0
        self.synchronize_outputs = real.synchronize_outputs
        self.get_outputs = real.get_outputs

    def bind_ortvalue_input(self, name: str, value: Any) -> None:
        self.device = getattr(value, "device", "cpu")
        self.real.bind_ortvalue_input(name, getattr(value, "real", value))

    def bind_ortvalue_output(self, name: str, value: Any) -> None:
        self.bound_outputs += 1
        self.real.bind_ortvalue_output(name, value)

    def bind_output(self, name: str, device: str, _index: int = 0) -> None:
        self.real.bind_output(name, "cpu")


class _OnDevice:
    def __init__(self, array: np.ndarray) -> None:
        self.device = "cuda"
        self.real = onnxruntime.OrtValue.ortvalue_from_numpy(array)
        self.update_inplace = self.real.update_inplace


class _Values:
    def __init__(self, owner: GpuRuntime) -> None:
        self._owner = owner

    def ortvalue_from_numpy(self, array: np.ndarray, device: str = "cpu", index: int = 0) -> Any:
        if device == "cpu":
            return onnxruntime.OrtValue.ortvalue_from_numpy(array)
        if "device memory" in self._owner.without:
            raise RuntimeError("this build cannot allocate on cuda")
        return _OnDevice(array)
