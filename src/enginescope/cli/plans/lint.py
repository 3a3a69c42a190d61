"""``enginescope lint``: what may be wrong with a plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginescope.cli.completion import complete_rules, complete_runs
from enginescope.cli.messages import next_steps, warn, words
from enginescope.cli.options import COUNT, EXISTING, FILE, json_option, option, store_option
from enginescope.cli.process_options import picked
from enginescope.cli.report_output import print_json, step
from enginescope.cli.verb import verb

if TYPE_CHECKING:
    from enginescope.render.plans.findings import Linted

#: Read where no other is named.
CONFIG_FILE = Path("enginescope.toml")
_FIGURE_COLUMNS = 34
_RULES: dict[str, Any] = {"shell_complete": complete_rules, "multiple": True, "metavar": "RULES"}


@verb(
    "lint",
    "Find performance problems in a plan",
    "enginescope lint plan.json --profile times.json",
    "Fail a build on errors only, and write SARIF",
    "enginescope lint plan.json --level error --sarif lint.sarif",
)
@click.argument(
    "targets", shell_complete=complete_runs, metavar="TARGET...", nargs=-1, required=True
)
@option(
    "--profile",
    "Read layer times of --exportProfile.  [default: the plan's X.profile.json]",
    EXISTING,
)
@option(
    "--gpu", "Name the GPU that the times belong to, such as 'A100 80GB SXM'.  [default: the run's]"
)
@option("--select", "Apply only these rules: PLAN1,tiny-kernels.", **_RULES)
@option("--ignore", "Skip these rules.", **_RULES)
@option(
    "--level",
    "Exit with 1 on a finding of this severity or higher.  [default: warning]",
    click.Choice(("info", "warning", "error", "never")),
)
@option("--top", "Maximum number of lines of findings to show for each plan.", COUNT, default=12)
@option("--all show_all", "Show every finding.", is_flag=True)
@option(
    "--config",
    f"Read settings from the [lint] table of this TOML file.  [default: {CONFIG_FILE}]",
    EXISTING,
)
@option("--sarif", "Write the findings as SARIF 2.1.0 to FILE.", FILE)
@store_option
@json_option
def command(targets: tuple[str, ...], **options: Any) -> int:
    """Find likely performance problems in each plan, the largest possible saving first.

    A TARGET is a plan (trtexec --exportLayerInfo), a folder or archive of such files, or a run.
    An engine works too, and needs TensorRT. Name rules by code (PLAN104), by the start of a code,
    or by name. `enginescope explain CODE` describes a rule.
    """
    from enginescope.cli.terminal_observer import NotingObserver
    from enginescope.core.process_control import gc_paused
    from enginescope.render.plans.findings import findings_json
    from enginescope.services.plans.lint import LintRequest, lint_plans

    config = options["config"] or (CONFIG_FILE if CONFIG_FILE.is_file() else None)
    request = LintRequest(
        plans=targets,
        select=_split(options["select"]),
        ignore=_split(options["ignore"]),
        config=config,
        store=options["store_folder"],
        **picked(options, "profile", "gpu", "level", "sarif"),
    )
    with gc_paused():
        result = lint_plans(request, NotingObserver())
        if options["as_json"]:
            print_json(findings_json(result.plans))
        else:
            _show(result.plans, None if options["show_all"] else options["top"])
            next_steps(*_steps(result.plans, targets[0], options))
    return int(result.is_failed)


def _split(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part.strip() for value in values for part in value.split(","))


def _show(linted: Sequence[Linted], top: int | None) -> None:
    from rich.text import Text

    from enginescope.core.record import replace
    from enginescope.render.base.text import screen_width, sentence, show, stacked
    from enginescope.render.plans import findings

    name_width = max(20, (screen_width() - _FIGURE_COLUMNS) * 2 // 3)
    for number, plan in enumerate(linted):
        if number:
            print()
        report = plan.report
        for change in findings.first_changes(report):
            show(Text(change, style="bold"))
        show(sentence(findings.headline(report)))
        if report.sum_ms is None:
            warn("no layer times: add --profile to know the savings")
        if not report.findings:
            continue
        groups = findings.group_table(report, top, name_width=name_width)
        if groups and groups.left_out:
            groups = replace(groups, note="--all shows every finding")
        print()
        tables = (findings.rule_table(report), groups)
        for line in stacked(table for table in tables if table is not None)[:-1]:
            show(line)


def _steps(
    linted: Sequence[Linted], target: str, options: dict[str, Any]
) -> Iterator[tuple[str, str]]:
    codes = [group.code for plan in linted for group in plan.report.groups]
    if codes:
        yield "explain a rule", words("enginescope", "explain", codes[0])
    page = step(options, "one page", "explore", target, "--html", "plan.html")
    yield ("open", str(options["sarif"])) if options["sarif"] else page
