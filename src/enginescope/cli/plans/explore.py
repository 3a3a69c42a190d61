"""``enginescope explore``: what a plan consists of and where its time goes.

Options of ``enginescope explore`` that write files, and that shape the drawing.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginescope.cli.completion import complete_runs
from enginescope.cli.messages import next_steps
from enginescope.cli.options import (
    COUNT,
    DURATION_MS,
    EXISTING,
    FILE,
    FROM_0,
    Parsed,
    add_options,
    context_options,
    json_option,
    option,
    store_option,
)
from enginescope.cli.process_options import command_line, input_options, on_option, picked
from enginescope.cli.report_output import print_data, print_json, step
from enginescope.cli.verb import ending_in_order, refuse_typed, typed, verb
from enginescope.core.units import parse_bytes

if TYPE_CHECKING:
    from enginescope.render.graph.write.picture import Wish
    from enginescope.services.plans.explore_request import Explored, ExploreFiles, ExploreRequest


#: Add the options that write files.
file_options = add_options(
    option("--csv", "csv_file", type=FILE, help="Write the layers as CSV to FILE."),
    option("--xlsx", "xlsx_file", type=FILE, help="Write all tables to FILE, for Excel."),
    option(
        "--netron",
        "netron_file",
        type=FILE,
        help="Write the plan, or the model of --onnx, with layer times to FILE, for Netron.",
    ),
    option(
        "--model-explorer",
        "model_explorer_file",
        type=FILE,
        help="Write the plan with its times, or times for --onnx, to FILE, for Model Explorer.",
    ),
    option(
        "--perfetto",
        "perfetto_file",
        type=FILE,
        help="Write the layers of one inference and recorded requests to FILE, for Perfetto.",
    ),
    option("--svg", "svg_file", type=FILE, help="Draw the plan as an SVG graph to FILE."),
    option("--png", "png_file", type=FILE, help="Draw the plan as a PNG graph to FILE."),
    option(
        "--color",
        type=click.Choice(["type", "precision", "time", "lint"]),
        default="type",
        help="Color the graph by this property.",
    ),
    option("--beam", metavar="LAYER,N", help="Draw only layers within N steps of LAYER."),
    option(
        "--filter",
        multiple=True,
        metavar="WHAT",
        help="Draw only matching layers and fold the rest: type:T, precision:P, or words.",
    ),
    option(
        "--highlight",
        multiple=True,
        metavar="WHAT",
        help="Frame matching layers: type:T, precision:P, or words.",
    ),
    option(
        "--fold",
        type=click.Choice(["module", "block", "none"]),
        default="none",
        help="Fold each module of the ONNX names, or each repeated block, into one box.",
    ),
    option(
        "--regions",
        type=click.Choice(["io", "forks", "all"]),
        default="io",
        help="Draw tensors as boxes: inputs, outputs and reused memory; also forks; all.",
    ),
    option("--constants", is_flag=True, help="Also draw constants."),
    option("--html", "html_file", type=FILE, help="Write one HTML page with everything to FILE."),
    option(
        "--card", "card_file", type=FILE, help="Write one 16:9 PNG for a slide or a chat to FILE."
    ),
)
_DRAWING = ("color", "beam", "filter", "highlight", "fold", "regions", "constants")


def files_of(options: dict[str, Any]) -> ExploreFiles:
    """Return the files that the options name."""
    from enginescope.services.plans.explore_request import ExploreFiles

    names = [name for name in options if name.endswith("_file")]
    return ExploreFiles(**{name.removesuffix("_file"): options[name] for name in names})


def drawing_from(options: dict[str, Any]) -> Wish | None:
    """Return the options of the drawing that are on the command line."""
    from enginescope.services.plans.explore import drawing_of

    return drawing_of(**{name: options[name] for name in typed() if name in _DRAWING})


_SORTS = (
    *("time", "plan", "name", "type", "precision", "tactic"),
    *("weights", "activations", "footprint"),
)


def _fits(text: str) -> tuple[str, int]:
    """Return the dimension and the bytes of ``512MiB`` or ``seq=2GiB``."""
    name, equals, size = text.rpartition("=")
    return (name if equals else "batch"), parse_bytes(size)


@verb(
    "explore",
    "Show where the time of a plan goes, and write one HTML page",
    "enginescope explore plan.json --profile times.json --html plan.html",
    "Measure a model, and show the graph that ONNX Runtime executes",
    "enginescope explore model.onnx",
)
@click.argument(
    "what", shell_complete=complete_runs, metavar="MODEL|PLAN|ENGINE|FOLDER|ARCHIVE|RUN"
)
@on_option("Backend to measure a MODEL or ENGINE on.  [default: ort-cpu for a MODEL]")
@input_options
@option("--max-time", type=DURATION_MS, help="Maximum measuring time.  [default: 3s]")
@option(
    "--profile", type=EXISTING, help="Read layer times from this file.  [default: X.profile.json]"
)
@option(
    "--metadata",
    type=EXISTING,
    help="Read trex's profiling metadata.  [default: X.profile.metadata.json]",
)
@option(
    "--build-metadata",
    type=EXISTING,
    help="Read trex's build metadata.  [default: X.build.metadata.json]",
)
@option(
    "--plan-profile",
    type=FROM_0,
    default=0,
    help="Select the optimization profile if the plan has several.",
)
@option("--top", type=COUNT, default=5, help="Maximum number of rows per table.")
@option("--sort", type=click.Choice(_SORTS), default="time", help="Sort the layers by this column.")
@context_options
@file_options
@store_option
@json_option
@option("--raw", is_flag=True, help="With --json: add each layer's fields as in the plan's file.")
@option(
    "--passport",
    "only_passport",
    is_flag=True,
    help="Show only how the engine was built and measured; needs neither TensorRT nor a GPU.",
)
@option(
    "--memory",
    "only_memory",
    is_flag=True,
    help="Show only what fills the memory: parts, peak, and tensors. Measures a MODEL.",
)
@option(
    "--fits",
    type=Parsed("[DIM=]SIZE", _fits),
    help="With --memory: find the largest batch, or size of DIM, that stays within SIZE.",
)
def command(what: str, **options: Any) -> None:
    """Show the layers of a TensorRT plan or of a measured model, and where its time goes.

    enginescope measures an ONNX MODEL as bench does, and shows the graph that the runtime executed.
    A PLAN is the JSON of trtexec --exportLayerInfo or of the engine inspector, or trex's
    X.graph.json. enginescope also reads files of the same name. Reading an ENGINE needs TensorRT.
    A FOLDER or an ARCHIVE holds the files of one engine. A RUN is the start of an id, a tag,
    `latest`, or a run's folder. Of an ENGINE, enginescope first shows its passport: facts of the
    engine's header, of files next to it and of stored runs. `enginescope build` writes one.
    """
    if options["only_passport"]:
        _show_passport(what, options)
    elif options["only_memory"] or options["fits"]:
        _show_memory(what, options)
    else:
        _explore(what, options)


def _explore(what: str, options: dict[str, Any]) -> None:
    from enginescope.cli.terminal_observer import NotingObserver
    from enginescope.core.process_control import gc_paused
    from enginescope.core.record import replace
    from enginescope.services.plans.explore import explore_and_write
    from enginescope.services.plans.explore_request import BRIEF, ContextFiles, ExploreRequest
    from enginescope.services.plans.plan_input import CompanionFiles

    observer = NotingObserver()
    context = ContextFiles(**{name: options[name] for name in ContextFiles.__struct_fields__})
    files = (options[name] for name in ("profile", "metadata", "build_metadata"))
    request = ExploreRequest(
        plan=what,
        companions=CompanionFiles(*files),
        plan_profile=options["plan_profile"],
        sort=options["sort"],
        context=context,
        files=files_of(options),
        drawing=drawing_from(options),
        on=options["backend"],
        workload=replace(
            BRIEF,
            stop=replace(BRIEF.stop, max_time_ms=options["max_time"] or BRIEF.stop.max_time_ms),
            **picked(options, "shapes", "dims", "batch"),
        ),
        store=options["store_folder"],
        command=command_line(),
    )
    if request.is_measured:
        request, what = _measured(request)
    with gc_paused(), ending_in_order():
        explored = explore_and_write(request, observer)
        if options["as_json"]:
            for notice in explored.context.notices:
                observer.notice(notice)
            print_json(explored.json_parts(raw=options["raw"]))
            return
        _print_text(explored, options["top"], options["sort"])
        page = options["html_file"]
        first = step(options, "one page", "explore", what, "--html", "plan.html")
        problems = step(options, "find problems", "lint", what)
        next_steps(("open", str(page)) if page else first, problems)


def _measured(request: ExploreRequest) -> tuple[ExploreRequest, str]:
    """Measure the model, and return the request for its run, with the start of the run's id."""
    from enginescope.cli.progress import JobProgress, measuring
    from enginescope.services.measurement.explore import measured

    progress = JobProgress()
    with measuring(progress):
        run, request = measured(request, progress)
    return request, run.id[:8]


