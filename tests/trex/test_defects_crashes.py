"""Plans and buttons that end trex with a traceback."""

import csv
import io

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
from tests.formats.plans import tensor
from tests.trex.made_plans import ABSENT, chain, convolution, explored, layer, plan_of, profile_of

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
    profile = profile_of(*((one.name, 1.0) for one in plan.active_layers))
    view = PlanView(plan, profile, gpu="A100 80GB PCIe")
    for kind in (None, *view.types):
        columns = view.columns(kind)
        assert len({len(values) for values in columns.values()}) <= 1
    lint(LintInput(plan=plan, profile=profile))
    for coloring in ("type", "precision"):
        svg(draw(plan_graph(plan, tensors="all"), view.attribution), coloring=coloring)
    align(plan, plan)
    found = explored(plan, profile)
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
    product = (found["gemm.m"][0], found["gemm.n"][0], found["gemm.k"][0], found["gemm.groups"][0])
    assert product[0] * product[1] * product[2] * product[3] == macs  # trex: groups times too much


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
    copy = layer(
        "copy",
        "Reformat",
        [tensor("t", [1, 4, 8, 8], "Row major linear FP32")],
        [tensor("u", [1, 4, 8, 8], "Row major Int8 format")],
        ParameterType="Reformat",
        Origin=ABSENT,
    )
    parts = chain(("a", "kgen", "x", "t")), chain(("b", "kgen", "u", "y"))
    plan = plan_of([*parts[0], copy, *parts[1]], "x", "y")
    assert "Reformat" in every_view(plan)
    said = {it.subject: it.message for it in lint(LintInput(plan=plan)).findings}
    assert said["copy"] == "converts FP32 to INT8"


def test_one_type_in_two_spellings_is_no_conversion() -> None:
    """trex compares texts: ``FP16 NCHW`` to ``Half`` is a conversion to it."""
    copy = layer(
        "copy",
        "Reformat",
        [tensor("x", [1, 4, 8, 8], "Row major linear FP16 format")],
        [tensor("y", [1, 4, 8, 8], "Half")],
        Origin="REFORMAT",
    )
    assert "PLAN104" not in {
        one.code for one in lint(LintInput(plan=plan_of([copy], "x", "y"))).findings
    }


@pytest.mark.parametrize("coloring", ["type", "precision"])
def test_a_picture_from_python(coloring) -> None:
    """The report card's SVG button is TypeError, colored by precision NameError too."""
    plan = plan_of(chain(("a", "kgen", "x", "y")), "x", "y")
    text = svg(draw(plan_graph(plan)), coloring=coloring)
    assert text.startswith("<svg")
    assert f"colored by {coloring}" in text


def test_convolutions_by_their_kernels() -> None:
    """Colors by kernel size are TypeError: a list cannot be hashed."""
    pandas = pytest.importorskip("pandas")
    layers = [
        convolution(f"c{at}", kernel, ([1, 4, 8, 8], [1, 4, 8, 8]))
        for at, kernel in enumerate(([3, 3], [1, 1], [3, 3]))
    ]
    frame = PlanView(plan_of(layers, "x", "y")).to_pandas("Convolution")
    counts = frame["Kernel"].map(tuple).value_counts()
    assert isinstance(frame, pandas.DataFrame)
    assert counts.to_dict() == {(3, 3): 2, (1, 1): 1}


def test_plans_without_bindings_side_by_side() -> None:
    """The overview of two plans needs the first binding's batch: IndexError without."""
    a, b = (plan_of(chain(("a", "kgen", "x", "t"), ("b", "kgen", "t", "y"))) for _ in range(2))
    found = compare_layers((a, profile_of(("a", 1.0), ("b", 2.0))), (b, profile_of(("a", 4.0))))
    assert [(one.a_ms, one.b_ms) for one in found.layers] == [(1.0, 4.0), (2.0, None)]
    whole = compare(
        [
            run_of_engine(EngineFacts(name=name, plan=plan, profile=profile_of(("a", ms))))
            for name, plan, ms in (("one", a, 4.0), ("two", b, 3.0))
        ]
    )
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
    path.write_bytes(
        onnx.helper.make_model(
            graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8
        ).SerializeToString()
    )
    assert read_onnx_graph(path).shapes["y"] == (1, 4)
    noted = onnx.load_from_string(annotated_onnx(path, {0: {"enginescope.time_ms": "0.5"}}))
    assert noted.graph.node[0].metadata_props[0].value == "0.5"
