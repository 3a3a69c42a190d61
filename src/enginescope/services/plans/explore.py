"""Explore: what a plan consists of and where its time goes, as tables and files."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enginescope.analysis.plans.exploration import ORDERS, ordered
from enginescope.analysis.plans.exploration import explore as explore_plan
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.core.errors import UsageError
from enginescope.core.gc_paused import gc_paused
from enginescope.core.suggest import did_you_mean
from enginescope.services.output_files import check_outputs
from enginescope.services.plans.explore_request import (
    ContextFiles,
    Explored,
    ExploreFiles,
    ExploreRequest,
    read_context,
)
from enginescope.services.plans.observer import PlanObserver
from enginescope.services.plans.plan_input import CompanionFiles, PlanInput, PlanName
from enginescope.services.plans.resolve_plan import resolve_plan
from enginescope.services.store_access import place_of

if TYPE_CHECKING:
    from enginescope.render.graph.write.picture import Wish

#: Fields of `Wish` that callers name in another way.
_OPTIONS = {"coloring": "color", "filters": "filter", "highlights": "highlight"}


def explore_and_write(request: ExploreRequest, observer: PlanObserver) -> Explored:
    """Look into a plan and write the files of a request.

    Raises:
        UsageError: There is neither a plan nor layer times, nothing of a name, no such profile or
            GPU; a file cannot be written; or an option needs another one.
        FormatError, StoreError: A file cannot be used, or there is no such run.
        MissingDependencyError, BackendError: TensorRT cannot inspect an engine here, or a package
            that writes a format is missing.
    """
    check_options(request)
    context_files = request.context
    inputs = (*request.companions, context_files.onnx, context_files.build_log)
    named = [Path(request.plan)] if isinstance(request.plan, str | PathLike) else []
    check_outputs(request.files.requested().values(), (*named, *inputs))
    with gc_paused():
        source = resolve_plan(
            request.plan, request.companions, store=request.store, observer=observer
        )
        _check_explorable(source)
        explored = _explored(source, request)
        requested = request.files.requested()
        if requested:
            from enginescope.services.plans.explore_files import write_files

            written = write_files(explored, request, observer)
            explored = replace(explored, files=written)
        return explored


def explore(
    what: PlanName,
    *,
    profile: str | PathLike[str] | None = None,
    plan_profile: int = 0,
    sort: str = "time",
    gpu: str | None = None,
    onnx: str | PathLike[str] | None = None,
    build_log: str | PathLike[str] | None = None,
    csv: str | PathLike[str] | None = None,
    xlsx: str | PathLike[str] | None = None,
    netron: str | PathLike[str] | None = None,
    model_explorer: str | PathLike[str] | None = None,
    html: str | PathLike[str] | None = None,
    svg: str | PathLike[str] | None = None,
    png: str | PathLike[str] | None = None,
    dot: str | PathLike[str] | None = None,
    store: str | PathLike[str] | None = None,
    **drawing: Any,
) -> Explored:
    """Explore a plan, and write it as tables, a page or a graph.

    `open_plan` has the same figures as data frames and charts.

    Args:
        what: A plan's JSON, with the files that are named like it; an engine, where TensorRT is
            installed; a folder or an archive of one engine's files; a stored run.
        profile: Layer times, where they are not beside the plan's file.
        plan_profile: Optimization profile, of a plan that has several.
        sort: Order of the layers: ``"time"``, ``"plan"``, ``"name"``, ``"type"``, ``"precision"``,
            ``"tactic"``, ``"weights"``, ``"activations"`` or ``"footprint"``.
        gpu: Compare each layer with this GPU's limits.
        onnx, build_log: The model that the plan was built from, and the verbose log of the build.
        csv, xlsx: Write the layers; write all tables.
        netron: Write the plan for Netron; with `onnx`, that model with times on its nodes.
        model_explorer: Write the plan for Model Explorer, and its times beside it; with `onnx`, the
            times of that model's nodes.
        html: Write everything as one page.
        svg, png, dot: Write the plan as a graph.
        store: Store of the runs; by default the command line's.
        **drawing: Options of the graph: ``color``, ``layout``, ``details``, ``regions``,
            ``constants``, ``beam``, ``fold``, ``filter``, ``highlight``, ``png_scale``.

    Raises:
        UsageError: There is neither a plan nor layer times, nothing of a name, no such profile or
            GPU; a file cannot be written; or an option needs another one.
        FormatError, StoreError: A file cannot be used, or there is no such run.
        MissingDependencyError, BackendError: TensorRT cannot inspect an engine here, or a package
            that writes a format is missing.

    Examples:
        >>> es.explore("net.graph.json", html="net.html", gpu="H200")   # doctest: +SKIP
    """
    paths = {
        "csv": csv,
        "xlsx": xlsx,
        "netron": netron,
        "model_explorer": model_explorer,
        "html": html,
        "svg": svg,
        "png": png,
        "dot": dot,
    }
    request = ExploreRequest(
        plan=what,
        companions=CompanionFiles(profile=Path(profile) if profile is not None else None),
        plan_profile=plan_profile,
        sort=sort,
        context=ContextFiles(
            gpu=gpu,
            onnx=Path(onnx) if onnx is not None else None,
            build_log=Path(build_log) if build_log is not None else None,
        ),
        files=ExploreFiles(**{name: Path(path) for name, path in paths.items() if path}),
        png_scale=drawing.pop("png_scale", None),
        drawing=drawing_of(**drawing),
        store=place_of(store),
    )
    return explore_and_write(request, PlanObserver())


def drawing_of(**options: Any) -> Wish | None:
    """Return options of the graph as a record; ``None`` without any.

    Raises:
        UsageError: The graph has no such option.
    """
    if not options:
        return None
    from enginescope.render.graph.write.picture import Wish

    names = {_OPTIONS.get(field, field): field for field in Wish.__struct_fields__}
    for option in options:
        if option not in names:
            hint = did_you_mean(option, names)
            raise UsageError(f"a drawing has no option {option!r}", hint=hint)
    return Wish(**{names[option]: value for option, value in options.items()})


def check_options(request: ExploreRequest) -> None:
    """Raise where an option needs another one.

    Raises:
        UsageError: Names the option.
    """
    files = request.files
    if request.sort not in ORDERS:
        raise UsageError(f"`sort` is {request.sort!r}", hint=f"one of {', '.join(ORDERS)}")
    is_drawn = files.svg or files.png or files.dot
    if request.drawing is not None and not is_drawn:
        defaults = type(request.drawing)()
        names = request.drawing.__struct_fields__
        changed = (
            name for name in names if getattr(request.drawing, name) != getattr(defaults, name)
        )
        field = next(changed, names[0])
        hint = "`svg` FILE, `png` FILE or `dot` FILE"
        why = "it is of the drawing"
        raise UsageError(f"`{_OPTIONS.get(field, field)}`", why=why, hint=hint)
    if request.png_scale is not None and files.png is None:
        raise UsageError("`png_scale`", why="it is of the PNG", hint="`png` FILE")


def _check_explorable(source: PlanInput) -> None:
    if source.plan is None and source.profile is None:
        raise UsageError(
            f"{source.label} has neither a plan nor layer times",
            hint="enginescope bench takes layer times unless --no-layers is given",
        )


def _explored(source: PlanInput, request: ExploreRequest) -> Explored:
    own = source.with_own_times()
    chosen = own.of_profile(request.plan_profile)
    view = PlanView(chosen.plan, chosen.profile) if chosen.plan is not None else None
    found = explore_plan(
        own.name,
        own.plan,
        own.profile,
        plan_profile=request.plan_profile,
        whole=own.whole,
        view=view,
    )
    return Explored(
        source=chosen,
        page_source=chosen if own is source else source.of_profile(request.plan_profile),
        found=found,
        layers=ordered(found.layers, request.sort),
        view=view,
        context=read_context(chosen, request.context, view),
    )
