"""A plan on the screen, and numbers of layers in words."""

import pytest
from rich.cells import cell_len

from enginescope.analysis.claims.layer_claims import WholeRequest
from enginescope.analysis.layers.layer_table import LayerRow
from enginescope.analysis.plans.plan_columns import plan_totals
from enginescope.analysis.plans.plan_view import ORDERS, Exploration, explore
from enginescope.analysis.runs.run_view import RunView
from enginescope.core.record import replace
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.judge.notice import Notice
from enginescope.records.plan.plan import IOTensor, Layer, LayerTiming, Plan, Profile
from enginescope.records.tensor import Tensor
from enginescope.render.base.text import as_text
from enginescope.render.plans.explore_text import explore_tables, explore_text
from enginescope.render.plans.findings import headline
from enginescope.render.plans.plan_headline import PageSubject, layers_text, timed_at_rest
from enginescope.render.sections.layers import layers
from enginescope.rules.engine import lint
from enginescope.rules.view import LintInput
from tests.formats import plans
from tests.render.runs import EVIL, imported_run
from tests.rules.made import layer, plan

NAME = "features.13.conv.2.weight + QuantizeLinear_187 + Conv_191 + PWN(Clip_192)"


def timed() -> Exploration:
    raw = plans.tensorrt_10()
    raw["Layers"][1]["Name"] = NAME
    times = {"copy for conv": 0.002, NAME: 0.05, "head_myl0_2": 0.3, EVIL: 0.001}
    profile = plans.profile(*times.items(), iterations=1234)
    return explore("net", plans.parsed(raw), profile, whole=WholeRequest("gpu_compute", 0.3))


def shown(found: Exploration, width: int = 80, **more: object) -> str:
    return as_text(explore_text(found, width=width, **more), width=width)


@pytest.mark.parametrize("width", [80, 100, 120, 200])
@pytest.mark.parametrize("sort", ORDERS)
def test_every_width_holds_it(width: int, sort: str) -> None:
    text = shown(timed(), width, sort=sort, device="NVIDIA H200")
    assert max(cell_len(line) for line in text.splitlines()) <= width
    rows = [line for line in text.splitlines() if "head_myl0_2" in line]
    assert rows  # whole names fit, and stay on their line


def test_what_is_said_first() -> None:
    text = shown(timed(), device="NVIDIA H200")
    assert text.splitlines()[0].split() == ["net", "NVIDIA", "H200"]
    flat = " ".join(text.split())
    assert "5 layers: 3 launch work, 2 launch nothing" in flat
    assert "Layers 0.3000 ms (own times, fitted to the GPU compute time: without what the " in flat
    assert "profiler adds, about 2.3 µs a layer)" in flat
    assert "the profiler reported 0.3530 ms" in flat
    assert "sum of layer means, 1,234 iterations, no interval" in flat
    assert "weights 5.23 KiB" in flat
    assert "image 1×3×8×8 FP32 NCHW" in flat


def test_activations_that_nothing_is_known_of() -> None:
    plan = Plan(name="net", layers=(Layer(index=0, name="constant", type="Constant"),))
    flat = " ".join(shown(explore("net", plan, None)).split())
    assert "activations not known" in flat
    assert "not known read" not in flat
    inputs = tuple(Tensor(name=f"in{n}") for n in range(6))
    plan = Plan(name="n", layers=(Layer(index=0, name="a", type="kgen", inputs=inputs),))
    text = shown(explore("net", plan, None))
    assert "6 uses of tensors of unknown size" in " ".join(text.split())


def test_tables_and_their_rows() -> None:
    text = shown(timed(), 120)
    rows = text.split("Slowest layers")[1].splitlines()[3:6]
    assert [row.split()[0] for row in rows] == ["0.2586", "0.0414", "0.0000"]
    for title in (
        *("Time by type", "Time by precision", "Weights and activations", "Tactics"),
        *("Reformats by origin", "FP32 NCHW → FP16 NHWC8", "REFORMAT: inserted by TensorRT"),
    ):
        assert title in text
    assert "(W-TIMES-UNMATCHED)" in text
    assert "(not in the plan)" in text
    text = shown(timed(), top=1)
    assert "and 3 more" in text
    assert "Weights and activations" in text
    assert "copy for conv" not in text.split("Tactics")[0]


def test_a_plan_without_times_or_layers_says_so() -> None:
    text = shown(explore("net", plans.parsed(plans.tensorrt_8_4()), None))
    assert "--exportProfile" in text
    assert "Layers by type" in text
    assert " ms " not in text.split("Layers by their order")[1]
    text = shown(explore("net", Plan(name="net", layers=()), None))
    assert "lists no layers" in text
    assert "Layers by type" not in text
    assert "memory" not in text


