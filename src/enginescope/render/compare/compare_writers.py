"""Writers of a comparison of plans: terminal, JSON, Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from rich.console import Group, RenderableType
from rich.text import Text

from enginescope._version import __version__
from enginescope.analysis.build_log.build_choices import Choice, ChoicePair
from enginescope.analysis.plan_comparison.comparison import Comparison
from enginescope.analysis.plan_comparison.difference_causes import cause_of
from enginescope.analysis.plan_comparison.layer_changes import ComparedLayers
from enginescope.analysis.plan_comparison.layer_comparison import LayerComparison
from enginescope.analysis.plan_comparison.plan_summary import PlanSummary
from enginescope.analysis.plan_comparison.plans_overview import layer_columns, plan_columns
from enginescope.analysis.verdicts.measured_sides import MeasuredComparison
from enginescope.core.jsonio import encode
from enginescope.judge.notice import Notice
from enginescope.records.notice import weightiest
from enginescope.render.base.answer_tables import answer_markdown
from enginescope.render.base.data_table import csv_bytes, inert_text, number_column
from enginescope.render.base.figures import TextTable
from enginescope.render.base.phrases import shorten_apart
from enginescope.render.base.text import label_row, notice_lines, table
from enginescope.render.html.answer_page import Answer
from enginescope.render.plan_comparison.compare_phrases import (
    against_first,
    answer,
    cause_text,
    pairing_sentence,
    requests_sentence,
)
from enginescope.render.plan_comparison.compare_tables import (
    Chosen,
    facts_table,
    pair_tables,
    share_tables,
)
from enginescope.render.verdicts.measured_section import verdict_answer
from enginescope.render.verdicts.verdict_writers import measured_data, verdict_csv

_GAP = 2
_LEAST_NAME = 12
_LEAST_FACT = 18
_NARROW = 72
#: From here on there is room for types and reasons beside the names of layers.
_WIDE = 120
#: Ends of headers of columns that narrow screens go without.
_SPARED = (" layers", "share %", "B − A ms")
#: Header -> most columns of texts that are not the last.
_SHORTENED = {"differs in": 24, "from → to": 34, "type": 28}


def compare_text(
    found: Comparison,
    chosen: Chosen,
    *,
    measured: MeasuredComparison | None = None,
    width: int = 80,
) -> RenderableType:
    """Return the result, its notices, and the tables, for a rich console.

    Args:
        chosen: Layers and rows to show.
        measured: Verdicts, where every side has samples.
    """
    told = answer(found, chosen.threshold_pct, measured)
    lines: list[RenderableType] = [Text(told, style="bold")]
    if found.layers is None:
        lines += map(Text, against_first(found.overview.plans, chosen.threshold_pct))
    lines += [Text(), *_titles(found, width), Text()]
    lines += [label_row(name, text) for name, text in _sentences(found)]
    lines += [Text(), *notice_lines(_worth_saying(found.notices))]
    if found.layers is not None:
        first, *others = pair_tables(found, chosen, wide=width >= _WIDE)
        lines += _fitted(first, width)
    else:
        others = []
    lines += _facts(facts_table(found.overview), width)
    for one in (*others, *share_tables(found, chosen.top)):
        lines += _fitted(one, width)
    return Group(*lines)


def _titles(found: Comparison, width: int) -> list[Text]:
    plans = found.overview.plans
    names = shorten_apart([inert_text(plan.name) for plan in plans], width - 3)
    return [
        Text(f"{plan.label}  ", style="bold").append(name)
        for plan, name in zip(plans, names, strict=True)
    ]


def _sentences(found: Comparison) -> list[tuple[str, str]]:
    layers, plans = found.layers, found.overview.plans
    requests = requests_sentence(plans)
    rows = [("requests", requests)] if requests else []
    if layers is None:
        return rows
    if layers.difference_ms and layers.explanations:
        most = layers.explanations[0]
        (difference,) = number_column([most.difference_ms], signed=True)
        each = " per iteration" if plans[0].batch != plans[1].batch else ""
        rows.append(("most of it", f"{cause_text(most)}, {difference} ms{each}"))
    rows.append(("paired", pairing_sentence(layers, plans)))
    return rows


def _worth_saying(notices: Sequence[Notice]) -> tuple[Notice, ...]:
    """Warnings, and what is said of the comparison itself; the rest is in the JSON."""
    return weightiest(
        notice for notice in notices if notice.level == "warning" or "plan" not in notice.evidence
    )


def _facts(found: TextTable, width: int) -> list[RenderableType]:
    """Set plans beside each other, as many as there is room for; the rest below."""
    label = max(len(row[0]) for row in found.rows) + _GAP
    plans = len(found.headers) - 1
    room = max(1, min(plans, (width - label) // (_LEAST_FACT + _GAP)))
    lines: list[RenderableType] = []
    for first in range(0, plans, room):
        columns = range(1 + first, 1 + min(first + room, plans))
        headers = (found.title, *(found.headers[at] for at in columns))
        rows = [(row[0], *(inert_text(row[at]) for at in columns)) for row in found.rows]
        lines += [table(headers, rows), Text()]
    return lines


def _fitted(found: TextTable, width: int) -> list[RenderableType]:
    """Return a table under its title; the last column takes the columns that are left.

    Where they are too few, those of `_SPARED` are left out, the first first.
    """
    columns = {
        header: shorten_apart([inert_text(row[at]) for row in found.rows], _most(header, width))
        for at, header in enumerate(found.headers)
    }
    last = found.headers[-1]
    for ending in _SPARED:
        if _taken(columns) + _LEAST_NAME <= width:
            break
        columns = {name: cells for name, cells in columns.items() if not name.endswith(ending)}
    spare = max(_LEAST_NAME, width - _taken(columns) - 1)
    columns[last] = shorten_apart(columns[last], spare)
    lines: list[RenderableType] = [Text(found.title, style="bold")]
    if found.rows:
        cells = list(zip(*columns.values(), strict=True))
        right = [name for name in found.numbers if name in columns]
        lines.append(table(tuple(columns), cells, right=right))
    if found.note or not found.rows:
        lines.append(Text(found.note or "none", style="dim"))
    return [*lines, Text()]


def _most(header: str, width: int) -> int:
    """Columns of the screen for a text of this column."""
    most = _SHORTENED.get(header, width)
    return min(most, width // 4) if header == "differs in" and width < _NARROW else most


def _taken(columns: dict[str, list[str]]) -> int:
    """Columns of the screen that all but the last take."""
    widths = [max(map(len, (name, *cells))) + _GAP for name, cells in columns.items()]
    return sum(widths[:-1])


#: Version of the JSON document's shape.
COMPARE_SCHEMA = 1


def compare_csv(
    found: Comparison | None, chosen: Chosen, measured: MeasuredComparison | None = None
) -> bytes:
    """Return a row for each pair of two plans, else for each plan, else for each verdict."""
    if found is None:
        assert measured is not None
        return verdict_csv(measured)
    if found.layers is None:
        columns = plan_columns(found.overview)
    else:
        columns = layer_columns([one for one in found.layers.by_difference() if chosen.admits(one)])
    return csv_bytes(tuple(columns), zip(*columns.values(), strict=True))


def compare_json(
    found: Comparison | None,
    chosen: Chosen,
    choices: Sequence[ChoicePair] | None = None,
    *,
    measured: MeasuredComparison | None = None,
) -> bytes:
    """Return everything that is known as strict JSON; times in ms, sizes in bytes.

    Args:
        found: ``None``: a side has no plan, or only build logs were given.
        chosen: Layers that are left out are counted in the sums all the same.
        choices: What two builds chose.
        measured: Verdicts, where every side has samples.
    """
    made: dict[str, Any] = {"schema": COMPARE_SCHEMA, "enginescope": __version__}
    if measured is not None:
        made["measured"] = measured_data(measured)
    if found is not None:
        overview = found.overview
        made["threshold_pct"], made["only"] = chosen.threshold_pct, chosen.only
        made["plans"] = [
            {
                **_plan(one),
                "difference_ms": overview.difference_ms(at),
                "speedup": overview.speedup(at),
            }
            for at, one in enumerate(overview.plans)
        ]
        for name in ("by_type", "by_precision", "by_output_precision"):
            made[name] = getattr(overview, name)
        made["notices"] = found.notices
        if found.layers is not None:
            made |= _layers(found.layers, chosen)
    if choices is not None:
        made["build_choices"] = [_choice_pair(choice) for choice in choices]
    return encode(made)


def _plan(one: PlanSummary) -> dict[str, Any]:
    made: dict[str, Any] = msgspec.to_builtins(one)
    return {**made, "sum_per_item_ms": one.sum_per_item_ms, "items_per_s": one.items_per_s}


def _layers(layers: LayerComparison, chosen: Chosen) -> dict[str, Any]:
    rows = [(at, one) for at, one in enumerate(layers.layers) if chosen.admits(one)]
    return {
        "difference": {
            "a_ms": layers.a_ms,
            "b_ms": layers.b_ms,
            "difference_ms": layers.difference_ms,
            "difference_pct": layers.difference_pct,
        },
        "explanations": layers.explanations,
        "reformats_lost": layers.reformats_lost,
        "reformats_added": layers.reformats_added,
        "layers": [_pair(at, one) for at, one in rows],
    }


def _pair(position: int, one: ComparedLayers) -> dict[str, Any]:
    made: dict[str, Any] = msgspec.to_builtins(one)
    more = {"position": position, "cause": cause_of(one).value, "speedup": one.speedup}
    return {**more, **made}


def _choice_pair(pair: ChoicePair) -> dict[str, Any]:
    return {
        "name": pair.name,
        "differs": pair.differs,
        "change_ms": pair.change_ms,
        "a": _choice(pair.a),
        "b": _choice(pair.b),
    }


def _choice(one: Choice | None) -> dict[str, Any] | None:
    if one is None:
        return None
    made: dict[str, Any] = msgspec.to_builtins(one.layer)
    more = {"evidence": one.evidence, "chosen_ms": one.chosen_ms, "kernel": one.kernel}
    return {**made, **more, "gap_ms": one.gap_ms}


def compare_markdown(
    measured: MeasuredComparison | None, plans: Comparison | None, chosen: Chosen
) -> bytes:
    """Return verdicts, then the plans: their result, what explains it, what is known of each."""
    answers = [] if measured is None else [verdict_answer(measured)]
    answers += [] if plans is None else [plans_answer(plans, chosen, measured)]
    return b"\n".join(map(answer_markdown, answers))


def plans_answer(
    found: Comparison, chosen: Chosen, measured: MeasuredComparison | None = None
) -> Answer:
    """Return which layers take less time, and all tables of the plans."""
    plans = found.overview.plans
    others = () if found.layers else against_first(plans, chosen.threshold_pct)
    pairs = pair_tables(found, chosen, wide=True) if found.layers else ()
    return Answer(
        verb="compare",
        title="Plans",
        report=found,
        answer=answer(found, chosen.threshold_pct, measured),
        facts=(
            *((plan.label, plan.name) for plan in plans),
            *(("against A", sentence) for sentence in others),
            *_sentences(found),
        ),
        tables=(*pairs, facts_table(found.overview), *share_tables(found, chosen.top)),
        notices=_worth_saying(found.notices),
    )
