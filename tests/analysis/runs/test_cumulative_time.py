import pytest

from enginescope.analysis.runs.latency_curves import cumulative_time
from tests.analysis.card_plans import layer, small_view, view_of


def test_both_orders_end_at_the_sum() -> None:
    found = cumulative_time(small_view().facts)
    assert [one.layers for one in found.in_order] == [0, 1, 2, 3, 4]
    assert [one.time_ms for one in found.in_order] == pytest.approx([0, 0.1, 0.6, 0.9, 1.0])
    assert [one.share_pct for one in found.slowest_first] == pytest.approx([0, 50, 80, 90, 100])


def test_how_many_take_four_fifths() -> None:
    view = view_of(
        *(layer(at, f"l{at}", "A", [], []) for at in range(4)),
        times={"l0": 1.0, "l1": 1.0, "l2": 8.0, "l3": 0.1},
    )
    found = cumulative_time(view.facts)
    assert (found.most_layers, found.timed) == (2, 4)


def test_large_plans_have_few_points() -> None:
    names = [f"l{at}" for at in range(5_000)]
    view = view_of(
        *(layer(at, name, "A", [], []) for at, name in enumerate(names)),
        times=dict.fromkeys(names, 0.5),
    )
    found = cumulative_time(view.facts)
    assert len(found.in_order) <= 202
    assert (found.in_order[0].layers, found.in_order[-1].layers) == (0, 5_000)
    assert found.in_order[-1].share_pct == pytest.approx(100.0)


@pytest.mark.parametrize("times", [None, {"a": 0.0}, {"a": -1.0}])
def test_nothing_to_add_up(times) -> None:
    assert cumulative_time(view_of(layer(0, "a", "A", [], []), times=times).facts) is None
