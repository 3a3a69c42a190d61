"""Sets of runs by what names them: a folder, a file, a tag, a run."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from enginescope.core.errors import FormatError, StoreError, UsageError

if TYPE_CHECKING:
    from enginescope.analysis.run_view import RunView
    from enginescope.model.run import Run
    from enginescope.store.archive import Store

    #: What names runs: a run with its figures, several, a path, a tag, an id.
    Named = RunView | Sequence[RunView] | str | PathLike[str]

_DOCUMENT = "run.json"
Say = Callable[[str], None]


def runs_named(name: str, store: Store, say: Say) -> tuple[Run, ...]:
    """Return the runs that `name` stands for; a path goes before a run or tag of the same name.

    Parameters
    ----------
    name : str
        A suite's folder or its name in the store; a folder of runs: a store, a folder of run
        folders or of their zip files, one run's folder;
        a zip file that `runs export` wrote; a folder or file of another tool's artefacts; a tag,
        for all runs that have it; the beginning of an id, ``latest``, ``latest~2``.
    store : Store
        Where tags and ids are looked for.
    say : callable (str)
        Is told what is left out, and why.

    Raises
    ------
    UsageError
        There is nothing in the folder.
    FormatError, StoreError
        A file cannot be used, or there is no such run.
    """
    from enginescope.store.suite_folder import suite_named

    suite = suite_named(name, store.suite_home())
    if suite is not None:
        from enginescope.suite_runs import runs_of_suite

        return runs_of_suite(suite, store, say)
    path = Path(name)
    if path.is_dir():
        return _of_folder(path, say)
    if path.is_file():
        return _of_file(path, say)
    from enginescope.store.run_name import is_tag

    tagged = store.rows(tag=name) if is_tag(name) else ()
    for one in store.notices:
        say(f"{one.message} ({one.code})")
    if tagged:
        return tuple(store.load(one.id) for one in tagged)
    return (store.load(name),)


def readable_runs(ids: Iterable[str], store: Store, say: Say) -> tuple[Run, ...]:
    """Return stored runs; one that cannot be read is named, and takes no other away.

    Parameters
    ----------
    say : callable (str)
        Is told what is left out, why, and what to do about it.
    """
    found = []
    for run_id in ids:
        try:
            found.append(store.load_id(run_id))
        except (FormatError, StoreError) as error:
            way_out = f"; {error.hint}" if error.hint else ""
            say(f"left out: run {run_id}: {error}{way_out}")
    return tuple(found)


def runs_of(what: Named, store: Store, say: Say) -> tuple[Run, ...]:
    """Return the runs of one side: those given, or those that a name or path stands for.

    Raises
    ------
    UsageError, FormatError, StoreError
        As `runs_named`.
    """
    from enginescope.analysis.run_view import RunView

    if isinstance(what, RunView):
        return (what.run,)
    if isinstance(what, str | PathLike):
        return runs_named(str(what), store, say)
    return tuple(one.run for one in what)


def runs_since(baseline: Sequence[Run], store: Store) -> tuple[Run, ...]:
    """Return the runs of a store that were made after the newest of a baseline.

    Raises
    ------
    UsageError
        There are none.
    """
    newest = max(one.created for one in baseline)
    rows = [one for one in store.rows() if one.created > newest]
    if not rows:
        raise UsageError(
            "no current runs",
            why=f"the store {store.place} has none that is newer than the baseline's",
            hint="enginescope bench MODEL…, or name the runs after the options",
        )
    return tuple(store.load(one.id) for one in rows)


def sides_in_turn(runs: Sequence[Run]) -> tuple[tuple[Run, ...], tuple[Run, ...]] | None:
    """Return the first side of a comparison that was measured in turn, and the others."""
    if not all(one.turn is not None for one in runs):
        return None
    first = tuple(one for one in runs if one.turn and one.turn.side == "A")
    others = tuple(one for one in runs if one.turn and one.turn.side != "A")
    return (first, others) if first and others else None


def distinct(runs: Iterable[Run]) -> tuple[Run, ...]:
    """Return runs, each once."""
    return tuple({one.id: one for one in runs}.values())


def _of_folder(folder: Path, say: Say) -> tuple[Run, ...]:
    from enginescope.store.archive import load_path

    if (folder / _DOCUMENT).is_file():
        return (load_path(folder),)
    inside = folder / "runs" if (folder / "runs").is_dir() else folder
    children = sorted(one for one in inside.iterdir() if not one.name.startswith("."))
    found: list[Run] = []
    for one in children:
        try:
            if (one / _DOCUMENT).is_file():
                found.append(load_path(one))
            elif one.suffix == ".zip":
                found.append(_of_zip(one))
        except (FormatError, StoreError) as error:
            say(f"left out: {error}")
    return tuple(found) or _imported(folder, say)


def _of_file(path: Path, say: Say) -> tuple[Run, ...]:
    from enginescope.store.archive import load_path

    if path.name == _DOCUMENT:
        return (load_path(path),)
    return (_of_zip(path),) if path.suffix == ".zip" else _imported(path, say)


def _of_zip(path: Path) -> Run:
    from enginescope.store.run_folder import read_run
    from enginescope.store.zip_file import unpack

    with tempfile.TemporaryDirectory(prefix="enginescope-") as folder:
        unpack(path, Path(folder))
        return read_run(Path(folder), source=str(path))


def _imported(path: Path, say: Say) -> tuple[Run, ...]:
    from enginescope.formats.importer import import_artifacts

    found = import_artifacts([path])
    for skipped, reason in found.skipped:
        say(f"left out: {skipped}: {reason}")
    return found.runs
