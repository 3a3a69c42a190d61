"""A comparison as one HTML file that needs no network and reads without JavaScript."""

from __future__ import annotations

from collections.abc import Sequence
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
from enginescope.judge.units import format_ms
from enginescope.render.base.data_table import column
from enginescope.render.compare.compare_writers import compare_csv, compare_json
from enginescope.render.graph.node_labels import Times, times_of
from enginescope.render.graph.view.canvas import canvas, container, packed
from enginescope.render.html.images import Chart
from enginescope.render.html.page_frame import PageData, charts_data, page_bytes
from enginescope.render.html.slide import Slide
from enginescope.render.plan_comparison.compare_phrases import (
    against_first,
    answer,
    beside_layers,
    cause_text,
    changes_text,
    evidence_text,
    pairing_sentence,
)
from enginescope.render.plan_comparison.compare_tables import (
    EXPLAINED,
    Chosen,
    explanation_table,
    facts_table,
    layer_table,
    leading_table,
    reformat_tables,
    share_tables,
)
from enginescope.render.plan_comparison.difference import steps_of, waterfalls
from enginescope.render.plans.build_text import comparison_rows
from enginescope.render.sections.graph import still
from enginescope.render.verdicts.measured_section import MeasuredSection, SideCard, measured_section
from enginescope.render.verdicts.verdict_writers import verdict_csv

#: Rows of the page's tables; those of pairs are all in its data.
_ROWS = 200
#: Above this many pairs the page does not carry its files too.
MAX_CARRIED_PAIRS = 1_500


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
    falls = _falls(found)
    drawn = [*falls]
    if section is not None:
        drawn += [*section.charts, *([section.medians] if section.medians else [])]
    graphs = graphs_data(found) if found is not None else ()
    return page_bytes(
        "compare.html.j2",
        PageData(charts=charts_data(drawn), files=files, more=pairs_data(found, chosen)),
        parts=("sides", "pairs", *(["graph"] if graphs else [])),
        script_address=script_address,
        **_heading(found, measured),
        answer=_answer(found, chosen.threshold_pct, measured, section),
        measured=section,
        falls=falls,
        tables=_tables(found, whole, choices),
        graphs=graphs,
        left_out=[] if files else [_TOO_LONG],
    )


def compare_slide(
    found: Comparison | None, threshold_pct: float, measured: MeasuredComparison | None
) -> Slide:
    """Return the verdict with a waterfall, else with the distributions, and the conditions."""
    section = measured_section(measured) if measured is not None else None
    told = _answer(found, threshold_pct, measured, section)
    drawn = [*_falls(found), *(section.charts if section else ())]
    answer, *others = told["sentences"]
    cards = " · ".join(f"{card.label}: {card.name}" for card in told["cards"])
    return Slide(
        answer=answer,
        lines=(*others, cards),
        chart=drawn[0] if drawn else None,
        conditions=tuple(text for _, text in section.facts[:3]) if section else (),
        notices=told["notices"],
    )


def _heading(found: Comparison | None, measured: MeasuredComparison | None) -> dict[str, Any]:
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


def _answer(
    found: Comparison | None,
    threshold_pct: float,
    measured: MeasuredComparison | None,
    section: MeasuredSection | None,
) -> dict[str, Any]:
    """Return the first screen, but for its pictures: sentences, sides and notices."""
    sentences = [section.answer, *section.others] if section else []
    cards = section.cards if section else ()
    notices = list(section.notices) if section else []
    if found is None:
        first = {"sentences": sentences, "cards": cards, "notices": notices}
        return {**first, "explained": None, "two": False}
    plans, layers = found.overview.plans, found.layers
    sentences.append(answer(found, threshold_pct, measured))
    told = [] if layers else [*against_first(plans, threshold_pct)]
    told += [f"{pairing_sentence(layers, plans)}."] if layers else []
    known = {notice.code for notice in notices}
    # Warnings of the sides' runs stand under the verdict, for all processes together.
    notices += [
        notice
        for notice in found.notices
        if section is None
        or "plan" not in notice.evidence
        or (notice.level != "warning" and notice.code not in known)
    ]
    return {
        "sentences": sentences,
        "cards": cards or [_card(plan) for plan in plans],
        "notices": notices,
        "told": told,
        "two": layers is not None,
        "explained": EXPLAINED,
        "beside": beside_layers(plans),
    }


def _card(plan: PlanSummary) -> SideCard:
    text = f"{format_ms(plan.sum_ms)}, sum of the layers" if plan.sum_ms else "no layer times"
    return SideCard(label=plan.label, name=plan.name, text=text)


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


def _falls(found: Comparison | None) -> tuple[Chart, ...]:
    """Return a waterfall for each plan that is compared with the first."""
    if found is None:
        return ()
    against = (found.layers,) if found.layers is not None else found.against_first()
    return waterfalls(against, [plan.label for plan in found.overview.plans[1:]])


def _tables(
    found: Comparison | None, whole: Chosen, choices: Sequence[ChoicePair] | None
) -> dict[str, Any]:
    tables: dict[str, Any] = dict.fromkeys(("choices", "explained", "most", "reformats"))
    if choices is not None:
        tables["choices"] = comparison_rows(choices, limit=_ROWS, name_width=60).figures()
    if found is None:
        return tables
    tables["facts"] = facts_table(found.overview).figures()
    tables["shares"] = [table.figures() for table in share_tables(found, _ROWS)]
    if found.layers is not None:
        tables["explained"] = explanation_table(found.layers, _ROWS).figures()
        most = leading_table(found.layers)
        tables["most"] = most.figures() if most else None
        tables["layers"] = layer_table(found.layers, whole, wide=True).figures()
        tables["reformats"] = [table.figures() for table in reformat_tables(found.layers, _ROWS)]
    return tables


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
