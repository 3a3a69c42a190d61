"""Resolve the sides of a comparison: the processes of each, and its plan if it has one."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from string import ascii_uppercase

from enginescope.analysis.verdicts.evidence_levels import has_printed
from enginescope.analysis.verdicts.measured_sides import MeasuredSide
from enginescope.core.errors import UsageError
from enginescope.core.packed_files import plain_head
from enginescope.formats.importing.artifact_kinds import (
    BENCHMARK_KINDS,
    HEAD_BYTES,
    LOG_READERS,
    ArtifactKind,
    kind_of,
    may_be_known,
)
from enginescope.formats.importing.importer import import_artifacts
from enginescope.formats.importing.readers import ForeignFile, reader_of
from enginescope.judge.units import listed
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.render.verdicts.verdict_phrases import comparison_tag, side_labels, side_names
from enginescope.services.observer import PlanObserver
from enginescope.services.plans.passport import with_passport_of
from enginescope.services.plans.plan_input import PlanInput, input_of_run
from enginescope.services.plans.resolve_plan import is_archive, resolve_inputs, resolve_plan
from enginescope.services.verdicts.run_selection import (
    RunsInput,
    Warn,
    check_one_job,
    resolve_runs,
    runs_in_folder,
    tagged_runs,
)
from enginescope.store.archive import Store
from enginescope.store.suite_folder import suite_named


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSide:
    """One side by its name: its plan, if any, and its runs (processes), failed ones too."""

    what: str
    source: PlanInput
    runs: tuple[Run, ...]

    @property
    def is_measured(self) -> bool:
        """Whether a process has samples, or figures that its tool printed."""
        return any(run.headline is not None or has_printed(run) for run in self.runs)


def resolve_sides(
    inputs: Sequence[RunsInput], store: Store, observer: PlanObserver
) -> tuple[ComparedSide, ...]:
    """Return the sides that `inputs` stand for; the first is the base.

    One input alone is an interleaved comparison: its id, its tag, its runs, or any of them. Each of
    several is a side: runs of one job, what ``explore`` takes, what trtexec's ``--exportTimes``
    wrote, a folder or zip file of runs, or a tag, whose runs are the processes of the side.
    """
    empty = sum(not given for given in inputs)
    if empty:
        raise _empty_sides(len(inputs), empty)
    warned: set[str] = set()

    def warn(text: str) -> None:
        if text not in warned:
            warned.add(text)
            observer.warn(text)

    if len(inputs) == 1:
        return sides_of_comparison(inputs[0], store, warn)
    return tuple(
        _side_of_name(given[0], store, warn, observer)
        if len(given) == 1 and isinstance(given[0], str)
        else _side_of_runs(given, label, store, warn)
        for label, given in enumerate(inputs, start=1)
    )


def repeated_sides(inputs: Sequence[RunsInput]) -> str | None:
    """Say which sides are one file, run or tag, given twice; ``None`` if none are."""
    if len(inputs) > len(ascii_uppercase):  # which is refused
        return None
    sides: dict[str, list[tuple[str, str]]] = {}
    for label, given in zip(ascii_uppercase, inputs, strict=False):
        if len(given) == 1 and isinstance(given[0], str):
            name = given[0]
            whole = str(Path(name).resolve()) if Path(name).exists() else name
            sides.setdefault(whole, []).append((label, name))
    repeated = [
        f"{' and '.join(label for label, _ in same)} are the same: {same[0][1]}"
        for same in sides.values()
        if len(same) > 1
    ]
    return f"{'; '.join(repeated)}; name two different sides" if repeated else None


def measured_sides(
    sides: Sequence[ComparedSide], names: Sequence[str] | None = None
) -> tuple[MeasuredSide, ...]:
    """Label and name the processes of sides; `names` replaces names that tell sides apart."""
    known = names or side_names([side.runs[0].job for side in sides])
    are_interleaved = all(run.turn is not None for side in sides for run in side.runs)
    if names is None and len(set(known)) < len(known) and not are_interleaved:
        places = [
            side.source.where[:8]
            if len(side.runs) == 1 and side.source.kind == "run"
            else side.what
            for side in sides
        ]
        known = [f"{name} ({place})" for name, place in zip(known, places, strict=True)]
    return named_sides([side.runs for side in sides], known)


def named_sides(
    runs: Sequence[Sequence[Run]], names: Sequence[str] | None = None
) -> tuple[MeasuredSide, ...]:
    """Label sides, and name each after its job unless `names` are given."""
    labels = side_labels(len(runs))
    if not all(runs):
        raise _empty_sides(len(runs), sum(not side for side in runs))
    known = list(names) if names is not None else side_names([side[0].job for side in runs])
    check_names(known, len(runs))
    return tuple(
        MeasuredSide(label=label, name=name, runs=tuple(side))
        for label, name, side in zip(labels, known, runs, strict=True)
    )


def check_names(names: Sequence[str], sides: int) -> None:
    if len(names) != sides:
        raise UsageError(f"{len(names)} names for {sides} sides")


def plan_names(sides: Sequence[ComparedSide]) -> list[str]:
    """Return names of plans; those of one model are told apart by path or run id."""
    names = [side.source.name for side in sides]
    if len(set(names)) == len(names):
        return names
    paths = [None if side.source.kind == "run" else Path(side.what).absolute() for side in sides]
    parents = [path.parent for path in paths if path is not None]
    shared = os.path.commonpath(parents) if parents else ""
    places = [
        side.source.where[:8] if path is None else str(path.relative_to(shared))
        for path, side in zip(paths, sides, strict=True)
    ]
    return [f"{name} ({place})" for name, place in zip(names, places, strict=True)]


def _empty_sides(sides: int, empty: int) -> UsageError:
    return UsageError(f"{sides} sides, {empty} without runs", hint="give runs for each side")


def sides_of_comparison(names: RunsInput, store: Store, warn: Warn) -> tuple[ComparedSide, ...]:
    """Return the sides of an interleaved comparison: its id, its tag, its runs, or any of them."""
    name = names[0] if isinstance(names[0], str) and len(names) == 1 else None
    runs = resolve_runs(names, store, warn) if name is None else _runs_of(name, store, warn)
    comparisons = _comparable(runs, warn)
    sides: list[ComparedSide] = []
    if len(comparisons) == 1:
        (comparison,) = comparisons
        together = tagged_runs(comparison_tag(comparison), store, warn) or runs
        own = [
            (run.turn.side, run.turn.round, run)
            for run in together
            if run.turn is not None and run.turn.comparison == comparison
        ]
        if len(own) < len(together):
            warn(
                f"skipped: {len(together) - len(own)} runs that are not of comparison {comparison}"
            )
        own.sort(key=lambda item: item[:2])
        for _, group in groupby(own, key=lambda item: item[0]):
            sides.append(_of_runs(name or comparison, [run for *_, run in group]))
    if name is not None and len(comparisons) > 1:
        tags = [comparison_tag(one) for one in comparisons]
        why = f"it has {len(tags)} comparisons, the newest first: {', '.join(tags)}"
        hint = f"enginescope compare {tags[0]}"
        raise UsageError(f"{name} alone cannot be compared", why=why, hint=hint)
    if len(sides) < 2:
        why = "it is not a comparison made by bench --compare"
        hint = f"enginescope compare {name} OTHER" if name else "es.compare(a, b)"
        raise UsageError(f"{name or 'one side'} alone cannot be compared", why=why, hint=hint)
    return tuple(sides)


def _comparable(runs: Sequence[Run], warn: Warn) -> list[str]:
    sides: dict[str, dict[str, bool]] = {}
    for run in runs:
        if run.turn is not None:
            of = sides.setdefault(run.turn.comparison, {})
            is_ok = run.outcome.kind is OutcomeKind.OK
            of[run.turn.side] = of.get(run.turn.side, False) or is_ok
    comparable = [name for name, successes in sides.items() if all(successes.values())]
    if not comparable:
        return [*sides]
    for name, successes in sides.items():
        failed = [label for label, is_ok in sorted(successes.items()) if not is_ok]
        if failed:
            warn(f"skipped: {comparison_tag(name)}, no run of {listed(failed)} succeeded")
    return comparable


def _runs_of(name: str, store: Store, warn: Warn) -> tuple[Run, ...]:
    path = Path(name)
    tag = comparison_tag(name) if re.fullmatch("[0-9a-f]{8}", name) else name  # of a bare id
    runs = tagged_runs(tag, store, warn)
    if runs:
        return runs
    if path.exists():
        return runs_in_folder(path, warn) if path.is_dir() else ()
    return (store.load(name),)


def _side_of_name(name: str, store: Store, warn: Warn, observer: PlanObserver) -> ComparedSide:
    path = Path(name)
    if not path.exists():
        tagged = tagged_runs(name, store, warn)
        if len(tagged) > 1:
            check_one_job(tagged, f"tag {name}")
            return _of_runs(name, tagged[::-1])
        if not tagged and suite_named(name, store.suite_home()) is not None:
            return _side_of_runs((name,), name, store, warn)
    elif holds_times(path):
        return _of_times(name)
    elif path.is_dir() and not (path / "run.json").is_file() and runs_in_folder(path, warn):
        return _side_of_runs((name,), name, store, warn)
    known = resolve_inputs(name, store=store.place, observer=observer)
    sampled = [one for one in known if one.run is not None and one.run.headline is not None]
    if len(sampled) > 1 and not any(source.plan for source in known):
        hint = "name the files one by one, or enginescope import --tag NAME and compare NAME"
        raise UsageError(f"{name} holds {len(sampled)} runs", hint=hint)
    source = with_passport_of(resolve_plan(name, store=store.place, observer=observer))
    return ComparedSide(what=name, source=source, runs=(source.as_run(),))


def _side_of_runs(given: RunsInput, label: int | str, store: Store, warn: Warn) -> ComparedSide:
    runs = resolve_runs(given, store, warn)
    what = f"side {label}" if isinstance(label, int) else label
    check_one_job(runs, what)
    return _of_runs(what, runs)


def _of_runs(what: str, runs: Sequence[Run]) -> ComparedSide:
    good = [run for run in runs if run.outcome.kind is OutcomeKind.OK] or list(runs)
    planned = [run for run in good if run.plan is not None]
    timed = [run for run in planned if run.profile is not None]
    source = input_of_run((timed or planned or good)[0])
    return ComparedSide(what=what, source=source, runs=tuple(runs))


def holds_times(path: Path) -> bool:
    """Whether a file has times or a log, and is neither a plan, an engine nor an archive."""
    if not path.is_file() or path.name == "run.json" or is_archive(path):
        return False
    file = ForeignFile(path=path, head=plain_head(path, HEAD_BYTES))
    kind = ArtifactKind.UNKNOWN
    if may_be_known(file.head, path.name):
        kind = kind_of(file.content(), path.name)
    if kind is ArtifactKind.UNKNOWN:
        return reader_of(file)[1] is not None
    timed = (ArtifactKind.TIMES, ArtifactKind.TREX_METADATA, *LOG_READERS, *BENCHMARK_KINDS)
    return kind in timed


#: Runs of a file that an error names.
_SHOWN_RUNS = 3


def _of_times(what: str) -> ComparedSide:
    runs = import_artifacts([Path(what)]).runs
    if len(runs) > 1:
        shown = [f"{run.job.subject.name} · {run.job.backend}" for run in runs[:_SHOWN_RUNS]]
        names = ", ".join(shown) + (" …" if len(runs) > _SHOWN_RUNS else "")
        raise UsageError(
            f"{what} holds {len(runs)} runs",
            why=names,
            hint="compare two such files, by the names of their benchmarks; or "
            f"enginescope import {what}, then compare runs by their ids",
        )
    (run,) = runs
    return ComparedSide(what=what, source=input_of_run(run, kind="file", where=what), runs=(run,))
