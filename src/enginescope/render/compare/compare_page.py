"""A comparison as one HTML file that needs no network and reads without JavaScript."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from markupsafe import Markup

from enginescope.analysis.build_log.build_choices import ChoicePair
from enginescope.analysis.graph.plan_graph import PlanGraph, plan_graph
from enginescope.analysis.layers.layer_table import attribute
from enginescope.analysis.plan_comparison.comparison import Comparison
from enginescope.analysis.plan_comparison.layer_changes import ComparedLayers, LayersSide
from enginescope.analysis.plan_comparison.layer_comparison import LayerComparison
from enginescope.analysis.plan_comparison.plan_summary import ComparedPlan, PlanSummary
from enginescope.analysis.plan_comparison.plans_overview import layer_columns
from enginescope.analysis.verdicts.measured_sides import MeasuredComparison
from enginescope.core.gc_paused import gc_paused
from enginescope.core.record import Record
from enginescope.judge.units import format_ms
from enginescope.render.base.data_table import column
from enginescope.render.base.figures import Figures
from enginescope.render.compare.compare_writers import compare_csv, compare_json
from enginescope.render.graph.node_labels import Times, times_of
from enginescope.render.graph.view.canvas import canvas, container, packed
from enginescope.render.html.images import Chart
from enginescope.render.html.page_frame import (
    PageData,
    charts_data,
    graph_script,
    graph_style,
    page_bytes,
    scripts,
    style,
)
from enginescope.render.plan_comparison.compare_phrases import (
    against_first,
    answer,
    beside_layers,
    cause_text,
    changes_text,
    evidence_text,
    pairing_sentence,
    plan_facts,
    requests_sentence,
)
from enginescope.render.plan_comparison.compare_tables import (
    EXPLAINED,
    Chosen,
    explanation_table,
    facts_table,
    layer_table,
    reformat_tables,
    share_tables,
)
from enginescope.render.plan_comparison.difference import speedups, steps_of, waterfall, waterfalls
from enginescope.render.plan_comparison.plans_stacked import (
    layers_by_type,
    time_by_precision,
    time_by_type,
)
from enginescope.render.plans.build_text import comparison_rows
from enginescope.render.sections.graph import still
from enginescope.render.verdicts.measured_section import MeasuredSection, SideCard, measured_section
from enginescope.render.verdicts.verdict_writers import verdict_csv

#: Rows of the page's tables; those of pairs are all in its data.
_ROWS = 200
#: Above this many pairs the page does not carry its files too.
MAX_CARRIED_PAIRS = 1_500


#: Facts that stand in the table of plans alone, so that the first screen holds the picture.
_NOT_ON_CARDS = frozenset(
    {"sum of layers", "… per item", "Latency (trtexec)", "throughput", "weights", "activations"}
)


class PlanCard(Record, frozen=True, kw_only=True):
    """One plan on the first screen; `part_pct`: its time as a part of the longest of all."""

    label: str
    name: str
    time: str
    part_pct: float | None
    facts: tuple[tuple[str, str], ...]


def compare_page(
    found: Comparison | None,
    chosen: Chosen,
    choices: Sequence[ChoicePair] | None = None,
    *,
    measured: MeasuredComparison | None = None,
    script_address: str | None = None,
) -> bytes:
    """Return the page over two or more sides: verdicts first, then plans.

    Args:
        found: ``None``: a side has no plan.
        chosen: What the list of layers shows at first; all of them are in the page.
        choices: What two builds chose.
        measured: Verdicts, where every side has samples.
    """
    whole = Chosen(top=_ROWS, threshold_pct=chosen.threshold_pct)
    files = _files(found, whole, choices, measured)
    section = measured_section(measured) if measured is not None else None
    charts = [
        *((*section.first, *section.later) if section else ()),
        *_charts(found, chosen.threshold_pct),
    ]
    graphs = graphs_data(found) if found is not None else ()
    return page_bytes(
        "compare.html.j2",
        PageData(charts=charts_data(charts), files=files, more=pairs_data(found, chosen)),
        parts=(*scripts("compare.js", "walk.js"), *((graph_script(),) if graphs else ())),
        css=style("compare.css") + (graph_style() if graphs else ""),
        script_address=script_address,
        **_heading(found, measured),
        measured=section,
        plans=_plan_part(found, chosen.threshold_pct, section, measured)
        if found is not None
        else None,
        falls=[chart for chart in charts if chart.key.startswith("waterfall_")],
        charts={chart.key: chart for chart in charts},
        tables=_tables(found, whole) if found is not None else {},
        choices=_choice_table(choices),
        graphs=graphs,
        left_out=[] if files else [_TOO_LONG],
    )


def _heading(found: Comparison | None, measured: MeasuredComparison | None) -> dict[str, str]:
    """Return the page's title and what it is a comparison of."""
    names = [plan.name for plan in found.overview.plans] if found else []
    what = f"comparison of {len(names)} plans"
    if measured is not None:
        names = [side.name for side in measured.sides]
        what = f"comparison of {len(names)} sides"
    return {
        "title": " and ".join(names) if len(names) == 2 else what.removeprefix("comparison of "),
        "what": what,
    }


