import json
from pathlib import Path
from typing import Any

import pytest

from enginescope.analysis.plans.plan_view import PlanView
from enginescope.core.errors import UsageError
from enginescope.formats.importing.plan_files import PlanFiles, read_plan_files
from enginescope.judge.units import counted
from enginescope.render.base.palette import DARK, LIGHT, PRECISIONS, chart_config
from enginescope.render.charts.card.registry import PLAN_CHARTS
from enginescope.render.charts.tip_table import table_of_tips
from enginescope.render.html.images import Chart, with_tips
from enginescope.rules.tensor_cores import CONVOLUTIONS
from tests.analysis.card_plans import FP16, convolution, layer, small_view, tensor, view_of
from tests.render.runs import EVIL
from tests.trex.examples import EXAMPLES, WEIGHTS_BYTES

#: trex leaves out the convolution of a ConvActPool layer.
WHOLE_CONVOLUTIONS = tuple(one for one in EXAMPLES if one not in WEIGHTS_BYTES)
MIB = 2**20


def chart_of(view: PlanView, name: str, **options: Any) -> Chart:
    made = PLAN_CHARTS[name].make(view, **options)
    assert made is not None, name
    return made


def rows_of(chart: Chart) -> list[dict[str, Any]]:
    rows = chart.spec["data"]["values"]
    assert isinstance(rows, list)
    return rows


def every_chart(view: PlanView) -> dict[str, Chart]:
    made = {name: one.make(view) for name, one in PLAN_CHARTS.items()}
    return {name: chart for name, chart in made.items() if chart is not None}


def large_view(count: int) -> PlanView:
    """Convolutions of all sizes and precisions, and as many types as a plan may have."""
    names = [f"layer_{at}" for at in range(count)]
    layers = []
    for at, name in enumerate(names):
        x = tensor(f"x{at}", 1, 1 + at % 61, 1 + at % 23, 8, dtype=FP16)
        y = tensor(f"x{at + 1}", 1, 1 + at % 37, 1 + at % 23, 8, dtype=FP16)
        if at % 2:
            layers.append(convolution(at, name, x, y, kernel=1 + at % 5))
        else:
            own = {"tactic_name": f"tactic_{at}", "attributes": {"Operations": ["pwgen::iMax(a)"]}}
            layers.append(layer(at, name, f"Kind{at % 60}", [x], [y], **own))
    return view_of(*layers, times={name: 1e-3 * (1 + at % 997) for at, name in enumerate(names)})


@pytest.fixture(params=EXAMPLES)
def golden(request, shared: Path) -> tuple[str, PlanView, dict[str, Any]]:
    name = request.param
    read = read_plan_files(PlanFiles(plan=shared / "trex-examples" / f"{name}.graph.json"))
    every = json.loads((shared / "goldens.json").read_bytes())["plans"]
    return name, PlanView(read.plan, read.profile), every[name]


def test_sums_of_trex(golden) -> None:
    name, view, figures = golden
    card = figures["report_card"]

    def trex(of: str) -> float:
        return card[of][0]["sum_y"]

    whole = trex("perf_overview/Latency per layer (ms)")
    every = chart_of(view, "latency-per-layer", top=1_000)
    assert sum(row["value"] for row in rows_of(every)) == pytest.approx(whole)
    assert sum(row["share"] for row in rows_of(every)) == pytest.approx(100.0)
    weights = trex("memory_footprint/Weights footprint per layer") + WEIGHTS_BYTES.get(name, 0)
    activations = trex("memory_footprint/Activation footprint per layer")
    largest = rows_of(chart_of(view, "footprint-per-layer", top=1_000))
    assert sum(row["value"] for row in largest) * MIB == pytest.approx(weights + activations)


def test_types_and_precisions_of_trex(golden) -> None:
    _, view, figures = golden
    split = rows_of(chart_of(view, "latency-per-type"))

    def by_type(field: str) -> dict[str, float]:
        sums: dict[str, float] = {}
        for row in split:
            sums[row["type"]] = sums.get(row["type"], 0) + (row[field] or 0)
        return sums

    assert by_type("layers") == figures["count_by_type"]
    assert by_type("value") == pytest.approx(figures["latency_avg_by_type"])
    assert by_type("share") == pytest.approx(figures["latency_pct_by_type"], abs=1e-3)
    parts = rows_of(chart_of(view, "precision-rollup"))
    of_time = {row["group"]: row["value"] for row in parts if row["label"] == "time"}
    assert of_time == pytest.approx(figures["latency_pct_by_precision"], abs=1e-3)
    layers: dict[str, int] = {}
    for row in split:
        layers[row["group"]] = layers.get(row["group"], 0) + row["layers"]
    assert layers == figures["count_by_precision"]


