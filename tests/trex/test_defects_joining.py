"""Times that trex gives to the wrong layer, or to none."""

from pathlib import Path

import pytest

from enginescope.analysis.plans.plan_view import PlanView, explore
from enginescope.formats.importing.plan_files import PlanFiles, read_plan_files
from enginescope.rules.engine import lint
from enginescope.rules.view import LintInput
from tests.formats.plans import tensor
from tests.trex.made_plans import chain, explored, layer, plan_of, profile_of, times

THREE = chain(("a", "kgen", "x", "t"), ("b", "kgen", "t", "u"), ("c", "kgen", "u", "y"))


def test_another_order_with_equal_counts() -> None:
    """With as many rows trex joins by position: every layer gets another one's time, silently."""
    plan = plan_of(THREE, "x", "y")
    assert times(plan, profile_of(("c", 3.0), ("a", 1.0), ("b", 2.0))) == {0: 1.0, 1: 2.0, 2: 3.0}


def test_another_engine_with_equal_counts() -> None:
    """Times of other layers are joined to none, and both sides are said."""
    plan, profile = plan_of(THREE, "x", "y"), profile_of(("p", 1.0), ("q", 2.0), ("b", 4.0))
    assert times(plan, profile) == {0: None, 1: 4.0, 2: None}
    said = {one.code: one.evidence["layers"] for one in explored(plan, profile).notices}
    assert said == {"W-LAYERS-UNTIMED": ["a", "c"], "W-TIMES-UNMATCHED": ["p", "q"]}


def test_a_layer_without_a_time_is_no_zero() -> None:
    """trex fills missing times with 0, which then stand in means and charts."""
    view = PlanView(plan_of(THREE, "x", "y"), profile_of(("a", 1.0), ("c", 3.0)))
    assert view.columns()["latency.avg_time"] == [1.0, None, 3.0]
    assert view.columns()["latency.pct_time"] == [25.0, None, 75.0]


@pytest.mark.parametrize("kind", ["shape_call", "signal", "wait", "NoOp", "Constant"])
@pytest.mark.parametrize("is_timed", [True, False])
def test_what_launches_nothing_is_no_partial_profile(kind: str, is_timed: bool) -> None:
    """Any TensorRT 10 engine with shape calls makes trex warn of "Partial profiling data"."""
    inert = [layer(f"{kind}_1", kind), layer(f"{kind}_1", kind)]
    plan = plan_of([THREE[0], *inert, THREE[1], THREE[2]], "x", "y")
    own = [("shape_call_1", 0.001), (f"{kind}_1", 0.0)] if is_timed else []
    own = [(f"{kind}_1", ms) for _, ms in own]
    profile = profile_of(("a", 1.0), *own, ("b", 1.0), ("c", 1.0))
    assert explored(plan, profile).notices == ()
    found = lint(LintInput(plan=plan, profile=profile))
    assert "TIME203" not in {one.code for one in found.findings}


@pytest.mark.parametrize("separator", ["\x1e", "\x1f"])
def test_names_with_separators(separator: str) -> None:
    """trex writes ``+`` into the plan's names alone: such layers get 0 ms."""
    name = f"conv{separator}relu"
    plan = plan_of(chain((name, "kgen", "x", "t"), ("b", "kgen", "t", "y")), "x", "y")
    assert times(plan, profile_of((name, 2.0), ("b", 1.0))) == {0: 2.0, 1: 1.0}
    assert times(plan, profile_of(("b", 1.0), ("conv+relu", 2.0))) == {0: 2.0, 1: 1.0}


def test_duplicate_names() -> None:
    """Equal names multiply rows in trex's data frame: 4 rows of 2 layers, times counted twice."""
    layers = chain(("a", "kgen", "x", "t"), ("a", "kgen", "t", "u"), ("b", "kgen", "u", "y"))
    profile = profile_of(("a", 1.0), ("a", 2.0), ("b", 4.0), ("extra", 8.0))
    view = PlanView(plan_of(layers, "x", "y"), profile)
    found = view.columns()
    assert found["latency.avg_time"] == [1.0, 2.0, 4.0]
    assert len(found["Name"]) == len(view.layers) == 3
    assert view.find_all("a") == view.layers[:2]


def test_times_of_another_optimisation_profile() -> None:
    """trex warns of partial data whenever an engine has several profiles."""
    names = ("a", "a [profile 1]", "a [profile 10]")
    layers = [layer(one, "kgen", [tensor("x", [1], "Half")]) for one in names]
    plan = plan_of(layers, "x")
    profile = profile_of(("a [profile 10]", 2.0))
    found = explored(plan, profile, plan_profile=10)
    assert [(one.row.name, one.row.time_ms) for one in found.layers] == [("a [profile 10]", 2.0)]
    assert found.notices == ()


def _timing_file(plan: Path) -> str:
    return plan.name.replace(".graph.", ".timing.")


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
def test_real_plans_open_without_a_wrong_notice(shared, stem: str, timed: int) -> None:
    """All three TensorRT 10 engines make trex warn, and lose up to 0.6 % of the time."""
    path = shared / f"{stem}.graph.json"
    read = read_plan_files(PlanFiles(plan=path))
    # 8.6 does write raw control characters; and six digits are what times are printed with
    expected = {"I-JSON-REPAIRED"} if "trt86" in stem else set()
    said = {one.code for one in read.notices if one.evidence["file"] != _timing_file(path)}
    assert said == expected
    of_times = {one.code for one in read.notices if one.evidence["file"] == _timing_file(path)}
    assert of_times <= {"I-RESOLUTION", "I-ENQUEUE-RESOLUTION"}
    assert read.profile is not None
    found = explore("p", read.plan, read.profile)
    assert found.notices == ()
    assert sum(one.row.time_ms is not None for one in found.layers) == timed
    assert sum(one.row.share_pct or 0.0 for one in found.layers) == pytest.approx(100)
