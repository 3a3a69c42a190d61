"""``enginescope suite``: many models on many backends, a process for each, resumed where it was."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from enginescope.cli.messages import warn, words
from enginescope.cli.options import COUNT, FOLDER, PATH, Items, json_option, option, store_option
from enginescope.cli.process_options import command_line, declared_options
from enginescope.cli.report_output import print_data
from enginescope.cli.token_option import needed_token, token_option
from enginescope.cli.verb import EXIT_RUN_FAILED, saying_what_stands, verb
from enginescope.core.errors import UsageError
from enginescope.records.suite.suite import Cell, CellStatus, SuiteResult
from enginescope.services.suites.request import (
    DockerImage,
    Place,
    PushTarget,
    RayCluster,
    SuiteRequest,
    ThisMachine,
    list_cells,
    write_example,
)


def present(result: SuiteResult, folder: Path, *, as_json: bool, store: str | None = None) -> None:
    """Print a suite's results; the next command names a store that the command line named."""
    if as_json:
        print_data(result)
        return
    from enginescope.render.base.text import notice_lines, sentence, show, stacked
    from enginescope.render.suites import suite_answer

    print(f"{result.name} · {suite_answer.counts_sentence(result)}\n")
    for line in (*stacked(suite_answer.suite_tables(result)), *notice_lines(result.notices)):
        show(line)
    for text in filter(None, (suite_answer.took_sentence(result), *suite_answer.explained(result))):
        show(sentence(text))
    show(sentence(f"page: {folder / 'suite.html'}"))
    show(sentence(f"files: {folder}"))
    at = ("--store", store) if store else ()
    listing = words("enginescope", "runs", "list", "--tag", result.name, *at)
    show(sentence(f"runs: {listing}"))


EXIT_WRONG = 1


@verb(
    "suite",
    "Write a commented example",
    "enginescope suite --init",
    "Run a folder of models on two precisions",
    "enginescope suite models/ --on ort-cpu --on trt:fp16",
)
@click.argument("source", required=False, type=PATH, metavar="[SUITE|DIR]")
@option("--init init", "Write a commented example to SUITE or suite.toml.", is_flag=True)
@declared_options(SuiteRequest)
@option("--batch batches", "Batch size to run; repeat for more.", Items(), multiple=True)
@option(
    "--jobs",
    "Run this many cells of this machine at a time, each on its own cores, never two on one "
    "GPU.  [default: 1]",
    COUNT,
)
@option("--list only_list", "List the cells, and run nothing.", is_flag=True)
@option(
    "--output -o folder",
    "Folder for the suite; a new one starts with the results of suites/NAME in the store.  "
    "[default: suites/NAME in the store]",
    FOLDER,
)
@option(
    "--on-ray",
    "Run cells on a Ray cluster: auto, HOST:PORT, ray://HOST:PORT; local starts a cluster here.",
    metavar="ADDRESS",
)
@option("--in-docker", "Run each cell in a fresh container of this image.", metavar="IMAGE")
@option(
    "--push push_url",
    "Send each row and its run to this server while the suite runs.",
    metavar="URL",
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
        path = write_example(source or Path("suite.toml"))
        print(f"{path}: run it with  enginescope suite {path}")
        return 0
    request = _request(source or Path("suite.toml"), options)
    if options["only_list"]:
        return _list(list_cells(request), as_json=options["as_json"])
    return _run(request, options)


def _request(source: Path, options: dict[str, Any]) -> SuiteRequest:
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
    url, file = options["push_url"], options["token_file"]
    if url is None:
        if file is not None:
            raise UsageError("--token-file without --push")
        return None
    return PushTarget(url=url, token=needed_token(file), token_file=file)


def _run(request: SuiteRequest, options: dict[str, Any]) -> int:
    from enginescope.cli.suites.suite_progress import SuiteProgress
    from enginescope.services.suites.run import run_suite_session

    as_json, store = options["as_json"], options["store_folder"]
    progress = SuiteProgress()
    with saying_what_stands(progress.standing), progress:
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
    bad = {row.status for row in result.rows} - {CellStatus.OK}
    if not bad:
        return 0
    return EXIT_WRONG if bad == {CellStatus.WRONG} else EXIT_RUN_FAILED
