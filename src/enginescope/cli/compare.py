"""``enginescope compare``: runs and plans side by side, and what explains their difference."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginescope.cli.compare_options import across_option, terms_of
from enginescope.cli.options import Finite, json_option, note, store_option
from enginescope.cli.outputs import check_outputs
from enginescope.core.errors import UsageError

if TYPE_CHECKING:
    from enginescope.analysis.build_choices import ChoicePair
    from enginescope.analysis.comparison import Comparison
    from enginescope.analysis.measured_sides import MeasuredComparison
    from enginescope.analysis.terms import Terms
    from enginescope.cli.compared_sides import ComparedSide
    from enginescope.store.location import StorePlace

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_OUT = click.Path(dir_okay=False, path_type=Path)


@click.command("compare")
@click.argument("what", metavar="A B [C…] | COMPARISON", nargs=-1)
@click.option(
    "--threshold",
    "threshold_pct",
    type=Finite(0, 100),
    metavar="PERCENT",
    help="Smaller differences do not matter.  [default: 1 of what was measured, 3 of layers]",
)
@across_option
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
@click.option(
    "--csv", "csv_file", type=_OUT, help="Pairs of layers, else plans, else verdicts, to FILE."
)
@click.option("--markdown", "markdown_file", type=_OUT, help="Verdicts and reasons to FILE.")
@click.option("--html", "html_file", type=_OUT, help="One page to FILE.")
@store_option
@json_option
def command(what: tuple[str, ...], store_folder: StorePlace | None, **options: Any) -> None:
    """Compare runs and TensorRT plans: which is faster, and what explains the difference.

    Each is a run, a tag whose runs are the processes of a side, what trtexec exported, a plan's
    JSON, a folder with the files of one engine, or an engine; alone, a comparison of
    bench --compare. The first is the base. What was measured gets verdicts; two plans are compared
    layer by layer, more are set side by side.
    """
    files = [options[one] for one in ("csv_file", "markdown_file", "html_file")]
    build_logs, threshold_pct = options["build_logs"], options["threshold_pct"]
    check_outputs(files, (*what, *build_logs))
    _check(what, build_logs, any(files))
    from enginescope.analysis.comparison import THRESHOLD_PCT
    from enginescope.cli import compare_output as output
    from enginescope.core.paused_collection import paused_collection
    from enginescope.render.compare_tables import Chosen

    with paused_collection():
        terms = terms_of(threshold_pct, options["across"])
        measured, plans = _found(what, terms, options["plan_profile"], store_folder)
        chosen = Chosen(
            only=_known(options["only"], plans),
            top=options["top"],
            threshold_pct=THRESHOLD_PCT if threshold_pct is None else threshold_pct,
        )
        found = output.Compared(
            measured=measured,
            plans=plans,
            choices=_choices(build_logs) if build_logs else None,
            chosen=chosen,
        )
        output.write_csv(found, options["csv_file"])
        output.write_markdown(found, options["markdown_file"])
        output.write_page(found, options["html_file"])
        output.present(found, as_json=options["as_json"])


def _found(
    what: Sequence[str], terms: Terms, plan_profile: int, store_folder: StorePlace | None
) -> tuple[MeasuredComparison | None, Comparison | None]:
    """Return the verdicts and the comparison of plans, whichever there can be.

    Raises
    ------
    UsageError
        There can be neither.
    """
    if not what:
        return None, None
    from enginescope.cli.compared_sides import compared_sides

    sides = compared_sides(what, store_folder)
    _check_sides(sides)
    measured = _measured(sides, terms, store_folder)
    if measured is not None and any(one.source.plan is None for one in sides):
        return measured, None
    return measured, _plans(sides, plan_profile)


def _check(what: Sequence[str], build_logs: Sequence[Path], writes: bool) -> None:
    if len(build_logs) not in (0, 2):
        raise UsageError(
            f"{len(build_logs)} build logs", hint="give --build-log twice: A's, then B's"
        )
    if not what and (writes or not build_logs):
        raise UsageError(
            "no plans or runs to compare",
            hint="enginescope compare A.graph.json B.graph.json, or two runs",
        )


def _measured(
    sides: Sequence[ComparedSide], terms: Terms, store_folder: StorePlace | None
) -> MeasuredComparison | None:
    """Return what the samples come to, where every side has some."""
    if not all(one.is_measured for one in sides):
        _say_unmeasured(sides)
        return None
    from enginescope.analysis.measured_sides import compare_sides
    from enginescope.cli.compared_sides import measured_sides
    from enginescope.cli.noise_floors import known_floors
    from enginescope.store.location import store_folder as folder_of

    return compare_sides(measured_sides(sides), terms, known_floors(folder_of(store_folder)))


def _say_unmeasured(sides: Sequence[ComparedSide]) -> None:
    """Say which sides have no samples, where others have, or where an engine was given."""
    without = [one for one in sides if not one.is_measured]
    if len(without) < len(sides) or any(one.source.kind == "engine" for one in without):
        names = ", ".join(one.what for one in without)
        note(f"not measured, so plans alone are compared: {names}")
        note("  try: enginescope bench A B --compare")


def _check_sides(sides: Sequence[ComparedSide]) -> None:
    """Raise `UsageError` where a side has nothing at all, such as a run that failed."""
    for one in sides:
        if not one.is_measured and one.source.plan is None:
            raise UsageError(
                f"{one.what} has neither samples nor a plan", why=one.runs[-1].outcome.message
            )


def _plans(sides: Sequence[ComparedSide], plan_profile: int) -> Comparison:
    from enginescope.analysis.comparison import compare
    from enginescope.cli.compared_sides import plan_names

    runs = [one.source.as_run() for one in sides]
    return compare(runs, names=plan_names(sides), plan_profile=plan_profile)


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
