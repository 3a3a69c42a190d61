import pytest

from enginescope.analysis.claims.layer_claims import WholeRequest
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.roofline.roofline import GpuLimits
from enginescope.core.errors import UsageError
from enginescope.formats.onnx.onnx_graph import OnnxGraph, OnnxNode, read_onnx_graph
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.formats.trtexec.exported_profile import parse_profile
from enginescope.records.plan.plan import Layer, LayerTiming, Plan, Profile
from enginescope.rules.view import LintInput, LintView
from tests.formats import plans

PLAN, _ = parse_plan(plans.encoded(plans.tensorrt_10()), "engine")
PROFILE = Profile(
    source="trtexec",
    layers=(
        LayerTiming(index=0, name="conv + relu", mean_ms=3.0),
        LayerTiming(index=1, name="head_myl0_2", mean_ms=1.0),
    ),
)


def test_layers_and_names_without_a_profile_a_gpu_or_a_model() -> None:
    view = PlanView(PLAN)
    assert len(view.all_layers) == 5
    assert [one.name for one in view.layers] == ["copy for conv", "conv + relu", "head_myl0_2"]
    assert view.constants == ()
    assert view.types == ("Reformat", "Convolution", "NoOp", "shape_call", "gemm")
    assert [one.name for one in view.by_type("Convolution")] == ["conv + relu"]
    assert view.by_type("Pooling") == ()
    assert [one.tensor.name for one in view.tensors][:2] == ["image", "packed"]
    assert (view.totals.active_layers, repr(view)) == (3, "<PlanView engine: 3 layers>")
    layers = tuple(Layer(index=i, name=name) for i, name in enumerate("aba"))
    view = PlanView(Plan(name="p", layers=layers))
    assert view.find("a") == layers[0]
    assert view.find_all("a") == (layers[0], layers[2])
    assert (view.find("c"), view.find_all("c")) == (None, ())
    view = PlanView(PLAN)
    conv = view.find("conv + relu")
    assert conv is not None
    assert (view.attribution, view.total_ms, view.time_of(conv)) == (None, None, None)
    assert (view.roofline, view.onnx_map) == (None, None)
    assert view.columns()["latency.avg_time"] == [None, None, None]


def test_times_work_and_the_gpu() -> None:
    view = PlanView(PLAN, PROFILE, gpu="NVIDIA H200")
    conv = view.find("conv + relu")
    assert conv is not None
    assert (view.time_of(conv).time_ms, view.total_ms) == (3.0, 4.0)
    assert (view.work_of(conv).macs, view.roofline.gpu.name) == (64 * 4 * 27, "H200")
    assert [one.position for one in view.roofline.worst()] == [1, 4]
    assert repr(view) == "<PlanView engine: 3 layers, 4 ms>"
    own = GpuLimits(name="own", memory_gb_per_s=1.0, peak_tflops={})
    assert PlanView(PLAN, gpu=own).gpu is own
    with pytest.raises(UsageError, match="GPU A100") as caught:
        PlanView(PLAN, gpu="A100")
    assert "A100 80GB PCIe" in (caught.value.hint or "")


def test_a_model_tells_what_kernels_compute() -> None:
    kernel = Layer(index=7, name="k", type="kgen", onnx_nodes=("mm",))
    node = OnnxNode(index=0, name="mm", op_type="MatMul", inputs=("a", "b"), outputs=("c",))
    graph = OnnxGraph(name="g", nodes=(node,), shapes={"a": (2, 3), "b": (3, 4), "c": (2, 4)})
    plan = Plan(name="p", layers=(kernel,))
    assert PlanView(plan).work_of(kernel).macs is None
    assert PlanView(plan, onnx=graph).work_of(kernel).macs == 24


def test_columns_by_type_and_frames() -> None:
    view = PlanView(PLAN, PROFILE)
    found = view.columns("Convolution")
    assert (found["Name"], found["Kernel"]) == (["conv + relu"], [[3, 3]])
    assert "Origin" not in found
    assert "latency.median_time" not in found
    assert view.columns("Pooling") == {"Name": []}
    every = view.columns()
    assert every["Kernel"] == [None, [3, 3], None]
    every.clear()
    assert view.columns() != {}
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    view = PlanView(PLAN, PROFILE, gpu="T4")
    names = list(view.columns())
    pandas = view.to_pandas()
    assert (list(pandas.columns), pandas["latency.avg_time"].sum()) == (names, 4.0)
    assert (view.to_polars().columns, view.to_arrow().column_names) == (names, names)
    assert view.to_pandas("Convolution")["attr.macs"].tolist() == [64 * 4 * 27]
    assert (view.to_polars("Reformat").height, view.to_arrow("gemm").num_rows) == (1, 1)


@pytest.mark.parametrize(
    "name",
    [
        "trt86-h200/resnet18",
        "trt86-h200/depth_anything_small",
        "trt10-rtx3060/alexnet_fp16",
        "trt10-rtx3060/resnet18_fp16",
        "trex-examples/mobilenet.qat.onnx.engine",
        "trex-examples/resnet18-a100-qat-residual.engine",
    ],
)
def test_real_plans_as_frames(shared, name: str) -> None:
    pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    stem = shared / name
    plan, _ = parse_plan(stem.with_name(f"{stem.name}.graph.json").read_bytes(), name)
    profile, _ = parse_profile(stem.with_name(f"{stem.name}.profile.json").read_bytes(), name)
    view = PlanView(plan, profile, gpu="H200")
    assert view.to_arrow().num_rows == view.to_polars().height == len(view.layers)
    every = view.to_polars(inert=True)
    assert every.height == len(view.all_layers)
    assert sum(one or 0.0 for one in every["latency.avg_time"]) == pytest.approx(
        view.total_ms, rel=1e-6
    )


def test_the_bundled_model_whole(data, convnet) -> None:
    stem = data / "trt86-h200-process" / "small_convnet.onnx.engine"
    plan, _ = parse_plan(stem.with_name(f"{stem.name}.graph.json").read_bytes(), "a")
    profile, _ = parse_profile(stem.with_name(f"{stem.name}.profile.json").read_bytes(), "a")
    view = PlanView(plan, profile, gpu="NVIDIA H200", onnx=read_onnx_graph(convnet))
    assert view.onnx_map is not None
    assert view.roofline.unknown == 0
    assert 0 < view.roofline.saving_ms() < view.total_ms


def test_limits_are_held_against_the_times_that_lint_counts() -> None:
    whole = WholeRequest("gpu_compute", 3.5)
    view = PlanView(PLAN, PROFILE, gpu="H200", whole=whole)
    counted = LintView(LintInput(plan=PLAN, profile=PROFILE, whole=whole)).times_ms
    times = {view.plan.layers[one.position].index: one.time_ms for one in view.roofline.layers}
    assert {index: ms for index, ms in times.items() if ms is not None} == counted
    assert sum(counted.values()) == pytest.approx(view.engine_ms) == pytest.approx(3.5)
    assert view.roofline.profiler_ms == 0.00234
    assert PlanView(PLAN, PROFILE, gpu="H200").roofline.profiler_ms is None
