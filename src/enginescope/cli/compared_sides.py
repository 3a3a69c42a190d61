"""What `compare` was given: for each side its processes, and the plan that is there."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING

from enginescope.core.errors import UsageError
from enginescope.model.run import OutcomeKind, Run
from enginescope.plan_source import PlanSource, source_of_run
from enginescope.render.side_names import comparison_tag, side_names

if TYPE_CHECKING:
    from enginescope.analysis.measured_sides import MeasuredSide
    from enginescope.store.archive import Store
    from enginescope.store.location import StorePlace

#: A comparison's id, without the mark that its tag begins with.
_BARE_ID = re.compile(r"[0-9a-f]{8}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSide:
    """One side.

    Attributes
    ----------
    what : str
        As it was given.
    source : PlanSource
        Where the plan is, if there is one.
    runs : tuple of Run
        Its processes; failed ones too.
    """

    what: str
    source: PlanSource
    runs: tuple[Run, ...]

    @property
    def is_measured(self) -> bool:
        """Whether there are samples of it."""
        return any(run.headline is not None for run in self.runs)


def compared_sides(
    what: Sequence[str], store_folder: StorePlace | None
) -> tuple[ComparedSide, ...]:
    """Return the sides that `what` names, the first being the base.

    One name is a comparison that was measured in turn: its id, or any run of it. Of several, each
    is a side: whatever `explore` takes, what trtexec's --exportTimes wrote, or a tag, whose runs
    are the processes of the side.

    Raises
    ------
    UsageError
        One name that is no comparison, a tag of several jobs, or a folder of several engines.
    FormatError, StoreError
        A file or a run cannot be used.
    """
    from enginescope.store.archive import Store

    store = Store(store_folder)
    if len(what) == 1:
        return _sides_of_comparison(what[0], store)
    return tuple(_side(one, store) for one in what)


def measured_sides(sides: Sequence[ComparedSide]) -> tuple[MeasuredSide, ...]:
    """Return the processes of sides under letters and names that tell them apart."""
    from enginescope.analysis.measured_sides import MeasuredSide

    names = side_names([one.runs[0].job for one in sides])
    if len(set(names)) < len(names) and not _in_turn(sides):
        names = [f"{name} ({_brief(one)})" for name, one in zip(names, sides, strict=True)]
    return tuple(
        MeasuredSide(label=label, name=name, runs=one.runs)
        for label, name, one in zip(ascii_uppercase, names, sides, strict=False)
    )


def plan_names(sides: Sequence[ComparedSide]) -> list[str]:
    """Return what plans are called; builds of one model by what was named, where it parts ways."""
    names = [one.source.name for one in sides]
    if len(set(names)) == len(names):
        return names
    named = [None if one.source.kind == "run" else Path(one.what).absolute() for one in sides]
    parents = [one.parent for one in named if one is not None]
    shared = os.path.commonpath(parents) if parents else ""
    places = [
        side.source.where[:8] if path is None else str(path.relative_to(shared))
        for path, side in zip(named, sides, strict=True)
    ]
    return [f"{name} ({place})" for name, place in zip(names, places, strict=True)]


def _in_turn(sides: Sequence[ComparedSide]) -> bool:
    return all(run.turn is not None for one in sides for run in one.runs)


def _brief(side: ComparedSide) -> str:
    return side.source.where[:8] if len(side.runs) == 1 and side.source.kind == "run" else side.what


def _sides_of_comparison(name: str, store: Store) -> tuple[ComparedSide, ...]:
    runs = _tagged(comparison_tag(name) if _BARE_ID.fullmatch(name) else name, store)
    turns = {run.turn.comparison for run in runs if run.turn is not None}
    if not turns and not Path(name).exists():
        turn = store.load(name).turn
        turns = {turn.comparison} if turn is not None else set()
    if len(turns) != 1:
        raise UsageError(
            f"{name} alone is nothing to compare",
            why="it is no comparison of bench --compare",
            hint=f"enginescope compare {name} OTHER",
        )
    runs = _tagged(comparison_tag(turns.pop()), store)
    by_side: dict[str, list[Run]] = {}
    for run in sorted(runs, key=lambda one: one.turn.round if one.turn else 0):
        by_side.setdefault(run.turn.side if run.turn else "", []).append(run)
    return tuple(_of_runs(name, by_side[label]) for label in sorted(by_side))


def _side(what: str, store: Store) -> ComparedSide:
    from enginescope.cli.plan_sources import plan_source, sources

    if not Path(what).exists():
        tagged = _tagged(what, store)
        if len(tagged) > 1:
            return _of_tag(what, tagged)
    elif _holds_times(Path(what)):
        return _of_times(what)
    found = sources(what, store_folder=store.place)
    sampled = [one for one in found if one.run is not None and one.run.headline is not None]
    if len(sampled) > 1 and not any(one.plan for one in found):
        raise UsageError(
            f"{what} holds {len(sampled)} runs",
            hint="name the files one by one, or enginescope import --tag NAME and compare NAME",
        )
    source = plan_source(what, store_folder=store.place)
    return ComparedSide(what=what, source=source, runs=(source.as_run(),))


def _of_tag(tag: str, runs: Sequence[Run]) -> ComparedSide:
    jobs = {_job_key(run) for run in runs}
    if len(jobs) > 1:
        names = ", ".join(sorted({" · ".join(key[:2]) for key in jobs}))
        raise UsageError(
            f"tag {tag} is of {len(jobs)} jobs",
            why=names,
            hint="a side's runs are of one job; give runs by their ids",
        )
    return _of_runs(tag, runs)


def _job_key(run: Run) -> tuple[str, ...]:
    """Return what processes of one job share; imported files hardly say what they are of."""
    subject = run.job.subject
    shapes = str([(one.name, one.shape) for one in run.inputs])
    if subject.kind == "unknown":
        return "imported", str(run.job.backend), shapes
    return subject.name, str(run.job.backend), subject.sha256 or "", shapes


def _of_runs(what: str, runs: Sequence[Run]) -> ComparedSide:
    """Return a side of several processes; its plan is that of the first that has one."""
    good = [run for run in runs if run.outcome.kind is OutcomeKind.OK] or list(runs)
    planned = [run for run in good if run.plan is not None]
    timed = [run for run in planned if run.profile is not None]
    source = source_of_run((timed or planned or good)[0])
    return ComparedSide(what=what, source=source, runs=tuple(runs))


def _tagged(tag: str, store: Store) -> tuple[Run, ...]:
    from enginescope.store.run_name import is_tag

    rows = store.rows(tag=tag) if is_tag(tag) else ()
    return tuple(store.load(row.id) for row in reversed(rows))


def _holds_times(path: Path) -> bool:
    """Whether a file is what a tool exported or printed, and neither plan, engine nor archive."""
    from enginescope.formats.recognise import HEAD_BYTES, ArtifactKind, may_be_known, recognise
    from enginescope.plan_sources import is_archive

    if not path.is_file() or path.name == "run.json" or is_archive(path):
        return False
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if not may_be_known(head, path.name):
        return False
    kind = recognise(path.read_bytes(), path.name).kind
    return kind in (ArtifactKind.TIMES, ArtifactKind.TRTEXEC_LOG, ArtifactKind.TREX_METADATA)


def _of_times(what: str) -> ComparedSide:
    from enginescope.formats.importer import import_artifacts

    (run,) = import_artifacts([Path(what)]).runs
    return ComparedSide(what=what, source=source_of_run(run, kind="file", where=what), runs=(run,))
