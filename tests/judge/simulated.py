"""Sides whose measurements are drawn: one median a round."""

from dataclasses import dataclass, field

import numpy as np

from enginescope.judge.experiment import Measured
from enginescope.judge.samples import frozen
from enginescope.judge.verdict import EvidenceLevel


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
