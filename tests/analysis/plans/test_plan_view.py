import pytest

from enginescope.analysis.claims.layer_claims import WholeRequest
from enginescope.analysis.plans.plan_view import ORDERS, Exploration, PlanView, explore, ordered
from enginescope.analysis.roofline.roofline import GpuLimits
from enginescope.core.errors import UsageError
from enginescope.formats.onnx.onnx_graph import OnnxGraph, OnnxNode, read_onnx_graph
from enginescope.records.plan.plan import Layer, Plan
from enginescope.rules.view import LintInput, LintView
from tests.analysis.layers.test_layer_table import several
from tests.formats import plans

PLAN = plans.parsed(plans.tensorrt_10(), "engine")
PROFILE = plans.profile(("conv + relu", 3.0), ("head_myl0_2", 1.0))


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
    assert (view.find("a"), view.find_all("a")) == (layers[0], (layers[0], layers[2]))
    assert (view.find("c"), view.find_all("c")) == (None, ())
    view = PlanView(PLAN)
    conv = view.find("conv + relu")
    assert (view.attribution, view.total_ms, view.time_of(conv)) == (None, None, None)
    assert (view.roofline, view.onnx_map) == (None, None)
    assert view.columns()["latency.avg_time"] == [None, None, None]


def test_times_work_and_the_gpu() -> None:
    view = PlanView(PLAN, PROFILE, gpu="NVIDIA H200")
    conv = view.find("conv + relu")
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


@pytest.mark.parametrize("name", ["trt86-h200/resnet18", "trt10-rtx3060/alexnet_fp16"])
def test_real_plans_as_frames(shared, name: str) -> None:
    pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    view = PlanView(plans.recorded(shared, name), plans.recorded_times(shared, name), gpu="H200")
    assert view.to_arrow().num_rows == view.to_polars().height == len(view.layers)
    every = view.to_polars(inert=True)
    assert every.height == len(view.all_layers)
    sum_ms = sum(one or 0.0 for one in every["latency.avg_time"])
    assert sum_ms == pytest.approx(view.total_ms, rel=1e-6)


def test_the_bundled_model_whole(data, convnet) -> None:
    files = data / "trt86-h200-process", "small_convnet.onnx.engine"
    plan, times = plans.recorded(*files), plans.recorded_times(*files)
    view = PlanView(plan, times, gpu="NVIDIA H200", onnx=read_onnx_graph(convnet))
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


TEN = plans.parsed(plans.tensorrt_10())


def names_by(found: Exploration, by: str) -> list[str]:
    return [one.row.name for one in ordered(found.layers, by)]


def test_plan_and_profile_together() -> None:
    names = ("copy for conv", "conv + relu", "squeeze", "head_myl0_2")
    times = zip(names, (2.0, 5.0, 0.0, 3.0), strict=True)
    found = explore(
        "net", TEN, plans.profile(*times, iterations=7), whole=WholeRequest("gpu_compute", 8.0)
    )
    assert (found.name, found.plan_schema, found.iterations) == ("net", "trt8-10", 7)
    time = found.time
    assert (time.sum_ms, time.raw_ms, time.ratio) == pytest.approx((8.0, 10.0, 1.0))
    assert [(one.key, one.time_ms) for one in found.by_type] == [
        ("Convolution", pytest.approx(4.0, rel=1e-3)),
        ("gemm", pytest.approx(2.4, rel=1e-3)),
        ("Reformat", pytest.approx(1.6, rel=1e-3)),
    ]
    assert [(one.key, one.layers) for one in found.by_precision] == [("FP16", 2), ("FP32", 1)]
    assert [one.tactic for one in found.tactics] == ["sm80_xmma_fprop", "sm80_xmma_gemm", None]
    assert [one.key for one in found.reformats_by_origin] == ["REFORMAT"]
    assert [one.tensor.name for one in TEN.inputs] == [one.name for one in found.inputs]
    assert found.notices == ()


def test_what_has_no_partner_is_told_and_a_plan_or_profile_alone_has_less() -> None:
    found = explore(
        "net", TEN, plans.profile(("copy for conv", 2.0), ("stranger", 1.0), ("other", 1.0))
    )
    told = {one.code: one for one in found.notices}
    assert told["W-LAYERS-UNTIMED"].evidence["layers"] == ["conv + relu", "head_myl0_2"]
    assert told["W-TIMES-UNMATCHED"].evidence == {"count": 2, "layers": ["stranger", "other"]}
    assert told["W-TIMES-UNMATCHED"].message.startswith("2 times have no layer")
    assert [one.row.name for one in found.layers[-2:]] == ["stranger", "other"]
    assert found.layers[-1].sizes is None
    plan = Plan(name="p", layers=(Layer(index=0, name="a"), Layer(index=1, name="b")))
    (notice,) = explore("p", plan, plans.profile(("a", 1.0))).notices
    assert notice.message == "1 layer has no time in the plan and profile given: 'b'"
    found = explore("net", TEN, None)
    assert (found.time, found.by_type, found.notices) == (None, (), ())
    assert found.totals.layers_by_type == {"Reformat": 1, "Convolution": 1, "gemm": 1}
    found = explore("net", None, plans.profile(("a", 1.0), ("b", 3.0)))
    assert (found.totals, found.tactics, found.plan_schema) == (None, (), None)
    assert names_by(found, "time") == ["b", "a"]


@pytest.mark.parametrize("index", [0, 1, 10])
def test_one_optimisation_profile_of_several(index: int) -> None:
    suffix = f" [profile {index}]" if index else ""
    given = plans.profile(("conv", 1.0), ("conv [profile 1]", 2.0), ("conv [profile 10]", 11.0))
    found = explore("net", several(), given, plan_profile=index)
    assert [one.row.name for one in found.layers] == [f"conv{suffix}"]
    assert found.time.sum_ms == 1.0 + index
    assert (found.plan_profile, found.plan_profiles, found.notices) == (index, (0, 1, 10), ())


def test_orders_put_what_is_not_known_last_and_a_missing_profile_is_an_error() -> None:
    with pytest.raises(UsageError, match="profile 1"):
        explore("net", TEN, None, plan_profile=1)
    found = explore("net", TEN, plans.profile(("copy for conv", 2.0), ("head_myl0_2", 3.0)))
    assert names_by(found, "plan") == [one.row.name for one in found.layers]
    assert names_by(found, "time")[:2] == ["head_myl0_2", "copy for conv"]
    assert names_by(found, "name") == sorted(one.row.name for one in found.layers)
    assert names_by(found, "weights")[0] == "head_myl0_2"  # 256 × 10 halves beat 108
    for by in ORDERS:
        assert sorted(names_by(found, by)) == names_by(found, "name")
    found = explore("net", TEN, plans.profile(("stranger", 9.0)))
    assert names_by(found, "footprint")[-1] == "stranger"
    assert names_by(explore("n", None, plans.profile(("a", 1.0))), "weights") == ["a"]
