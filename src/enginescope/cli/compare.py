"""``enginescope compare``: plans side by side, and what explains their difference."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from enginescope.cli.options import json_option, note, store_option
from enginescope.cli.outputs import check_outputs
from enginescope.core.errors import UsageError

if TYPE_CHECKING:
    from enginescope.analysis.build_choices import ChoicePair
    from enginescope.analysis.comparison import Comparison
    from enginescope.cli.plan_source import PlanSource
    from enginescope.render.compare_tables import Chosen

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_OUT = click.Path(dir_okay=False, path_type=Path)


@click.command("compare")
@click.argument("what", metavar="PLAN_A PLAN_B [PLAN…]", nargs=-1)
@click.option(
    "--threshold",
    "threshold_pct",
    type=click.FloatRange(0, 100),
    default=3.0,
    show_default=True,
    metavar="PERCENT",
    help="Times that differ by less are taken for equal.",
)
@click.option(
    "--only", metavar="precision|tactic|TYPE", help="Layers that differ in it, or of that type."
)
@click.option(
    "--top", type=click.IntRange(1), default=10, show_default=True, help="Most rows of a table."
)
@click.option(
    "--plan-profile",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Optimisation profile, where plans have several.",
)
@click.option(
    "--build-log",
    "build_logs",
    type=_FILE,
    multiple=True,
    help="Verbose log of a build; twice, A's and B's: what the builds chose.",
)
@click.option("--csv", "csv_file", type=_OUT, help="Pairs, else plans, to FILE.")
@click.option("--html", "html_file", type=_OUT, help="One page to FILE.")
@store_option
@json_option
def command(
    what: tuple[str, ...],
    threshold_pct: float,
    only: str | None,
    top: int,
    plan_profile: int,
    build_logs: tuple[Path, ...],
    csv_file: Path | None,
    html_file: Path | None,
    store_folder: Path | None,
    as_json: bool,
) -> None:
    """Compare TensorRT plans: which is faster, and what explains the difference.

    Two plans are compared layer by layer, more are set side by side; the first is the base. Each
    is a plan's JSON, a folder with the files of one engine, or a run.
    """
    check_outputs((csv_file, html_file), (*what, *build_logs))
    _check(what, build_logs, csv_file or html_file)
    from enginescope.formats.paused_collection import paused_collection
    from enginescope.render.compare_tables import Chosen

    with paused_collection():
        found = _comparison(what, plan_profile, store_folder) if what else None
        choices = _choices(build_logs) if build_logs else None
        chosen = Chosen(only=_known(only, found), top=top, threshold_pct=threshold_pct)
        if found is not None:
            _write_csv(found, chosen, csv_file)
            _write_page(found, chosen, choices, html_file)
        _print(found, chosen, choices, as_json=as_json)


def _check(what: Sequence[str], build_logs: Sequence[Path], file: Path | None) -> None:
    if len(build_logs) not in (0, 2):
        raise UsageError(
            f"{len(build_logs)} build logs", hint="give --build-log twice: A's, then B's"
        )
    if not what and build_logs and file is None:
        return
    if len(what) < 2:
        raise UsageError(
            "1 plan to compare" if what else "no plans to compare",
            hint="enginescope compare A.graph.json B.graph.json",
        )


def _comparison(what: Sequence[str], plan_profile: int, store_folder: Path | None) -> Comparison:
    from enginescope.analysis.comparison import compare
    from enginescope.cli.plan_sources import plan_source

    found = [plan_source(one, store_folder=store_folder) for one in what]
    names = [one.name for one in found]
    if len(set(names)) < len(names):
        places = _places(what, found)
        names = [f"{one.name} ({place})" for one, place in zip(found, places, strict=True)]
    return compare([one.as_run() for one in found], names=names, plan_profile=plan_profile)


def _places(what: Sequence[str], found: Sequence[PlanSource]) -> list[str]:
    """Tell builds of one model apart: by their runs, or where what was named parts ways."""
    named = [
        None if source.kind == "run" else Path(one).absolute()
        for one, source in zip(what, found, strict=True)
    ]
    parents = [one.parent for one in named if one is not None]
    shared = os.path.commonpath(parents) if parents else ""
    return [
        source.where[:8] if path is None else str(path.relative_to(shared))
        for path, source in zip(named, found, strict=True)
    ]


def _known(only: str | None, found: Comparison | None) -> str | None:
    """Return what to show as the plans spell it."""
    if only is None or only in ("precision", "tactic"):
        return only
    if found is None or found.layers is None:
        raise UsageError(f"--only {only}", why="only the layers of two plans are listed")
    from enginescope.core.suggest import did_you_mean

    types = [one.key for one in found.overview.by_type if one.key is not None]
    for one in types:
        if one.lower() == only.lower():
            return one
    raise UsageError(
        f"--only {only}",
        why="neither plan has a layer of that type",
        hint=did_you_mean(only, ("precision", "tactic", *types)),
    )


def _choices(build_logs: Sequence[Path]) -> tuple[ChoicePair, ...]:
    from enginescope.analysis.build_choices import compare_choices
    from enginescope.formats.build_log import build_story_of

    stories = []
    for label, path in zip("AB", build_logs, strict=True):
        story, notices = build_story_of(path.read_bytes(), path.name)
        stories.append(story)
        for one in notices:
            note(f"{label}: {one.message} ({one.code})")
    return compare_choices(*stories)


def _write_csv(found: Comparison, chosen: Chosen, path: Path | None) -> None:
    if path is not None:
        from enginescope.render.compare_data import compare_csv

        _write_file(path, compare_csv(found, chosen))


def _write_page(
    found: Comparison,
    chosen: Chosen,
    choices: tuple[ChoicePair, ...] | None,
    path: Path | None,
) -> None:
    if path is not None:
        from enginescope.render.compare_page import compare_page

        _write_file(path, compare_page(found, chosen, choices))


def _write_file(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise UsageError(f"cannot write {path}", why=error.strerror or str(error)) from error
    note(f"written: {path}")


def _print(
    found: Comparison | None,
    chosen: Chosen,
    choices: tuple[ChoicePair, ...] | None,
    *,
    as_json: bool,
) -> None:
    if as_json:
        from enginescope.render.compare_data import compare_json

        sys.stdout.buffer.write(compare_json(found, chosen, choices))
        sys.stdout.flush()
        return
    from enginescope.render.text import show, table

    width = shutil.get_terminal_size().columns
    if found is not None:
        from enginescope.render.compare_text import compare_text

        show(compare_text(found, chosen, width=width))
    if choices is not None:
        from enginescope.render.build_story_text import comparison_rows

        one = comparison_rows(choices, limit=chosen.top, name_width=max(24, width // 3))
        print(one.title)
        show(table(one.headers, one.rows, right=one.right))
        print(f"{one.note}\n" if one.note else "")
