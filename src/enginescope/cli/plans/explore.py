"""``enginescope explore``: what a plan consists of and where its time goes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginescope.cli.completion import complete_runs
from enginescope.cli.messages import next_steps
from enginescope.cli.options import COUNT, DURATION_MS, Parsed, json_option, option, store_option
from enginescope.cli.process_options import declared_options, input_options, picked, request_of
from enginescope.cli.report_output import print_data, print_json, step
from enginescope.cli.verb import refuse_typed, verb
from enginescope.core.units import parse_bytes
from enginescope.services.plans.explore_request import BRIEF, ExploreRequest

if TYPE_CHECKING:
    from enginescope.services.plans.explore import Explored


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
@declared_options(ExploreRequest)
@input_options
@option("--max-time", "Maximum measuring time.  [default: 3s]", DURATION_MS)
@option("--top", "Maximum number of rows per table.", COUNT, default=5)
@store_option
@json_option
@option("--raw", "With --json: add each layer's fields as in the plan's file.", is_flag=True)
@option(
    "--passport only_passport",
    "Show only how the engine was built and measured; needs neither TensorRT nor a GPU.",
    is_flag=True,
)
@option(
    "--memory only_memory",
    "Show only what fills the memory: parts, peak, and tensors. Measures a MODEL.",
    is_flag=True,
)
@option(
    "--fits",
    "With --memory: find the largest batch, or size of DIM, that stays within SIZE.",
    Parsed("[DIM=]SIZE", _fits),
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
    from enginescope.render.base.figures import run_steps
    from enginescope.services.plans.explore import explore_and_write

    observer = NotingObserver()
    stop = replace(BRIEF.stop, max_time_ms=options["max_time"] or BRIEF.stop.max_time_ms)
    workload = replace(BRIEF, stop=stop, **picked(options, "shapes", "dims", "batch"))
    request = request_of(ExploreRequest, options, what=what, workload=workload)
    if request.is_measured:
        request, what = _measured(request)
    with gc_paused():
        explored = explore_and_write(request, observer)
        if options["as_json"]:
            for notice in explored.context.notices:
                observer.notice(notice)
            print_json(explored.json_parts(raw=options["raw"]))
            return
        _print_text(explored, options["top"], options["sort"])
        page = options["html"]
        first = step(options, "one page", "explore", what, "--html", "plan.html")
        problems = step(options, "find problems", "lint", what)
        after = run_steps(explored.subject.view, options["store_folder"])
        next_steps(("open", str(page)) if page else first, problems, *after)


def _measured(request: ExploreRequest) -> tuple[ExploreRequest, str]:
    """Measure the model, and return the request for its run, with the start of the run's id."""
    from enginescope.cli.progress import JobProgress, measuring
    from enginescope.services.measurement.explore import measured

    with measuring(progress := JobProgress()):
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

    own = ("what", "only_memory", "fits", "on", "shapes", "dims", "batch", "top")
    refuse_typed("with --memory", but=(*own, "store_folder", "as_json"))
    dim, limit = options["fits"] or ("batch", None)
    request = MemoryRequest(
        what=what,
        on=options["on"],
        workload=Workload(**picked(options, "shapes", "dims", "batch")),
        fits_bytes=limit,
        fits_dim=dim,
        store=options["store_folder"],
    )
    with measuring(progress := JobProgress()):
        report = explain_memory(request, progress)
    if options["as_json"]:
        print_json(report.to_json())
        return
    show(memory_text(report.name, report.backend, report.view, report.fit, top=options["top"]))
    next_steps(step(options, "the page", "explore", what, "--html", "plan.html"))


def _print_text(explored: Explored, top: int, sort: str) -> None:
    from enginescope.render.base.text import screen_width, show
    from enginescope.render.plans.explore_text import context_tables, explore_text
    from enginescope.render.plans.findings import first_changes
    from enginescope.render.plans.passport_text import passport_text

    if explored.passport is not None:
        show(passport_text(explored.passport))
    version = explored.tensorrt_version
    run = explored.source.run
    backend = str(run.job.backend) if run and run.origin == "measured" else None
    place = explored.gpu_text or explored.subject.made_on
    parts = (backend, place, f"TensorRT {version}" if version else None)
    shown = explore_text(
        explored.found,
        changes=first_changes(explored.subject.findings),
        device=" · ".join(part for part in parts if part) or None,
        notices=explored.notices,
        top=top,
        sort=sort,
        width=screen_width(),
        beside=context_tables(explored.context.view, explored.context.story, top),
    )
    show(shown)