def _show_passport(what: str, options: dict[str, Any]) -> None:
    from enginescope.render.base.text import show
    from enginescope.render.plans.passport_text import passport_text
    from enginescope.services.plans.passport import PassportRequest, make_passport

    refuse_typed("with --passport", but=("what", "only_passport", "store_folder", "as_json"))
    passport = make_passport(PassportRequest(file=Path(what), store=options["store_folder"]))
    if options["as_json"]:
        print_data(passport)
        return
    show(passport_text(passport))
    if passport.engine is not None and not passport.runs:
        next_steps(step(options, "measure it", "bench", what))
    elif passport.layers is not None:
        next_steps(step(options, "its layers", "explore", what))


def _show_memory(what: str, options: dict[str, Any]) -> None:
    from enginescope.cli.progress import JobProgress, measuring
    from enginescope.records.run.job import Workload
    from enginescope.render.base.text import show
    from enginescope.render.memory.memory_text import memory_text
    from enginescope.services.memory.memory import MemoryRequest, explain_memory

    own = ("what", "only_memory", "fits", "backend", "shapes", "dims", "batch", "top")
    refuse_typed("with --memory", but=(*own, "store_folder", "as_json"))
    dim, limit = options["fits"] or ("batch", None)
    request = MemoryRequest(
        what=what,
        on=options["backend"],
        workload=Workload(**picked(options, "shapes", "dims", "batch")),
        fits_bytes=limit,
        fits_dim=dim,
        store=options["store_folder"],
    )
    progress = JobProgress()
    with measuring(progress):
        report = explain_memory(request, progress)
    if options["as_json"]:
        print_json(report.to_json())
        return
    show(memory_text(report.name, report.backend, report.view, report.fit, top=options["top"]))
    next_steps(step(options, "the page", "explore", what, "--html", "plan.html"))


def _print_text(explored: Explored, top: int, sort: str) -> None:
    from enginescope.render.base.text import screen_width, show
    from enginescope.render.plans.explore_text import context_tables, explore_text
    from enginescope.render.plans.findings import first_change
    from enginescope.render.plans.passport_text import passport_text

    if explored.passport is not None:
        show(passport_text(explored.passport))
    version = explored.tensorrt_version
    run = explored.source.run
    backend = str(run.job.backend) if run and run.origin == "measured" else None
    place = explored.gpu_text or explored.subject.made_on
    parts = (backend, place, f"TensorRT {version}" if version else None)
    report = explored.subject.findings
    shown = explore_text(
        explored.found,
        first=first_change(report) if report else None,
        device=" · ".join(part for part in parts if part) or None,
        notices=explored.notices,
        top=top,
        sort=sort,
        width=screen_width(),
        beside=context_tables(explored.context.view, explored.context.story, top),
    )
    show(shown)
