import pytest

from enginescope.analysis.report_card.card_data import (
    MOST_POINTS,
    QUANTITIES,
    clusters,
    group_layers,
    precision_rollup,
    quantity_named,
)
from enginescope.core.errors import UsageError
from tests.analysis.card_plans import TIMES, layer, small_view, tensor, view_of

TIME, FOOTPRINT = QUANTITIES["time"].value, QUANTITIES["footprint"].value


def test_few_layers_are_points_of_their_own_and_what_has_no_place_is_counted() -> None:
    found = clusters(small_view().facts, FOOTPRINT, TIME, lambda row: row.precision)
    names = [one.example.layer.name for one in found.points]
    assert names == ["quantise", "conv", "depthwise", "fc"]
    conv = found.points[1]
    assert (conv.key, conv.layers, conv.y, conv.time_ms) == ("INT8", 1, 0.5, 0.5)
    assert (conv.x, found.left_out) == ((256 + 512 + 4 * 8 * 9) / 2**20, 0)
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


def test_groups_add_up_and_come_by_time_else_by_number() -> None:
    groups = group_layers(small_view().facts, lambda row: row.layer.type)
    assert [one.key for one in groups] == ["Convolution", "Reformat", "gemm"]
    first = groups[0]
    assert (first.layers, first.timed) == (2, 2)
    assert (first.time_ms, first.share_pct) == (pytest.approx(0.8), pytest.approx(80.0))
    assert sum(one.time_ms for one in groups) == pytest.approx(sum(TIMES.values()))
    groups = group_layers(small_view(timed=False).facts, lambda row: row.layer.type)
    assert groups[0].key == "Convolution"
    assert {(one.time_ms, one.share_pct, one.timed) for one in groups} == {(None, None, 0)}


def test_each_quantity_is_its_column_and_each_measure_shared_out_whole() -> None:
    view = small_view()
    columns = view.columns()
    units = {"macs": 1e6, "compute": 1e6, "bandwidth": 1e6}
    for name, one in QUANTITIES.items():
        unit = 2**20 if name in {"weights", "activations", "footprint"} else units.get(name, 1)
        for row, value in zip(view.facts, columns[one.column], strict=True):
            assert one.value(row) == (None if value is None else pytest.approx(value / unit))
    with pytest.raises(UsageError, match="not a quantity") as caught:
        quantity_named("footprnt")
    assert "footprint" in caught.value.hint
    assert "time" not in {one.measure for one in precision_rollup(small_view(timed=False).facts)}
    parts = precision_rollup(small_view().facts)
    shares = {(one.measure, one.precision): one.share_pct for one in parts}
    assert (shares["layers", "INT8"], shares["time", "INT8"]) == (50.0, pytest.approx(80.0))
    assert ("MACs", "FP32") not in shares
    for measure in {one.measure for one in parts}:
        assert sum(one.share_pct for one in parts if one.measure == measure) == pytest.approx(100)
    weights = {one.precision: one.value for one in parts if one.measure == "weights"}
    assert weights == {"INT8": 4 * 8 * 9 + 8 * 9, "FP16": 512 * 10 * 2}
