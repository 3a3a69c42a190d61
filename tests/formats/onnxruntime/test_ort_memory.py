import platform
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from enginescope.analysis.memory.memory_view import MemoryView, memory_of
from enginescope.core.record import replace
from enginescope.formats.lenient_json import Document, read_json
from enginescope.formats.onnxruntime.ort_memory import RULES_FROM, arenas_of, workspaces_of
from enginescope.formats.onnxruntime.ort_profile import executed_plan
from enginescope.records.plan.plan import PACKED, WORKSPACES
from enginescope.records.tensor import Tensor
from tests.backends.onnxruntime.models import info, write


def event(node: str, after: int, change: int, peak: int) -> dict[str, Any]:
    arguments = {
        "provider": "CPUExecutionProvider",
        "mem_bytes_in_use": str(after),
        "mem_in_use_delta": str(change),
        "mem_in_use_peak": str(peak),
        "mem_arena_held": "1048576",
    }
    return {"cat": "Node", "name": f"{node}_kernel_time", "dur": 1, "args": arguments}


RUN = {"cat": "Session", "name": "model_run", "dur": 9}


def test_steps_are_of_the_first_inference_and_later_marks_only_where_they_rise() -> None:
    events = [
        *(event("a", 300, 200, 300), event("b", 200, -100, 300), RUN),
        *(event("a", 400, 0, 400), event("b", 400, 0, 900), RUN),
        *(event("a", 400, 0, 900), RUN),
    ]
    (use,) = arenas_of(Document(value=events, source="p.json"))
    assert (use.in_use_peak_bytes, use.held_bytes) == (900, 1 << 20)
    steps = [(one.node, one.before_bytes, one.in_use_bytes) for one in use.steps]
    assert steps == [("a", 100, 300), ("b", 300, 200)]
    assert [(one.node, one.peak_bytes) for one in use.later] == [("a", 400), ("b", 900)]


def test_a_profile_without_all_marks_has_no_steps() -> None:
    partial, odd = event("a", 1, 1, 1), event("b", 1, 1, 1)
    del partial["args"]["mem_in_use_delta"]
    odd["args"]["mem_in_use_delta"] = "--1"
    (use,) = arenas_of(Document(value=[partial, odd, RUN], source="p.json"))
    assert use.steps == ()


F32, U8 = TensorProto.FLOAT, TensorProto.UINT8
MIB = 1 << 20


def zeros(*shape: int, kind: Any = np.float32) -> Any:
    return np.zeros(shape, kind)


def scales(weights: Any, zero: int = 0) -> dict[str, Any]:
    """Return the constants of a quantized node, in the order of its inputs after the first."""
    one = np.float32(0.1)
    inputs = {"x_scale": one, "x_zero": np.uint8(3), "w": weights, "w_scale": one}
    return inputs | {"w_zero": weights.dtype.type(zero), "y_scale": one, "y_zero": np.uint8(1)}


#: Operator, domain, attributes, inputs, outputs and constants of one node; its buffers.
NODES = {
    "transposed convolution": (
        ("ConvTranspose", "", {"strides": [2, 2], "kernel_shape": [4, 4]}),
        {"x": (F32, 2, 32, 64, 64)},
        {"y": (F32, 2, 16, 130, 130)},
        {"w": zeros(32, 16, 4, 4)},
        [4 * MIB],
    ),
    "LSTM of two directions without its last states": (
        ("LSTM", "", {"hidden_size": 128, "direction": "bidirectional"}),
        {"x": (F32, 200, 8, 64)},
        {"y": (F32, 200, 2, 8, 128)},
        {"w": zeros(2, 512, 64), "r": zeros(2, 512, 128), "b": zeros(2, 1024)},
        [8192] * 2
        + [*[512] * 2, *[4096] * 3, *[512] * 4, 3276800]
        + [*[512] * 2, *[4096] * 3, *[512] * 4, 3276800, 409600, 819200],
    ),
    "GRU, reversed": (
        ("GRU", "", {"hidden_size": 128, "direction": "reverse", "linear_before_reset": 1}),
        {"x": (F32, 300, 8, 64)},
        {"y": (F32, 300, 1, 8, 128), "h": (F32, 1, 8, 128)},
        {"w": zeros(1, 384, 64), "r": zeros(1, 384, 128), "b": zeros(1, 768)},
        [*[4096] * 7, 3686400, 614400, 1228800],
    ),
    "attention with a mask for padding": (
        ("Attention", "com.microsoft", {"num_heads": 4}),
        {"x": (F32, 8, 128, 32), "mask": (TensorProto.INT32, 8, 128)},
        {"y": (F32, 8, 128, 32)},
        {"w": zeros(32, 96), "b": zeros(96)},
        [393216, 4096, 2097152, 2048, 131072],
    ),
    "causal attention with a past": (
        ("Attention", "com.microsoft", {"num_heads": 2, "unidirectional": 1}),
        {"x": (F32, 2, 128, 16), "past": (F32, 2, 2, 2, 40, 8)},
        {"y": (F32, 2, 128, 16), "now": (F32, 2, 2, 2, 168, 8)},
        {"w": zeros(16, 48), "b": zeros(48)},
        [49152, 172032, 344064, 256, 16384],
    ),
    "quantized product": (
        ("QLinearMatMul", "", {}),
        {"x": (U8, 3, 256, 64)},
        {"y": (U8, 3, 256, 500)},
        scales(zeros(64, 500, kind=np.int8)),
        [1536000],
    ),
    "quantized convolution": (
        ("QLinearConv", "com.microsoft", {"channels_last": 1, "strides": [2, 2]}),
        {"x": (U8, 2, 245, 245, 3)},
        {"y": (U8, 2, 122, 122, 32)},
        scales(zeros(32, 3, 3, 3, kind=np.int8)),
        [1905152, 401868],
    ),
    "quantized convolution over symmetric weights": (
        ("QLinearConv", "com.microsoft", {"channels_last": 1}),
        {"x": (U8, 4, 66, 66, 16)},
        {"y": (U8, 4, 64, 64, 16)},
        scales(zeros(16, 16, 3, 3, kind=np.int8)),
        [1179648],
    ),
    "quantized convolution over weights with a zero point": (
        ("QLinearConv", "com.microsoft", {"channels_last": 1}),
        {"x": (U8, 4, 66, 66, 16)},
        {"y": (U8, 4, 64, 64, 16)},
        scales(zeros(16, 16, 3, 3, kind=np.int8), zero=1),
        [262144, 589824],
    ),
    "quantized convolution of each channel": (
        ("QLinearConv", "com.microsoft", {"channels_last": 1, "group": 24}),
        {"x": (U8, 4, 66, 66, 24)},
        {"y": (U8, 4, 64, 64, 24)},
        scales(zeros(24, 1, 3, 3, kind=np.uint8)),
        [393216, 294912],
    ),
    # the kernels of AVX2 take a multiple of 8 filters, those of AVX-512 one of 4
    "quantized convolution whose kernel depends on the processor": (
        ("QLinearConv", "com.microsoft", {"channels_last": 1}),
        {"x": (U8, 4, 66, 66, 16)},
        {"y": (U8, 4, 64, 64, 20)},
        scales(zeros(20, 16, 3, 3, kind=np.int8)),
        [],
    ),
}
THREADED = [("transposed convolution", 3), ("quantized convolution", 3), ("GRU, reversed", 3)]


