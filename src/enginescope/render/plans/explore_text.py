"""A plan looked into, on the terminal."""

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from enginescope.analysis.layers.reformats import ReformatShare
from enginescope.analysis.plans.plan_view import Exploration, PlanView, ordered
from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.records.plan.build_trace import BuildTrace
from enginescope.records.plan.plan import EXECUTED
from enginescope.records.tensor import Tensor
from enginescope.render.base.data_table import inert_text
from enginescope.render.base.facts import tensor_text
from enginescope.render.base.figures import TextTable
from enginescope.render.base.phrases import layer_sum_sentence
from enginescope.render.base.text import label_row, notice_lines, stacked, title_beside
from enginescope.render.plans import plan_tables
from enginescope.render.plans.build_text import build_story_rows
from enginescope.render.plans.plan_headline import layers_text, memory_text, timed_at_rest

_TIMED = ("Time ms", plan_tables.SHARE, "Type", "Precision")


def explore_tables(
    found: Exploration, *, top: int, sort: str = "time", is_wide: bool = True
) -> list[TextTable]:
    """Return the tables in which something is known.

    Args:
        sort: Of the layers: a key of `ORDERS`.
        is_wide: Whether there is room for bytes beside the layers' times.
    """
    is_bare, is_timed = found.plan_schema == "names-only", found.time is not None
    by_size = sort in ("weights", "activations", "footprint")
    sort = "plan" if sort == "time" and not is_timed else sort
    tables: list[TextTable | None] = []
    if is_timed or not is_bare:
        words = {
            "plan": "their order in the plan",
            "weights": "bytes of weights",
            "activations": "bytes of activations",
            "footprint": "bytes of weights and activations",
        }
        title = "Slowest layers" if sort == "time" else f"Layers by {words.get(sort, sort)}"
        sizes = plan_tables.SIZES if is_wide or by_size else ()
        by = "Time by" if is_timed else "Layers by"
        types = found.by_type if is_timed else _counts(found, "layers_by_type")
        own = found.by_precision if is_timed else _counts(found, "layers_by_precision")
        first = plan_tables.share_table(f"{by} precision of the first input", "precision", own)
        tables += [
            _layers(title, found, sort, top, *_TIMED, *sizes),
            plan_tables.text_table(plan_tables.share_table(f"{by} type", "type", types), top),
            plan_tables.text_table(first, top),
        ]
    if not by_size and any(one.sizes and one.sizes.footprint_bytes for one in found.layers):
        title = "Weights and activations, the largest"
        tables.append(_layers(title, found, "footprint", top, *plan_tables.SIZES, "Type"))
    tables += [
        plan_tables.text_table(
            plan_tables.tactic_table(found.tactics), top, *_TIMED, "Layers", "Of type"
        ),
        plan_tables.text_table(plan_tables.origin_table(found.reformats_by_origin), top),
        plan_tables.text_table(plan_tables.conversion_table(found.reformats_by_conversion), top),
    ]
    return [table for table in tables if table is not None]


def _layers(title: str, found: Exploration, sort: str, top: int, *columns: str) -> TextTable | None:
    rows = tuple(one for one in found.layers if one.row.time_ms or not one.row.is_inert)
    first = ordered(rows, sort)[:top]
    made = plan_tables.layer_table(title, first, has_plan=found.plan_schema is not None)
    shown = plan_tables.text_table(made, top, *columns)
    return shown and replace(shown, left_out=len(rows) - len(first))


def _counts(found: Exploration, name: str) -> list[ReformatShare]:
    counts = getattr(found.totals, name, {})  # no totals: no plan
    none = {"time_ms": None, "share_pct": None}
    return [ReformatShare(key=key, layers=count, **none) for key, count in counts.items()]