def test_names_only_says_how_to_build_and_shows_the_slowest_it_has_times_of() -> None:
    plan, notices = parse_plan(plans.encoded(plans.names_only()), "a.json")
    text = shown(explore("net", plan, None), notices=notices)
    assert "--profilingVerbosity=detailed" in text
    assert "I-NAMES-ONLY" not in text  # said once
    assert "Layers by" not in text
    text = shown(explore("net", plan, plans.profile(("head", 1.0))))
    assert "Slowest layers" in text
    assert "Tactics" not in text


def test_a_profile_alone_and_one_of_several_optimisation_profiles() -> None:
    rows = (LayerTiming(index=0, name="a", mean_ms=2.0, kind="Conv"),)
    text = shown(explore("net", None, Profile(source="onnxruntime", layers=rows)))
    assert "Conv" in text
    assert "Weights" not in text
    layers = (Layer(index=0, name="a", profile_index=0), Layer(index=1, name="b", profile_index=3))
    text = shown(explore("net", Plan(name="n", layers=layers), None, plan_profile=3))
    assert "optimization profile 3 of 0, 3" in text


def test_names_cannot_steer_the_terminal() -> None:
    tensor = Tensor(name="in\x1b[2J", shape=(1,))
    layer = Layer(index=0, name="a\x1b[31m\nb\x1ec", type="k\x07", inputs=(tensor,))
    io = (IOTensor(tensor=tensor, mode="input"),)
    text = shown(explore("x\x1b[1m", Plan(name="n", layers=(layer,), io=io), None))
    assert "a·[31m·b·c" in text
    assert not set(text) & set("\x1b\x07\x1e")


def test_notices_come_last_and_a_long_device_goes_under_the_name() -> None:
    text = shown(timed(), notices=(Notice(code="W-X", message="something else"),))
    assert text.index("(W-X)") > text.index("Reformats by conversion")
    assert shown(timed(), device="G" * 79).splitlines()[:2] == ["net", "G" * 79]


def test_a_shape_call_that_took_time_is_counted_where_the_tables_count_it() -> None:
    found = timed()
    flat = " ".join(shown(found).split())
    assert "launch nothing" in flat
    idle = next(at for at, one in enumerate(found.layers) if one.row.is_inert)
    one = found.layers[idle]
    row = replace(one.row, time_ms=0.002)
    layers = (*found.layers[:idle], replace(one, row=row), *found.layers[idle + 1 :])
    flat = " ".join(shown(replace(found, layers=layers)).split())
    assert "5 layers: 3 launch work, 2 launch no kernel, 1 of which took time" in flat


def test_tables_say_how_many_rows_they_leave_out() -> None:
    first, *others = explore_tables(timed(), top=2)
    assert [row[0] for row in first.rows] == ["head_myl0_2", NAME]
    assert first.left_out == 2
    assert explore_tables(timed(), top=9)[0].left_out == 0
    largest = next(one for one in others if one.title.startswith("Weights and activations"))
    assert (len(largest.rows), largest.left_out) == (2, 2)


def test_layers_that_launch_nothing_are_counted_alike_everywhere() -> None:
    """`lint` counted every layer of a plan, `explore` those that launch work, both as layers."""
    rows = [
        LayerRow(index=0, name="conv", time_ms=1.0),
        LayerRow(index=1, name="shapes", time_ms=0.1, is_inert=True),
        LayerRow(index=2, name="constant", is_inert=True),
        LayerRow(index=3, name="no-op", time_ms=0.0, is_inert=True),
    ]
    assert timed_at_rest(rows) == 1
    kinds = ("Convolution", "in", "a"), ("NoOp", "a", "b"), ("PointWise", "b", "out")
    made = plan(*(layer(kind, f"{read} FP16", f"{write} FP16") for kind, read, write in kinds))
    totals = plan_totals(made)
    assert layers_text(totals, 0) == "3 layers: 2 launch work, 1 launches nothing"
    took = "3 layers: 2 launch work, 1 launches no kernel, 1 of which took time"
    assert layers_text(totals, 1) == took
    assert layers_text(replace(totals, active_layers=3), 0) == "3 layers"
    assert headline(lint(LintInput(plan=made))).startswith("made (3 layers, 2 launch work)")
    section = layers(PageSubject(RunView(replace(imported_run(), plan=made, profile=None))))
    assert section.answer == "3 layers: 2 launch work, 1 launches nothing"
