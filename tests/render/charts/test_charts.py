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
from enginescope.core.record import replace
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.formats.trtexec.exported_profile import parse_profile
from enginescope.judge.samples import Samples, frozen
from enginescope.records.run.telemetry import Channel, Telemetry
from enginescope.records.tensor import DataType
from enginescope.render.base.palette import (
    DARK,
    LIGHT,
    OTHER,
    PRECISIONS,
    chart_config,
    family_color,
    precision_color,
    type_family,
)
from enginescope.render.charts.bars import layer_bars
from enginescope.render.charts.card.registry import PLAN_CHARTS
from enginescope.render.charts.distribution import latency_distribution, log_axis, percentiles
from enginescope.render.charts.estimates import Estimate, estimate_chart
from enginescope.render.charts.overlay import overlay, process_medians, side_distributions
from enginescope.render.charts.series import MAX_POINTS, downsampled, latency_series, memory_series
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
from tests.render.every_page import plan_page, write_pages
from tests.render.gpu_runs import gpu_run
from tests.render.load.load_reports import searched, single
from tests.render.runs import EVIL, failed_run, imported_run, measured_run
from tests.render.sensitivity import test_sensitivity_files as sensitivity
from tests.render.shapes import test_shapes_files as shapes
from tests.render.verdicts import test_ladder_files as ladder
from tests.render.verdicts import test_lottery_files as lottery
from tests.render.verdicts import test_tune_files as tune


def slowest(view):
    return layer_bars(view.layers)


CHARTS = (latency_distribution, latency_series, percentiles, slowest, memory_series)


def run_of(values, **fields):
    samples = Samples(metric="latency", values_ms=frozen(values), **fields)
    return RunView(measured_run(samples=(samples,)))


def values_in(spec) -> list[dict]:
    """Every data row anywhere in a specification."""
    found = list(spec.get("data", {}).get("values", []))
    for layer in spec.get("layer", []):
        found += values_in(layer)
    return found


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
@pytest.mark.parametrize("chart", CHARTS)
def test_vega_lite_compiles_it_and_nothing_to_see_gives_no_chart(chart, theme) -> None:
    assert chart(RunView(failed_run())) is None
    converter = pytest.importorskip("vl_convert")
    made = chart(RunView(imported_run(telemetry=measured_run().telemetry)))
    svg = converter.vegalite_to_svg(
        vl_spec=made.complete(width=600), vl_version="6.1", config=chart_config(theme)
    )
    assert "<svg" in svg
    assert "NaN" not in svg
    assert "undefined" not in svg


def test_distribution_counts_every_sample_once() -> None:
    chart = latency_distribution(RunView(measured_run()))
    bars = chart.spec["layer"][0]["data"]["values"]
    (outside,) = re.findall(r"Samples outside the scale: (\d+) above", " ".join(chart.subtitle))
    assert sum(one["n"] for one in bars) + int(outside) == 600
    assert max(one["high"] for one in bars) < 31
    chart = latency_distribution(run_of([2.0] * 50))
    assert sum(one["n"] for one in chart.spec["layer"][0]["data"]["values"]) == 50


def test_a_skewed_distribution_has_a_logarithmic_axis() -> None:
    """90 % of the samples were one bar, and p99 was off the axis."""
    chart = latency_distribution(run_of(np.random.default_rng(5).lognormal(0, 1.0, 2_000)))
    bars = chart.spec["layer"][0]["data"]["values"]
    assert sum(one["n"] for one in bars) == 2_000
    assert max(one["n"] for one in bars) < 200
    assert chart.spec["layer"][0]["encoding"]["x"]["scale"]["type"] == "log"
    assert "The axis is logarithmic" in " ".join(chart.subtitle)
    labels = [str(one["label"])[:3] for one in values_in(chart.spec) if "label" in one]
    assert {"med", "p95", "p99"} <= set(labels)
    assert "log" not in " ".join(latency_distribution(RunView(measured_run())).subtitle)
    converter = pytest.importorskip("vl_convert")
    assert "NaN" not in converter.vegalite_to_svg(chart.complete(width=600), vl_version="6.1")


def test_distribution_marks_percentiles_that_samples_cannot_carry() -> None:
    chart = latency_distribution(run_of(measured_run().samples[0].values_ms[:120]))
    p99 = next(one for one in values_in(chart.spec) if str(one.get("label", "")).startswith("p99"))
    assert p99["weak"] == "120 of 459 effective samples needed"
    assert p99["weak"] in chart.subtitle[0]


@pytest.mark.parametrize(
    "values",
    [
        np.linspace(5, 5.3, 900).tolist() + np.linspace(5.3, 6.2, 100).tolist(),
        np.linspace(5, 7, 300).tolist() + np.linspace(7, 7.3, 900).tolist(),
        np.linspace(4, 6, 60).tolist(),
    ],
)
def test_no_line_of_the_distribution_crosses_the_label_of_another(values) -> None:
    layers = latency_distribution(run_of(values)).spec["layer"]
    rules = [one for one in layers if one.get("mark", {}).get("type") == "rule"]
    (marks, tops) = zip(
        *((one["data"]["values"][0], one["encoding"]["y"]["value"]) for one in rules), strict=True
    )
    assert len(marks) == 3
    wide = max(values) - min(values)
    for one in marks:
        reach = 0.01 * len(one["label"]) * wide
        ends = sorted((one["x"], one["x"] + (-reach if one["right"] else reach)))
        above = [m for m, top in zip(marks, tops, strict=True) if m is not one and top < one["row"]]
        assert not any(ends[0] < other["x"] < ends[1] for other in above)