def context_tables(view: PlanView | None, story: BuildTrace | None, top: int) -> list[TextTable]:
    """Return what was asked for beside a plan: limits of a GPU, nodes of a model, its build."""
    tables: list[TextTable | None] = []
    if view is not None and view.roofline is not None and view.profile is not None:
        worst = view.roofline.worst(top)
        shown = ("Time ms", "Floor ms", "× floor", "Above floor ms", "Bound by")
        note = plan_tables.limit_sentence(view.roofline, view.engine_ms, top)
        title = f"Limits of {view.roofline.gpu.name}"
        tables.append(
            plan_tables.text_table(plan_tables.limit_table(view, worst), top, *shown, note=note)
            or TextTable(title=title, headers=(), rows=(), note=note)
        )
    if view is not None and view.onnx_map is not None and view.onnx is not None:
        note = plan_tables.node_sentence(view.onnx_map, view.onnx)
        of_node = ("Time ms", plan_tables.SHARE, "Of", "Operator")
        tables.append(
            plan_tables.text_table(plan_tables.node_table(view, {}), top, *of_node, note=note)
        )
    tables += build_story_rows(story, limit=top) if story is not None else ()
    return [table for table in tables if table is not None]


def explore_text(
    found: Exploration,
    *,
    changes: Iterable[str] = (),
    device: str | None = None,
    notices: Sequence[Notice] = (),
    top: int = 5,
    sort: str = "time",
    width: int = 80,
    beside: Iterable[TextTable] = (),
) -> RenderableType:
    """Return a plan's summary and its tables, for a rich console.

    Args:
        changes: Those that may save most.
        device: The GPU it was built or timed on, and what built it.
        notices: Of reading the files; `found` has its own.
        sort: Of the layers: a key of `ORDERS`.
        beside: Further tables.
    """
    lines: list[RenderableType] = [title_beside(inert_text(found.name), device, width)]
    lines += [Text(change, style="bold") for change in changes]
    lines.append(Text())
    lines += [label_row(name, text) for name, text in summary_rows(found)]
    lines.append(Text())
    # from 110 columns on there is room for sizes beside the names of the slowest layers
    tables = explore_tables(found, top=top, sort=sort, is_wide=width >= 110)
    lines += titled((*tables, *beside), width)
    told = [one for one in (*notices, *found.notices) if one.code != "I-NAMES-ONLY"]
    return Group(*lines, *notice_lines(told))


def summary_rows(found: Exploration) -> list[tuple[str, str]]:
    """Return what is said above the tables: labels and texts."""
    rows, totals = [], found.totals
    if found.plan_schema and totals is not None:
        schemas = {
            "trt8-10": "plan format of TensorRT 8.2 to 10",
            "trt11": "plan format of TensorRT 11",
            "names-only": "layer names only",
            EXECUTED: "graph that the runtime executed",
        }
        count = layers_text(totals, timed_at_rest(layer.row for layer in found.layers))
        rows.append(("plan", f"{count}; {schemas.get(found.plan_schema, found.plan_schema)}"))
    if found.plan_profiles:
        others = ", ".join(str(profile) for profile in found.plan_profiles)
        rows.append(("profile", f"optimization profile {found.plan_profile} of {others}"))
    none = "unknown without layer times: pass those of trtexec --exportProfile with --profile FILE"
    rows.append(("time", layer_sum_sentence(found.time) if found.time else none))
    if found.plan_schema == "names-only":
        text = (
            "the engine was built without detailed profiling verbosity, so it has only the names "
            "of its layers; build again with trtexec --profilingVerbosity=detailed, with "
            "config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED in Python, or with "
            "enginescope build"
        )
        return [*rows, ("next", text)]
    if totals is not None and not totals.layers:
        text = "the file lists no layers, or ends before the first; write it again with trtexec"
        return [*rows, ("next", f"{text} --exportLayerInfo")]
    if totals is not None:
        rows.append(("memory", memory_text(totals)))
    rows += _tensor_rows("inputs", found.inputs) + _tensor_rows("outputs", found.outputs)
    return rows


def _tensor_rows(label: str, tensors: tuple[Tensor, ...]) -> list[tuple[str, str]]:
    shown = tensors[:4]
    rows = [(label if not at else "", inert_text(tensor_text(one))) for at, one in enumerate(shown)]
    more = len(tensors) - len(shown)
    return [*rows, ("", f"and {more:,} more")] if more else rows


def titled(tables: Iterable[TextTable], width: int) -> Iterator[RenderableType]:
    """Yield tables below their titles; names take the columns that the others leave."""
    for one in tables:
        names = {one.headers[0]: 0} if one.has_long_names else {}
        yield from stacked([replace(one, is_titled=True, shortened=names)], width)
