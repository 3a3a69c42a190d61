import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginescope.analysis.claims.layer_claims import profiler_cost
from enginescope.records.plan.plan import Profile

PROFILE = Profile(source="trtexec", layers=())


def test_each_layer_pays_the_same_up_to_what_was_measured() -> None:
    cost = profiler_cost(PROFILE, (0.004, 0.010, 0.006), 0.014)
    assert (cost.per_layer_ms, cost.scale) == (pytest.approx(0.002), 1.0)
    assert cost.own_ms(0.010) == pytest.approx(0.008)
    cost = profiler_cost(PROFILE, (0.1, 0.2), 0.15)
    assert cost.per_layer_ms == 0.00234
    assert cost.own_ms(0.1) + cost.own_ms(0.2) == pytest.approx(0.15)
    # 105 layers of ResNet-50 add up to 0.692 ms; the engine takes 0.4441 ms without a profiler.
    cost = profiler_cost(PROFILE, [0.692 / 105] * 105, 0.4441)
    assert cost.per_layer_ms == 0.00234
    assert cost.scale > 0.98  # nearly all of the difference is the events'


@pytest.mark.parametrize("whole_ms", [None, 0.31, 0.4])
def test_it_cannot_be_estimated(whole_ms: float | None) -> None:
    assert profiler_cost(PROFILE, (0.1, 0.2), whole_ms) is None


@given(st.lists(st.floats(1e-6, 10), min_size=1, max_size=20), st.floats(1e-3, 10))
def test_own_times_never_add_up_to_more_than_the_engine(times: list[float], whole: float) -> None:
    cost = profiler_cost(PROFILE, times, whole)
    if cost is not None:
        assert sum(map(cost.own_ms, times)) <= whole * (1 + 1e-9)
        assert all(0 <= cost.own_ms(one) <= one for one in times)
