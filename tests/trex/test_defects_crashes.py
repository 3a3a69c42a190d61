"""Plans and buttons that end trex with a traceback; pictures that its DOT text makes wrong."""

import csv
import io
import math
from xml.etree import ElementTree

import pytest

from enginescope.analysis.graph.plan_graph import plan_graph
from enginescope.analysis.plan_comparison.alignment import align
from enginescope.analysis.plan_comparison.comparison import compare, compare_layers
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.formats.importing.import_assembly import EngineFacts, run_of_engine
from enginescope.formats.onnx.onnx_graph import annotated_onnx, read_onnx_graph
from enginescope.records.plan.plan import Plan
from enginescope.render.base.text import as_text
from enginescope.render.graph.write.svg import draw, svg
from enginescope.render.plans.explore_data import explore_csv
from enginescope.render.plans.explore_text import explore_text
from enginescope.rules.engine import lint
from enginescope.rules.view import LintInput
from tests.formats.plans import profile, tensor
from tests.trex.made_plans import LINEAR, chain, convolution, explored, layer, plan_of

CHANNEL_MAJOR = "Channel major FP16 format where channel % 8 == 0"
#: name -> kernel, shapes, groups, multiply-accumulates
CONVOLUTIONS = {
    "1-d": ([3], ([2, 8, 50], [2, 16, 48]), 1, 2 * 48 * 16 * 8 * 3),
    "1-d grouped": ([3], ([2, 8, 50], [2, 16, 48]), 4, 2 * 48 * 16 * 2 * 3),
    "2-d": ([3, 3], ([1, 4, 8, 8], [1, 6, 6, 6]), 1, 36 * 6 * 4 * 9),
    "2-d depthwise": ([3, 3], ([1, 4, 8, 8], [1, 4, 6, 6]), 4, 36 * 4 * 9),
    "3-d": ([3, 3, 3], ([1, 4, 8, 8, 8], [1, 6, 6, 6, 6]), 1, 216 * 6 * 4 * 27),
    "3-d grouped": ([3, 3, 3], ([1, 4, 8, 8, 8], [1, 6, 6, 6, 6]), 2, 216 * 6 * 2 * 27),
}


def every_view(plan: Plan) -> str:
    """Go through everything that shows a plan; return the terminal's text."""
    times = profile(*((one.name, 1.0) for one in plan.active_layers))
    view = PlanView(plan, times, gpu="A100 80GB PCIe")
    for kind in (None, *view.types):
        assert len({len(values) for values in view.columns(kind).values()}) <= 1
    lint(LintInput(plan=plan, profile=times))
    for coloring in ("type", "precision"):
        svg(draw(plan_graph(plan, tensors="all"), view.attribution), coloring=coloring)
    align(plan, plan)
    found = explored(plan, times)
    rows = list(csv.reader(io.StringIO(explore_csv(found.layers).decode())))
    assert len(rows) == 1 + len(plan.layers)
    return as_text(explore_text(found, width=120), width=120)


@pytest.mark.parametrize("kind", CONVOLUTIONS)
def test_convolutions_that_are_not_two_dimensional(kind) -> None:
    """Conv1D and Conv3D are ValueError in trex's tables, linter and plots."""
    kernel, shapes, groups, macs = CONVOLUTIONS[kind]
    one = convolution("c", kernel, shapes, Groups=groups, text=CHANNEL_MAJOR)
    plan = plan_of([one], "x", "y")
    assert "Convolution" in every_view(plan)
    found = PlanView(plan).columns("Convolution")
    assert found["attr.macs"] == [macs]
    product = [found[f"gemm.{one}"][0] for one in ("m", "n", "k", "groups")]
    assert math.prod(product) == macs  # trex: groups times too much


