"""A comparison as one HTML file that needs no network and reads without JavaScript."""

from collections.abc import Iterator, Sequence
from string import ascii_uppercase
from typing import Any

from markupsafe import Markup

from enginescope.analysis.build_log.build_log_summary import ChoicePair
from enginescope.analysis.graph.plan_graph import PlanGraph, plan_graph
from enginescope.analysis.layers.layer_table import attribute
from enginescope.analysis.plan_comparison.comparison import Comparison, LayerComparison
from enginescope.analysis.plan_comparison.layer_changes import ComparedLayers, LayersSide
from enginescope.analysis.plan_comparison.plans_overview import ComparedPlan, layer_columns
from enginescope.analysis.verdicts.measured_sides import MeasuredComparison
from enginescope.core.process_control import gc_paused
from enginescope.core.record import replace
from enginescope.judge.units import format_ms
from enginescope.render.base.data_table import DataTable, column, places_for
from enginescope.render.base.facts import made_text
from enginescope.render.base.figures import UNKNOWN, TextTable
from enginescope.render.charts.bars import Bar, waterfall_chart
from enginescope.render.charts.overlay import process_medians
from enginescope.render.compare.compare_answer import (
    compare_answer,
    compare_csv,
    compare_json,
    plans_part,
)
from enginescope.render.graph.node_labels import Times, times_of
from enginescope.render.graph.view.canvas import canvas, container, packed
from enginescope.render.html.answer_page import Part, Slide, written_page
from enginescope.render.html.images import Chart, ChartTable
from enginescope.render.plan_comparison import compare_phrases, compare_tables
from enginescope.render.plans.build_text import choice_table
from enginescope.render.plans.plan_headline import foldings
from enginescope.render.sections.graph import still
from enginescope.render.verdicts.verdict_answer import verdict_csv

#: Rows of the page's tables; those of pairs are all in its data.
_ROWS = 200
#: Above this many pairs the page does not carry its files too.
MAX_CARRIED_PAIRS = 1_500


def compare_page(
    found: Comparison | None,
    chosen: compare_tables.Chosen,
    choices: Sequence[ChoicePair] | None = None,
    *,
    measured: MeasuredComparison | None = None,
    steps: Sequence[tuple[str, str]] = (),
    script_address: str | None = None,
) -> bytes:
    """Return the page over two or more sides: verdicts first, then plans.

    Args:
        found: ``None``: a side has no plan.
        chosen: What the list of layers shows at first; all of them are in the page.
        choices: What two builds chose.
        measured: Verdicts, where every side has samples.
    """
    whole = compare_tables.Chosen(top=_ROWS, threshold_pct=chosen.threshold_pct)
    answered = compare_answer(found, whole, measured=measured)
    falls, files = waterfalls(found), _files(found, whole, choices, measured)
    plans = found.overview.plans if found is not None else ()
    names = [side.name for side in measured.sides] if measured else [plan.name for plan in plans]
    graphs = graphs_data(found) if found is not None else ()
    layers = found.layers if found is not None else None
    pairs = pairs_table(layers, chosen) if layers is not None else None
    where = [("where", one.answer) for one in answered.parts]
    if not where and measured is not None:
        where = [("where", "not known: the runs have no layer times")]
    more: dict[str, Any] = {}
    if layers is not None and pairs is not None:
        steps_ms = [[step.text, step.difference_ms] for step in compare_tables.steps_of(layers)]
        more = {"tables": {"table-pairs": {**pairs.packed(), "prefix": ""}}, "steps": steps_ms}
    too_long = (
        f"The pairs are more than {MAX_CARRIED_PAIRS:,}: enginescope compare writes them with "
        "--csv and --json."
    )
    return written_page(
        replace(
            answered,
            steps=steps,
            more_facts=(*answered.more_facts, *where),
            title=" and ".join(names) if len(names) == 2 else f"{len(names)} sides",
            tables=answered.tables if measured is not None else (),
            charts=falls or answered.charts,
            is_table_first=not falls,
            parts=(
                *_plan_parts(found, whole, measured),
                *([] if choices is None else [_section("choices", choice_table(choices, _ROWS))]),
                *([] if measured is None else [_processes(measured, falls and answered.charts)]),
            ),
            files=files,
            left_out=() if files else (too_long,),
        ),
        "compare.html.j2",
        more=more,
        parts=("pairs", *(["graph"] if graphs else [])),
        script_address=script_address,
        graphs=graphs,
        pairs=pairs,
        plans=plans,
        has_falls=bool(falls),
    )


