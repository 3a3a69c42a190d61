"""``enginescope suite``: many models on many backends, a process for each, resumed where it was."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginescope.cli.options import Finite, Parsed, json_option, note, store_option
from enginescope.cli.suite_asked import suite_asked
from enginescope.cli.suite_elsewhere import check_elsewhere, run_elsewhere, standing_elsewhere
from enginescope.cli.suite_fleet import fleet_options, is_elsewhere
from enginescope.core.errors import UsageError

if TYPE_CHECKING:
    from enginescope.model.suite import Cell, Suite, SuitePlan, SuiteResult
    from enginescope.runner.suite_resume import Here
    from enginescope.store.archive import Store
    from enginescope.store.suite_folder import SuiteFolder

EXIT_RUN_FAILED = 3
EXIT_WRONG = 1


def _environment(text: str) -> tuple[str, str]:
    name, equals, python = text.partition("=")
    if not equals or not name or not python:
        raise UsageError(f"{text!r} is not NAME=PYTHON", hint="trt86=/opt/trt86/bin/python")
    given = os.path.expanduser(python)  # noqa: PTH111 - Path's raises where there is no such user
    return name, str(Path(given).absolute()) if "/" in given else python


@click.command("suite")
@click.argument("source", required=False, type=click.Path(path_type=Path), metavar="[SUITE|DIR]")
@click.option(
    "--init", "init", is_flag=True, help="Write a commented example: SUITE or suite.toml."
)
@click.option("--name", help="Of the suite.  [default: the file's, else the file's name]")
@click.option(
    "--on",
    "backends",
    multiple=True,
    help="Backend, as NAME[:PRECISION][@ENVIRONMENT][?KEY=VALUE&…]; repeat for several.  "
    "[default: the file's]",
)
@click.option(
    "--environment",
    "environments",
    type=Parsed("NAME=PYTHON", _environment),
    multiple=True,
    help="Python that does the cells of backends with @NAME; repeat for more.",
)
@click.option("--batch", "batches", multiple=True, type=click.IntRange(1), help="Repeat for more.")
@click.option("--mode", type=click.Choice(("benchmark", "validate", "both")))
@click.option("--input", "fed", type=click.Choice(("random", "dataset")), help="What is fed.")
@click.option("--include", multiple=True, help="Only models whose name holds or matches this.")
@click.option("--exclude", multiple=True, help="No models whose name holds or matches this.")
@click.option("--baseline", help="Backend that speed-up is counted from.  [default: the first]")
@click.option("--warmup", help="At least this time or count, until steady.")
@click.option("--iterations", type=click.IntRange(1), help="Stop after exactly so many.")
@click.option("--duration", help="Stop after this time.")
@click.option("--max-time", help="Stop short of the precision after this time.")
@click.option(
    "--processes", type=click.IntRange(1), help="Fresh processes for each cell.  [default: 1]"
)
@click.option("--reference", help="What answers are held against; see validate.")
@click.option(
    "--samples", type=click.IntRange(1), help="Random ones to answer, without a data set."
)
@click.option("--tolerance", help="Limits of a precision: fp16.  [default: by both sides]")
@click.option("--rtol", type=Finite(0), help="In place of those limits.")
@click.option("--atol", type=Finite(0), help="In place of those limits.")
@click.option("--percent-mismatch", type=Finite(0, 100), help="Elements beyond them.")
@click.option("--layers/--no-layers", default=None, help="Per-layer times, for the coverage.")
@click.option("--timeout", help="Of one cell: 10min.")
@click.option("--memory-limit", help="Of one cell: 4GiB.")
@click.option("--retries", type=click.IntRange(0), help="Further attempts of a cell that failed.")
@click.option("--retry-failed", is_flag=True, help="Run what failed before again.")
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Cells at a time, each on cores of its own, never two on one GPU.",
)
@click.option("--list", "only_list", is_flag=True, help="List the cells and run none.")
@click.option(
    "--output",
    "-o",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the suite.  [default: suites/NAME in the store]",
)
@fleet_options
@store_option
@json_option
def command(source: Path | None, **options: Any) -> int:
    """Run every model of SUITE (TOML, YAML, model_list.json) or in DIR on every backend.

    A cell is one model on one backend in one batch and shape. Each is stored as it ends, so that a
    suite that was killed goes on where it was; a cell is done again where the model, the options
    or the versions have changed. Without SUITE, suite.toml.
    """
    from enginescope.cli.suite_init import write_example
    from enginescope.cli.suite_output import write_outputs
    from enginescope.store.archive import Store

    if options["init"]:
        return write_example(source or Path("suite.toml"))
    elsewhere = is_elsewhere(options)  # what excludes each other is said before anything is written
    store = Store(options["store_folder"])
    source = source or Path("suite.toml")
    suite = suite_asked(source, options, store)
    if elsewhere:
        check_elsewhere(suite)
    if options["only_list"]:
        return _list(_cells(suite, store), as_json=options["as_json"])
    folder = _folder(suite, options, store)
    here = None if elsewhere else _conditions(suite, options["jobs"])
    with folder.held():
        plan = _plan(suite, source, folder, store)
        try:
            _run(plan, folder, store, options, here)
        finally:  # what is done has its tables, also where the sitting was ended
            result = folder.result()
            write_outputs(result, folder.path, quiet=options["as_json"])
            store.keep_suite(folder)
    return _present(result, folder, options)


def _folder(suite: Suite, options: dict[str, Any], store: Store) -> SuiteFolder:
    from enginescope.store.run_name import is_tag
    from enginescope.store.suite_folder import SUITES, SuiteFolder

    if not is_tag(suite.name):
        raise UsageError(
            f"suite name {suite.name!r}",
            why="its runs have it as a tag: no blanks, no slashes, not latest",
            hint="--name NAME",
        )
    return SuiteFolder(options["output"] or store.suite_home() / SUITES / suite.name)


def _cells(suite: Suite, store: Store) -> tuple[Cell, ...]:
    from enginescope.runner.suite_cells import cells_of

    return cells_of(suite, engine_cache=store.path / "engines")


def _plan(suite: Suite, source: Path, folder: SuiteFolder, store: Store) -> SuitePlan:
    from enginescope.cli.bench import command_line
    from enginescope.model.suite import SuitePlan

    created = datetime.now(timezone.utc).isoformat(timespec="seconds")
    described = str(source.resolve())
    if folder.exists:
        former = folder.plan()
        created = former.created
        if former.source not in (None, described):
            note(f"{suite.name} was {former.source} before; --name NAME keeps the two apart")
    plan = SuitePlan(
        suite=suite,
        cells=_cells(suite, store),
        created=created,
        command=command_line(),
        source=described,
        store=str(store.place),
    )
    folder.begin(plan)
    return plan


def _run(
    plan: SuitePlan,
    folder: SuiteFolder,
    store: Store,
    options: dict[str, Any],
    here: Here | None,
) -> None:
    """Do what is to be done; without conditions here it is done elsewhere."""
    from enginescope.cli.bench import writable
    from enginescope.cli.suite_sitting import Sitting
    from enginescope.runner.suite_resume import standing_of
    from enginescope.runner.suite_run import lanes_for

    writable(store)
    if here is None:
        standing = standing_elsewhere(plan, folder, store, options)
        if not options["as_json"]:
            _say_standing(plan, standing)
        run_elsewhere(plan, standing, folder, store, options)
        return
    standing = standing_of(plan.cells, folder.rows(), here, retry_failed=options["retry_failed"])
    if not options["as_json"]:
        _say_standing(plan, standing)
    sitting = Sitting(plan, folder, store, here)
    sitting.run(standing.todo, lanes_for(options["jobs"]), quiet=options["as_json"])


def _conditions(suite: Suite, jobs: int) -> Here:
    """Return what each Python that cells run in says of itself.

    Raises
    ------
    UsageError
        One of them cannot do cells, or there are too few cores for so many at a time.
    """
    from enginescope.backends.registry import read_spec
    from enginescope.runner.fleet.environment import Environment
    from enginescope.runner.suite_resume import conditions_here
    from enginescope.runner.suite_run import lanes_for

    cores = len(lanes_for(jobs)[0]) or None
    named = dict.fromkeys(
        read_spec(text).environment for one in suite.models for text in one.backends
    )
    found: dict[str | None, dict[str, str]] = {None: conditions_here(cores)}
    for name in filter(None, named):
        found[name] = Environment(name, suite.environments[name]).conditions(cores)
    return found


def _say_standing(plan: SuitePlan, standing: Any) -> None:
    parts = [f"{plan.suite.name}: {len(plan.cells):,} cells"]
    if standing.done:
        parts.append(f"{len(standing.done):,} done before")
    if standing.changed:
        parts.append(f"{standing.changed:,} of other versions or another machine, done again")
    note(", ".join(parts))
    for row in standing.known_bad:
        when = row.ended.partition("T")[0]
        why = f"{row.status.value.replace('_', ' ')}{f': {row.reason}' if row.reason else ''}"
        note(f"skipped, known to be bad since {when}: {row.cell.label}: {why}")
    if standing.known_bad:
        note("--retry-failed runs them again")


def _list(cells: Sequence[Cell], *, as_json: bool) -> int:
    if as_json:
        from enginescope.core.jsonio import encode

        sys.stdout.buffer.write(encode(cells))
        return 0
    for one in cells:
        count = f" · {one.processes} processes" if one.processes > 1 else ""
        refusal = f"   {one.refusal}" if one.refusal else ""
        print(f"{one.key}  {one.label} · {one.mode} · {one.input}{count}{refusal}")
    return 0


def _present(result: SuiteResult, folder: SuiteFolder, options: dict[str, Any]) -> int:
    from enginescope.cli.suite_output import present
    from enginescope.model.suite import CellStatus

    named = options["store_folder"]
    present(result, folder.path, as_json=options["as_json"], store=str(named) if named else None)
    if all(one.status is CellStatus.OK for one in result.rows):
        return 0
    bad = {one.status for one in result.rows} - {CellStatus.OK}
    return EXIT_WRONG if bad == {CellStatus.WRONG} else EXIT_RUN_FAILED
