"""Bytes that trex counts as 0 or on the wrong side; times that it gives to the wrong layer."""

import pytest

from enginescope.analysis.plans.plan_view import PlanView, explore
from enginescope.formats.importing.plan_files import PlanFiles, read_plan_files
from enginescope.records.tensor import DataType
from enginescope.rules.engine import lint
from enginescope.rules.view import LintInput
from tests.formats.plans import profile, tensor
from tests.trex.made_plans import chain, convolution, explored, layer, plan_of


def view_of(*layers: dict, io: tuple[str, ...] = ("x", "y")) -> PlanView:
    return PlanView(plan_of(list(layers), *io))


def test_constants_of_a_layer() -> None:
    """trex does not look at ``Constants``."""
    own = [tensor("kernel", [4, 4], "Half")]
    view = view_of(layer("a", "kgen", [tensor("x", [4], "Half")], Constants=own), io=("x",))
    assert (view.totals.weights_bytes, view.columns()["weights_size"]) == (32, [32])


@pytest.mark.parametrize(
    ("text", "dtype", "of_ten"),
    [
        ("BFloat16", "BF16", 20),  # FP32 in trex's precision
        ("Row major linear BFloat16 format", "BF16", 20),  # 0 bytes in trex
        ("Bool", "BOOL", 10),  # 0
        ("Row major linear BOOL", "BOOL", 10),
        ("Row major linear INT8 format", "INT8", 10),  # unknown: 0
        ("E8M0", "E8M0", 10),  # unknown: 0
        ("FP8", "FP8", 10),
        ("Row major linear FP8 format", "FP8", 10),
        ("Int4", "INT4", 5),
        ("FP4E2M1", "FP4", 5),
        ("Int64", "INT64", 80),
    ],
)
def test_types(text, dtype, of_ten) -> None:
    """BF16, Bool and spellings that are not in its list count 0 bytes in trex."""
    view = view_of(layer("a", "kgen", *([tensor(name, [10], text)] for name in "xy")))
    assert view.layers[0].precision is DataType(dtype)
    assert view.totals.activation_bytes == 2 * of_ten


def test_a_reused_region() -> None:
    """Memory that is written again is one tensor with two writers, and counts at each use."""
    layers = chain(("a", "kgen", "x", "t"), ("b", "kgen", "t", "u"), ("c", "kgen", "u", "t"))
    view = view_of(*layers, *chain(("d", "kgen", "t", "y")))
    (region,) = [one for one in view.tensors if one.tensor.name == "t"]
    assert (region.written_by, region.read_by) == ((0, 2), (1, 3))
    assert view.totals.activation_bytes == 8 * 4 * 64 * 4
    assert view.totals.weights_bytes is None


def test_a_name_that_a_no_op_and_a_layer_write() -> None:
    """Myelin uses names of memory again: behind the second writer there is no no-op."""

    def half(name: str, size: int) -> dict:
        return {"Name": name, "Dimensions": [size], "Format/Datatype": "Half"}

    view = view_of(
        layer("a", "kgen", [half("x", 1)], [half("t", 8)]),
        layer("squeeze", "NoOp", [half("t", 8)], [half("__tran1", 8)]),
        layer("b", "kgen", [half("__tran1", 8)], [half("u", 2)]),
        layer("c", "kgen", [half("u", 2)], [half("__tran1", 100)]),
        layer("d", "kgen", [half("__tran1", 100)], [half("y", 1)]),
    )
    assert view.columns()["total_io_size_bytes"] == [18, 20, 204, 202]
    assert view.totals.activation_bytes == 18 + 20 + 204 + 202


@pytest.mark.parametrize(
    ("dtype", "size"), [("Int8", 36), ("BFloat16", 72), ("FP8", 36), ("Int4", 18), ("FP4", 18)]
)
def test_kernels_of_a_type_of_their_own(dtype, size) -> None:
    """trex takes a kernel at the input's type in its bytes moved; BF16, FP8, Int4 weigh 0 bytes."""
    own = {"Weights": {"Type": dtype, "Count": 36}}
    view = view_of(convolution("c", [3, 3], ([1, 2, 8, 8], [1, 2, 8, 8]), **own))
    assert (view.totals.weights_bytes, view.works[0].moved_bytes) == (size, 2 * 2 * 64 * 4 + size)


THREE = chain(("a", "kgen", "x", "t"), ("b", "kgen", "t", "u"), ("c", "kgen", "u", "y"))


def test_a_layer_without_a_time_is_no_zero() -> None:
    """trex fills missing times with 0, which then stand in means and charts."""
    view = PlanView(plan_of(THREE, "x", "y"), profile(("a", 1.0), ("c", 3.0)))
    assert view.columns()["latency.avg_time"] == [1.0, None, 3.0]
    assert view.columns()["latency.pct_time"] == [25.0, None, 75.0]


@pytest.mark.parametrize("kind", ["shape_call", "signal", "wait", "NoOp", "Constant"])
@pytest.mark.parametrize("is_timed", [True, False])
def test_what_launches_nothing_is_no_partial_profile(kind, is_timed) -> None:
    """Any TensorRT 10 engine with shape calls makes trex warn of "Partial profiling data"."""
    inert = [layer(f"{kind}_1", kind), layer(f"{kind}_1", kind)]
    plan = plan_of([THREE[0], *inert, THREE[1], THREE[2]], "x", "y")
    own = [(f"{kind}_1", 0.001), (f"{kind}_1", 0.0)] if is_timed else []
    times = profile(("a", 1.0), *own, ("b", 1.0), ("c", 1.0))
    assert explored(plan, times).notices == ()
    assert "TIME203" not in {one.code for one in lint(LintInput(plan=plan, profile=times)).findings}


@pytest.mark.parametrize(
    ("stem", "timed"),
    [
        ("trt10-rtx3060/alexnet_fp16", 14),
        ("trt10-rtx3060/resnet18_fp16", 26),
        ("trt86-h200/resnet18", 58),
        ("trt86-h200/resnet18_cudagraph", 58),
        ("trt86-h200/depth_anything_small", 108),
        ("trex-examples/mobilenet.qat.onnx.engine", 73),
        ("trex-examples/mobilenet_v2_residuals.qat.onnx.engine", 58),
        ("trex-examples/resnet18-a100-fp16.engine", 36),
        ("trex-examples/resnet18-a100-fp32.engine", 32),
        ("trex-examples/resnet18-a100-qat-residual.engine", 26),
    ],
)
def test_real_plans_open_without_a_wrong_notice(shared, stem, timed) -> None:
    """All three TensorRT 10 engines make trex warn, and lose up to 0.6 % of the time."""
    read = read_plan_files(PlanFiles(plan=shared / f"{stem}.graph.json"))
    # 8.6 does write raw control characters; and six digits are what times are printed with
    expected = {"I-JSON-REPAIRED"} if "trt86" in stem else set()
    said = {(one.code, ".timing." in one.evidence["file"]) for one in read.notices}
    assert {code for code, is_of_times in said if not is_of_times} == expected
    of_times = {code for code, is_of_times in said if is_of_times}
    assert of_times <= {"I-RESOLUTION", "I-ENQUEUE-RESOLUTION"}
    assert read.profile is not None
    found = explore("p", read.plan, read.profile)
    assert found.notices == ()
    assert sum(one.row.time_ms is not None for one in found.layers) == timed
    assert sum(one.row.share_pct or 0.0 for one in found.layers) == pytest.approx(100)
