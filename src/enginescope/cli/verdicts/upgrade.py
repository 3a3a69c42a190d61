"""``enginescope upgrade``: exit code 1 where the new stack is worse than the old one.

With ``--reproduce``: exit code 1 where a verdict is another one now.
"""

from pathlib import Path
from typing import Any

import click

from enginescope.cli import process_options
from enginescope.cli.completion import complete_runs
from enginescope.cli.measure.bench_comparison import RoundsProgress
from enginescope.cli.messages import note, words
from enginescope.cli.options import PATH, option
from enginescope.cli.progress import exit_code, measuring
from enginescope.cli.report_output import check_files, present_answer, step
from enginescope.cli.verb import refuse_typed, verb
from enginescope.cli.verdicts.gate import limits_of
from enginescope.core.errors import UsageError
from enginescope.core.jsonio import sha256_of
from enginescope.formats.archive.engine_archive import MANIFEST
from enginescope.records.progress import COMPARISON_TAG
from enginescope.records.verdict.upgrade import UPGRADE_LIMITS, UpgradeKind, UpgradeReport
from enginescope.services.upgrade.reproduce import ReproduceRequest, reproduce_upgrade
from enginescope.services.upgrade.request import UpgradeRequest
from enginescope.services.upgrade.upgrade import check_upgrade

#: Parameters that go with ``--reproduce``.
_OF_REPRODUCE = (
    *("reproduce", "check_only", "old", "new"),
    *("markdown", "html", "store_folder", "as_json"),
)


@verb(
    "upgrade",
    "Check a new ONNX Runtime against the one in another environment",
    "enginescope upgrade model.onnx --old old/bin/python --markdown upgrade.md",
    "Search the release of ONNX Runtime that made a model slower or wrong",
    "enginescope upgrade model.onnx --search 1.19..1.32 --markdown issue.md",
)
@click.argument("models", nargs=-1, type=PATH)
@option(
    "--old",
    "Stack in use: a Python with enginescope in it, docker:IMAGE or podman:IMAGE; without "
    "MODELS, recorded runs.  [default: with --reproduce, the recorded stack]",
    shell_complete=complete_runs,
    metavar="[NAME=]PYTHON|docker:IMAGE|RUN|TAG|FOLDER",
)
@option(
    "--new",
    "Stack to check, as --old.  [default: this Python; with --reproduce, the recorded stack]",
    shell_complete=complete_runs,
    metavar="[NAME=]PYTHON|docker:IMAGE|RUN|TAG|FOLDER",
)
@process_options.declared_options(UpgradeRequest)
@process_options.timing_options
@option(
    "--max-regression max_regression_pct",
    "Maximum regression of a metric, as 2% or load=10%; the metric then counts.  [default: "
    + ", ".join(f"{one.metric}={one.regression_pct:g}%" for one in UPGRADE_LIMITS)
    + "]",
    multiple=True,
    metavar="[METRIC=]PERCENT",
)
@option(
    "--search",
    "Search the release in this range that made a model worse, as 1.19..1.32.",
    metavar="FIRST..LAST",
)
@option(
    "--package",
    "With --search: the Python package; each release gets an environment in the store.",
    default="onnxruntime",
)
@option(
    "--python pythons",
    "With --search: an interpreter in place of such an environment.",
    multiple=True,
    metavar="[VERSION=]PYTHON",
)
@option(
    "--reproduce",
    "Check the evidence in this folder, run its upgrade again, and compare the verdicts.",
    PATH,
    metavar="FOLDER",
)
@option(
    "--check-only",
    "With --reproduce: compare the files with their SHA-256, and run nothing.",
    is_flag=True,
)
def command(
    models: tuple[Path, ...], reproduce: Path | None, search: str | None, **options: Any
) -> int:
    """Check whether MODELS are as correct and as fast on a new stack; exit with 1 if not.

    Outputs come first: fresh processes of both stacks are compared with a reference and with each
    other. A model whose outputs fail is not timed. Then enginescope interleaves processes of both
    stacks until the result is clear, and judges latency, memory and engine size. Without MODELS, it
    compares recorded runs.

    With --search, it compares the last release of a package with the first. It bisects to the one
    that made the model worse, and names the ONNX operators. The exit code is 1 if one is worse.

    With --reproduce, a changed, missing or added file is an error (exit code 2). So is a stack or a
    model that this machine lacks. The verdicts of recorded runs are computed again.
    """
    if reproduce is not None:
        refuse_typed("with --reproduce", but=_OF_REPRODUCE)
        return _reproduce(reproduce, options)
    refuse_typed("without --reproduce", "check_only", hint="enginescope upgrade --reproduce FOLDER")
    if search is not None:
        refuse_typed("with --search", *("old", "new", "builds", "repeats"))
        return _search(models, search, options)
    refuse_typed("without --search", *("package", "pythons"), hint="--search FIRST..LAST")
    if options["old"] is None:
        raise UsageError("--old is needed", hint="--old PYTHON, docker:IMAGE, a run or a tag")
    return _check(models, options)