def compare_slide(
    found: Comparison | None, threshold_pct: float, measured: MeasuredComparison | None
) -> Slide:
    """Return the verdict with a waterfall, else with the distributions, and the conditions."""
    answered = compare_answer(
        found, compare_tables.Chosen(threshold_pct=threshold_pct), measured=measured
    )
    sides = (f"{name} {text}" for name, text in answered.facts if name in ascii_uppercase)
    further = (text for name, text in answered.facts if name in ("verdict", "against A"))
    conditions = (text for name, text in answered.facts if name in ("on", "samples", "evidence"))
    drawn = [*waterfalls(found), *answered.charts]
    return Slide(
        answer=answered.answer,
        lines=(*further, *(part.answer for part in answered.parts), " · ".join(sides)),
        chart=drawn[0] if drawn else None,
        conditions=tuple(conditions),
        notices=answered.notices,
    )


def _section(key: str, *tables: TextTable, title: str | None = None, **more: Any) -> Part:
    name = title or tables[0].title
    return Part(key=key, title=name, **{"answer": name, "facts": (), "tables": tables, **more})


def _plan_parts(
    found: Comparison | None, whole: compare_tables.Chosen, measured: MeasuredComparison | None
) -> Iterator[Part]:
    """Yield what explains the difference, the layers, and what is known of the plans."""
    if found is None:
        return
    layers = found.layers
    tables = [] if layers is None else [compare_tables.leading_table(layers)]
    is_timed = layers is not None and layers.difference_ms is not None
    title = compare_tables.EXPLAINED if is_timed else "What differs"
    if layers is not None and not is_timed and layers.explanations:
        tables.append(compare_tables.explanation_table(layers, _ROWS))
    known = [table for table in tables if table is not None]
    if measured is not None:
        part = plans_part(found, whole, measured)
        yield replace(part, key="explained", title=title, tables=tuple(known))
    elif known:
        yield _section("explained", *known, title=title)
    if layers is not None:
        yield _section("layers", title="Layers side by side")
        if reformats := [*compare_tables.reformat_tables(layers, _ROWS)]:
            yield _section("reformats", *reformats, title="Reformats lost and added")
    yield _section(
        "time", *compare_tables.share_tables(found, _ROWS), title="By type and precision"
    )
    for table in compare_tables.memory_tables(found.overview):
        yield _section("memory", table)
    yield _section("plans", compare_tables.facts_table(found.overview))


def _processes(found: MeasuredComparison, charts: Sequence[Chart | None]) -> Part:
    """Return every process, with the distributions that are not above."""
    rows = []
    for label, run in ((side.label, run) for side in found.sides for run in side.runs):
        turn = (str(run.turn.round + 1), str(run.turn.place + 1)) if run.turn else (UNKNOWN,) * 2
        rows.append((label, *turn, run.id, made_text(run), run.outcome.kind.value))
    names, cells = ("side", "round", "place in it", "run", "made", "outcome"), tuple(rows)
    table = TextTable(title="Runs", headers=names, rows=cells, numbers=names[1:3], is_detail=True)
    drawn = (chart for chart in (*charts, process_medians(found)) if chart is not None)
    return _section("processes", table, title="Processes", charts=tuple(drawn))


def _files(
    found: Comparison | None,
    whole: compare_tables.Chosen,
    choices: Sequence[ChoicePair] | None,
    measured: MeasuredComparison | None,
) -> dict[str, bytes]:
    layers = found.layers if found is not None else None
    if layers is not None and len(layers.layers) > MAX_CARRIED_PAIRS:
        return {}
    files = {"comparison.json": compare_json(found, whole, choices, measured=measured)}
    if measured is not None:
        files["verdicts.csv"] = verdict_csv(measured)
    if found is not None:
        files["pairs.csv" if layers else "plans.csv"] = compare_csv(found, whole)
    return files


