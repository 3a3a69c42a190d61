"""Rounds and folders in the store that a measurement of the same jobs goes on from."""

import hashlib
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from enginescope.core.errors import EnginescopeError, UsageError
from enginescope.core.jsonio import encode, sha256_of
from enginescope.core.record import replace
from enginescope.core.temporary_folder import locked
from enginescope.probe import environment
from enginescope.records.environment import Environment
from enginescope.records.progress import COMPARISON_TAG, side_label, side_number
from enginescope.records.run.job import Job
from enginescope.records.run.rounds import comparison_id
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.services.measurement.jobs import MeasureRequest
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.observer import Observer
from enginescope.services.verdicts.run_selection import tagged_runs
from enginescope.store.archive import Store

Sides = tuple[tuple[Run, ...], ...]


@contextmanager
def kept_folder(
    top: Path, search: object, request: MeasureRequest, observer: MeasurementObserver
) -> Iterator[Path]:
    """Yield a folder in `top` for what a search builds: that of an equal `search`, or a new one.

    It stays after an interrupt, and goes when the search ends. Its name tells recorded rounds of
    these builds from others'. It is locked, so that no equal search removes it meanwhile.
    """
    key = hashlib.sha256(encode(search)).hexdigest()[:12]
    folder, lock = None, None
    for earlier in top.glob(f"{key}-*"):
        earlier_lock = locked(earlier)
        if request.continues and folder is None and earlier_lock is not None:
            folder, lock = earlier, earlier_lock
        elif earlier_lock is not None:
            shutil.rmtree(earlier, ignore_errors=True)
            os.close(earlier_lock)
    if folder is None:
        folder = top / f"{key}-{secrets.token_hex(4)}"
        new = folder.with_name(f"new-{folder.name}")
        new.mkdir(parents=True)
        lock = locked(new)
        new.rename(folder)
    try:
        yield folder
        if observer.interruption is None:
            shutil.rmtree(folder, ignore_errors=True)
    except EnginescopeError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        if lock is not None:
            os.close(lock)


def recorded_rounds(
    jobs: Sequence[Job],
    store: Store,
    observer: Observer,
    software: Mapping[str, Mapping[str, str]] | None = None,
) -> Sides:
    """Return the runs of each side of the newest rounds of these jobs; empty without any.

    `software` has the versions that other Pythons have now, by the name of their environment.
    """

    def is_same(run: Run, job: Job) -> bool:
        return not (run.turn and run.turn.plan) and _is_alike(run.job, job)

    recorded = newest_recorded(jobs, store, observer, is_same)
    change = change_since(recorded, software=software)
    if change is not None:
        what = f"{COMPARISON_TAG}{comparison_id(recorded)} cannot be continued"
        raise UsageError(what, why=change, hint="undo the change, or omit `continue`")
    return recorded


def newest_recorded(
    jobs: Sequence[Job], store: Store, observer: Observer, is_wanted: Callable[[Run, Job], bool]
) -> Sides:
    """Return the runs of each side of the newest rounds of models and backends of these names.

    `is_wanted` is asked of the first run of each side and its job.
    """
    wanted = [(job.subject.name, str(job.backend)) for job in jobs]
    tags = dict.fromkeys(
        tag
        for row in store.rows()
        if (row.model, row.backend) in wanted
        for tag in row.tags
        if tag.startswith(COMPARISON_TAG)
    )
    for tag in tags:
        sides = _by_side(tagged_runs(tag, store, observer.warn), len(jobs))
        firsts = [side[0] for side in sides]
        if [(run.job.subject.name, str(run.job.backend)) for run in firsts] != wanted:
            continue
        if all(map(is_wanted, firsts, jobs)):
            return sides
    return ()


