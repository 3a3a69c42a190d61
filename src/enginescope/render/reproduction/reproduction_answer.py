"""The answer of an upgrade that ran again, for terminal, Markdown, page, notebook and JSON."""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.core.record import replace
from enginescope.records.verdict.reproduction import ReproducedModel, ReproducedRow, Reproduction
from enginescope.render.base.figures import TextTable
from enginescope.render.html.answer_page import Answer
from enginescope.render.reproduction.reproduction_phrases import (
    ROW_HEADERS,
    agreement_text,
    answer_text,
    lines_of,
    outputs_text,
    rows_of,
    scope_facts,
    sentence,
)
from enginescope.render.verdicts import upgrade_answer
from enginescope.render.verdicts.upgrade_answer import metric_table, name_of

#: Outputs that are named for a model.
_OUTPUTS = 20


def reproduction_answer(result: Reproduction, *, everything: bool = False) -> Answer:
    """Return the verdicts that count, then all figures of each model.

    Args:
        everything: A terminal lists metrics that do not count too.
    """
    pairs = [(model, row) for model in result.models for row in model.rows]
    listed = [
        (agreement_text(row), "\n".join(lines_of(model, row)))
        for model, row in pairs
        if everything or _is_listed(row)
    ]
    screen = TextTable(
        title="Verdicts", headers=("verdicts", "model and metric"), rows=tuple(listed)
    )
    return Answer(
        verb="reproduction",
        title="Reproduction",
        answer=answer_text(result),
        facts=scope_facts(result),
        tables=tuple(_tables(result)),
        screen=(screen,) if listed else (),
        report=result,
        data={
            "reproduced": result.is_reproduced,
            "sentences": [sentence(model, row) for model, row in pairs],
        },
    )


def _is_listed(row: ReproducedRow) -> bool:
    return any(upgrade_answer.is_listed(half) for half in (row.recorded, row.again) if half)


def _tables(result: Reproduction) -> Iterator[TextTable]:
    has_models = len(result.models) > 1
    listed = [
        cells
        for model in result.models
        for row in model.rows
        if _is_listed(row)
        for cells in rows_of(model, row)
    ]
    if listed:
        title = "Recorded and new verdicts"
        yield metric_table(title, ROW_HEADERS, listed, has_models=has_models)
    for model in result.models:
        yield _model_table(model)


def _model_table(model: ReproducedModel) -> TextTable:
    outputs = outputs_text((model,), most=_OUTPUTS)
    notes = (model.recorded.backend, outputs, "in brackets: does not count")
    rows = [cells for row in model.rows for cells in rows_of(model, row)]
    table = metric_table(f"Figures of {name_of(model.recorded)}", ROW_HEADERS, rows, *notes)
    return replace(table, is_detail=True)
