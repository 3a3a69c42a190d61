import itertools

import pytest

from enginescope.analysis.report_card.liveness import stretches
from tests.analysis.card_plans import layer, small_view, view_of


def test_each_layer_is_a_stretch_of_a_small_plan() -> None:
    found = stretches(small_view().facts, lambda row: row.layer.type, lambda row: row.time_ms)
    assert [(one.first, one.last) for one in found] == [(1, 1), (2, 2), (3, 3), (4, 4)]
    assert found[1].parts == (("Convolution", 0.5),)
    assert [one.largest for one in found] == ["quantise", "conv", "depthwise", "fc"]


def test_large_plans_are_cut_and_lose_nothing() -> None:
    layers = [layer(at, f"l{at}", "AB"[at % 2], [], []) for at in range(1_001)]
    view = view_of(*layers, times={f"l{at}": 1.0 + (at == 500) for at in range(1_001)})
    found = stretches(view.facts, lambda row: row.layer.type, lambda row: row.time_ms, most=100)
    assert len(found) <= 100
    assert (found[0].first, found[-1].last) == (1, 1_001)
    assert all(a.last + 1 == b.first for a, b in itertools.pairwise(found))
    assert sum(ms for one in found for _, ms in one.parts) == pytest.approx(1_002.0)
    assert next(one for one in found if one.first <= 501 <= one.last).largest == "l500"


def test_nothing_without_values() -> None:
    assert stretches(small_view(timed=False).facts, lambda _: "", lambda row: row.time_ms) == ()