def _by_side(runs: Sequence[Run], count: int) -> Sides:
    sides: list[list[Run]] = [[] for _ in range(count)]
    turns = [(run.turn, run) for run in runs if run.turn is not None]
    for turn, run in sorted(turns, key=lambda pair: (pair[0].round, pair[0].attempt)):
        number = side_number(turn.side)
        if number >= count:
            return ()
        sides[number].append(run)
    return tuple(map(tuple, sides)) if all(sides) else ()


def _is_alike(recorded: Job, current: Job) -> bool:
    def rules(job: Job) -> tuple[object, ...]:
        contention = job.contention and (job.contention.contenders, job.contention.share)
        shapes = job.shapes and (job.shapes.points, job.shapes.visits, job.shapes.requests)
        folder = Path(job.engine_cache or "").name  # builds and models of a search have their own
        return contention, shapes, job.load, job.backend, folder

    return rules(recorded) == rules(current) and not any(differences_of_jobs(recorded, current))


def differences_of_jobs(recorded: Job, current: Job) -> Iterator[tuple[str, object, object]]:
    """Yield what two jobs do not share; the backend chose what was not asked for."""
    before, now = recorded.workload, current.workload
    for name in ("batch", "seed", "shapes", "files", "ranges", "data_set", "warmup", "stop"):
        if getattr(now, name) not in (None, getattr(before, name)):
            yield name, getattr(before, name), getattr(now, name)
    for name in now.mode.__struct_fields__:
        wanted, had = getattr(now.mode, name), getattr(before.mode, name)
        if wanted is not None and wanted != had and (name, wanted) != ("in_flight", 1):
            yield name, had, wanted
    if recorded.conditions != current.conditions:
        yield "conditions", recorded.conditions, current.conditions


def change_since(
    recorded: Sides,
    *,
    is_locked: bool = False,
    software: Mapping[str, Mapping[str, str]] | None = None,
) -> str | None:
    """Return how models, engines, machine, software or clocks differ from those of the sides."""
    for label, side in zip(map(side_label, range(len(recorded))), recorded, strict=True):
        for path, digest in _files(side):
            now = sha256_of(path) if path.is_file() else None
            if now is None:
                return f"{label}: {path} does not exist"
            if digest not in (None, now):
                change = f"SHA-256 {(digest or '')[:12]}… then, {now[:12]}… now"
                return f"{label}: {path} has changed: {change}"
    here = environment.probe_environment()
    for side in recorded:
        good = [run for run in side if run.outcome.kind is OutcomeKind.OK]
        then = good[-1].environment if good else here
        current = (software or {}).get(side[0].job.backend.environment or "", here.versions)
        versions = {
            name: current[name]
            for name in (*environment.NAMED, *environment.PACKAGES)
            if name in current
        }
        changed = "; ".join(_changes(then, replace(here, versions=versions)))
        if changed:
            return changed
        if any(device.clock_lock for device in then.devices) is not is_locked:
            return f"the GPU clocks were {'not ' if is_locked else ''}locked then"
    return None


def _changes(then: Environment, now: Environment) -> Iterator[str]:
    here = (now.host.name, *now.comparable_key())
    before = (then.host.name, *then.comparable_key())
    if not (then.devices and now.devices):  # a worker may see a GPU that this process does not
        here, before = here[:4], before[:4]
    if here != before:
        texts = (", ".join(str(one) for one in some if one) for some in (before, here))
        yield "machine: {} then, {} now".format(*texts)
    for old, new in ((then.versions, now.versions), (then.variables, now.variables)):
        for name in sorted({*old, *new}):
            if old.get(name) != new.get(name):
                yield f"{name} {old.get(name, 'none')} then, {new.get(name, 'none')} now"


def _files(side: Sequence[Run]) -> Iterator[tuple[Path, str | None]]:
    subject = side[0].job.subject
    if subject.path is not None:
        yield Path(subject.path), subject.sha256
    engines = {run.build.engine for run in side if run.build is not None and run.build.engine}
    yield from ((Path(engine), None) for engine in sorted(engines))
