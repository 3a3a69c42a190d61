import pytest

from enginescope.analysis.report_card.card_data import MOST_POINTS, QUANTITIES, clusters
from tests.analysis.card_plans import layer, small_view, tensor, view_of

TIME, FOOTPRINT = QUANTITIES["time"].value, QUANTITIES["footprint"].value


def test_few_layers_are_points_of_their_own() -> None:
    view = small_view()
    found = clusters(view.facts, FOOTPRINT, TIME, lambda row: row.precision)
    assert [one.example.layer.name for one in found.points] == [
        "quantise",
        "conv",
        "depthwise",
        "fc",
    ]
    conv = found.points[1]
    assert (conv.key, conv.layers, conv.y, conv.time_ms) == ("INT8", 1, 0.5, 0.5)
    assert conv.x == (256 + 512 + 4 * 8 * 9) / 2**20
    assert found.left_out == 0


def test_what_has_no_place_is_counted() -> None:
    found = clusters(small_view().facts, QUANTITIES["macs"].value, TIME, lambda _: "")
    assert (len(found.points), found.left_out) == (3, 1)
    assert clusters(small_view(timed=False).facts, FOOTPRINT, TIME, lambda _: "").left_out == 4


def test_many_layers_share_points_and_lose_no_time() -> None:
    names = [f"l{at}" for at in range(3_000)]
    layers = [
        layer(at, name, "A", [tensor(f"t{at}", 1 + at)], [tensor(f"u{at}", 1 + at)])
        for at, name in enumerate(names)
    ]
    view = view_of(*layers, times={name: 0.01 * (1 + at % 97) for at, name in enumerate(names)})
    found = clusters(view.facts, FOOTPRINT, TIME, lambda _: "all")
    assert len(found.points) <= MOST_POINTS
    assert sum(one.layers for one in found.points) == 3_000
    assert sum(one.time_ms for one in found.points) == pytest.approx(view.total_ms)
    low, high = min(map(FOOTPRINT, view.facts)), max(map(FOOTPRINT, view.facts))
    assert all(low * 0.999 <= one.x <= high * 1.001 for one in found.points)