def test_a_misaligned_convolution_of_one_dimension_is_found() -> None:
    """trex's ConvLinter cannot look at it."""
    stem = convolution("stem", [3], ([1, 3, 52], [1, 5, 50]), text=CHANNEL_MAJOR)
    stem.update(
        Inputs=[tensor("in", [1, 3, 52], CHANNEL_MAJOR)],
        Outputs=[tensor("x", [1, 5, 50], CHANNEL_MAJOR)],
    )
    one = convolution("c", [3], ([1, 5, 50], [1, 16, 48]), text=CHANNEL_MAJOR)
    found = lint(LintInput(plan=plan_of([stem, one], "in", "y"))).findings
    assert "has input channels 5, not a multiple of 8" in [it.message for it in found]


def test_a_layer_without_outputs() -> None:
    """TrainStation has none: IndexError in clean_for_display and the table of layers."""
    layers = chain(("a", "kgen", "x", "t"), ("station", "TrainStation", "", ""))
    plan = plan_of([*layers, *chain(("b", "kgen", "t", "y"))], "x", "y")
    assert "TrainStation" in every_view(plan)
    found = PlanView(plan).columns()
    assert found["outputs"][1] == ""
    assert found["output_precision"] == ["FP32", None, "FP32"]


def test_a_reformat_without_origin() -> None:
    """KeyError in to_dot and in ReformatLinter."""
    ends = [tensor("t", [1, 4, 8, 8], LINEAR)], [tensor("u", [1, 4, 8, 8], "Row major Int8 format")]
    copy = layer("copy", "Reformat", *ends, ParameterType="Reformat")
    before, after = chain(("a", "kgen", "x", "t"), ("b", "kgen", "u", "y"))
    plan = plan_of([before, copy, after], "x", "y")
    assert "Reformat" in every_view(plan)
    said = {it.subject: it.message for it in lint(LintInput(plan=plan)).findings}
    assert said["copy"] == "converts FP32 to INT8"


def test_one_type_in_two_spellings_is_no_conversion() -> None:
    """trex compares texts: ``FP16 NCHW`` to ``Half`` is a conversion to it."""
    texts = zip("xy", ("Row major linear FP16 format", "Half"), strict=True)
    ends = ([tensor(name, [1, 4, 8, 8], text)] for name, text in texts)
    copy = layer("copy", "Reformat", *ends, Origin="REFORMAT")
    found = lint(LintInput(plan=plan_of([copy], "x", "y"))).findings
    assert "PLAN104" not in {one.code for one in found}


@pytest.mark.parametrize("coloring", ["type", "precision"])
def test_a_picture_from_python(coloring) -> None:
    """The report card's SVG button is TypeError, colored by precision NameError too."""
    plan = plan_of(chain(("a", "kgen", "x", "y")), "x", "y")
    text = svg(draw(plan_graph(plan)), coloring=coloring)
    assert text.startswith("<svg")
    assert f"colored by {coloring}" in text
    # A `"` stands in every HTML label of trex.
    assert not [one for one in texts(plan) if '"' in one]


def test_convolutions_by_their_kernels() -> None:
    """Colors by kernel size are TypeError: a list cannot be hashed."""
    pandas = pytest.importorskip("pandas")
    layers = [
        convolution(f"c{at}", kernel, ([1, 4, 8, 8], [1, 4, 8, 8]))
        for at, kernel in enumerate(([3, 3], [1, 1], [3, 3]))
    ]
    frame = PlanView(plan_of(layers, "x", "y")).to_pandas("Convolution")
    assert isinstance(frame, pandas.DataFrame)
    assert frame["Kernel"].map(tuple).value_counts().to_dict() == {(3, 3): 2, (1, 1): 1}


def test_plans_without_bindings_side_by_side() -> None:
    """The overview of two plans needs the first binding's batch: IndexError without."""
    a, b = (plan_of(chain(("a", "kgen", "x", "t"), ("b", "kgen", "t", "y"))) for _ in range(2))
    found = compare_layers((a, profile(("a", 1.0), ("b", 2.0))), (b, profile(("a", 4.0))))
    assert [(one.a_ms, one.b_ms) for one in found.layers] == [(1.0, 4.0), (2.0, None)]
    runs = [
        run_of_engine(EngineFacts(name=plan.name, plan=plan, profile=profile(("a", ms))))
        for plan, ms in ((a, 4.0), (b, 3.0))
    ]
    whole = compare(runs)
    assert [one.batch for one in whole.overview.plans] == [1, 1]  # of the deduced input
    assert whole.overview.difference_ms(1) == -1.0


