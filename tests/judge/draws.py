import numpy as np


def ar1(rng: np.random.Generator, n: int, phi: float) -> np.ndarray:
    """A stationary first-order autoregressive series of unit variance."""
    shocks = rng.standard_normal(n) * (1 - phi * phi) ** 0.5
    values = np.empty(n)
    state = rng.standard_normal()
    for i in range(n):
        state = phi * state + shocks[i]
        values[i] = state
    return values


def two_levels(rng: np.random.Generator, n: int, share: float = 0.3) -> np.ndarray:
    """1 and 1.05, the second for `share` of the samples, with 0.5 % of noise."""
    return np.where(rng.random(n) < share, 1.05, 1.0) * (1 + 0.005 * rng.standard_normal(n))
