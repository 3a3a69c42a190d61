"""Name the evidence below a comparison of two sides."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.analysis.verdicts.printed_verdicts import is_printed_only
from enginescope.judge.evidence import EvidenceLevel
from enginescope.records.run.run import OutcomeKind, Run


def evidence_level(*sides: Sequence[Run]) -> EvidenceLevel | None:
    """Return the level of the weaker side; ``None`` if a side has no run that succeeded.

    Processes are independent builds if they are interleaved and each built its own engine. An ONNX
    Runtime session that optimizes a model builds nothing that is kept.
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
    builds = [run.build for side in good for run in side]
    is_built = all(build is not None and not build.from_cache for build in builds)
    return EvidenceLevel.BUILDS if is_built else EvidenceLevel.INTERLEAVED


def is_own_build(run: Run) -> bool:
    """Whether a process made what it ran: an engine, or the graph that ONNX Runtime optimized."""
    if run.build is not None:
        return not run.build.from_cache
    if not run.job.backend.name.startswith("ort") or run.job.subject.kind != "onnx":
        return False
    ready = run.preparation  # sessions optimize a converted model too, but not what was kept
    return ready is None or not (
        ready.provider_options or any(one.kind == "optimized" for one in ready.made)
    )
