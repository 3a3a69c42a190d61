import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.verdicts.measured_sides import compare_sides
from enginescope.records.tensor import DataType
from enginescope.render.base.palette import (
    OTHER,
    PRECISIONS,
    family_color,
    precision_color,
    type_family,
)
from enginescope.render.charts.card.registry import PLAN_CHARTS
from enginescope.render.charts.distribution import latency_distribution, log_axis, percentiles
from enginescope.render.charts.estimates import Estimate, estimate_chart
from enginescope.render.charts.overlay import process_medians, side_distributions
from enginescope.render.charts.series import downsampled, latency_series, memory_series
from enginescope.render.charts.telemetry import telemetry_charts
from enginescope.render.html.answer_page import written_page
from enginescope.render.html.images import Chart
from enginescope.render.ladder.ladder_answer import ladder_answer
from enginescope.render.load.load_answer import load_answer
from enginescope.render.sensitivity.sensitivity_answer import sensitivity_answer
from enginescope.render.shapes.shapes_answer import shapes_answer
from enginescope.render.tune.tune_answer import tune_answer
from enginescope.render.verdicts.lottery_answer import lottery_answer
from tests.analysis.card_plans import small_view
from tests.analysis.in_turn import in_turn, named
from tests.render.every_page import write_pages
from tests.render.gpu_runs import gpu_run
from tests.render.load.load_reports import searched, single
from tests.render.runs import imported_run
from tests.render.sensitivity import test_sensitivity_files as sensitivity
from tests.render.shapes import test_shapes_files as shapes
from tests.render.verdicts import test_ladder_files as ladder
from tests.render.verdicts import test_lottery_files as lottery
from tests.render.verdicts import test_tune_files as tune

WORSE = Estimate(name="a.onnx: Latency", value=3.0, kind="worse", low=2.5, high=3.4)
OPEN = Estimate(name="b.onnx: Latency", value=0.5, kind="inconclusive")


def chart_of(*estimates: Estimate):
    return estimate_chart("key", "Title", estimates, axis="change, %", reference=0.0)


def test_each_estimate_is_a_row_of_picture_and_table() -> None:
    chart = chart_of(WORSE, OPEN)
    rows = chart.spec["data"]["values"]
    assert [(row["name"], row["kind"], row.get("low")) for row in rows] == [
        ("a.onnx: Latency", "worse", 2.5),
        ("b.onnx: Latency", "inconclusive", None),
    ]
    assert chart.table.rows[0] == ("a.onnx: Latency", "worse", "3.000", "2.500 … 3.400")
    assert chart.table.rows[1][-1] == "—"
    assert chart.spec["layer"][0]["data"]["values"] == [{"value": 0.0}]


def test_one_kind_has_no_legend_and_no_interval_no_picture() -> None:
    both, one = (
        chart.spec["layer"][1]["encoding"]["color"]
        for chart in (chart_of(WORSE, OPEN), chart_of(WORSE))
    )
    assert (both["legend"] is None, one["legend"] is None) == (False, True)
    assert both["scale"]["domain"] == ["worse", "inconclusive"]
    assert (chart_of(OPEN), chart_of()) == (None, None)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(1e-9, 1e15), min_size=1, max_size=20))
@example([2.5e-107, 1.0])
@example([5e-324, 1.7e308])
def test_every_value_is_inside(values) -> None:
    low, high = log_axis(values)["scale"]["domain"]
    assert 0 < low <= min(values)
    assert max(values) <= high < math.inf
    if min(values) >= 1e-9:
        assert low < min(values)
        assert max(values) < high


@pytest.mark.parametrize(
    ("values", "labels"), [([1e-3, 1e5], {"0.01", "1", "10000"}), ([5.0], {"4.6", "5", "5.4"})]
)
def test_wide_and_narrow_axes_have_labels(values, labels) -> None:
    converter = pytest.importorskip("vl_convert")
    x = {"field": "x", "type": "quantitative", **log_axis(values)}
    rows = [{"x": value} for value in values]
    spec = {"width": 500, "data": {"values": rows}, "mark": "point", "encoding": {"x": x}}
    svg = converter.vegalite_to_svg(spec, vl_version="6.1")
    assert all(f">{label}<" in svg for label in labels), svg


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=300), st.integers(1, 50))
def test_blocks_lose_neither_end_of_the_range(values, buckets) -> None:
    array = np.array(values)
    found = downsampled(np.arange(array.size, dtype=float), array, buckets)
    assert min(one["low"] for one in found) == array.min()
    assert max(one["high"] for one in found) == array.max()
    assert len(found) == min(buckets, array.size)
    assert [one["x"] for one in found] == sorted({one["x"] for one in found})


