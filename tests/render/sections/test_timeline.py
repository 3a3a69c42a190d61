"""The time line of a request, by its stamps."""

from enginescope.render.sections.measurement import request_timeline
from tests.analysis.runs.test_time_line import trace


def marks(chart):
    inner = chart.spec["layer"][0]
    return inner["data"]["values"]


def test_a_typical_request_stands_between_its_neighbors() -> None:
    assert request_timeline(None) is None
    chart = request_timeline(trace([2.0, 2.0, 9.0, 2.0, 2.0, 2.0, 2.0]))
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
    assert "differ by at least 0.250 ms" in late.subtitle[1]
    assert {one["lane"] for one in marks(late)} == {"enqueue (host)", "H2D", "compute"}
