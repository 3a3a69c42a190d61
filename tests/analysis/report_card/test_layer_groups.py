import pytest

from enginescope.analysis.report_card.card_data import group_layers
from tests.analysis.card_plans import TIMES, small_view


def test_groups_add_up_and_come_by_time() -> None:
    groups = group_layers(small_view().facts, lambda row: row.layer.type)
    assert [one.key for one in groups] == ["Convolution", "Reformat", "gemm"]
    first = groups[0]
    assert (first.layers, first.timed) == (2, 2)
    assert first.time_ms == pytest.approx(0.8)
    assert first.share_pct == pytest.approx(80.0)
    assert sum(one.time_ms for one in groups) == pytest.approx(sum(TIMES.values()))


def test_without_times_they_come_by_number_and_nothing_is_zero() -> None:
    groups = group_layers(small_view(timed=False).facts, lambda row: row.layer.type)
    assert groups[0].key == "Convolution"
    assert {(one.time_ms, one.share_pct, one.timed) for one in groups} == {(None, None, 0)}
