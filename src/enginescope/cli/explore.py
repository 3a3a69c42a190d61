"""``enginescope explore``: what a plan consists of and where its time goes."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginescope.cli.explore_draw import check_drawing, draw_options, draw_plan, drawn_files
from enginescope.cli.explore_exports import (
    Explored,
    check_exports,
    export_options,
    exported_files,
    write_exports,
)
from enginescope.cli.explore_more import (
    more_data,
    more_options,
    more_tables,
    note_more,
    read_more,
)
from enginescope.cli.explore_page import page_option, write_page
from enginescope.cli.options import json_option, store_option
from enginescope.cli.outputs import check_outputs

if TYPE_CHECKING:
    from enginescope.plan_source import PlanSource
    from enginescope.store.location import StorePlace

_SORTS = (
    *("time", "plan", "name", "type", "precision", "tactic"),
    *("weights", "activations", "footprint"),
)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("explore")
@click.argument("what", metavar="PLAN|ENGINE|FOLDER|ARCHIVE|RUN")
@click.option("--profile", type=_FILE, help="Layer times.  [default: X.profile.json]")
@click.option("--metadata", type=_FILE, help="trex's.  [default: X.profile.metadata.json]")
@click.option("--build-metadata", type=_FILE, help="trex's.  [default: X.build.metadata.json]")
@click.option(
    "--plan-profile",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Optimisation profile, where the plan has several.",
)
@click.option(
    "--top", type=click.IntRange(1), default=5, show_default=True, help="Most rows of a table."
)
@click.option(
    "--sort", type=click.Choice(_SORTS), default="time", show_default=True, help="Of the layers."
)
@more_options
@export_options
@draw_options
@page_option
@store_option
@json_option
def command(
    what: str,
    profile: Path | None,
    metadata: Path | None,
    build_metadata: Path | None,
    plan_profile: int,
    top: int,
    sort: str,
    store_folder: StorePlace | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Say what a TensorRT plan consists of and where its time goes.

    A PLAN is the JSON of trtexec --exportLayerInfo, of the engine inspector, or trex's
    X.graph.json; what is named like it is read too. An ENGINE is asked where TensorRT is
    installed. A FOLDER or an ARCHIVE holds the files of one engine. A RUN is the beginning of an
    id, a tag, `latest`, or a run's folder.
    """
    check_exports(asked)
    check_drawing(asked)
    outputs = (*exported_files(asked), asked["html_file"], *drawn_files(asked))
    inputs = (what, profile, metadata, build_metadata, asked["onnx"], asked["build_log"])
    check_outputs(outputs, inputs)
    from enginescope.analysis.exploration import explore, ordered
    from enginescope.cli.plan_sources import plan_source
    from enginescope.core.paused_collection import paused_collection
    from enginescope.plan_source import Beside

    with paused_collection():
        beside = Beside(profile, metadata, build_metadata)
        source = explorable(plan_source(what, beside, store_folder=store_folder))
        found = explore(
            source.name,
            source.plan,
            source.profile,
            plan_profile=plan_profile,
            whole=source.whole,
        )
        chosen = source.of_profile(plan_profile)
        more = read_more(chosen.plan, chosen.profile, asked)
        explored = Explored(chosen, found, ordered(found.layers, sort), more)
        write_exports(explored, asked)
        write_page(explored, asked)
        draw_plan(chosen, asked)
        if as_json:
            note_more(more)
            _print_json(explored)
        else:
            _print_text(explored, top, sort)


def explorable(source: PlanSource) -> PlanSource:
    """Return `source` if there is something to look into.

    Raises
    ------
    UsageError
        A run has neither a plan nor layer times.
    """
    from enginescope.core.errors import UsageError

    if source.plan is None and source.profile is None:
        raise UsageError(
            f"{source.label} has neither a plan nor layer times",
            hint="enginescope bench takes layer times unless --no-layers is given",
        )
    return source


def _print_json(explored: Explored) -> None:
    from enginescope.render.explore_data import explore_json

    source, found, layers, more = explored
    made = explore_json(
        found,
        layers,
        device=source.device_names,
        tensorrt_version=explored.tensorrt_version,
        notices=(*source.notices, *more.notices),
        more=more_data(more),
    )
    sys.stdout.buffer.write(made)
    sys.stdout.flush()


def _made_on(explored: Explored) -> str | None:
    """Return the GPU and the version of TensorRT, as far as they are known."""
    version = explored.tensorrt_version
    parts = (explored.gpu_text, f"TensorRT {version}" if version else None)
    return " · ".join(one for one in parts if one) or None


def _print_text(explored: Explored, top: int, sort: str) -> None:
    from enginescope.render.explore_text import explore_text
    from enginescope.render.text import sentence, show, table

    source, found, _, more = explored
    width = shutil.get_terminal_size().columns
    tables = tuple(more_tables(more, top=top, width=width))
    shown = explore_text(
        found,
        device=_made_on(explored),
        notices=(*source.notices, *more.notices),
        top=top,
        sort=sort,
        width=width,
    )
    show(shown)
    for one in tables:
        print(one.title)
        show(table(one.headers, one.rows, right=one.right))
        if one.note:
            show(sentence(one.note))
        print()
