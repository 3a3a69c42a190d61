"""Times that trex gives to the wrong layer, or to none."""

import pytest

from enginescope.analysis.plans.plan_view import PlanView, explore
from enginescope.formats.importing.plan_files import PlanFiles, read_plan_files
from enginescope.rules.engine import lint
from enginescope.rules.view import LintInput
from tests.trex.made_plans import chain, explored, layer, plan_of, profile_of

THREE = chain(("a", "kgen", "x", "t"), ("b", "kgen", "t", "u"), ("c", "kgen", "u", "y"))


def test_a_layer_without_a_time_is_no_zero() -> None:
    """trex fills missing times with 0, which then stand in means and charts."""
    view = PlanView(plan_of(THREE, "x", "y"), profile_of(("a", 1.0), ("c", 3.0)))
    assert view.columns()["latency.avg_time"] == [1.0, None, 3.0]
    assert view.columns()["latency.pct_time"] == [25.0, None, 75.0]


@pytest.mark.parametrize("kind", ["shape_call", "signal", "wait", "NoOp", "Constant"])
@pytest.mark.parametrize("is_timed", [True, False])
def test_what_launches_nothing_is_no_partial_profile(kind, is_timed) -> None:
    """Any TensorRT 10 engine with shape calls makes trex warn of "Partial profiling data"."""
    inert = [layer(f"{kind}_1", kind), layer(f"{kind}_1", kind)]
    plan = plan_of([THREE[0], *inert, THREE[1], THREE[2]], "x", "y")
    own = [(f"{kind}_1", 0.001), (f"{kind}_1", 0.0)] if is_timed else []
    profile = profile_of(("a", 1.0), *own, ("b", 1.0), ("c", 1.0))
    assert explored(plan, profile).notices == ()
    found = lint(LintInput(plan=plan, profile=profile))
    assert "TIME203" not in {one.code for one in found.findings}


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
    path = shared / f"{stem}.graph.json"
    read = read_plan_files(PlanFiles(plan=path))
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