def ran(folder: Path, case: str, threads: int = 1) -> MemoryView:
    (operator, domain, attributes), inputs, outputs, constants, _ = NODES[case]
    names = [*inputs, *constants]
    if operator == "Attention":
        names = ["x", "w", "b", *(one if one in inputs else "" for one in ("mask", "past"))]
    node = helper.make_node(operator, names, list(outputs), name="n", domain=domain, **attributes)
    ends = [
        [info(name, *shape, kind=kind) for name, (kind, *shape) in end.items()]
        for end in (inputs, outputs)
    ]
    more = {"domains": {domain: 1} if domain else {}, **constants}
    model = write(folder / "net.onnx", [node], *ends, **more)
    options = onnxruntime.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(folder / "profile")
    options.optimized_model_filepath = str(folder / "graph.onnx")
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    feeds = {
        name: np.zeros(shape, helper.tensor_dtype_to_np_dtype(kind))
        for name, (kind, *shape) in inputs.items()
    }
    for _ in range(3):
        session.run(None, feeds)
    profile = Path(session.end_profiling())
    document = read_json(profile.read_bytes(), profile.name)
    plan = executed_plan(folder / "graph.onnx", document, "net", str(model), has_rules=True)
    view = memory_of(plan, arenas_of(document))
    assert view is not None
    return view


@pytest.mark.skipif(
    tuple(map(int, onnxruntime.__version__.split(".")[:2])) < RULES_FROM
    or platform.machine() not in ("x86_64", "AMD64"),
    reason="the rules are those of newer kernels for x86-64",
)
@pytest.mark.parametrize(("case", "threads"), [*((one, 1) for one in NODES), *THREADED])
def test_the_workspace_of_a_kernel_is_what_the_arena_reports(tmp_path, case, threads) -> None:
    view = ran(tmp_path, case, threads)
    buffers = NODES[case][-1]
    assert view.predicted_workspaces == ({"n": buffers} if buffers else {})
    assert view.session_bytes is not None
    reported = view.arena.in_use_peak_bytes - view.session_bytes
    packed = sum(view.weights[name] or 0 for name in view.plan.extra[PACKED])
    assert (abs(reported - (view.predicted.peak_bytes - packed)) < 4096) is bool(buffers)
    bare = memory_of(replace(view.plan, extra={**view.plan.extra, WORKSPACES: {}}))
    assert reported - (bare.predicted.peak_bytes - packed) > 100_000


def test_a_kernel_without_its_shapes_has_no_workspace() -> None:
    node = helper.make_node("LSTM", ["x", "w", "r"], ["y"], hidden_size=4)
    weights = [numpy_helper.from_array(zeros(1, 16, 4), name) for name in "wr"]
    graph = helper.make_graph([node], "net", [], [], weights)
    known = {one: Tensor(name=one, shape=(1, 16, 4)) for one in "wr"}
    tensors = {**known, "x": Tensor(name="x"), "y": Tensor(name="y")}
    assert workspaces_of(graph, ["n"], tensors) == {}
