"""``enginescope suite``: many models on many backends, a process for each, resumed where it was.

What a suite prints at the end.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginescope.cli.completion import complete_backends
from enginescope.cli.messages import warn, words
from enginescope.cli.options import (
    COUNT,
    FOLDER,
    FROM_0,
    PATH,
    Finite,
    Items,
    Parsed,
    json_option,
    option,
    store_option,
)
from enginescope.cli.report_output import print_data
from enginescope.cli.token_option import needed_token, token_option
from enginescope.cli.verb import EXIT_RUN_FAILED, verb
from enginescope.core.errors import UsageError

if TYPE_CHECKING:
    from enginescope.records.suite.suite import Cell, SuiteResult
    from enginescope.services.suites.request import Place, PushTarget, SuiteRequest


def present(result: SuiteResult, folder: Path, *, as_json: bool, store: str | None = None) -> None:
    """Print a suite's results.

    Args:
        store: The store if the command line named it: the next command needs it too.
    """
    if as_json:
        print_data(result)
        return
    from enginescope.render.base.text import notice_lines, sentence, show, stacked
    from enginescope.render.suites.suite_answer import (
        counts_sentence,
        explained,
        suite_tables,
        took_sentence,
    )

    print(f"{result.name} · {counts_sentence(result)}\n")
    for line in (*stacked(suite_tables(result)), *notice_lines(result.notices)):
        show(line)
    for text in filter(None, (took_sentence(result), *explained(result))):
        show(sentence(text))
    show(sentence(f"page: {folder / 'suite.html'}"))
    show(sentence(f"files: {folder}"))
    at = ("--store", store) if store else ()
    listing = words("enginescope", "runs", "list", "--tag", result.name, *at)
    show(sentence(f"runs: {listing}"))


EXIT_WRONG = 1


def _environment(text: str) -> tuple[str, str]:
    name, equals, python = text.partition("=")
    if not equals or not name or not python:
        raise UsageError(f"{text!r} is not NAME=PYTHON", hint="trt86=/opt/trt86/bin/python")
    path = os.path.expanduser(python)  # noqa: PTH111 - Path's raises where there is no such user
    return name, str(Path(path).absolute()) if "/" in path else python


@verb(
    "suite",
    "Write a commented example",
    "enginescope suite --init",
    "Run a folder of models on two precisions",
    "enginescope suite models/ --on ort-cpu --on trt:fp16",
)
@click.argument("source", required=False, type=PATH, metavar="[SUITE|DIR]")
@option("--init", "init", is_flag=True, help="Write a commented example to SUITE or suite.toml.")
@option("--name", help="Name the suite.  [default: the file's setting, else the file name]")
@option(
    "--on",
    "backends",
    shell_complete=complete_backends,
    multiple=True,
    help=(
        "Backend to run on, as NAME[:PRECISION][@ENVIRONMENT][?KEY=VALUE&…]; "
        "repeat for several.  [default: the file's]"
    ),
)
@option(
    "--environment",
    "environments",
    type=Parsed("NAME=PYTHON", _environment),
    multiple=True,
    help="Python interpreter for backends with @NAME; repeat for more.",
)
@option(
    "--batch", "batches", multiple=True, type=Items(), help="Batch size to run; repeat for more."
)
@option(
    "--mode",
    type=click.Choice(("benchmark", "validate", "both")),
    help="Measure speed, validate outputs, or both.",
)
@option(
    "--input",
    type=click.Choice(("random", "dataset")),
    help="Feed random inputs or the model's data set.",
)
@option(
    "--include", multiple=True, help="Run only models whose name contains or matches this pattern."
)
@option("--exclude", multiple=True, help="Skip models whose name contains or matches this pattern.")
@option(
    "--baseline",
    shell_complete=complete_backends,
    help="Backend to compute the speed-up against.  [default: the first]",
)
@option("--warmup", help="Warm up for at least this time or count, until steady.")
@option("--iterations", type=COUNT, help="Stop after exactly this many iterations.")
@option("--duration", help="Stop after this measuring time.")
@option("--max-time", help="Maximum measuring time; stops before the precision is reached.")
@option("--processes", type=COUNT, help="Number of fresh processes per cell.  [default: 1]")
@option("--reference", help="Compare outputs with this reference; see enginescope validate.")
@option("--samples", type=COUNT, help="Number of random samples if there is no data set.")
@option(
    "--tolerance",
    help="Use the tolerances of this precision, such as fp16.  [default: from both sides]",
)
@option("--rtol", type=Finite(0), help="Relative tolerance for all outputs.")
@option("--atol", type=Finite(0), help="Absolute tolerance for all outputs.")
@option(
    "--percent-mismatch",
    type=Finite(0, 100),
    help="Percentage of elements that may exceed the tolerances.",
)
@option(
    "--layers/--no-layers",
    default=None,
    show_default=False,
    help="Measure per-layer times, for the coverage table.",
)
@option("--timeout", help="Time limit per cell, such as 10min.")
@option("--memory-limit", help="Memory limit per cell, such as 4GiB.")
@option("--retries", type=FROM_0, help="Retry a failed cell this many times.")
@option("--retry-failed", is_flag=True, help="Run cells again that failed in an earlier session.")
@option(
    "--retry-busy",
    is_flag=True,
    help="Run cells again that an earlier session measured on a busy machine (marked !).",
)
@option(
    "--jobs",
    type=COUNT,
    help=(
        "Run this many cells of this machine at a time, each on its own cores, never two on one "
        "GPU.  [default: 1]"
    ),
)
@option("--list", "only_list", is_flag=True, help="List the cells, and run nothing.")
@option(
    "--output",
    "-o",
    "folder",
    type=FOLDER,
    help="Folder for the suite; a new one starts with the results of suites/NAME in the store.  "
    "[default: suites/NAME in the store]",
)
@option(
    "--on-ray",
    metavar="ADDRESS",
    help=(
        "Run cells on a Ray cluster: auto, HOST:PORT, ray://HOST:PORT; local starts a cluster here."
    ),
)
@option("--in-docker", metavar="IMAGE", help="Run each cell in a fresh container of this image.")
@option(
    "--push",
    "push_url",
    metavar="URL",
    help="Send each row and its run to this server while the suite runs.",
)
@token_option("With --push: read the server's access token from this file.")
@store_option
@json_option
def command(source: Path | None, **options: Any) -> int:
    """Run every model of SUITE (TOML, YAML, model_list.json) or DIR on every backend.

    A cell is one model on one backend with one batch and shape. enginescope stores each cell when
    it ends, so an interrupted suite resumes. A changed model, option or version runs a cell again.
    Without SUITE, uses suite.toml.
    """
    if options["init"]:
        from enginescope.services.suites.request import write_example

        path = write_example(source or Path("suite.toml"))
        print(f"{path}: run it with  enginescope suite {path}")
        return 0
    request = _request(source or Path("suite.toml"), options)
    if options["only_list"]:
        from enginescope.services.suites.request import list_cells

        return _list(list_cells(request), as_json=options["as_json"])
    return _run(request, options)


def _request(source: Path, options: dict[str, Any]) -> SuiteRequest:
    from enginescope.cli.process_options import command_line
    from enginescope.services.suites.request import SuiteRequest

    options = {**options, "environments": dict(options["environments"])}
    return SuiteRequest(
        source=source,
        place=_place(options),
        store=options["store_folder"],
        push=_push_target(options),
        command=command_line(),
        **{name: options[name] for name in SuiteRequest.__struct_fields__ if name in options},
    )


def _place(options: dict[str, Any]) -> Place:
    from enginescope.services.suites.request import DockerImage, RayCluster, ThisMachine

    keys = {"--on-ray": "on_ray", "--in-docker": "in_docker", "--jobs": "jobs"}
    flags = [flag for flag, key in keys.items() if options[key]]
    if len(flags) > 1:
        why = "cells run in one place, and --jobs is for cells on this machine"
        raise UsageError(" and ".join(flags), why=why)
    if options["on_ray"]:
        return RayCluster(address=options["on_ray"])
    if options["in_docker"]:
        return DockerImage(image=options["in_docker"])
    return ThisMachine(jobs=options["jobs"] or 1)


def _push_target(options: dict[str, Any]) -> PushTarget | None:
    from enginescope.services.suites.request import PushTarget

    url, file = options["push_url"], options["token_file"]
    if url is None:
        if file is not None:
            raise UsageError("--token-file without --push")
        return None
    return PushTarget(url=url, token=needed_token(file), token_file=file)


def _run(request: SuiteRequest, options: dict[str, Any]) -> int:
    from enginescope.cli.suites.suite_progress import SuiteProgress
    from enginescope.cli.verb import ending_in_order, saying_what_stands
    from enginescope.services.suites.run import run_suite_session

    as_json, store = options["as_json"], options["store_folder"]
    progress = SuiteProgress()
    with saying_what_stands(progress.standing), ending_in_order(), progress:
        run = run_suite_session(request, progress)
    present(run.result, run.folder, as_json=as_json, store=str(store) if store else None)
    if run.unsent is not None:
        warn(f"enginescope: {run.unsent}")
    if run.problem is None:
        return EXIT_RUN_FAILED if run.unsent is not None else exit_code(run.result)
    warn(
        f"enginescope: {run.problem}; its figures are above; make space and give the same command "
        "again to resume"
    )
    return EXIT_RUN_FAILED


def _list(cells: Sequence[Cell], *, as_json: bool) -> int:
    if as_json:
        print_data(cells)
        return 0
    for cell in cells:
        count = f" · {cell.processes} processes" if cell.processes > 1 else ""
        refusal = f"   {cell.refusal}" if cell.refusal else ""
        print(f"{cell.key}  {cell.label} · {cell.mode} · {cell.input}{count}{refusal}")
    return 0


def exit_code(result: SuiteResult) -> int:
    """Return the exit code of a suite: its cells are fine, some are wrong, or some failed."""
    from enginescope.records.suite.suite import CellStatus

    bad = {row.status for row in result.rows} - {CellStatus.OK}
    if not bad:
        return 0
    return EXIT_WRONG if bad == {CellStatus.WRONG} else EXIT_RUN_FAILED
