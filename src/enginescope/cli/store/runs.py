"""``enginescope runs``: list, show, tag, export, import, send and delete stored runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import click

from enginescope.cli import options
from enginescope.cli.completion import Words, complete_runs, complete_tags
from enginescope.cli.messages import note, warn
from enginescope.cli.process_options import on_option
from enginescope.cli.report_output import print_data, print_json
from enginescope.cli.token_option import needed_token, token_option
from enginescope.cli.verb import EXIT_RUN_FAILED, verb_of_verbs
from enginescope.core.record import replace
from enginescope.store.archive import Store

if TYPE_CHECKING:
    from enginescope.records.run.run import Run
    from enginescope.store.location import StorePlace
    from enginescope.store.row import RunRow

F = TypeVar("F", bound=Callable[..., Any])

#: Broken runs that `reindex` names one by one.
_SHOWN_BROKEN = 10
#: Runs that a row of the list may stand for: sides × rounds of one comparison.
_MOST_ROUNDS = 128


#: Add what selects runs.
selecting_options = options.add_options(
    options.option("--tag", "Select runs with this tag.", shell_complete=complete_tags),
    options.option("--model", "Select runs whose model name contains this text."),
    on_option("Select runs on backends that start with this name."),
)


class Given(NamedTuple):
    """The options that stood before the sub-command."""

    store_folder: StorePlace | None = None
    as_json: bool = False


def placed(function: F) -> F:
    """Add ``--store`` and ``--json``; both count before the sub-command too."""

    @wraps(function)
    def merged(
        *, store_folder: StorePlace | None = None, as_json: bool = False, **others: Any
    ) -> Any:
        given = click.get_current_context().find_object(Given) or Given()
        store_folder, as_json = store_folder or given.store_folder, as_json or given.as_json
        return function(store_folder=store_folder, as_json=as_json, **others)

    return cast("F", options.store_option(options.json_option(merged)))


@verb_of_verbs(
    "runs",
    "List the latest runs",
    "enginescope runs",
    "Show all figures of the latest run",
    "enginescope runs show latest",
    invoke_without_command=True,
)
@options.store_option
@options.json_option
@click.pass_context
def command(ctx: click.Context, store_folder: StorePlace | None, as_json: bool) -> None:
    """List, show, tag, export, send and delete stored runs. Without a verb, list the latest 20.

    A RUN is the start of an id, a tag, `latest`, `latest~2`, or a run's folder.
    """
    ctx.obj = Given(store_folder, as_json)
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_runs)


@command.verb(
    "list",
    "List runs with a tag",
    "enginescope runs list --tag nightly",
    "List failed runs as JSON",
    "enginescope runs list --outcome failed --json",
)
@selecting_options
@options.option("--outcome", "Select runs with this outcome: ok, failed, crashed, …")
@options.option("--limit", "Maximum number of runs to list.", options.COUNT, default=20)
@placed
def list_runs(store_folder: StorePlace | None, as_json: bool, limit: int, **wanted: Any) -> None:
    """List stored runs, the newest first.

    The rounds of a comparison or of `doctor --noise` are one row; --tag cmp-ID lists each of them.
    """
    from enginescope.services.store_access import selected_rows
    from enginescope.store.row import Filter

    listed = as_json or bool(wanted.get("tag"))
    most = (limit + 1) * (1 if listed else _MOST_ROUNDS)
    found = selected_rows(Store(store_folder), Filter(**wanted, limit=most), warn)
    if not listed:
        found = _folded(found)
    rows = found[:limit]
    if as_json:
        print_data(rows)
    elif rows:
        from enginescope.cli.store.runs_list import runs_list
        from enginescope.render.base.text_table import screen_width

        print(runs_list(rows, screen_width()), end="")
    else:
        note("no such runs" if any(wanted.values()) else "no runs; enginescope bench makes one")
    if len(found) > limit:
        note(f"there are more than {limit}; enginescope runs list --limit N shows them")


@command.verb(
    "show",
    "Show the latest run",
    "enginescope runs show latest",
    "Show the run before it as JSON",
    "enginescope runs show latest~1 --json",
)
@click.argument("run", shell_complete=complete_runs)
@placed
def show_run(run: str, store_folder: StorePlace | None, as_json: bool) -> None:
    """Show one RUN: its figures, conditions and files."""
    from enginescope.cli.run_output import present

    folder = Store(store_folder).folder_of(run)
    found = Store(store_folder).load(str(folder))
    if as_json:
        from enginescope.analysis.runs.run_view import RunView
        from enginescope.render.page.export import report_json

        print_json(report_json([RunView(found)]))
        return
    present([found], {"as_json": False, "store_folder": store_folder})
    _print_facts(found, folder)


def _tagging(verb: str, text: str, *examples: str) -> None:
    """Add a verb of the store that changes the tags of a run, as `Store` names it."""

    @command.verb(verb, *examples, help=text)
    @click.argument("run", shell_complete=complete_runs)
    @click.argument("tags", nargs=-1, required=True)
    @placed
    def change(
        run: str, tags: tuple[str, ...], store_folder: StorePlace | None, as_json: bool
    ) -> None:
        changed = getattr(Store(store_folder), verb)(run, *tags)
        if as_json:
            print_data({"run": changed.id, "tags": changed.tags})
        else:
            print(f"{changed.id[:6]}: {' '.join(changed.tags) or 'no tags'}")


_tagging(
    "tag",
    "Add TAGS to RUN.",
    "Tag the latest run",
    "enginescope runs tag latest baseline",
    "Add two tags",
    "enginescope runs tag latest release fp16",
)
_tagging(
    "untag",
    "Remove TAGS from RUN.",
    "Remove a tag",
    "enginescope runs untag latest baseline",
    "Remove two tags",
    "enginescope runs untag latest release fp16",
)


@command.verb(
    "export",
    "Export the latest run",
    "enginescope runs export latest run.zip",
    "Export both sides of a comparison for hyperfine's scripts",
    "enginescope runs export cmp-0a1b2c3d sides.json --format hyperfine",
)
@click.argument("run", shell_complete=complete_runs)
@click.argument("file", type=options.FILE)
@options.option(
    "--format form",
    "Write the whole run (zip), or the samples of RUN or of a tag: hyperfine, "
    "google-benchmark, nvbench, or the format of a plug-in.",
    metavar="FORMAT",
    default="zip",
    shell_complete=Words("formats"),
)
@placed
def export_run(
    run: str, file: Path, form: str, store_folder: StorePlace | None, as_json: bool
) -> None:
    """Write the folder of RUN to the zip file FILE, or samples to the JSON of another tool."""
    from enginescope.cli.terminal_observer import TerminalObserver
    from enginescope.services.store.export_runs import ExportRequest, export_stored

    request = ExportRequest(run=run, file=file, format=form, store=store_folder)
    written = [str(path) for path in export_stored(request, TerminalObserver())]
    if as_json:
        print_data(written[0] if form == "zip" else written)
    else:
        print("\n".join(written))


@command.verb(
    "import-zip",
    "Import an exported run",
    "enginescope runs import-zip run.zip",
    "Import into another store",
    "enginescope runs import-zip run.zip --store folder/",
)
@click.argument("files", nargs=-1, required=True, type=options.PATH)
@placed
def import_zip(files: tuple[Path, ...], store_folder: StorePlace | None, as_json: bool) -> None:
    """Store the runs in zip FILES written by `runs export`."""
    store = Store(store_folder)
    ids = []
    for file in files:
        ids.append(store.import_zip(file).id)
        if not as_json:  # at once: the next may be refused
            print(f"stored {ids[-1]}")
    if as_json:
        print_data(ids)


@command.verb(
    "push",
    "Send the latest run",
    "enginescope runs push http://server:8642 latest --token-file token",
    "Send all runs with a tag",
    "enginescope runs push http://server:8642 --tag nightly --token-file token",
)
@click.argument("url")
@click.argument("names", shell_complete=complete_runs, metavar="[RUN]...", nargs=-1)
@selecting_options
@options.option("--suite", "Send the plan and the rows of this suite, and their runs.")
@token_option("Read the server's access token from this file.")
@placed
def push(
    url: str,
    names: tuple[str, ...],
    suite: str | None,
    token_file: Path | None,
    store_folder: StorePlace | None,
    as_json: bool,
    **wanted: Any,
) -> int:
    """Send RUNs to the server at URL, started with enginescope serve --accept-push.

    Without RUNs, sends every stored run that the options select, or a suite. What the server
    already has is skipped, so a repeated push resumes.
    """
    from enginescope.cli.terminal_observer import TerminalObserver
    from enginescope.services.store.export_runs import PushRequest, push_runs
    from enginescope.store.row import Filter

    chosen: dict[str, Any] = {name: value or None for name, value in wanted.items()}
    request = PushRequest(
        url=url,
        token=needed_token(token_file),
        names=names,
        wanted=Filter(**chosen),
        suite=suite,
        store=store_folder,
    )
    report = push_runs(request, TerminalObserver())
    for refused in report.left_out:
        warn(f"not sent: {refused.run}: {refused.why}")
    if as_json:
        data = {"sent": report.sent, "left_out": report.left_out, "there": report.there}
        print_data(data if suite is None else {**data, "rows": report.rows})
    else:
        print(f"{len(report.sent)} sent to {report.server}, {report.there} were there")
        if suite is not None:
            print(f"{report.rows} rows of the suite sent")
    return EXIT_RUN_FAILED if report.left_out else 0


@command.verb(
    "delete",
    "Delete the latest run after a question",
    "enginescope runs delete latest",
    "Delete without asking",
    "enginescope runs delete latest --yes",
)
@click.argument("runs", shell_complete=complete_runs, nargs=-1, required=True)
@options.option("--yes", "Delete without asking.", is_flag=True)
@placed
def delete_runs(
    runs: tuple[str, ...], yes: bool, store_folder: StorePlace | None, as_json: bool
) -> None:
    """Delete RUNS with all their files."""
    store = Store(store_folder)
    ids = list(dict.fromkeys(store.id_to_delete(name) for name in runs))
    if not yes:
        if not sys.stdin.isatty():
            raise click.UsageError("without a terminal, deleting needs --yes")
        click.confirm(f"delete {', '.join(ids)}?", abort=True, err=True)
    deleted = [store.delete(run_id) for run_id in ids]
    print_data(deleted) if as_json else print(*(f"deleted {run}" for run in deleted), sep="\n")


@command.verb(
    "reindex",
    "Rebuild the index",
    "enginescope runs reindex",
    "Rebuild the index of another store",
    "enginescope runs reindex --store folder/",
)
@placed
def reindex(store_folder: StorePlace | None, as_json: bool) -> None:
    """Rebuild the index from the run folders, and name unreadable runs."""
    report = Store(store_folder).reindex()
    if as_json:
        print_data(report)
        return
    print(f"{report.indexed} {'run' if report.indexed == 1 else 'runs'} indexed")
    for broken in report.broken[:_SHOWN_BROKEN]:
        warn(f"skipped {broken.name}: {broken.reason}")
    if len(report.broken) > _SHOWN_BROKEN:
        warn(f"skipped {len(report.broken) - _SHOWN_BROKEN:,} more; --json names all")


def _folded(rows: Sequence[RunRow]) -> tuple[RunRow, ...]:
    """Return one row for the rounds of each side of a comparison, at the place of the newest."""
    from statistics import median

    from enginescope.records.progress import COMPARISON_TAG

    sides: dict[tuple[str, ...], list[RunRow]] = {}
    for row in rows:
        tag = next((tag for tag in row.tags if tag.startswith(COMPARISON_TAG)), None)
        key = (tag, row.model, row.backend, row.outcome) if tag else (row.id,)
        sides.setdefault(key, []).append(row)
    folded = []
    for rounds in sides.values():
        medians = [row.median_ms for row in rounds if row.median_ms is not None]
        first, count = rounds[0], len(rounds)
        if count > 1:
            middle, outcome = median(medians) if medians else None, f"{first.outcome} × {count}"
            first = replace(first, median_ms=middle, outcome=outcome)
        folded.append(first)
    return tuple(folded)


def _print_facts(run: Run, folder: Path) -> None:
    from enginescope.core.units import format_bytes
    from enginescope.render.base.facts import machine_facts, method_facts, phase_facts
    from enginescope.render.base.text import show, table

    files = (f"{a.path} ({a.kind}, {format_bytes(a.size_bytes)})" for a in run.artifacts)
    tags = [("tags", " ".join(run.tags))] if run.tags else []
    tables = {
        "how": method_facts(run),
        "where": machine_facts(run),
        "phases": phase_facts(run),
        "stored": (*tags, ("folder", str(folder)), *(("file", text) for text in files)),
    }
    for title, facts in tables.items():
        if facts:
            print()
            show(table((title, ""), facts))
