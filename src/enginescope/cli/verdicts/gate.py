"""``enginescope gate``: exit code 1 where something got worse than is allowed."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import click

from enginescope.cli.comparison import across_option
from enginescope.cli.completion import complete_runs
from enginescope.cli.messages import words
from enginescope.cli.options import FILE, Finite, json_option, option, page_options, store_option
from enginescope.cli.process_options import command_line, picked, rounds_end_options
from enginescope.cli.report_output import check_files, present_answer, step
from enginescope.cli.verb import verb
from enginescope.core.errors import UsageError
from enginescope.records.verdict import gate


@verb(
    "gate",
    "Fail on a latency regression over 2 %",
    "enginescope gate new --baseline main --max-regression 2%",
    "Check p99 too, and write a pull request table",
    "enginescope gate new --baseline main --max-regression p99=5% --markdown pr.md",
)
@click.argument("current", shell_complete=complete_runs, nargs=-1)
@option(
    "--baseline baselines",
    "Compare with this baseline; repeat to combine several.",
    shell_complete=complete_runs,
    multiple=True,
    required=True,
    metavar="RUN|TAG|SUITE|FOLDER",
)
@option(
    "--max-regression limits",
    "Maximum regression of a metric, as 2% or p99=5%."
    f"  [default: {gate.DEFAULT_REGRESSION_PCT:g}%]",
    multiple=True,
    metavar="[METRIC=]PERCENT",
)
@option(
    "--metric metrics",
    "Metric to check: latency, p99, throughput, peak_memory, engine_size, …"
    "  [default: latency, and metrics of --max-regression]",
    multiple=True,
)
@option(
    "--inconclusive",
    "Measure inconclusive jobs again, fail, or pass; measure fails if that is not enough.",
    click.Choice(get_args(gate.GatePolicy)),
    default="measure",
)
@option(
    "--confidence",
    "Confidence level of the whole gate; the rest bounds its false-alarm rate.",
    Finite(0.5, 0.9999),
    default=0.95,
)
@across_option
@option("--all everything", "Also list jobs without a regression.", is_flag=True)
@page_options
@option("--junit", "Write JUnit XML to FILE.", FILE)
@option("--sarif", "Write SARIF 2.1.0 to FILE.", FILE)
@rounds_end_options
@store_option
@json_option
def command(current: tuple[str, ...], baselines: tuple[str, ...], **options: Any) -> int:
    """Compare CURRENT runs with a baseline; exit with 1 on a regression or without evidence.

    CURRENT and the baseline are runs, tags, suites, folders or zip files of runs, or files of other
    tools. Without CURRENT, the gate uses the stored runs newer than the baseline. For a baseline
    from bench --compare, it uses the other side. The gate pairs jobs by model, backend, shapes and
    mode; runs of one job are its processes. A job that fails now, or is missing, is a regression.
    If a job is inconclusive, the gate measures it again where models and machine are unchanged.
    """
    from enginescope.cli.measure.bench_comparison import RoundsProgress
    from enginescope.cli.progress import exit_code, measuring
    from enginescope.render.verdicts.gate_answer import gate_answer, gate_junit, gate_sarif
    from enginescope.services.measurement.gate import decide_gate
    from enginescope.services.verdicts.gate import GateRequest

    check_files(options, *baselines, *current)
    limits = limits_of(options["limits"], options["metrics"])
    terms = gate.GateTerms(limits=limits, **picked(options, "inconclusive", "across", "confidence"))
    request = GateRequest(
        baseline=baselines,
        current=current,
        terms=terms,
        continues=options["continues"],
        max_time_s=options["max_time_s"],
        store=options["store_folder"],
    )
    with measuring(progress := RoundsProgress(), can_continue=True):
        report = decide_gate(request, command_line(), progress)
    present_answer(
        gate_answer(report, everything=options["everything"]),
        options,
        *_steps(report, options),
        junit=lambda: gate_junit(report),
        sarif=lambda: gate_sarif(report, root=str(Path.cwd())),
    )
    return exit_code(progress, int(not report.is_passed))


def limits_of(limits: Sequence[str], metrics: Sequence[str]) -> tuple[gate.Limit, ...]:
    """Return the limit of each metric that is looked at; `UsageError`: no percentage or metric.

    A percentage alone is of every metric without one of its own; one that is named with a metric
    makes it looked at. Latency is looked at unless ``--metric`` names others.
    """
    from enginescope.analysis.verdicts.compared_figures import HEADLINE, check_metric

    general, own = gate.DEFAULT_REGRESSION_PCT, dict[str, float]()
    for one in limits:
        name, equals, amount = one.rpartition("=")
        if equals:
            own[check_metric(name.strip())] = _percent(amount, one)
        else:
            general = _percent(one, one)
    asked = [check_metric(one) for one in metrics] or [HEADLINE]
    every = dict.fromkeys((*asked, *own))
    return tuple(gate.Limit(metric=one, regression_pct=own.get(one, general)) for one in every)


def _percent(amount: str, given: str) -> float:
    try:
        return float(amount.strip().removesuffix("%"))
    except ValueError:
        what, hint = f"--max-regression {given}", "--max-regression 2%, or p99=5%"
        raise UsageError(what, why="not a percentage", hint=hint) from None


def _steps(report: gate.GateReport, options: dict[str, Any]) -> Iterator[tuple[str, str]]:
    from enginescope.services.explain import shown_word

    if report.rows:
        worst = report.rows[0]  # the worst outcome comes first
        outputs = ("validate", worst.path or worst.model, "--on", worst.backend)
        if "precision" in {one.evidence.get("key") for one in worst.notices}:
            yield "check the outputs", words("enginescope", *outputs)
        yield "explain it", words("enginescope", "explain", shown_word(worst.outcome.value))
        yield step(options, "over time", "history", worst.model)
