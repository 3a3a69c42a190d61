import numpy as np
import pytest

from enginescope.analysis.claims.run_claims import usability
from enginescope.judge.notice import Notice
from enginescope.judge.stats.describe import describe_values

STEADY = 1 + 0.01 * np.random.default_rng(1).standard_normal(400)
LOAD = Notice(code="W-LOAD", message="other programs used 2 cores", evidence={"unstable": True})
DRIFT = Notice(code="W-DRIFT", message="latency drifts")
NOTE = Notice(code="I-OUTLIERS", message="3 samples are outliers", level="info")


def test_a_steady_run_is_usable_and_the_worst_reason_comes_first() -> None:
    assert str(usability(describe_values(STEADY), [NOTE])) == "usable"
    found = usability(describe_values(STEADY), [DRIFT, LOAD])
    assert [one.code for one in found.harms] == ["W-LOAD", "W-DRIFT"]
    assert str(found) == "not usable: W-LOAD; and 1 more"  # its message is among the notices
    assert usability(describe_values(STEADY), [DRIFT]).verdict == "rough"


def test_a_known_median_of_a_wide_distribution_does_not_make_a_run_usable() -> None:
    """Known to ±0.46 %, with a mean of 4.5 medians."""
    values = STEADY.copy()
    values[::10] = 36.0
    found = usability(describe_values(values), [])
    assert found.verdict == "not usable"
    assert "the mean is 4.5 × the median" in str(found)
    values[::10] = 3.0
    assert usability(describe_values(values), []).verdict == "rough"


@pytest.mark.parametrize("values", [[1.0, 1.1, 1.2], np.arange(1.0, 100.0)])
def test_a_median_that_nothing_is_known_of_is_not_usable(values) -> None:
    assert usability(describe_values(values), []).verdict == "not usable"
