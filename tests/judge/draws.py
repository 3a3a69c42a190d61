"""Series and sides whose values are drawn."""

from dataclasses import dataclass, field

import numpy as np

from enginescope.judge.experiment import Measured
from enginescope.judge.samples import frozen
from enginescope.judge.verdict import EvidenceLevel


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


@dataclass
class Drawn:
    """A side with log-normal variation between rounds."""

    name: str
    level_ms: float
    seed: int
    sd: float = 0.02
    evidence: EvidenceLevel = EvidenceLevel.INTERLEAVED
    measured: int = 0
    _draw: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self._draw = np.random.default_rng(self.seed)

    def measure(self, round_number: int, seconds: float) -> Measured[dict]:
        self.measured += 1
        median = self.level_ms * np.exp(self._draw.normal(0, self.sd))
        return Measured(source={}, values=frozen([median]))
