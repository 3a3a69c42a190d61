"""Estimates with their intervals: one row each, the reference, colors by kind."""

from enginescope.render.charts.estimates import Estimate, estimate_chart

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


def test_one_kind_has_no_legend() -> None:
    colors = [
        chart.spec["layer"][1]["encoding"]["color"]
        for chart in (chart_of(WORSE, OPEN), chart_of(WORSE))
    ]
    assert [color["legend"] is None for color in colors] == [False, True]
    assert colors[0]["scale"]["domain"] == ["worse", "inconclusive"]


def test_without_an_interval_there_is_no_picture() -> None:
    assert chart_of(OPEN) is None
    assert chart_of() is None