def _plan_part(
    found: Comparison,
    threshold_pct: float,
    section: MeasuredSection | None,
    measured: MeasuredComparison | None,
) -> dict[str, Any]:
    known = {notice.code for notice in section.notices} if section is not None else set()
    # Warnings of the sides' runs stand under the verdict, for all processes together.
    notices = [
        one
        for one in found.notices
        if section is None
        or "plan" not in one.evidence
        or (one.level != "warning" and one.code not in known)
    ]
    return {
        "answer": answer(found, threshold_pct, measured),
        "sentences": _sentences(found, threshold_pct),
        "cards": _cards(found.overview.plans, section.cards if section else ()),
        "warnings": [notice for notice in notices if notice.level == "warning"],
        "notes": [notice for notice in notices if notice.level != "warning"],
        "first": _first_picture(found),
        "two": found.layers is not None,
        "explained": EXPLAINED,
        "beside": beside_layers(found.overview.plans),
    }


_TOO_LONG = (
    f"The pairs are more than {MAX_CARRIED_PAIRS:,}: enginescope compare writes them with --csv "
    "and --json."
)


def _files(
    found: Comparison | None,
    whole: Chosen,
    choices: Sequence[ChoicePair] | None,
    measured: MeasuredComparison | None,
) -> dict[str, str]:
    layers = found.layers if found is not None else None
    if layers is not None and len(layers.layers) > MAX_CARRIED_PAIRS:
        return {}
    files = {"comparison.json": compare_json(found, whole, choices, measured=measured)}
    if measured is not None:
        files["verdicts.csv"] = verdict_csv(measured)
    if found is not None:
        files["pairs.csv" if layers else "plans.csv"] = compare_csv(found, whole)
    return {name: data.decode() for name, data in files.items()}


def _charts(found: Comparison | None, threshold_pct: float) -> Iterator[Chart]:
    if found is None:
        return
    overview = found.overview
    batches = {plan.batch for plan in overview.plans}
    made = [time_by_type(overview), time_by_precision(overview)]
    if len(batches) > 1 and None not in batches:
        made.append(time_by_type(overview, per_item=True))
    made.append(layers_by_type(overview))
    if found.layers is not None:
        made += [waterfall(found.layers), speedups(found.layers, threshold_pct)]
    else:
        made += waterfalls(found.against_first(), [one.label for one in overview.plans[1:]])
    yield from (one for one in made if one is not None)


def _first_picture(found: Comparison) -> str:
    """Key of the picture of the first screen: layers are counted where a plan has no times."""
    timed = all(plan.sum_ms is not None for plan in found.overview.plans)
    return "time_by_type" if timed else "layers_by_type"


def _sentences(found: Comparison, threshold_pct: float) -> list[str]:
    plans, layers = found.overview.plans, found.layers
    requests = requests_sentence(plans)
    made: list[str | None] = [] if layers else [*against_first(plans, threshold_pct)]
    made += [f"Whole requests, {requests}." if requests else None]
    if layers is not None:
        made.append(f"{pairing_sentence(layers, plans)}.")
    return [one for one in made if one]


def _cards(plans: tuple[PlanSummary, ...], sides: Sequence[SideCard]) -> list[PlanCard]:
    names = [one.name for one in sides or plans]  # one name of a side on the page
    facts = plan_facts(plans)
    most = max((one.sum_ms or 0.0 for one in plans), default=0.0)
    return [
        PlanCard(
            label=plan.label,
            name=names[at],
            time=format_ms(plan.sum_ms) if plan.sum_ms is not None else "no layer times",
            part_pct=100 * plan.sum_ms / most if plan.sum_ms is not None and most else None,
            facts=tuple((name, cells[at]) for name, cells in facts if name not in _NOT_ON_CARDS),
        )
        for at, plan in enumerate(plans)
    ]


