"""Name the evidence below a comparison of two sides."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.analysis.verdicts.printed_verdicts import is_printed_only
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.records.verdict.evidence import EvidenceLevel


def evidence_level(*sides: Sequence[Run]) -> EvidenceLevel | None:
    """Return the level of the weaker side; ``None`` if a side has no run that succeeded.

    Processes are independent builds if they are interleaved and each made its own engine. ONNX
    Runtime optimizes a model anew in each process, so each of its sessions is a build.
    """
    good = [[run for run in side if run.outcome.kind is OutcomeKind.OK] for side in sides]
    if not all(good):
        return None
    if any(map(is_printed_only, good)):
        return EvidenceLevel.PRINTED
    if min(map(len, good)) == 1:
        return EvidenceLevel.SAMPLES
    comparisons = {run.turn.comparison if run.turn else None for side in good for run in side}
    if len(comparisons) > 1 or None in comparisons:
        return EvidenceLevel.PROCESSES
    is_built = all(is_own_build(run) for side in good for run in side)
    return EvidenceLevel.BUILDS if is_built else EvidenceLevel.INTERLEAVED


def is_own_build(run: Run) -> bool:
    """Whether a process made the build that it ran."""
    if run.build is not None:
        return not run.build.from_cache
    if not run.job.backend.name.startswith("ort") or run.job.subject.kind != "onnx":
        return False
    ready = run.preparation  # sessions optimize a converted model too, but not what was kept
    return ready is None or not (
        ready.provider_options or any(one.kind == "optimized" for one in ready.made)
    )