def test_convolutions_of_trex(golden) -> None:
    name, view, figures = golden
    if name not in WHOLE_CONVOLUTIONS:
        pytest.skip("trex leaves a convolution of this plan out")
    card = figures["report_card"]
    points = rows_of(chart_of(view, "scatter", x="macs", y="time", kinds=CONVOLUTIONS))
    assert len(points) == figures["convs"]["n"]
    macs = card["convolutions_overview/Fused Multiply-Accumulate (FMAs)"][0]["sum_y"]
    assert sum(one["x"] for one in points) * 1e6 == pytest.approx(macs)
    share = card["convolutions_overview/Latency per convolution (color = precision)"][0]["sum_y"]
    rows = rows_of(chart_of(view, "latency-per-layer", top=1_000, kinds=CONVOLUTIONS))
    assert sum(row["share"] for row in rows) == pytest.approx(share, abs=1e-3)
    rates = card["convolutions_overview/Compute efficiency (color = latency)"][0]["sum_y"]
    points = rows_of(chart_of(view, "scatter", x="intensity", y="compute", kinds=CONVOLUTIONS))
    assert sum(one["y"] for one in points) * 1e6 == pytest.approx(rates)


@pytest.mark.parametrize(
    "view",
    [small_view(), small_view(timed=False), large_view(3_000)],
    ids=["small", "bare", "large"],
)
def test_every_chart_is_whole(view: PlanView) -> None:
    converter = pytest.importorskip("vl_convert")
    for name, chart in every_chart(view).items():
        text = json.dumps(chart.complete(width=600), allow_nan=False)
        assert chart.key == name or name == "scatter"
        assert len(text) < 300_000, name
        assert {len(row) for row in chart.table.rows} == {len(chart.table.headers)}, name
        svg = converter.vegalite_to_svg(
            vl_spec=chart.complete(width=600), vl_version="6.1", config=chart_config(LIGHT)
        )
        for wrong in ("NaN", "undefined", "Infinity", "null"):
            assert wrong not in svg, (name, wrong)
        encoding = chart.spec.get("layer", [chart.spec])[0]["encoding"]
        for axis in ("x", "y"):
            labelled = encoding[axis].get("title") or "labelExpr" in encoding[axis].get("axis", {})
            assert labelled, (name, axis)


def test_charts_compile_in_the_dark_and_large_plans_have_few_marks() -> None:
    converter = pytest.importorskip("vl_convert")
    for chart in every_chart(small_view()).values():
        converter.vegalite_to_vega(
            vl_spec=chart.complete(), vl_version="6.1", config=chart_config(DARK)
        )
    for name, chart in every_chart(large_view(8_000)).items():
        assert len(rows_of(chart)) <= 3_600, name
        assert len(chart.table.rows) <= 251, name


def test_what_needs_times_is_left_out_without_them() -> None:
    timed, bare = set(every_chart(small_view())), set(every_chart(small_view(timed=False)))
    assert timed - bare == {"latency-per-layer", "scatter"}
    chart = chart_of(small_view(timed=False), "latency-per-type")
    assert chart.title == "Layers by type, split by precision"
    assert sum(row["value"] for row in rows_of(chart)) == 4


def test_the_slowest_and_any_two_quantities() -> None:
    chart = chart_of(small_view(), "latency-per-layer", top=2)
    assert [row["label"] for row in rows_of(chart)] == ["conv", "depthwise"]
    assert chart.subtitle[0].startswith("The 2 slowest of 4 timed layers: 80.0 % of the sum")
    figures = [row["text"] for row in chart.spec["layer"][1]["data"]["values"]]
    assert figures == [f"{1e3 * row['value']:.0f} µs" for row in rows_of(chart)]
    chart = chart_of(small_view(), "scatter", x="macs", y="bandwidth", kinds={"Convolution"})
    assert len(rows_of(chart)) == 2
    assert chart.key == "macs-bandwidth"
    assert chart.title == "Memory rate against multiply-accumulates"
    with pytest.raises(UsageError, match="not a quantity"):
        chart_of(small_view(), "scatter", x="tim")


def test_colours_are_those_of_the_palette() -> None:
    scale = chart_of(small_view(), "latency-per-layer").spec["layer"][0]["encoding"]["color"][
        "scale"
    ]
    assert dict(zip(scale["domain"], scale["range"], strict=True)) == {
        name: PRECISIONS[name] for name in ("INT8", "FP32", "FP16")
    }
    some = chart_of(small_view(), "latency-per-layer", kinds=CONVOLUTIONS)
    assert {row["type"] for row in rows_of(some)} == {"Convolution"}


def test_names_stay_names_and_unknown_numbers_are_no_0() -> None:
    view = view_of(layer(0, EVIL, EVIL, [], []), times={EVIL: 1.0})
    for name in ("latency-per-layer", "latency-per-type"):
        assert EVIL in json.dumps(chart_of(view, name).complete()), name
    rows, tips = with_tips([{"macs": 0.018432}, {"macs": None}], {"macs": "million MACs#"})
    assert [one["field"] for one in tips] == ["macs_text"]
    assert [row["macs_text"] for row in rows] == ["0.0184320", "—"]


def test_live_activations_name_the_peak() -> None:
    chart = chart_of(small_view(), "live-activations")
    assert chart.title == "Memory at each layer: at most 1.50 KiB, at layer 3"
    assert max(row["y"] for row in rows_of(chart)) * MIB == 1536
    assert "depthwise" in chart.subtitle[0]


def test_words() -> None:
    assert counted(1, "layer") == "1 layer"
    assert counted(1_234, "layer") == "1,234 layers"
    table = table_of_tips([{"a": at, "b": None} for at in range(300)], {"a": "a#", "b": "b"})
    assert table.headers == ("A", "B")
    assert table.rows[1] == ("1", "—")
    assert table.rows[-1] == ("… 50 more", "")
    assert len(table.rows) == 251
