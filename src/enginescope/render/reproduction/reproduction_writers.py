"""Writers of an upgrade that ran again: terminal, JSON, Markdown and a page."""

from __future__ import annotations

from collections.abc import Iterable

from enginescope.records.verdict.reproduction import ReproducedModel, ReproducedRow, Reproduction
from enginescope.render.base.answer_tables import AnswerTables, answer_json, answer_markdown
from enginescope.render.base.figures import Figures, TextTable
from enginescope.render.html.answer_page import PageSection, answer_page
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
from enginescope.render.verdicts import upgrade_writers
from enginescope.render.verdicts.upgrade_writers import PER_ROUND, name_of

#: Version of the document's shape.
REPRODUCE_SCHEMA = 1
#: Columns of the terminal's table.
HEADERS = ("verdicts", "model and metric")


def reproduction_rows(
    result: Reproduction, *, everything: bool = False
) -> tuple[tuple[str, str], ...]:
    """Return what is listed below `HEADERS`.

    Args:
        everything: All rows that do not count too.
    """
    return tuple(
        (agreement_text(row), "\n".join(lines_of(model, row)))
        for model in result.models
        for row in model.rows
        if everything or is_listed(row)
    )


def is_listed(row: ReproducedRow) -> bool:
    """Whether a row is always listed, as in the upgrade."""
    return any(upgrade_writers.is_listed(half) for half in (row.recorded, row.again) if half)


def reproduction_answer(result: Reproduction, *, everything: bool = False) -> AnswerTables:
    """Return the answer, its facts and `reproduction_rows`."""
    rows = reproduction_rows(result, everything=everything)
    return AnswerTables(
        answer=answer_text(result),
        facts=scope_facts(result),
        tables=(TextTable(title="Verdicts", headers=HEADERS, rows=rows),) if rows else (),
    )


def reproduction_markdown(result: Reproduction) -> bytes:
    """Return the answer, the bundle, and the verdicts that count."""
    return answer_markdown(reproduction_answer(result))


def reproduction_json(result: Reproduction) -> bytes:
    """Return the answer, a sentence for each verdict, and both reports, as strict JSON."""
    return answer_json(
        REPRODUCE_SCHEMA,
        reproduced=result.is_reproduced,
        answer=answer_text(result),
        sentences=[sentence(model, row) for model in result.models for row in model.rows],
        report=result,
    )


_NUMBERS = ("Old", "New", "Change", "Interval")
#: Outputs that the page names for a model.
_OUTPUTS = 20


def reproduction_page(result: Reproduction) -> bytes:
    """Return the page: the answer, the bundle, the verdicts that count, then each model."""
    rows = [(model, row) for model in result.models for row in model.rows]
    return answer_page(
        "reproduction",
        reproduction_answer(result),
        {"reproduction.json": reproduction_json(result)},
        title="Reproduction",
        skip="upgrade",
        overview=_figures(
            "Recorded and new verdicts",
            [pair for pair in rows if is_listed(pair[1])],
            has_models=len(result.models) > 1,
        ),
        sections=[
            PageSection(
                anchor=f"model-{number}",
                title=name_of(model.recorded),
                facts=_facts(model),
                figures=(
                    _figures(
                        "All figures; those in brackets do not count",
                        [(model, row) for row in model.rows],
                        has_models=False,
                    ),
                ),
            )
            for number, model in enumerate(result.models, start=1)
        ],
    )


def _facts(model: ReproducedModel) -> tuple[tuple[str, str], ...]:
    outputs = outputs_text((model,), most=_OUTPUTS)
    return (("backend", model.recorded.backend), *([("outputs", outputs)] if outputs else []))


def _figures(
    caption: str, rows: Iterable[tuple[ReproducedModel, ReproducedRow]], *, has_models: bool
) -> Figures:
    columns = [at for at, name in enumerate(ROW_HEADERS) if has_models or name != "Model"]
    headers = tuple(ROW_HEADERS[at] for at in columns)
    every = [cells for model, row in rows for cells in rows_of(model, row)]
    if any(cell.endswith(PER_ROUND) for cells in every for cell in cells):
        caption += "; changes are the middle of those of the rounds"
    return Figures(
        caption=caption,
        headers=headers,
        rows=tuple(tuple(cells[at].removesuffix(PER_ROUND) for at in columns) for cells in every),
        numbers=tuple(map(headers.index, _NUMBERS)),
    )
