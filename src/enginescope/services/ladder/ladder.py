"""``ladder``: why is my number not trtexec's?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from enginescope.analysis.ladder.figures import counting_rounds
from enginescope.analysis.ladder.placement import placed
from enginescope.analysis.ladder.rungs import Figures, climb
from enginescope.analysis.verdicts.evidence import evidence_level
from enginescope.backends.registry import read_spec
from enginescope.core.record import Record, replace
from enginescope.judge.notice import Notice
from enginescope.records.run.job import Limits, Workload
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.records.verdict.ladder import LadderReport, LadderSum, RungKey
from enginescope.runner.jobs import subject_of, usual_backend
from enginescope.services.ladder.request import (
    LEAST_SIDES,
    ROUNDS,
    STREAMS,
    LadderRequest,
    check_ladder_request,
)
from enginescope.services.ladder.ways import Ladder, Way, ladder_for
from enginescope.services.measurement.interleaved import paced_workload
from enginescope.services.measurement.jobs import jobs_of, raise_unless_ok
from enginescope.services.measurement.merged_notices import merged_notices
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.measurement.rounds import Pacing, is_given_up, keep_rounds
from enginescope.services.own_command import stored_fields
from enginescope.services.store_access import writable_store

if TYPE_CHECKING:
    from enginescope.store.archive import Store


class Side(Record, frozen=True, kw_only=True):
    """A way to measure, and the runs of its processes."""

    way: Way
    runs: tuple[Run, ...]

    @property
    def measured(self) -> tuple[Run, ...]:
        """The processes that went well."""
        return tuple(run for run in self.runs if run.outcome.kind is OutcomeKind.OK)


class Rounds(Record, frozen=True, kw_only=True):
    """Interleaved sides, and sides that failed and were left out."""

    sides: tuple[Side, ...]
    failed: tuple[Side, ...]
    notices: tuple[Notice, ...] = ()


def climb_ladder(request: LadderRequest, observer: MeasurementObserver) -> LadderReport:
    """Measure a model in all ways of its backend, interleaved in rounds of fresh processes.

    Raises:
        UsageError, MissingDependencyError: The request contradicts itself or the model, the backend
            has no ladder, or as `jobs_of`.
        UnsupportedError, BackendError: No way succeeded.
        StoreError: The store cannot be written; nothing is measured then.
    """
    check_ladder_request(request)
    store = writable_store(request.store)
    subject = subject_of(request.model)
    backend = request.backend or usual_backend(request.model)
    ladder = ladder_for(read_spec(backend), request.streams, is_engine=subject.kind == "engine")
    rounds = _measured(ladder, backend, request, store, observer)
    if not rounds.sides:
        raise_unless_ok(rounds.failed[0].runs[-1])
    report = _report(ladder, rounds)
    return replace(
        report,
        model=subject.name,
        backend=backend,
        mine=placed(request.mine, report.rungs) if request.mine else None,
        command=request.command,
    )


def _measured(
    ladder: Ladder,
    backend: str,
    request: LadderRequest,
    store: Store,
    observer: MeasurementObserver,
) -> Rounds:
    """Measure rounds; without a side that fails, the others begin again."""
    job_request = request.jobs(request.model)
    pacing = Pacing(looks=(request.rounds,), profiles_each=True, seed=request.workload.seed)
    left = [
        (way, way.job_of(job))
        for way in ladder.ways
        for job in jobs_of(replace(job_request, backends=(way.backend or backend,)), store)
    ]
    failed: tuple[Side, ...] = ()
    while True:
        jobs = tuple(job for _, job in left)
        measured, _ = keep_rounds(jobs, pacing, job_request, store, observer)
        sides = [
            Side(way=way, runs=runs) for (way, _), runs in zip(left, measured.sides, strict=True)
        ]
        hopeless = tuple(side for side in sides if is_given_up(side.runs))
        left = [(way, job) for way, job in left if way not in [side.way for side in hopeless]]
        if not hopeless or len(left) < LEAST_SIDES:
            good = tuple(side for side in sides if side.measured)
            bad = (side for side in sides if not side.measured)
            notices = tuple(measured.notices())
            return Rounds(sides=good, failed=(*failed, *bad), notices=notices)
        failed += hopeless


def _report(ladder: Ladder, rounds: Rounds) -> LadderReport:
    sides = [side.runs for side in rounds.sides]
    measured = [run for side in rounds.sides for run in side.measured]
    counting, turn = counting_rounds(sides), sides[0][0].turn
    reasons = _reasons(rounds)
    rungs = [replace(rung, why=rung.why or reasons.get(rung.key)) for rung in ladder.rungs]
    climbed = climb(rungs, _figures(rounds.sides, counting))
    return LadderReport(
        model="",
        backend="",
        rungs=climbed.rungs,
        steps=climbed.steps,
        sums=climbed.sums,
        rounds=len(counting),
        measured_rounds=max(len({run.turn and run.turn.round for run in runs}) for runs in sides),
        evidence=evidence_level(*sides),
        comparison=turn.comparison if turn else None,
        notices=(*rounds.notices, *_gaps(climbed.sums), *merged_notices(measured)),
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
    )


def _figures(sides: Sequence[Side], counting: Sequence[int]) -> dict[RungKey, Figures]:
    """Return the figures of each rung that has any, by round."""
    by_rung: dict[RungKey, Figures] = {}
    for side in sides:
        for key, read in side.way.readers.items():
            figures = {
                run.turn.round: value
                for run in side.measured
                if run.turn and run.turn.round in counting and (value := read(run)) is not None
            }
            by_rung |= {key: figures} if figures else {}
    return by_rung


#: Notices of a run that say why a rung has no figure.
_WHY = {
    RungKey.GRAPH: ("W-NO-CUDA-GRAPH",),
    RungKey.LAYERS: ("W-NO-LAYERS", "W-HOST-NODE-TIMES"),
}


def _reasons(rounds: Rounds) -> dict[RungKey, str]:
    """Return why a rung would have no figure: what its last process said."""
    why: dict[RungKey, str] = {}
    for side in (*rounds.sides, *rounds.failed):
        last = side.runs[-1]
        for key in side.way.readers:
            codes = _WHY.get(key, ())
            reasons = (notice.message for notice in last.notices if notice.code in codes)
            failure = last.outcome.message or last.outcome.kind.value
            is_ok = last.outcome.kind is OutcomeKind.OK
            why[key] = next(reasons, "its processes have no such figure" if is_ok else failure)
    return why


def _gaps(sums: Sequence[LadderSum]) -> Iterator[Notice]:
    """Yield a warning for each sum of steps that is not the whole."""
    for total in sums:
        whole = total.whole
        if total.is_consistent is False:
            yield Notice(
                code="W-LADDER-SUM",
                message=f"the steps from {whole.base.value} to {whole.to.value} add up to "
                f"{total.steps_ms:.4g} ms, and the whole is {whole.value_ms:.4g} ms: the "
                "intervals do not overlap",
                evidence={"steps_ms": total.steps_ms, "whole_ms": whole.value_ms},
            )


def ladder(
    model: str | PathLike[str],
    *,
    on: str | None = None,
    mine: str | float | None = None,
    rounds: int = ROUNDS,
    streams: int = STREAMS,
    workload: Workload | None = None,
    limits: Limits | None = None,
    tags: Sequence[str] = (),
    store: str | PathLike[str] | None = None,
) -> LadderReport:
    """Measure a query in all ways, from its layers to a client's call, and the steps between them.

    Answers why one tool's number is not another's.

    Args:
        model: An ONNX model or an engine.
        on: TensorRT or ONNX Runtime; by default ``"ort-cpu"``, or ``"trt"`` for an engine.
        mine: A latency to place on the ladder: milliseconds, or ``"1.9ms"``, whose digits say how
            precise it is.
        rounds: Rounds of fresh processes that count, 3 to 1,000.
        streams: Streams, or requests in flight, of the rung with several: 3 to 64.
        workload: As for `bench_interleaved`; its mode is not used.
        limits: Of each process.
        tags: Names for the runs in the store.
        store: Where the runs are stored.

    Returns:
        ``report.rungs``, ``report.steps`` and ``report.mine.nearest``.

    Raises:
        UsageError: The backend has no ladder, or a request contradicts the model.
        BackendError: No way to measure succeeded.
    """
    request = LadderRequest(
        model=Path(model),
        backend=on,
        mine=mine if isinstance(mine, str) or mine is None else f"{mine!r}ms",
        rounds=rounds,
        streams=streams,
        workload=paced_workload(workload),
        process_limits=limits,
        **stored_fields(tags, store),
    )
    return climb_ladder(request, MeasurementObserver())
