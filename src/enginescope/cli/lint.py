"""``enginescope lint``: what may be wrong with a plan."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from enginescope.cli.options import json_option, store_option
from enginescope.cli.outputs import check_outputs, write_output
from enginescope.core.errors import FormatError, UsageError

if TYPE_CHECKING:
    from enginescope.plan_source import PlanSource
    from enginescope.render.findings import Linted
    from enginescope.rules.base import LintInput
    from enginescope.rules.config import LintConfig
    from enginescope.store.location import StorePlace

#: Read where no other is named.
CONFIG_FILE = Path("enginescope.toml")
_FIGURE_COLUMNS = 34


@click.command("lint")
@click.argument("targets", metavar="TARGET...", nargs=-1, required=True)
@click.option(
    "--profile",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Layer times of --exportProfile; else the file of the plan's name beside it.",
)
@click.option("--gpu", help="GPU the times are of, as 'A100 80GB SXM'; else the run's.")
@click.option("--select", multiple=True, metavar="RULES", help="Only these: PLAN1,tiny-kernels.")
@click.option("--ignore", multiple=True, metavar="RULES", help="Not these.")
@click.option(
    "--level",
    type=click.Choice(("info", "warning", "error", "never")),
    help="Exit with 1 if a finding is as severe.  [default: warning]",
)
@click.option("--top", type=click.IntRange(1), default=20, show_default=True, help="Rows shown.")
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help=f"TOML with a [lint] table; else {CONFIG_FILE} in the working directory.",
)
@click.option(
    "--sarif",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the findings as SARIF 2.1.0 too.",
)
@store_option
@json_option
def command(
    targets: tuple[str, ...],
    profile: Path | None,
    gpu: str | None,
    top: int,
    sarif: Path | None,
    as_json: bool,
    store_folder: StorePlace | None,
    **options: Any,
) -> int:
    """Look for what may cost time in the plan of each TARGET, most time at stake first.

    A TARGET is a plan (trtexec --exportLayerInfo), an engine where TensorRT is installed, a folder
    or an archive of such files, or a run: the beginning of an id, a tag, `latest`, or its folder.
    Rules are told by code (PLAN104), by the beginning of
    one, or by name; docs/rules.md has them all.
    """
    from enginescope.cli.plan_sources import plan_sources
    from enginescope.core.paused_collection import paused_collection
    from enginescope.plan_source import Beside

    if profile is not None and len(targets) > 1:
        raise UsageError("one profile for several plans", hint="give one plan with --profile")
    check_outputs([sarif], [*targets, profile])
    config = _configuration(**options)
    with paused_collection():
        found = [
            one
            for name in targets
            for one in plan_sources(name, Beside(profile=profile), store_folder=store_folder)
        ]
        linted = [_linted(one, config, gpu) for one in found]
    for one in found:
        for notice in one.notices if one.kind != "run" else ():  # those were said when it was made
            _wrapped_note(f"{notice.message} ({notice.code})")
    if sarif is not None:
        from enginescope.render.findings import findings_sarif

        write_output(sarif, findings_sarif(linted))
    if as_json:
        from enginescope.render.findings import findings_json

        sys.stdout.buffer.write(findings_json(linted))
        sys.stdout.buffer.flush()
    else:
        _show(linted, top)
    return int(any(config.is_bad(finding) for one in linted for finding in one.report.findings))


def _configuration(
    select: tuple[str, ...], ignore: tuple[str, ...], level: str | None, config: Path | None
) -> LintConfig:
    """The file's configuration; --select and --level go before it, --ignore adds to it."""
    from enginescope.rules.config import LintConfig, checked, config_of

    path = config or (CONFIG_FILE if CONFIG_FILE.is_file() else None)
    base = config_of(_lint_table(path), str(path)) if path else LintConfig()
    chosen, left_out = checked(_split(select)), checked(_split(ignore))
    return msgspec.structs.replace(
        base,
        select=chosen or base.select,
        ignore=(*base.ignore, *left_out),
        level=level or base.level,
    )


def _split(values: tuple[str, ...]) -> list[str]:
    return [part.strip() for value in values for part in value.split(",")]


def _lint_table(path: Path) -> dict[str, Any]:
    from enginescope.core.toml import parse_toml

    try:
        document = parse_toml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {path}", why=error.strerror) from error
    except ValueError as error:  # not UTF-8, or not TOML
        raise FormatError(str(path), why=str(error), expected="TOML") from None
    table = document.get("lint", {})
    if not isinstance(table, dict):
        raise FormatError(str(path), where="lint", why="no table", expected="[lint]")
    return table


def _linted(source: PlanSource, config: LintConfig, gpu: str | None) -> Linted:
    from enginescope.render.findings import Linted
    from enginescope.rules.engine import lint

    given = lint_input(source)
    if gpu is not None:
        given = msgspec.structs.replace(given, device=_device(gpu))
    report = lint(given, config)
    is_file = source.kind != "run"
    return Linted(source=source.where, plan=given.plan, report=report, is_file=is_file)


def lint_input(source: PlanSource) -> LintInput:
    """Return what the rules look at.

    Raises
    ------
    UsageError
        A run has no plan.
    """
    from enginescope.rules.base import LintInput

    if source.plan is None:
        raise UsageError(
            f"{source.label} has no plan",
            hint="measure with a backend that inspects its engine, as trt and trtexec do",
        )
    run = source.run
    return LintInput(
        plan=source.plan,
        profile=source.profile,
        device=source.devices[0] if source.devices else None,
        fed=run.inputs if run else (),
        profile_index=run.job.backend.profile_index if run else None,
    )


def _device(name: str) -> Any:
    from enginescope.analysis.gpu_limits import limits_of
    from enginescope.model.environment import Device

    limits_of(name)
    return Device(name=name)


def _wrapped_note(text: str) -> None:
    """Say something that is not a result on standard error, in lines of the terminal's width."""
    from enginescope.render.text import sentence, show

    show(sentence(text), sys.stderr)


def _show(linted: list[Linted], top: int) -> None:
    from enginescope.render import findings
    from enginescope.render.text import sentence, show, table

    width = shutil.get_terminal_size().columns
    name_width = max(20, (width - _FIGURE_COLUMNS) * 2 // 3)
    for number, one in enumerate(linted):
        if number:
            print()
        show(sentence(findings.headline(one.report)))
        found = one.report.findings
        if one.report.sum_ms is None:
            _wrapped_note("without a profile there is no time at stake; give one with --profile")
        if not found:
            continue
        print()
        rows = findings.finding_rows(found[:top], name_width=name_width)
        show(table(findings.FINDING_HEADERS, rows, right=findings.NUMBERS))
        if len(found) > top:
            print(f"… and {len(found) - top:,} more; --top N shows them")
        if words := findings.stake_words(one.report):
            show(sentence(words))
        print()
        show(table(findings.RULE_HEADERS, findings.rule_rows(found), right=findings.NUMBERS))