def _tables(found: Comparison, whole: Chosen) -> dict[str, Any]:
    made: dict[str, Any] = {
        "facts": facts_table(found.overview).figures(),
        "shares": [table.figures() for table in share_tables(found, _ROWS)],
    }
    if found.layers is not None:
        made["explained"] = explanation_table(found.layers, _ROWS).figures()
        made["layers"] = layer_table(found.layers, whole, wide=True).figures()
        made["reformats"] = [table.figures() for table in reformat_tables(found.layers, _ROWS)]
    return made


def _choice_table(choices: Sequence[ChoicePair] | None) -> Figures | None:
    if choices is None:
        return None
    return comparison_rows(choices, limit=_ROWS, name_width=60).figures()


_NUMBERS = ("score", "difference_ms", "share_pct", "speedup", "a_ms", "b_ms", "is_shown", "step")


def pairs_data(found: Comparison | None, chosen: Chosen) -> dict[str, Any]:
    """Return every pair and every step of the waterfall; nothing unless two plans are compared."""
    if found is None or found.layers is None:
        return {}
    steps = steps_of(found.layers)
    pairs = {
        "length": len(found.layers.layers),
        "threshold_pct": chosen.threshold_pct,
        "only": chosen.only,
        "columns": pair_columns(found.layers, chosen),
        "steps": [[step.text, step.difference_ms] for step in steps],
    }
    return {"pairs": pairs}


def pair_columns(layers: LayerComparison, chosen: Chosen) -> dict[str, Any]:
    """Return every pair for the page's list, by columns; repeated texts are written once."""
    reasons = {
        at: cause_text(explanation)
        for explanation in layers.explanations
        for at in explanation.members
    }
    steps = {at: number for number, step in enumerate(steps_of(layers)) for at in step.members}
    place = {id(one): at for at, one in enumerate(layers.layers)}
    rows = layers.in_order()
    order = [place[id(row)] for row in rows]
    columns = layer_columns(rows)
    columns["reason"] = [reasons[at] for at in order]
    columns["step"] = [steps[at] for at in order]
    columns["differs"] = [changes_text(row) for row in rows]
    columns["why"] = [evidence_text(row) if row.evidence else None for row in rows]
    columns["is_shown"] = [int(chosen.is_shown(row)) for row in rows]
    return {
        name: column(name, values, 0 if name in _NUMBERS else None).packed()
        for name, values in columns.items()
    }


def graphs_data(found: Comparison) -> tuple[dict[str, Markup | None], ...]:
    """Return the graphs of two plans, each with its picture; none if one of them is empty."""
    layers = found.layers
    if layers is None:
        return ()
    rows = layers.in_order()
    most_ms = max((abs(row.difference_ms or 0.0) for row in rows), default=0.0)
    with gc_paused():
        graphs = [plan_graph(plan.plan) for plan in found.plans]
        if not all(graph.nodes for graph in graphs):
            return ()
        sides = ([row.a for row in rows], [row.b for row in rows])
        return tuple(
            _graph(plan, graph, _changes(graph, rows, side), most_ms)
            for plan, graph, side in zip(found.plans, graphs, sides, strict=True)
        )


def _graph(
    plan: ComparedPlan, graph: PlanGraph, changes: dict[str, Any], most_ms: float
) -> dict[str, Markup | None]:
    profile = plan.view.run.profile
    attribution = attribute(plan.plan, profile) if profile else None
    times = times_of(attribution)
    made = canvas(graph, times or Times(time_ms={}, sum_ms=0.0), {}, is_wrapped=False)
    whole = {**made.data, **changes, "label": plan.label, "mostChange": most_ms}
    data = Markup(container(whole))  # noqa: S704 - base64
    return {"data": data, "still": still(graph, made, attribution)}


def _changes(
    graph: PlanGraph, rows: Sequence[ComparedLayers], side: Sequence[LayersSide | None]
) -> dict[str, Any]:
    """Return for each node the row of its pair, what the pair adds, and whether it has no other."""
    row_of = {index: at for at, one in enumerate(side) if one for index in one.layers}
    found = [row_of.get(node.layer.index, -1) if node.layer else -1 for node in graph.nodes]
    differences = [rows[at].difference_ms if at >= 0 else None for at in found]
    alone = [at >= 0 and (rows[at].a is None or rows[at].b is None) for at in found]
    return {
        "pairs": packed("i4", found),
        "change": packed("f4", differences),
        "isAlone": packed("u1", alone),
    }