def _check(models: tuple[Path, ...], options: dict[str, Any]) -> int:
    from enginescope.render.verdicts.upgrade_answer import upgrade_answer

    check_files(options, *models, options["old"], options["new"] or "")
    with measuring(progress := RoundsProgress(), can_continue=True):
        report = check_upgrade(_request(models, options), progress)
    steps, folder = [next_step(report, options)], options["evidence"]
    if any(notice.code == "I-SHORT-SEARCH" for notice in report.notices):
        steps.append(("continue", progress.again()))
    if folder is not None:
        note(f"wrote {folder}; SHA-256 of its manifest: {sha256_of(folder / MANIFEST)}")
        steps.append(step(options, "run it again", "upgrade", "--reproduce", folder))
    present_answer(upgrade_answer(report), options, *steps)
    return exit_code(progress, int(not report.is_passed))


def _search(models: tuple[Path, ...], span: str, options: dict[str, Any]) -> int:
    from enginescope.render.verdicts.search_answer import search_answer
    from enginescope.services.upgrade.search import SearchRequest, search_upgrade

    check_files(options, *models)
    upgrade, pythons = _request(models, {**options, "old": ""}), tuple(options["pythons"])
    package = options["package"]
    request = SearchRequest(upgrade=upgrade, span=span, package=package, pythons=pythons)
    with measuring(progress := RoundsProgress(), can_continue=True):
        result = search_upgrade(request, progress)
    steps = [next_step(result.change, options)] if result.change else []
    present_answer(search_answer(result), options, *steps)
    return exit_code(progress, int(result.kind in (UpgradeKind.WORSE, UpgradeKind.INCONCLUSIVE)))


def _reproduce(folder: Path, options: dict[str, Any]) -> int:
    from enginescope.render.reproduction.reproduction_answer import reproduction_answer

    check_files(options, folder)
    place = {"store": options["store_folder"], "command": process_options.command_line()}
    own = process_options.picked(options, "check_only", "old", "new")
    request = ReproduceRequest(folder=folder, **place, **own)
    with measuring(progress := RoundsProgress()):
        result = reproduce_upgrade(request, progress)
    after = step(options, "run it again", "upgrade", "--reproduce", folder)
    if result.again is not None:
        after = next_step(result.again, options)
    present_answer(reproduction_answer(result), options, after)
    return int(result.is_reproduced is False)


def _request(models: tuple[Path, ...], options: dict[str, Any]) -> UpgradeRequest:
    limits = limits_of(options["max_regression_pct"], ()) if options["max_regression_pct"] else ()
    regressions = {limit.metric: limit.regression_pct for limit in limits}
    return process_options.request_of(
        UpgradeRequest, options, models=models, max_regression_pct=regressions
    )


def next_step(report: UpgradeReport, options: dict[str, Any]) -> tuple[str, str]:
    """Return the figures of a timed model; without any, what the first open reason means."""
    timed = next((model for model in report.models if model.comparison), None)
    if timed is not None:
        tag = f"{COMPARISON_TAG}{timed.comparison}"
        return step(options, f"figures of {timed.model}", "compare", tag)
    rows = [row for model in report.models for row in model.rows if row.decides]
    row = next((row for row in rows if row.kind is report.kind), rows[0])
    return "the reason", words("enginescope", "explain", row.reason)
