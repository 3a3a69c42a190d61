"""How good the evidence below a verdict is."""

from __future__ import annotations

from enum import Enum


class EvidenceLevel(Enum):
    """What a verdict rests on; the weakest first."""

    PRINTED = "printed figures"
    SAMPLES = "samples of one process"
    PROCESSES = "separate processes"
    INTERLEAVED = "interleaved processes"
    BUILDS = "independent builds"
