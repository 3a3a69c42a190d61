"""The answer of a comparison, for terminal, Markdown, JSON, CSV and notebook alike."""

from collections.abc import Sequence
from typing import Any

import msgspec

from enginescope.analysis.build_log.build_log_summary import Choice, ChoicePair
from enginescope.analysis.plan_comparison.comparison import Comparison, LayerComparison
from enginescope.analysis.plan_comparison.layer_changes import cause_of
from enginescope.analysis.plan_comparison.plans_overview import layer_columns, plan_columns
from enginescope.analysis.verdicts.measured_sides import MeasuredComparison
from enginescope.core.record import replace
from enginescope.records.notice import weightiest
from enginescope.render.base.answer_tables import answer_json, stated
from enginescope.render.base.data_table import csv_bytes, inert_text, number_column
from enginescope.render.base.figures import TextTable
from enginescope.render.html.answer_page import Answer, Part
from enginescope.render.plan_comparison import compare_phrases as phrases
from enginescope.render.plan_comparison import compare_tables
from enginescope.render.plans.build_text import choice_table
from enginescope.render.verdicts.verdict_answer import measured_data, verdict_answer, verdict_csv


def compare_answer(
    found: Comparison | None,
    chosen: compare_tables.Chosen,
    choices: Sequence[ChoicePair] | None = None,
    *,
    measured: MeasuredComparison | None = None,
) -> Answer:
    """Return verdicts, then the plans and the choices of their builds, as far as there are some.

    Args:
        found: ``None``: a side has no plan, or only build logs were given.
        chosen: Layers and rows to show.
        choices: What two builds chose.
        measured: Verdicts, where every side has samples.
    """
    tables: tuple[TextTable, ...] = () if choices is None else (choice_table(choices, chosen.top),)
    if measured is not None:
        parts = () if found is None else (plans_part(found, chosen, measured),)
        first = verdict_answer(measured)
        text = ("" if found is None else phrases.network_mark(found)) + first.answer
        return replace(first, answer=text, tables=(*first.tables, *tables), parts=parts)
    if found is None:
        title, plain = tables[0].title, (replace(tables[0], is_titled=False),)
        return Answer(
            verb="compare", title=title, answer=title, facts=(), tables=plain, report=choices
        )
    part = plans_part(found, chosen)
    measure = "measure whether whole requests are faster: enginescope bench … --compare"
    return Answer(
        verb="compare",
        title="Plans",
        report=found,
        answer=part.answer,
        facts=(*part.facts, ("next", measure)),
        tables=(*part.tables, *tables),
        notices=part.notices,
    )


def plans_part(
    found: Comparison, chosen: compare_tables.Chosen, measured: MeasuredComparison | None = None
) -> Part:
    """Return which layers take less time, what explains it, and all tables of the plans."""
    return Part(
        key="plans",
        title="Plans",
        answer=phrases.answer(found, chosen.threshold_pct, measured),
        facts=plan_facts(found, chosen.threshold_pct),
        tables=(
            *(compare_tables.pair_tables(found, chosen) if found.layers else ()),
            compare_tables.facts_table(found.overview),
            *compare_tables.share_tables(found, chosen.top),
            *compare_tables.memory_tables(found.overview),
        ),
        # Warnings of runs stand under their verdict; the rest is in the JSON.
        notices=weightiest(
            notice
            for notice in found.notices
            if "plan" not in notice.evidence or (measured is None and notice.level == "warning")
        ),
    )


def plan_facts(found: Comparison, threshold_pct: float) -> tuple[tuple[str, str], ...]:
    """Return the plans, what whole requests take, what explains most, and how layers are paired."""
    layers, plans = found.layers, found.overview.plans
    most = None
    if layers is not None and layers.difference_ms and layers.explanations:
        first = layers.explanations[0]
        (difference,) = number_column([first.difference_ms], signed=True)
        each = " per iteration" if plans[0].batch != plans[1].batch else ""
        most = f"{phrases.cause_text(first)}, {difference} ms{each}"
    others = phrases.against_first(plans, threshold_pct) if layers is None else ()
    return (
        *((plan.label, inert_text(plan.name)) for plan in plans),
        *(("against A", sentence) for sentence in others),
        *stated(
            ("requests", phrases.requests_text(plans)),
            ("most of it", most),
            ("paired", None if layers is None else phrases.pairing_sentence(layers, plans)),
        ),
    )


def compare_csv(
    found: Comparison | None,
    chosen: compare_tables.Chosen,
    measured: MeasuredComparison | None = None,
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
    chosen: compare_tables.Chosen,
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
    made: dict[str, Any] = {}
    if measured is not None:
        made["measured"] = measured_data(measured)
    if found is not None:
        overview = found.overview
        made["threshold_pct"], made["only"] = chosen.threshold_pct, chosen.only
        made["plans"] = [
            {
                **msgspec.to_builtins(one),
                "sum_per_item_ms": one.sum_per_item_ms,
                "items_per_s": one.items_per_s,
                "difference_ms": overview.difference_ms(at),
                "speedup": overview.speedup(at),
            }
            for at, one in enumerate(overview.plans)
        ]
        for name in ("by_type", "by_precision", "by_output_precision", "memory"):
            made[name] = getattr(overview, name)
        made["notices"] = found.notices
        if found.layers is not None:
            made |= _layers(found.layers, chosen)
    if choices is not None:
        made["build_choices"] = [
            {
                **{name: getattr(pair, name) for name in ("name", "differs", "change_ms")},
                "a": _choice(pair.a),
                "b": _choice(pair.b),
            }
            for pair in choices
        ]
    return answer_json(schema=1, **made)


def _layers(layers: LayerComparison, chosen: compare_tables.Chosen) -> dict[str, Any]:
    figures = ("a_ms", "b_ms", "difference_ms", "difference_pct")
    lists = ("explanations", "reformats_lost", "reformats_added")
    return {
        "difference": {name: getattr(layers, name) for name in figures},
        **{name: getattr(layers, name) for name in lists},
        "layers": [
            {"position": at, "cause": cause_of(one).value, "speedup": one.speedup}
            | msgspec.to_builtins(one)
            for at, one in enumerate(layers.layers)
            if chosen.admits(one)
        ],
    }


def _choice(one: Choice | None) -> dict[str, Any] | None:
    if one is None:
        return None
    names = ("evidence", "chosen_ms", "kernel", "gap_ms")
    return {**msgspec.to_builtins(one.layer), **{name: getattr(one, name) for name in names}}
