"""Time lines: layers in lanes on one scale, a request by its stamps."""

from enginescope.analysis.layers.layer_table import LayerRow
from enginescope.render.sections.timeline import layer_timeline, request_timeline
from tests.analysis.runs.test_time_line import trace


def marks(chart):
    inner = chart.spec["layer"][0]
    return inner["data"]["values"]


def test_layers_of_a_kind_share_a_lane_on_one_scale() -> None:
    rows = (
        LayerRow(index=4, name="conv", type="Convolution", time_ms=3.0, in_plan=True),
        LayerRow(index=5, name="copy", type="Reformat", time_ms=1.0, in_plan=True),
        LayerRow(index=6, name="conv2", type="Convolution", time_ms=2.0, in_plan=True),
        LayerRow(index=0, name="stray", type="Convolution", time_ms=2.0),
    )
    chart = layer_timeline(rows, {4: 0, 5: 2, 6: 1})
    assert chart is not None
    assert chart.title == "One inference: 4 layers in 8.000 ms"
    assert "with the profiler's part, laid end to end" in chart.subtitle[0]
    own = layer_timeline(rows, {}, is_own=True)
    assert own is not None
    assert own.subtitle[0].startswith("Own times laid end to end")
    found = [(one["lane"], one["name"], one["start"], one["end"]) for one in marks(chart)]
    assert found == [
        ("convolution", "conv", 0, 3),
        ("convolution", "conv2", 4, 6),
        ("convolution", "stray", 6, 8),
        ("moving data", "copy", 3, 4),
    ]
    assert [one.get("place") for one in marks(chart)] == [0, 1, None, 2]
    assert chart.height == 48


def test_layers_with_stamps_keep_their_gaps() -> None:
    rows = (
        LayerRow(index=0, name="conv", type="Conv", time_ms=3.0, start_ms=0.0),
        LayerRow(index=1, name="add", type="Add", time_ms=1.0, start_ms=4.0),
    )
    chart = layer_timeline(rows, {})
    assert chart is not None
    assert chart.title == "One inference: 2 layers in 5.000 ms"
    assert chart.subtitle[0].startswith("Starts and times of the profile; gaps are ")
    assert {(one["name"], one["start"], one["share"]) for one in marks(chart)} == {
        ("conv", 0.0, 75.0),
        ("add", 4.0, 25.0),
    }


def test_layers_too_narrow_to_see_are_one_mark_that_counts_them() -> None:
    rows = [
        LayerRow(index=at, name=f"layer{at}", type="Convolution", time_ms=1.0, in_plan=True)
        for at in range(10_000)
    ]
    chart = layer_timeline(rows, {})
    assert chart is not None
    found = marks(chart)
    assert len(found) == 2_000
    assert {one["name"] for one in found} == {"5 layers"}
    assert sum(one["ms"] for one in found) == 10_000
    assert found[-1]["end"] == 10_000


def test_no_times_no_time_line() -> None:
    assert layer_timeline((LayerRow(index=0, name="a"),), {}) is None
    assert request_timeline(None) is None


def test_a_typical_request_stands_between_its_neighbors() -> None:
    chart = request_timeline(trace([2.0, 2.0, 9.0, 2.0, 2.0, 2.0, 2.0]))
    assert chart is not None
    assert chart.title == "One request of 7: 3.00 ms, compute 66.7 % of it"
    found = marks(chart)
    assert {one["request"] for one in found} == {f"{at} of 7" for at in (2, 3, 4, 5, 6)}
    own = [one for one in found if one["request"] == "4 of 7"]
    assert [(one["lane"], round(one["start"], 6), round(one["end"], 6)) for one in own] == [
        ("enqueue (host)", 0, 0),
        ("H2D", 0.2, 1.2),
        ("compute", 1.2, 3.2),
    ]
    assert len({one["fill"] for one in own}) == 1
    assert not {one["fill"] for one in own} & {one["fill"] for one in found if one not in own}
    assert len(chart.subtitle) == 1
    late = request_timeline(trace([2.0] * 5, enqueue_at=0.25, stream=1.0))
    assert late is not None
    assert "differ by at least 0.250 ms" in late.subtitle[1]
    assert {one["lane"] for one in marks(late)} == {"enqueue (host)", "H2D", "compute"}
