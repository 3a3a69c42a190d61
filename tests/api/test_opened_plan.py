"""A plan opened from Python, and its charts as a notebook shows them."""

import json
import re
from pathlib import Path

import pytest

import enginescope as es
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.runs.run_view import RunView
from enginescope.core.errors import MissingDependencyError, UsageError
from enginescope.notebook.chart import ChartDisplay
from enginescope.records.plan.plan import Plan
from enginescope.render.html.images import Chart, ChartTable
from tests.analysis.card_plans import layer, profile_of, small_plan, small_view, view_of
from tests.notebook.html.pages import checked_live
from tests.render.runs import measured_run

RECORDED = Path(__file__).parents[1] / "data" / "trt86-h200" / "resnet18.graph.json"


def test_a_plan_with_what_lies_beside_it_or_elsewhere(tmp_path: Path) -> None:
    view = es.open_plan(RECORDED)
    assert view.plan.name == "resnet18"
    assert view.total_ms == pytest.approx(0.18141, rel=1e-4)
    assert view.gpu is None
    assert es.open_plan(RECORDED, gpu="H200").roofline is not None
    plan = tmp_path / "a.graph.json"
    plan.write_bytes(RECORDED.read_bytes())
    assert es.open_plan(plan).profile is None
    times = RECORDED.with_name("resnet18.profile.json")
    assert es.open_plan(plan, profile=times).total_ms is not None
    with pytest.raises(UsageError, match="only be named with a plan file"):
        es.open_plan(small_view(), profile=times)


def test_views_stay_what_they_are_and_runs_without_a_plan_say_how_to_get_one() -> None:
    view = es.open_plan(small_view())
    assert view.plan == small_plan()
    assert view.total_ms == pytest.approx(1.0)
    assert es.open_plan(es.open_plan(small_view(), gpu="H200")).gpu.name == "H200"
    with pytest.raises(UsageError, match="has no plan") as caught:
        es.open_plan(RunView(measured_run()))
    assert "--exportLayerInfo" in caught.value.hint


def test_one_optimisation_profile_of_several() -> None:
    names = ("conv", "conv [profile 1]")
    layers = tuple(
        layer(at, name, "Convolution", [], [], profile_index=at) for at, name in enumerate(names)
    )
    both = PlanView(Plan(name="p", layers=layers), profile_of({names[0]: 1.0, names[1]: 2.0}))
    assert es.open_plan(both).total_ms == 1.0
    assert es.open_plan(both, plan_profile=1).total_ms == 2.0
    with pytest.raises(UsageError, match="no layers of profile 2"):
        es.open_plan(both, plan_profile=2)


def test_charts_are_made_by_name_and_what_there_is_not_is_told() -> None:
    view = es.open_plan(small_view())
    assert set(view.charts()) == set(view.chart_names)
    assert set(es.open_plan(small_view(timed=False)).charts()) < set(view.chart_names)
    assert repr(view.chart("latency-per-type")).startswith(
        "<ChartDisplay latency-per-type: Time by type"
    )
    assert view.chart("latency-per-type").rows()[0] == {
        "Type": "Convolution",
        "Precision": "INT8",
        "Layers": 2,
        "Time, ms": pytest.approx(0.8),
        "Share of the sum, %": pytest.approx(80),
    }
    with pytest.raises(UsageError, match="no chart 'latency-per-tipe'") as caught:
        view.chart("latency-per-tipe")
    assert caught.value.hint == "did you mean latency-per-type?"
    with pytest.raises(UsageError, match="has no option 'topk'") as caught:
        view.chart("latency-per-layer", topk=3)
    assert caught.value.hint == "it has top, kinds"
    with pytest.raises(UsageError, match="no data for 'latency-per-layer'") as caught:
        es.open_plan(small_view(timed=False)).chart("latency-per-layer")
    assert caught.value.why == "it has no layer times"


def test_charts_are_shown_saved_and_have_rows(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    html = es.open_plan(small_view()).chart("latency-per-layer")._repr_html_()
    assert "src='data:image/png;base64," in html
    assert "<td>depthwise</td>" in html
    checked_live(html)
    assert not re.search(r"(?:src|href)=['\"]https?:", html)
    chart = es.open_plan(small_view()).chart("precision-rollup")
    assert chart.save(tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert chart.save(tmp_path / "a.svg").read_text().startswith("<svg")
    assert (
        json.loads(chart.save(tmp_path / "a.json").read_text())["title"]["text"]
        == chart.chart.title
    )
    with pytest.raises(UsageError, match=r"cannot save a chart as a\.gif"):
        chart.save(tmp_path / "a.gif")
    spec = {"data": {"values": [{"a": 1}]}, "mark": "bar"}
    bare = ChartDisplay(Chart(key="a", title="A", spec=spec))
    assert bare.rows() == []
    assert "<details>" not in bare._repr_html_()
    table = ChartTable(headers=("X",), rows=(("1",),))
    assert ChartDisplay(Chart(key="a", title="A", spec=spec, table=table)).rows() == [{"X": 1}]


def test_names_are_escaped() -> None:
    evil = "<script>alert('1')</script>"
    view = es.open_plan(view_of(layer(0, evil, evil, [], []), times={evil: 1.0}))
    for chart in view.charts().values():
        html = chart._repr_html_()
        assert "script" not in checked_live(html).elements
        assert "<script>alert" not in html


def test_without_the_converter_the_table_stays(monkeypatch) -> None:
    def missing(*_: object) -> str:
        raise MissingDependencyError("vl_convert is not there", hint="pip install 'x[plots]'")

    monkeypatch.setattr("enginescope.render.html.images.png_bytes", missing)
    html = es.open_plan(small_view()).chart("latency-per-layer")._repr_html_()
    assert "x[plots]" in html
    assert "<td>depthwise</td>" in html
    assert "<img" not in html


def test_a_model_has_the_shapes_that_the_engine_was_built_for(convnet, plan, tmp_path) -> None:
    onnx = pytest.importorskip("onnx")
    model = onnx.load(str(convnet))
    (image,) = model.graph.input
    image.type.tensor_type.shape.dim[0].dim_param = "batch"
    dynamic = tmp_path / "dynamic.onnx"
    onnx.save(model, str(dynamic))
    view = es.open_plan(plan, onnx=dynamic)
    assert view.onnx.shapes[image.name] == (1, 3, 96, 96)
    assert "another model" not in view._repr_html_()


def test_a_notebook_says_that_the_model_is_another_one(transformer, plan) -> None:
    pytest.importorskip("onnx")
    with pytest.warns(UserWarning, match="W-ONNX-NO-MATCH"):
        shown = es.open_plan(plan, onnx=transformer)._repr_html_()
    assert "0 of 19 layers of small_convnet.onnx.engine were made from nodes of" in shown
    assert "W-ONNX-NO-MATCH" in shown
