import pytest

from enginescope.analysis.layers.layer_table import LayerRow, layer_rows, slowest_first
from enginescope.records.plan.plan import Layer, LayerTiming, Plan, Profile
from tests.render.runs import imported_run


def test_nothing_gives_no_rows() -> None:
    assert layer_rows(None, None) == ()


def test_a_plan_alone_has_no_times() -> None:
    rows = layer_rows(imported_run().plan, None)
    assert [row.precision for row in rows] == ["INT8", "INT8", "FP32", "FP16"]
    assert all(row.time_ms is None and row.share_pct is None and row.in_plan for row in rows)


def test_a_profile_alone_knows_what_it_says() -> None:
    timing = LayerTiming(index=0, name="a", mean_ms=2.0, kind="Conv", provider="CPU")
    (row,) = layer_rows(None, Profile(source="onnxruntime", layers=(timing,)))
    assert row == LayerRow(
        index=0, name="a", type="Conv", provider="CPU", time_ms=2.0, share_pct=100.0
    )


def test_shares_are_of_the_sum_and_containers_have_none() -> None:
    layers = (
        LayerTiming(index=0, name="Loop", mean_ms=9.0, is_container=True),
        LayerTiming(index=1, name="a", mean_ms=1.0),
        LayerTiming(index=2, name="b", mean_ms=3.0),
    )
    rows = layer_rows(None, Profile(source="onnxruntime", layers=layers))
    assert [row.share_pct for row in rows] == [None, 25.0, 75.0]
    assert rows[0].is_container


def test_joined_rows_have_both_sides() -> None:
    run = imported_run()
    rows = layer_rows(run.plan, run.profile)
    assert rows[0].onnx_nodes == ("Conv_0", "Relu_1")
    assert rows[0].time_ms == 0.3
    assert sum(row.share_pct for row in rows) == pytest.approx(100)


def test_times_without_a_layer_come_last() -> None:
    plan = Plan(name="p", layers=(Layer(index=0, name="a", type="Convolution"),))
    timings = (
        LayerTiming(index=0, name="stranger", mean_ms=1.0),
        LayerTiming(index=1, name="a", mean_ms=2.0),
    )
    rows = layer_rows(plan, Profile(source="trtexec", layers=timings))
    assert [(row.name, row.in_plan, row.time_ms) for row in rows] == [
        ("a", True, 2.0),
        ("stranger", False, 1.0),
    ]


def test_a_plan_of_names_only_has_no_types() -> None:
    plan = Plan(name="p", layers=(Layer(index=0, name="a"),), source_schema="names-only")
    (row,) = layer_rows(plan, None)
    assert row.type is None


def test_slowest_first_leaves_untimed_rows_last() -> None:
    rows = tuple(
        LayerRow(index=i, name=str(i), time_ms=time)
        for i, time in enumerate((None, 1.0, 3.0, 0.0, None))
    )
    assert [row.index for row in slowest_first(rows)] == [2, 1, 3, 0, 4]
