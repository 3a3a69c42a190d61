import pytest

from enginescope.analysis.report_card.card_data import precision_rollup
from tests.analysis.card_plans import small_view


def test_each_measure_is_shared_out_whole() -> None:
    parts = precision_rollup(small_view().facts)
    shares = {(one.measure, one.precision): one.share_pct for one in parts}
    assert shares["layers", "INT8"] == 50.0
    assert shares["time", "INT8"] == pytest.approx(80.0)
    assert ("MACs", "FP32") not in shares
    for measure in {one.measure for one in parts}:
        assert sum(one.share_pct for one in parts if one.measure == measure) == pytest.approx(100)
    weights = {one.precision: one.value for one in parts if one.measure == "weights"}
    assert weights == {"INT8": 4 * 8 * 9 + 8 * 9, "FP16": 512 * 10 * 2}


def test_no_times_no_measure_of_time() -> None:
    assert "time" not in {one.measure for one in precision_rollup(small_view(timed=False).facts)}
