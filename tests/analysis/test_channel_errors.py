from __future__ import annotations

import numpy as np
import pytest

from enginescope.analysis import channel_errors
from enginescope.analysis.channel_errors import ChannelErrors
from tests.analysis.answers import tensor

GENERATOR = np.random.default_rng(0)


@pytest.mark.parametrize("chunk", [1, 50, 1 << 15])
@pytest.mark.parametrize(("shape", "axis"), [((2, 7, 3, 5), 1), ((4, 9), 1), ((1, 9, 8, 3), 3)])
def test_figures_by_channel_are_numpys_however_they_are_cut(
    shape, axis, chunk, monkeypatch
) -> None:
    monkeypatch.setattr(channel_errors, "CHUNK", chunk)
    a, b = GENERATOR.standard_normal((2, 3, *shape))
    a[1].flat[4] = np.nan
    found = ChannelErrors()
    for one, other in zip(a, b, strict=True):
        found.add(tensor(one), tensor(other))
    others = tuple(at for at in range(5) if at != axis + 1 and at < a.ndim)
    error = np.where(np.isnan(a), 0, b - a)
    known = np.where(np.isnan(a), 0, a)
    assert found.axis == axis
    np.testing.assert_allclose(found.rmse(), np.sqrt(np.square(error).mean(axis=others)))
    np.testing.assert_allclose(found.norms(), np.sqrt(np.square(known).mean(axis=others)))
    np.testing.assert_array_equal(found.largest(), np.abs(error).max(axis=others))


def test_samples_of_other_channels_end_it() -> None:
    found = ChannelErrors()
    found.add(tensor(np.ones((1, 4))), tensor(np.ones((1, 4))))
    found.add(tensor(np.ones((1, 5))), tensor(np.ones((1, 5))))
    assert found.rmse() == found.largest() == ()