def test_a_model_of_half_precision_for_a_viewer(tmp_path) -> None:
    """trex's ONNX export raises on bindings of ``Half``; ours notes times in the model itself."""
    onnx = pytest.importorskip("onnx")
    half = onnx.TensorProto.FLOAT16
    ends = [onnx.helper.make_tensor_value_info(one, half, [1, 4]) for one in ("x", "y")]
    node = onnx.helper.make_node("Relu", ["x"], ["y"], name="relu")
    graph = onnx.helper.make_graph([node], "main", ends[:1], ends[1:])
    path = tmp_path / "half.onnx"
    opsets = [onnx.helper.make_opsetid("", 17)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    assert read_onnx_graph(path).shapes["y"] == (1, 4)
    noted = onnx.load_from_string(annotated_onnx(path, {0: {"enginescope.time_ms": "0.5"}}))
    assert noted.graph.node[0].metadata_props[0].value == "0.5"


def texts(plan: Plan) -> list[str]:
    root = ElementTree.fromstring(svg(draw(plan_graph(plan))))
    return [one.text or "" for one in root.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("name", ["a<b", "a&b", "a>b", 'a"b', "a|b", "a{b}", "a:b", "a\\b"])
def test_names_that_are_markup(name) -> None:
    """``<`` and ``&`` go unescaped into HTML labels: dot fails. ``:`` becomes ``###``."""
    assert name in texts(plan_of(chain((name, "kgen", "x", "y")), "x", "y"))


def test_metadata_of_any_length() -> None:
    """Over 16,384 characters are a syntax error of dot; kernels of TensorRT 10.15 have them."""
    names = "\x1f".join(f"[ONNX Layer: /model/layers.{at}/attention/MatMul]" for at in range(900))
    assert len(names) > 16384
    own = {"Metadata": names, "Note": "n" * 20_000}
    ends = ([tensor(one, [1, 4], LINEAR)] for one in "xy")
    plan = plan_of([layer("a", "kgen", *ends, **own)], "x", "y")
    assert "a" in texts(plan)
    assert len(plan.layers[0].onnx_nodes) == 900


def test_a_loop() -> None:
    """What an iteration hands to the next is read above where it is written."""
    layers = chain(
        ("init", "kgen", "x", "s"),
        ("body", "kgen", "s carried", "n"),
        ("next", "kgen", "n", "carried"),
        ("out", "kgen", "n", "y"),
    )
    graph = plan_graph(plan_of(layers, "x", "y"))
    assert "body" in texts(plan_of(layers, "x", "y"))
    names = [one.name for one in graph.nodes]
    back = [(names[one.source], names[one.target]) for one in graph.edges if one.is_carried]
    assert back == [("next", "body")]


def test_the_branches_of_an_if() -> None:
    """Engines with If are drawn wrongly (issue 4391): both branches write one tensor."""
    layers = chain(
        ("cond", "kgen", "x", "c"),
        ("then", "kgen", "x c", "o"),
        ("else", "kgen", "x c", "o"),
        ("if_output", "kgen", "o", "y"),
    )
    graph = plan_graph(plan_of(layers, "x", "y"))
    names = [one.name for one in graph.nodes]
    found = {f"{names[e.source]}>{names[e.target]}" for e in graph.edges if e.kind == "data"}
    assert {"cond>then", "cond>else"} <= found
    ends = {one.partition(">")[0] for one in found if one.endswith("if_output")}
    assert ends in ({"then", "else"}, {"o"})
    if ends == {"o"}:
        assert {"then>o", "else>o"} <= found
