import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from enginescope.render.charts.series import downsampled


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=300), st.integers(1, 50))
def test_blocks_lose_neither_end_of_the_range(values, buckets) -> None:
    array = np.array(values)
    found = downsampled(np.arange(array.size, dtype=float), array, buckets)
    assert min(one["low"] for one in found) == array.min()
    assert max(one["high"] for one in found) == array.max()
    assert len(found) == min(buckets, array.size)
    assert [one["x"] for one in found] == sorted({one["x"] for one in found})