def pairs_table(layers: LayerComparison, chosen: compare_tables.Chosen) -> DataTable:
    """Return every pair with all that is known of both sides; unchanged ones stand aside."""
    rows, data = layers.in_order(), layer_columns(layers.in_order())
    place = {id(one): at for at, one in enumerate(layers.layers)}
    reasons = {at: step.text for step in compare_tables.steps_of(layers) for at in step.members}
    row_reasons = [reasons[place[id(row)]] for row in rows]
    names = list(zip(data["a_name"], data["b_name"], strict=True))
    types = zip(data["a_type"], data["b_type"], strict=True)
    times = {side: data.pop(f"{side}_ms") for side in "ab"}
    places = places_for([*times["a"], *times["b"]])
    decimals, both_types = {"score": 2, "speedup": 2}, (filter(None, both) for both in types)
    columns = (
        column("Layer", (a or b for a, b in names), key="name"),
        column("A ms", times["a"], places, key="a_ms", is_share=True),
        column("B ms", times["b"], places, key="b_ms", is_share=True),
        column("B − A ms", data.pop("difference_ms"), places, key="difference_ms", digits=2),
        column("Share %", data.pop("share_pct"), 1, key="share_pct"),
        column("Differs in", map(compare_phrases.changes_text, rows), key="differs"),
        column("Type", map(" → ".join, map(dict.fromkeys, both_types)), key="type", is_choice=True),
        column("In B", (b if a and b != a else None for a, b in names), key="in_b"),
        column("Reason", row_reasons, key="reason", is_choice=True, is_hidden=True),
        column("Paired by", map(compare_phrases.evidence_text, rows), key="why", is_hidden=True),
        *(
            column(words[:1].upper() + words[1:], values, places, key=name, is_hidden=True)
            for name, values in data.items()
            for words in (name.replace("_", " ").replace("onnx", "ONNX"),)
            for places in (decimals.get(name),)
        ),
    )
    shown = [chosen.is_shown(row) and chosen.admits(row) for row in rows]
    return DataTable(
        key="pairs",
        caption="Pairs of layers, the largest difference first",
        noun=("pair", "pairs"),
        columns=tuple(one for one in columns if one.is_known),
        aside=tuple(at for at, one in enumerate(shown) if not one) if any(shown) else (),
        aside_words=f"are unchanged or not {chosen.only}" if chosen.only else "are unchanged",
    )


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
    times = times_of(attribution) or Times(time_ms={}, sum_ms=0.0)
    made = canvas(graph, foldings(graph), times, {}, is_wrapped=False)
    whole = {**made.data, **changes, "label": plan.label, "mostChange": most_ms}
    return {"data": container(whole), "still": still(graph, made, attribution)}


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


def waterfalls(found: Comparison | None) -> tuple[Chart, ...]:
    """Return the way from A's time to that of each other plan with times, all on one scale."""
    if found is None:
        return ()
    against = (found.layers,) if found.layers is not None else found.against_first()
    labels = [plan.label for plan in found.overview.plans[1:]]
    requests = compare_phrases.requests_text(found.overview.plans)
    every = [(label, one, _bars(one, label)) for label, one in zip(labels, against, strict=True)]
    drawn, charts = [each for each in every if each[2]], []
    for label, layers, bars in drawn:
        explained = compare_tables.explanation_table(layers, _ROWS, label)
        ends = f"From A's {format_ms(layers.a_ms)} to {label}'s {format_ms(layers.b_ms)}"
        subtitle = ["Each reason begins where the one above it ends; the axis does not begin at 0"]
        if requests:
            how = "Profiles time each layer; whole requests are timed without a profiler"
            subtitle.append(f"{how}. {requests[:1].upper()}{requests[1:]}")
        chart = waterfall_chart(
            f"{ends}, sums of layer times",
            bars,
            ChartTable(headers=explained.headers, rows=explained.rows),
            key="waterfall" if len(labels) == 1 else f"waterfall_{label}",
            subtitle=tuple(subtitle),
            axis="sum of times",
            scale=[bar for _, _, some in drawn for bar in some],
        )
        charts.append(chart)
    return tuple(charts)


def _bars(layers: LayerComparison, label: str) -> list[Bar]:
    if not layers.is_explained or layers.a_ms is None or layers.b_ms is None:
        return []
    ends, bars, reached = (("A", layers.a_ms), (label, layers.b_ms)), list[Bar](), layers.a_ms
    for step in compare_tables.steps_of(layers, label):
        ms = step.difference_ms or 0.0
        start, reached = reached, reached + ms
        bars.append(Bar(name=step.text, kind="step", start_ms=start, end_ms=reached, value_ms=ms))
    first, last = (
        Bar(name=f"{name}, all its layers", kind="measured", start_ms=ms, end_ms=ms, value_ms=ms)
        for name, ms in ends
    )
    return [first, *bars, last]
