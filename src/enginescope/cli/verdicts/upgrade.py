"""``enginescope upgrade``: exit code 1 where the new stack is worse than the old one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from enginescope.cli.compare_options import rounds_option
from enginescope.cli.completion import complete_backends
from enginescope.cli.measure.bench import command_line
from enginescope.cli.measure.bench_comparison import RoundsProgress
from enginescope.cli.messages import next_steps, note, words
from enginescope.cli.options import (
    COUNT,
    DURATION_MS,
    FILE,
    FOLDER,
    FROM_0,
    MOST_ITEMS,
    PATH,
    SHAPE,
    check_outputs,
    dims_option,
    json_option,
    option,
    store_option,
    tags_option,
    write_output,
)
from enginescope.cli.termination import ending_in_order, saying_what_stands
from enginescope.cli.verb import Verb, naming_flags
from enginescope.cli.verdicts.gate import limits_of
from enginescope.core.digest import sha256_of
from enginescope.formats.archive.archive_reader import MANIFEST
from enginescope.records.run.job import Limits, StopRule, Workload
from enginescope.records.verdict.upgrade import UPGRADE_LIMITS, UpgradedModel, UpgradeReport
from enginescope.services.upgrade.request import REPEATS, UpgradeObserver, UpgradeRequest
from enginescope.services.upgrade.upgrade import check_upgrade
from enginescope.stats.comparison.ratio import LOOKS, MOST_ROUNDS


@click.command(
    "upgrade",
    cls=Verb,
    examples=(
        (
            "Check a new ONNX Runtime against the one in another environment",
            "enginescope upgrade model.onnx --old /opt/ort118/bin/python --markdown upgrade.md",
        ),
        (
            "Compare what two versions left as logs",
            "enginescope upgrade --old trt10.3.log --new trt10.16.log",
        ),
    ),
)
@click.argument("models", nargs=-1, type=PATH)
@option(
    "--old",
    required=True,
    metavar="[NAME=]PYTHON|RUN|TAG|FOLDER",
    help="Stack in use: a Python with enginescope in it; without MODELS, recorded runs.",
)
@option(
    "--new",
    metavar="[NAME=]PYTHON|RUN|TAG|FOLDER",
    help="Stack to check, as --old.  [default: this Python]",
)
@option(
    "--on",
    "backends",
    shell_complete=complete_backends,
    multiple=True,
    help=(
        "Backend of both stacks, or NAME@old and NAME@new.  [default: ort-cpu; trt for an engine]"
    ),
)
@option(
    "--reference",
    help=(
        "What the outputs are compared with, as for validate; BACKEND@old names the stack that "
        "computes it.  [default: expected outputs, else ort-cpu in this Python]"
    ),
)
@option("--data", multiple=True, type=PATH, help="Files and folders with samples.")
@option("--samples", type=COUNT, help="Number of samples.  [default: 8 random, or all of --data]")
@option("--tolerance", help="Row of limits for outputs.  [default: by the coarsest precision]")
@option(
    "--repeats",
    type=click.IntRange(2),
    default=REPEATS,
    help="Fresh processes of each stack that return outputs.",
)
@option("--shape", "shapes", multiple=True, type=SHAPE, help="Set the shape of an input.")
@dims_option
@option(
    "--batch", type=click.IntRange(1, MOST_ITEMS), help="Set the size of dynamic first dimensions."
)
@option("--seed", type=FROM_0, default=0, help="Seed for random inputs.")
@option("--iterations", type=COUNT, help="Time exactly this many iterations in each process.")
@option("--duration", type=DURATION_MS, help="Time each process for this long.  [default: 1s]")
@option("--timeout", type=DURATION_MS, help="Time limit per process.  [default: 10min]")
@rounds_option(LOOKS[-1])
@option(
    "--builds",
    type=click.IntRange(LOOKS[0], MOST_ROUNDS),
    help="Build both engines anew in each round, and measure this many rounds.",
)
@option(
    "--max-regression",
    "limits",
    multiple=True,
    metavar="[METRIC=]PERCENT",
    help=(
        "Maximum regression of a metric, as 2% or load=10%; the metric then counts.  [default: "
        + ", ".join(f"{one.metric}={one.regression_pct:g}%" for one in UPGRADE_LIMITS)
        + "]"
    ),
)
@option(
    "--undecided",
    type=click.Choice(("pass", "warn", "fail")),
    default="warn",
    help="Choose how to treat inconclusive results.",
)
@option("--all", "everything", is_flag=True, help="List metrics that do not count too.")
@option("--markdown", type=FILE, help="Write a table for a pull request to FILE.")
@option("--html", type=FILE, help="Write one HTML page to FILE.")
@option(
    "--evidence",
    type=FOLDER,
    help="Write models, samples, runs, versions and verdicts with their SHA-256 to a new folder.",
)
@option(
    "--without-inputs",
    is_flag=True,
    help="Add the hashes of models and samples to --evidence, not the files.",
)
@tags_option
@store_option
@json_option
def command(models: tuple[Path, ...], old: str, new: str | None, **options: Any) -> int:
    """Check whether MODELS are as right and as fast on a new stack; exit with 1 if not.

    Outputs come first: fresh processes of both stacks are compared with a reference and with each
    other. A model whose outputs fail is not timed. Then enginescope interleaves processes of both
    stacks until the result is clear, and judges latency, memory and engine size. Without MODELS, it
    compares recorded runs.
    """
    check_outputs([options["markdown"], options["html"]], [*map(str, models), old, new or ""])
    request = request_of(models, old, new, options)
    progress = UpgradeProgress(quiet=options["as_json"])
    with (
        naming_flags(),
        ending_in_order(),
        progress,
        saying_what_stands(progress.standing),
    ):
        report = check_upgrade(request, progress)
    _write(report, options)
    _print(report, everything=options["everything"], as_json=options["as_json"])
    if options["evidence"] is not None:
        digest = sha256_of(options["evidence"] / MANIFEST)
        note(f"wrote {options['evidence']}; SHA-256 of its manifest: {digest}")
    if not options["as_json"]:
        _next(report, options)
    return int(not report.is_passed)


def request_of(
    models: tuple[Path, ...], old: str, new: str | None, options: dict[str, Any]
) -> UpgradeRequest:
    """Return the request that the options describe."""
    from enginescope.services.accuracy.request import SampleRequest
    from enginescope.services.measurement.interleaved import with_process_stop

    workload = Workload(
        batch=options["batch"],
        seed=options["seed"],
        shapes=options["shapes"],
        dims=options["dims"],
        stop=StopRule(iterations=options["iterations"], duration_ms=options["duration"]),
    )
    is_usual = options["iterations"] is None and options["duration"] is None
    timeout_ms = options["timeout"]
    given = limits_of(options["limits"], ()) if options["limits"] else ()
    limits = {one.metric: one for one in (*UPGRADE_LIMITS, *given)}
    return UpgradeRequest(
        models=models,
        old=old,
        new=new,
        backends=options["backends"],
        reference=options["reference"],
        samples=SampleRequest(data=options["data"], count=options["samples"]),
        tolerance=options["tolerance"],
        repeats=options["repeats"],
        workload=with_process_stop(workload) if is_usual else workload,
        rounds=options["rounds"],
        builds=options["builds"],
        limits=tuple(limits.values()),
        undecided=options["undecided"],
        process_limits=Limits(timeout_s=timeout_ms / 1e3) if timeout_ms else None,
        evidence=options["evidence"],
        without_inputs=options["without_inputs"],
        tags=options["tags"],
        store=options["store_folder"],
        command=command_line(),
    )


class UpgradeProgress(RoundsProgress, UpgradeObserver):
    """Shows the model, the process of its outputs, and the rounds."""

    def model_started(self, model: Path) -> None:
        """Print the model."""
        if not self._quiet:
            self._line(f"{model.name} …")

    def outputs_progressed(self, text: str) -> None:
        """Show which process returns outputs."""
        if self._live is not None:
            self._live.update(text)

    def model_ended(self, model: UpgradedModel) -> None:
        """Print the verdict on a model."""
        if not self._quiet:
            self._line(f"{model.model}: {model.kind.value}")


def _write(report: UpgradeReport, options: dict[str, Any]) -> None:
    if options["markdown"] is not None:
        from enginescope.render.verdicts.upgrade_writers import upgrade_markdown

        write_output(options["markdown"], upgrade_markdown(report))
    if options["html"] is not None:
        from enginescope.render.verdicts.upgrade_page import upgrade_page

        write_output(options["html"], upgrade_page(report))


def _print(report: UpgradeReport, *, everything: bool, as_json: bool) -> None:
    from enginescope.render.verdicts.upgrade_writers import (
        HEADERS,
        notices_of,
        upgrade_json,
        upgrade_rows,
    )

    if as_json:
        sys.stdout.buffer.write(upgrade_json(report))
        sys.stdout.flush()
        return
    from enginescope.render.base.text import show_answer, table
    from enginescope.render.verdicts.upgrade_phrases import answer_text, scope_facts

    shown = table(HEADERS, upgrade_rows(report, everything=everything))
    show_answer(answer_text(report), scope_facts(report), shown, notices_of(report))


def _next(report: UpgradeReport, options: dict[str, Any]) -> None:
    written, store = options["html"] or options["markdown"], options["store_folder"]
    at = ("--store", store) if store else ()
    steps = [("open", str(written))] if written else []
    timed = next((model for model in report.models if model.comparison), None)
    if timed is not None:
        again = words("enginescope", "compare", *at, f"cmp-{timed.comparison}")
        steps.append((f"figures of {timed.model}", again))
    if options["evidence"] is not None:
        steps.append(("run it again", words("enginescope", "reproduce", options["evidence"])))
    next_steps(*steps)
