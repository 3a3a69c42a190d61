"""``contend``: what does each engine lose when they share a GPU or a processor?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from enginescope.analysis.contend.slow_downs import contention_of, sets_of
from enginescope.analysis.ladder.figures import counting_rounds
from enginescope.analysis.verdicts.comparability import THRESHOLD_PCT
from enginescope.analysis.verdicts.evidence import evidence_level
from enginescope.backends.registry import load_backend
from enginescope.core.errors import UnsupportedError
from enginescope.core.record import Record, replace
from enginescope.judge.experiment import Ended
from enginescope.probe.processes import mps_daemon_runs
from enginescope.records.run.contention import ContentionRule, Share
from enginescope.records.run.job import Job, Limits, Watcher, Workload
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.records.verdict.contend import Contender, ContendReport, Mps
from enginescope.runner.contenders import run_contenders
from enginescope.services.contend.request import ROUNDS, ContendRequest, check_contend_request
from enginescope.services.measurement.interleaved import paced_workload
from enginescope.services.measurement.jobs import JobRequest, jobs_of, raise_unless_ok
from enginescope.services.measurement.merged_notices import merged_notices
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.measurement.rounds import Pacing, Sides, is_given_up, keep_rounds
from enginescope.services.own_command import stored_fields
from enginescope.services.store_access import writable_store

if TYPE_CHECKING:
    from enginescope.runner.session import Sink
    from enginescope.store.archive import Store


class _Set(Record, frozen=True, kw_only=True):
    """Contenders that run at the same time.

    Attributes:
        names: Their letters.
        jobs: One for each.
    """

    names: tuple[str, ...]
    jobs: tuple[Job, ...]


class _Rounds:
    """Runs sets in the place of single jobs, and keeps the runs of every contender.

    The job that stands for a set is the first one's: its contention names all of them.
    """

    def __init__(self, sets: Sequence[_Set]) -> None:
        self._sets = {_key(chosen.jobs[0]): chosen for chosen in sets}
        self._attempts: dict[tuple[str, ...], list[dict[str, Run]]] = {
            chosen.names: [] for chosen in sets
        }

    def run(
        self, jobs: Sequence[Job], sink: Sink, *, command: str | None, watcher: Watcher | None
    ) -> tuple[Run, ...]:
        """Run the set of a job."""
        chosen = self._sets[_key(jobs[0])]
        by_name: dict[str, Run] = {}

        def keep(run: Run) -> None:
            rule = run.job.contention
            assert rule is not None
            by_name[chosen.names[rule.place]] = run
            sink(run)

        runs = run_contenders(chosen.jobs, keep, command=command, watcher=watcher)
        _check_window(runs)
        self._attempts[chosen.names].append(by_name)
        return runs

    def take_recorded(self, sides: Sides) -> None:
        """Take the runs of earlier rounds, the place of each contender being in its job."""
        for (names, attempts), side in zip(self._attempts.items(), sides, strict=False):
            earlier: dict[tuple[int, int], dict[str, Run]] = {}
            for run in side:
                rule, turn = run.job.contention, run.turn
                assert rule is not None
                assert turn is not None
                earlier.setdefault((turn.round, turn.attempt), {})[names[rule.place]] = run
            attempts[:0] = earlier.values()

    def by_round(self, sides: Sides) -> dict[tuple[str, ...], tuple[dict[str, Run], ...]]:
        """Return the runs of each set in the order of rounds; of a repeated one, the last attempt.

        Args:
            sides: For each set, a run of each attempt.
        """
        found: dict[tuple[str, ...], tuple[dict[str, Run], ...]] = {}
        for (names, attempts), side in zip(self._attempts.items(), sides, strict=True):
            last = {
                run.turn.round: by_name
                for run, by_name in zip(side, attempts, strict=True)
                if run.turn is not None
            }
            found[names] = tuple(last.values())
        return found


def _key(job: Job) -> tuple[str, ...]:
    return job.contention.contenders if job.contention else ()


def _check_window(runs: Sequence[Run]) -> None:
    for run in runs:
        if _is_ok(run) and run.contention is None:
            raise UnsupportedError(
                f"contention on {run.job.backend.name}", why="it issues requests by itself"
            )


def _is_ok(run: Run) -> bool:
    return run.outcome.kind is OutcomeKind.OK


def run_contend(request: ContendRequest, observer: MeasurementObserver) -> ContendReport:
    """Measure each contender alone, each pair and all, interleaved in rounds.

    Raises:
        UsageError, MissingDependencyError: The request contradicts itself or a model, or as
            `jobs_of`.
        UnsupportedError, BackendError: A contender failed, alone or beside others.
        StoreError: The store cannot be written; nothing is measured then.
    """
    check_contend_request(request)
    store = writable_store(request.store)
    job_request = request.jobs()
    jobs = _jobs(request, job_request, store)
    sets = _sets(jobs, request.share)
    rounds = _Rounds(sets)
    pacing = Pacing(looks=(request.rounds,), seed=request.workload.seed, run=rounds.run)
    leading = tuple(chosen.jobs[0] for chosen in sets)
    measured, ended = keep_rounds(leading, pacing, job_request, store, observer)
    rounds.take_recorded(measured.recorded)
    sides = measured.sides
    if ended is Ended.GIVEN_UP:
        raise_unless_ok(next(side[-1] for side in sides if is_given_up(side)))
    counting = counting_rounds(sides)
    if not counting:
        raise_unless_ok(next(run for side in sides for run in side if not _is_ok(run)))
    report = _report(request, jobs, rounds.by_round(sides), counting)
    return replace(
        report,
        comparison=measured.comparison,
        evidence=evidence_level(*sides),
        notices=(*measured.notices(), *report.notices),
    )


def _jobs(request: ContendRequest, job_request: JobRequest, store: Store) -> tuple[Job, ...]:
    backends: Sequence[str | None] = request.backends or (None,)
    each = backends if len(backends) > 1 else list(backends) * len(request.models)
    jobs: tuple[Job, ...] = ()
    for model, backend in zip(request.models, each, strict=True):
        chosen = (backend,) if backend else ()
        jobs += jobs_of(replace(job_request, models=(model,), backends=chosen), store)
    return jobs


def _sets(jobs: Sequence[Job], share: Share) -> tuple[_Set, ...]:
    letters = [names[0] for names in sets_of(len(jobs)) if len(names) == 1]
    by_letter = dict(zip(letters, jobs, strict=True))
    titles = _titles(by_letter)

    def joined(names: tuple[str, ...]) -> tuple[Job, ...]:
        rule = ContentionRule(contenders=tuple(titles[name] for name in names), share=share)
        return tuple(
            replace(by_letter[name], contention=replace(rule, place=place))
            for place, name in enumerate(names)
        )

    return tuple(_Set(names=names, jobs=joined(names)) for names in sets_of(len(jobs)))


def _titles(jobs: Mapping[str, Job]) -> dict[str, str]:
    """Return what each contender is called in the runs of the others; no two are called alike."""
    titles: dict[str, str] = {}
    for letter, job in jobs.items():
        title = f"{job.subject.name} on {job.backend}"
        copies = sum(other == title or other.startswith(f"{title} (") for other in titles.values())
        titles[letter] = f"{title} ({copies + 1})" if copies else title
    return titles


def _report(
    request: ContendRequest,
    jobs: Sequence[Job],
    runs: Mapping[tuple[str, ...], Sequence[Mapping[str, Run]]],
    counting: Sequence[int],
) -> ContendReport:
    figures = contention_of(runs, counting, THRESHOLD_PCT)
    of_all = [run for rounds in runs.values() for by_name in rounds for run in by_name.values()]
    measured = [run for run in of_all if _is_ok(run)]
    letters = [names[0] for names in runs if len(names) == 1]
    return ContendReport(
        kind=figures.kind,
        contenders=tuple(
            Contender(
                name=letter,
                model=job.subject.name,
                backend=str(job.backend),
                threads=_threads(job, measured[0].environment.host.cores_physical),
            )
            for letter, job in zip(letters, jobs, strict=True)
        ),
        share=request.share,
        threshold_pct=THRESHOLD_PCT,
        times=figures.times,
        slow_downs=figures.slow_downs,
        sets=figures.sets,
        mps=_mps(measured),
        rounds=figures.rounds,
        measured_rounds=max(map(len, runs.values())),
        evidence=evidence_level(
            *(
                [by_name[name] for by_name in rounds]
                for names, rounds in runs.items()
                for name in names
            )
        ),
        notices=merged_notices(measured),
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        command=request.command,
    )


def _threads(job: Job, physical: int | None) -> str | None:
    """Return the threads of a session that computes on the processor."""
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


def contend(
    *models: str | PathLike[str],
    on: str | Sequence[str] | None = None,
    share: Share = "processes",
    rounds: int = ROUNDS,
    workload: Workload | None = None,
    limits: Limits | None = None,
    tags: Sequence[str] = (),
    store: str | PathLike[str] | None = None,
) -> ContendReport:
    """Measure what each engine loses when they share one GPU or processor.

    Each contender runs alone, beside each other one, and beside all. All of them issue requests
    during the whole window in which they are timed.

    Args:
        *models: 2 to 6 ONNX models or engines; one named twice contends with itself.
        on: One backend for all, or one for each model; by default ``"ort-cpu"``, or ``"trt"`` for
            an engine.
        share: ``"processes"``: each in a process of its own, as MPS serves. ``"streams"``: each in
            a thread, and on a GPU in a stream, of one process.
        rounds: Rounds of fresh processes that count, 3 to 1,000.
        workload: As for `bench_interleaved`; the duration of its stop rule is the window.
        limits: Of each process.
        tags: Names for the runs in the store.
        store: Where the runs are stored.

    Returns:
        ``report.kind``, ``report.slow_down("A", "B").factor``, ``report.sets[-1].fairness``.

    Raises:
        UsageError: A request that contradicts itself or a model.
        UnsupportedError, BackendError: A contender failed, alone or beside others.
    """
    request = ContendRequest(
        models=tuple(map(Path, models)),
        backends=(on,) if isinstance(on, str) else tuple(on or ()),
        share=share,
        rounds=rounds,
        workload=paced_workload(workload),
        process_limits=limits,
        **stored_fields(tags, store),
    )
    return run_contend(request, MeasurementObserver())
