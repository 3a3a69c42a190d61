"""Series whose true quantiles are known: independent, dependent, heavy-tailed, with two levels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

Draw = Callable[[np.random.Generator, int, int], np.ndarray]
_NORMAL = NormalDist()


@dataclass(frozen=True)
class Kind:
    """A way to draw series, and what their quantiles truly are.

    Attributes:
    ----------
    name : str
    draw : callable
        (generator, how many series, samples in each) to an array of shape (series, samples).
    quantile : callable
        Of 0…1, to the true value.
    """

    name: str
    draw: Draw
    quantile: Callable[[float], float]


def autoregressive(rng: np.random.Generator, series: int, n: int, phi: float) -> np.ndarray:
    """Return stationary AR(1) series of unit variance."""
    shocks = rng.standard_normal((n, series)) * (1 - phi * phi) ** 0.5
    values = np.empty((n, series))
    state = rng.standard_normal(series)
    for i in range(n):
        state = phi * state + shocks[i]
        values[i] = state
    return values.T


def two_levels(rng: np.random.Generator, series: int, n: int, dwell: float | None) -> np.ndarray:
    """Return 1 for 70 % and 1.05 for 30 % of the samples, each with 0.5 % of noise.

    `dwell` is how many samples a visit to the lower level lasts on average; ``None``: each sample
    is at one or the other at random.
    """
    if dwell is None:
        high = rng.random((series, n)) < 0.3
    else:
        leave = np.array([1 / dwell, 0.7 / 0.3 / dwell])
        state = (rng.random(series) < 0.3).astype(int)
        high = np.empty((n, series), dtype=bool)
        for i in range(n):
            state = state ^ (rng.random(series) < leave[state])
            high[i] = state
        high = high.T
    return np.where(high, 1.05, 1.0) + 0.005 * rng.standard_normal((series, n))


def _two_level_quantile(q: float) -> float:
    low, high = 0.9, 1.2
    for _ in range(80):
        middle = (low + high) / 2
        below = 0.7 * _NORMAL.cdf((middle - 1) / 0.005) + 0.3 * _NORMAL.cdf((middle - 1.05) / 0.005)
        low, high = (middle, high) if below < q else (low, middle)
    return low


def _ar(name: str, phi: float) -> Kind:
    return Kind(name, lambda rng, m, n: autoregressive(rng, m, n, phi), _NORMAL.inv_cdf)


KINDS = (
    Kind("normal", lambda rng, m, n: rng.standard_normal((m, n)), _NORMAL.inv_cdf),
    _ar("AR(1) 0.5", 0.5),
    _ar("AR(1) 0.9", 0.9),
    _ar("AR(1) 0.99", 0.99),
    _ar("AR(1) -0.7", -0.7),
    Kind(
        "lognormal",
        lambda rng, m, n: rng.lognormal(size=(m, n)),
        lambda q: float(np.exp(_NORMAL.inv_cdf(q))),
    ),
    Kind(
        "lognormal, AR(1) 0.9",
        lambda rng, m, n: np.exp(autoregressive(rng, m, n, 0.9)),
        lambda q: float(np.exp(_NORMAL.inv_cdf(q))),
    ),
    Kind(
        "Student t, 2 degrees",
        lambda rng, m, n: rng.standard_t(2, (m, n)),
        lambda q: (2 * q - 1) / (2 * q * (1 - q)) ** 0.5,
    ),
    Kind("two levels", lambda rng, m, n: two_levels(rng, m, n, None), _two_level_quantile),
    Kind(
        "two levels, 35 samples a visit",
        lambda rng, m, n: two_levels(rng, m, n, 35.0),
        _two_level_quantile,
    ),
    Kind(
        "AR(1) 0.99 under white noise",
        lambda rng, m, n: (
            (0.5 * autoregressive(rng, m, n, 0.99) + rng.standard_normal((m, n))) / 1.25**0.5
        ),
        _NORMAL.inv_cdf,
    ),
)
