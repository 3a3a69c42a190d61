"""``ladder``: why is my number not trtexec's?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path

from enginescope.analysis.ladder.rungs import climb, placed, read_figure
from enginescope.analysis.verdicts.evidence import evidence_level
from enginescope.backends.registry import read_spec
from enginescope.core.record import replace
from enginescope.judge.comparison.ratio import MOST_ROUNDS
from enginescope.judge.notice import Notice
from enginescope.records.run.job import Limits, Workload
from enginescope.records.run.rounds import counting_rounds
from enginescope.records.run.run import Run
from enginescope.records.verdict.ladder import LadderReport, LadderSum, RungKey
from enginescope.runner.jobs import subject_of, usual_backend
from enginescope.services.ladder.ways import Way, ladder_for
from enginescope.services.measurement.interleaved import paced_workload
from enginescope.services.measurement.jobs import (
    LEAST_ROUNDS,
    ROUNDS,
    MeasureRequest,
    check_bounds,
    jobs_of,
    raise_unless_ok,
)
from enginescope.services.measurement.merged_notices import merged_notices
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.measurement.rounds import Pacing, is_given_up, keep_rounds
from enginescope.services.own_command import stored_fields
from enginescope.services.store_access import writable_store

#: Fewer sides have no steps between them.
_LEAST_SIDES = 2
#: Streams, or requests in flight, of the rung with several.
STREAMS = 4
LEAST_STREAMS, MOST_STREAMS = 3, 64
#: Notices of a run that say why a rung has no figure.
_WHY = {
    RungKey.GRAPH: ("W-NO-CUDA-GRAPH",),
    RungKey.LAYERS: ("W-NO-LAYERS", "W-HOST-NODE-TIMES"),
}


class LadderRequest(MeasureRequest, frozen=True, kw_only=True):
    """A model, and how to climb: the parameters of `ladder`."""

    model: Path
    backend: str | None = None
    mine: str | None = None
    rounds: int = ROUNDS
    streams: int = STREAMS


def climb_ladder(request: LadderRequest, observer: MeasurementObserver) -> LadderReport:
    """Measure a model in all ways of its backend, interleaved in rounds of fresh processes.

    Where a way fails, the others begin again without it. Raise as `ladder`, `jobs_of` and
    `writable_store`.
    """
    if request.mine is not None:
        read_figure(request.mine)
    check_bounds(
        ("rounds", request.rounds, LEAST_ROUNDS, MOST_ROUNDS),
        ("streams", request.streams, LEAST_STREAMS, MOST_STREAMS),
    )
    store = writable_store(request.store)
    subject = subject_of(request.model)
    backend = request.backend or usual_backend(request.model)
    ladder = ladder_for(read_spec(backend), request.streams, is_engine=subject.kind == "engine")
    job_request = request.jobs(request.model)
    left = [
        (way, way.job_of(job))
        for way in ladder.ways
        for job in jobs_of(replace(job_request, backends=(way.backend or backend,)), store)
    ]
    pacing = Pacing(looks=(request.rounds,), profiles_each=True, seed=request.workload.seed)
    why: dict[RungKey, str] = {}
    while True:
        jobs = tuple(job for _, job in left)
        measured, _ = keep_rounds(jobs, pacing, job_request, store, observer)
        sides = [(way, runs) for (way, _), runs in zip(left, measured.sides, strict=True)]
        why |= _reasons(sides)
        left = [
            side for side, runs in zip(left, measured.sides, strict=True) if not is_given_up(runs)
        ]
        if len(left) == len(sides) or len(left) < _LEAST_SIDES:
            break
    sides = [(way, runs) for way, runs in sides if any(run.is_ok for run in runs)]
    if not sides:
        raise_unless_ok(measured.sides[0][-1])
    rounds = counting_rounds([runs for _, runs in sides])
    rungs = [replace(rung, why=rung.why or why.get(rung.key)) for rung in ladder.rungs]
    figures = _figures([way for way, _ in sides], rounds)
    report = climb(rungs, figures, model=subject.name, backend=backend)
    good = [run for _, runs in sides for run in runs if run.is_ok]
    fields = measured.report_fields(len(rounds))
    return replace(
        report,
        mine=placed(request.mine, report.rungs) if request.mine else None,
        notices=(*measured.notices(), *_gaps(report.sums), *merged_notices(good)),
        **{**fields, "evidence": evidence_level(*(runs for _, runs in sides))},
    )


def _figures(
    ways: Sequence[Way], rounds: Sequence[tuple[Run, ...]]
) -> dict[RungKey, dict[int, float]]:
    """Return the figures of each rung that has any, by place among the rounds."""
    by_rung: dict[RungKey, dict[int, float]] = {}
    for at, way in enumerate(ways):
        for key, read in way.readers.items():
            values = (read(row[at]) for row in rounds)
            figures = {number: value for number, value in enumerate(values) if value is not None}
            by_rung |= {key: figures} if figures else {}
    return by_rung


def _reasons(sides: Sequence[tuple[Way, Sequence[Run]]]) -> dict[RungKey, str]:
    """Return why a rung would have no figure: what its last process said."""
    why: dict[RungKey, str] = {}
    for way, runs in sides:
        last = runs[-1]
        failure = last.outcome.message or last.outcome.kind.value
        usual = "its processes have no such figure" if last.is_ok else failure
        for key in way.readers:
            codes = _WHY.get(key, ())
            reasons = (notice.message for notice in last.notices if notice.code in codes)
            why[key] = next(reasons, usual)
    return why


def _gaps(sums: Sequence[LadderSum]) -> Iterator[Notice]:
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