def test_series_show_each_sample_or_their_extremes_and_say_so() -> None:
    chart = latency_series(RunView(measured_run()))
    assert chart.title == "Latency over the run: each of 600 samples"
    assert len(chart.spec["layer"][0]["data"]["values"]) == 600
    assert 31.0 in [one["high"] for one in chart.spec["layer"][2]["data"]["values"]]
    assert "Triangles at the upper edge" in chart.subtitle[1]
    chart = latency_series(run_of([1.0, 2.0, 3.0, 2.0, 1.0]))
    assert chart.spec["layer"][0]["encoding"]["x"]["title"] == "sample"
    values = 4 + np.random.default_rng(1).random(MAX_POINTS + 1)
    values[777] = 99.0
    chart = latency_series(run_of(values))
    rows = chart.spec["layer"][0]["data"]["values"]
    assert len(rows) == 600
    assert "least and greatest in 600 blocks of 5,001 samples" in chart.title
    assert max(one["high"] for one in rows) == 99.0


def test_percentiles_mark_what_is_not_carried() -> None:
    rows = values_in(percentiles(RunView(measured_run())).spec)
    p999 = next(one for one in rows if one.get("name") == "p99.9")
    assert p999["stated"] is False
    assert p999["sure"].endswith("needed")
    p90 = next(one for one in rows if one.get("name") == "p90")
    assert p90["stated"] is True
    assert p90["sure"].startswith("95 % CI ")


def test_layers_are_bars_in_the_color_of_their_precision_or_of_none() -> None:
    chart = slowest(RunView(imported_run()))
    scale = chart.spec["layer"][0]["encoding"]["color"]["scale"]
    assert dict(zip(scale["domain"], scale["range"], strict=True)) == {
        name: PRECISIONS[name] for name in ("INT8", "FP32", "FP16")
    }
    assert EVIL in [one["name"] for one in chart.spec["data"]["values"]]
    run = measured_run()
    bare = tuple(replace(one, kind=None) for one in run.profile.layers)
    chart = slowest(RunView(measured_run(profile=replace(run.profile, layers=bare))))
    assert chart.title == "Layers by time"
    assert chart.spec["layer"][0]["encoding"]["color"]["legend"] is None
    same = tuple(replace(one, name="same") for one in run.profile.layers[:4])
    chart = slowest(RunView(measured_run(profile=replace(run.profile, layers=same))))
    assert len({one["row"] for one in chart.spec["data"]["values"]}) == 4


def test_layers_stop_at_topk_and_those_without_work_are_not_counted(shared) -> None:
    """TensorRT 8.6 lists 47 constants and a no-op with a time of 0 beside 105 layers that work."""
    chart = layer_bars(RunView(measured_run()).layers, top=3)
    assert [one["row"] for one in chart.spec["data"]["values"]] == ["00000", "00001", "00002"]
    assert chart.subtitle[0].startswith("The 3 slowest of 40 timed layers: ")
    assert chart.spec["layer"][0]["encoding"]["color"]["legend"]["title"] == "kind of work"
    folder = shared / "trt86-h100-trtexec"
    plan, _ = parse_plan((folder / "real.graph.json").read_bytes(), "net")
    profile, _ = parse_profile((folder / "real.profile.json").read_bytes(), "net")
    chart = slowest(RunView(imported_run(plan=plan, profile=profile)))
    assert chart.subtitle[0].startswith("The 30 slowest of 105 timed layers: ")


def test_memory_leaves_out_instants_without_a_value() -> None:
    channel = Channel(name="rss_bytes", values=np.array([np.nan, 1 << 20, 2 << 20]))
    telemetry = Telemetry(time_ms=np.array([0.0, 1_000.0, 2_000.0]), channels=(channel,))
    chart = memory_series(RunView(measured_run(telemetry=telemetry, peak_memory_bytes=1 << 20)))
    assert chart.spec["data"]["values"] == [{"x": 1.0, "y": 1.0}, {"x": 2.0, "y": 2.0}]
    assert chart.title == (
        "Resident memory of the worker: peak 2.00 MiB, 1.00 MiB until the timed loop ended"
    )
    empty = replace(telemetry, channels=(Channel(name="rss_bytes", values=np.full(3, np.nan)),))
    assert memory_series(RunView(measured_run(telemetry=empty))) is None


def test_charts_have_their_figures_in_a_table() -> None:
    for make in (latency_distribution, latency_series, percentiles, memory_series):
        table = make(RunView(measured_run())).table
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.headers)}


def test_no_bin_lies_across_what_the_axis_leaves_out() -> None:
    """Samples in the gap were a bar over the break, as if there had been many between."""
    random = np.random.default_rng(3)
    near = np.concatenate([random.normal(1, 0.01, 1_000), np.full(4, 2.9)])
    found = overlay("side", [("A", near), ("B", random.normal(5, 0.05, 1_000))], (None, None))
    ((low, high),) = found.cuts
    assert low < 2.9 < high
    rows = found.chart("sides", "Sides").spec["layer"][0]["data"]["values"]
    assert [one["share"] for one in rows if one["low"] < high and one["high"] > low] == [0.0, 0.0]
    assert found.outside[0] == 4


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
    plan_page.cache_clear()  # a page that was made before draws none
    pages(tmp_path)
    for chart in filter(None, charts()):
        note(chart)
    keys = {key for named_so in made.values() for key in named_so}
    assert {"waterfall", "latency_hist", "latency-per-type", "roofline"} <= keys
    assert len(made) + len(CANVASES) <= 12, made