def test_precisions_and_kinds_of_work_have_colours_of_their_own() -> None:
    assert len(set(PRECISIONS.values())) == len(PRECISIONS)
    assert all(re.fullmatch(r"#[0-9A-F]{6}", color) for color in PRECISIONS.values())
    assert set(PRECISIONS) - {"TF32"} <= {one.value for one in DataType}
    assert precision_color(None) == OTHER
    assert type_family("Convolution") == type_family("Conv") == type_family("QLinearConv")
    assert type_family("CaskConvolution") == type_family("Conv")
    assert type_family("QLinearAdd") == type_family("Add") == "element by element"
    assert type_family("MatrixMultiply") == type_family("Gemm") == type_family("MatMul")
    assert type_family("Reformat") == type_family("Transpose") == "moving data"
    assert type_family(None) == type_family("Frobnicate") == "other"
    assert family_color("other") == family_color(None) == OTHER


#: Lines, words, ticks and bands that explain what other marks show.
NOTES = {"rule", "text", "tick"}
#: Pages draw these two on a canvas; a server's home draws a line and an interval as SVG.
CANVASES = ("icicle", "graph")

Form = frozenset[tuple[str, ...]]


def layers_of(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for part in (*spec.get("layer", ()), *spec.get("vconcat", ())):
        yield from layers_of(part)
    if "mark" in spec:
        yield spec


def form_of(spec: dict[str, Any]) -> Form:
    """Return the marks that show data, what their axes are, and whether bars begin anywhere."""
    found = set()
    for layer in layers_of(spec):
        mark = layer["mark"]["type"] if isinstance(layer["mark"], dict) else layer["mark"]
        channels = layer["encoding"]
        axes = sorted(
            "rows" if channels.get(name, {}).get("type") in ("nominal", "ordinal") else "scale"
            for name in "xy"
        )
        has_ends = bool({"x2", "y2"} & channels.keys())
        if not (mark in NOTES or (mark == "rect" and has_ends)):
            found.add((mark, *axes, *(["ends"] if has_ends and mark == "bar" else [])))
    return frozenset(found)


def charts() -> Iterator[Chart | None]:
    """Yield the charts of notebooks and of runs."""
    run, view = RunView(imported_run()), small_view()
    for make in (latency_distribution, latency_series, percentiles):
        yield make(run)
    yield memory_series(run)
    yield from telemetry_charts([RunView(gpu_run())])
    for one in PLAN_CHARTS.values():
        yield one.make(view)
    sides = compare_sides(named(*in_turn(1.3)))
    yield from (*side_distributions(sides), process_medians(sides))


def pages(folder: Path) -> None:
    """Make a page of each kind."""
    write_pages(folder)
    answers = (
        load_answer(searched()),
        load_answer(single()),
        shapes_answer(shapes.report()),
        ladder_answer(ladder.report()),
        lottery_answer(lottery.report()),
        tune_answer(tune.report()),
        sensitivity_answer(sensitivity.report()),
    )
    for answer in answers:
        written_page(answer)


def test_all_pages_have_at_most_twelve_kinds_of_chart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: dict[Form, set[str]] = {}

    def note(chart: Chart) -> None:
        made.setdefault(form_of(chart.spec), set()).add(chart.key)

    complete = Chart.complete
    monkeypatch.setattr(
        Chart, "complete", lambda self, **options: note(self) or complete(self, **options)
    )
    pages(tmp_path)
    for chart in charts():
        if chart is not None:
            note(chart)
    keys = {key for named_so in made.values() for key in named_so}
    assert {"waterfall", "latency_hist", "latency-per-type", "roofline"} <= keys
    assert len(made) + len(CANVASES) <= 12, made
