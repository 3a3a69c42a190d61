"""How good the evidence below a verdict is."""

from __future__ import annotations

from enum import Enum


class EvidenceLevel(Enum):
    """What a verdict rests on; the weakest first.

    Attributes:
        PRINTED: A side has figures that a tool printed, and no samples.
        SAMPLES: A side has samples of one process. They do not show how processes differ.
        ONE_PROCESS: Rounds of several sides in one process, interleaved. They share its memory
            layout and its caches.
        PROCESSES: Several processes a side, measured at different times.
        INTERLEAVED: Several processes a side, which took turns in one comparison.
        BUILDS: Interleaved, and each process built its own engine.
    """

    PRINTED = "printed figures"
    SAMPLES = "samples of one process"
    ONE_PROCESS = "interleaved rounds of one process"
    PROCESSES = "separate processes"
    INTERLEAVED = "interleaved processes"
    BUILDS = "independent builds"
