"""``contend``: what does each engine lose when they share a GPU or a processor?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from enginescope.analysis.contend.slow_downs import contention_of, sets_of
from enginescope.backends.registry import load_backend
from enginescope.core.errors import UnsupportedError, UsageError
from enginescope.core.record import replace
from enginescope.judge.comparison.looks import THRESHOLD_PCT
from enginescope.judge.experiment import Ended
from enginescope.probe.processes import mps_daemon_runs
from enginescope.records.progress import side_label, side_number
from enginescope.records.run.job import Job, Watcher
from enginescope.records.run.load_and_contention import ContentionRule, Share
from enginescope.records.run.run import Run
from enginescope.records.verdict.contend import Contender, ContendReport, Mps
from enginescope.runner.contenders import run_contenders
from enginescope.runner.session import Sink
from enginescope.services.declared import File, Param, documented, unflagged
from enginescope.services.measurement.interleaved import paced_workload
from enginescope.services.measurement.jobs import (
    ROUNDS,
    JobRequest,
    MeasureRequest,
    Rounds,
    jobs_of,
    raise_unless_ok,
)
from enginescope.services.measurement.observer import MeasurementObserver, merged_notices
from enginescope.services.measurement.rounds import Pacing, is_given_up, keep_rounds, used_rounds
from enginescope.services.store_access import own_command, writable_store
from enginescope.store.archive import Store

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from enginescope.services.keywords import ContendKeywords

#: Each set of contenders has a letter of the alphabet as a side: six have 22 sets.
LEAST_CONTENDERS, MOST_CONTENDERS = 2, 6

#: Letters of contenders that run at the same time -> their jobs.
_Sets = Mapping[tuple[str, ...], tuple[Job, ...]]


class ContendRequest(MeasureRequest, frozen=True, kw_only=True):
    """Models that share a GPU or a processor: the parameters of `contend`."""

    models: Annotated[
        tuple[Path, ...],
        unflagged("2 to 6 ONNX models or engines; one named twice contends with itself."),
    ]
    on: Annotated[
        str | Sequence[str],
        Param("Backend of all models, or one for each.", usual="ort-cpu; trt for an engine"),
    ] = ()
    share: Annotated[
        Share, Param("Run each contender in its own process, or as a stream of one process.")
    ] = "processes"
    rounds: Rounds = ROUNDS


def run_contend(request: ContendRequest, observer: MeasurementObserver) -> ContendReport:
    """Measure each contender alone, each pair and all, interleaved in rounds.

    Raise as `contend`, `jobs_of` and `writable_store`.
    """
    request = replace(request, workload=paced_workload(request.workload))
    _check(request)
    store = writable_store(request.store)
    job_request = request.jobs()
    jobs = _jobs(request, job_request, store)
    sets = _sets(jobs, request.share)
    by_first = {_contenders(together[0]): together for together in sets.values()}
    runs: list[Run] = []

    def run(
        jobs: Sequence[Job], sink: Sink, *, command: str | None, watcher: Watcher | None
    ) -> tuple[Run, ...]:
        together = by_first[_contenders(jobs[0])]
        ended = run_contenders(together, sink, command=command, watcher=watcher)
        _check_window(ended)
        return ended

    looks = (request.rounds,)
    pacing = Pacing(
        looks=looks, seed=request.workload.seed, run=run, take=lambda _side, run: runs.append(run)
    )
    firsts = tuple(together[0] for together in sets.values())
    measured, ended = keep_rounds(firsts, pacing, job_request, store, observer)
    sides = measured.sides
    if ended is Ended.GIVEN_UP:
        raise_unless_ok(next(side[-1] for side in sides if is_given_up(side)))
    counting, disturbed = used_rounds(sides)
    if not counting:
        raise_unless_ok(next(run for side in sides for run in side if not run.is_ok))
    recorded = [run for side in measured.recorded for run in side]
    by_round = _by_round(tuple(sets), [run for run in (*recorded, *runs) if run.is_ok])
    good = [run for rows in by_round.values() for row in rows.values() for run in row.values()]
    cores = good[0].environment.host.cores_physical
    report = contention_of(
        by_round,
        [row[0].turn.round for row in counting if row[0].turn],
        threshold_pct=THRESHOLD_PCT,
        contenders=tuple(
            Contender(
                name=side_label(at),
                model=job.subject.name,
                backend=str(job.backend),
                threads=_threads(job, cores),
            )
            for at, job in enumerate(jobs)
        ),
        share=request.share,
        mps=_mps(good),
        notices=(*measured.notices(), *disturbed, *merged_notices(good)),
    )
    return replace(report, **measured.report_fields(report.rounds))


def _check(request: ContendRequest) -> None:
    count, backends = len(request.models), len(request.backends)
    if not LEAST_CONTENDERS <= count <= MOST_CONTENDERS:
        what = f"{count} model{'' if count == 1 else 's'} to run at the same time"
        why = f"contend takes {LEAST_CONTENDERS} to {MOST_CONTENDERS}"
        raise UsageError(what, why=why, hint="name a model twice to run two copies of it")
    if backends not in (0, 1, count):
        hint = "name one for all models, or one for each"
        raise UsageError(f"{backends} backends for {count} models", hint=hint)
    if request.workload.stop.duration_ms is None:
        raise UsageError("`iterations`", why="contenders share a window of time", hint="`duration`")
    if request.workload.mode.kind == "throughput":
        raise UsageError("mode throughput", why="contenders have one request in flight each")


def _jobs(request: ContendRequest, job_request: JobRequest, store: Store) -> tuple[Job, ...]:
    count = len(request.models)
    each: list[tuple[str, ...]] = [(backend,) for backend in request.backends] or [()] * count
    if len(each) == 1:
        each *= count
    requests = (
        replace(job_request, models=(model,), on=chosen)
        for model, chosen in zip(request.models, each, strict=True)
    )
    return tuple(job for asked in requests for job in jobs_of(asked, store))


def _sets(jobs: Sequence[Job], share: Share) -> _Sets:
    titles: list[str] = []
    for job in jobs:  # no two are called alike in the runs of the others
        title = f"{job.subject.name} on {job.backend}"
        copies = sum(other == title or other.startswith(f"{title} (") for other in titles)
        titles.append(f"{title} ({copies + 1})" if copies else title)
    sets: dict[tuple[str, ...], tuple[Job, ...]] = {}
    for names in sets_of(len(jobs)):
        members = [side_number(name) for name in names]
        rule = ContentionRule(contenders=tuple(titles[at] for at in members), share=share)
        sets[names] = tuple(
            replace(jobs[at], contention=replace(rule, place=place))
            for place, at in enumerate(members)
        )
    return sets


def _contenders(job: Job) -> tuple[str, ...]:
    assert job.contention is not None
    return job.contention.contenders


def _check_window(runs: Sequence[Run]) -> None:
    for run in runs:
        if run.is_ok and run.contention is None:
            why = "it issues requests by itself"
            raise UnsupportedError(f"contention on {run.job.backend.name}", why=why)


def _by_round(
    sets: Sequence[tuple[str, ...]], runs: Sequence[Run]
) -> dict[tuple[str, ...], dict[int, dict[str, Run]]]:
    """Return for each set and round the run of each contender; of a repeated one, the last."""
    grouped: dict[tuple[str, ...], dict[int, dict[str, Run]]] = {names: {} for names in sets}
    for run in sorted(runs, key=lambda run: run.turn.attempt if run.turn else 0):
        rule, turn = run.job.contention, run.turn
        assert rule is not None
        assert turn is not None
        names = sets[side_number(turn.side)]
        grouped[names].setdefault(turn.round, {})[names[rule.place]] = run
    return grouped


def _threads(job: Job, physical: int | None) -> str | None:
    provider = getattr(load_backend(job.backend.name), "provider", None)
    if provider is None or not provider.is_cpu:
        return None
    chosen = job.backend.options.get("intra_op_num_threads", "0")
    if chosen != "0":
        return chosen
    return "default" if physical is None else f"{physical} (default)"


def _mps(runs: Sequence[Run]) -> Mps | None:
    seen = [run.contention.has_mps for run in runs if run.contention is not None]
    if seen.count(None) == len(seen):
        return None
    if any(seen):
        return "serves"
    return "running" if mps_daemon_runs() else "off"


@documented(ContendRequest)
def contend(*models: File, **options: Unpack[ContendKeywords]) -> ContendReport:
    """Measure what each engine loses when they share one GPU or processor.

    Each contender runs alone, beside each other one, and beside all. All of them issue requests
    during the whole window in which they are timed: the duration of the workload's stop rule.

    Returns:
        ``report.kind``, ``report.slow_down("A", "B").factor``, ``report.sets[-1].fairness``.

    Raises:
        UsageError: A request that contradicts itself or a model.
        UnsupportedError, BackendError: A contender failed, alone or beside others.
    """
    request = ContendRequest(models=tuple(map(Path, models)), command=own_command(), **options)
    return run_contend(request, MeasurementObserver())
