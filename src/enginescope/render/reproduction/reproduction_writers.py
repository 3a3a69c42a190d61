"""Writers of an upgrade that ran again: terminal, JSON, Markdown."""

from __future__ import annotations

from enginescope.records.verdict.reproduction import ReproducedRow, Reproduction
from enginescope.render.base.answer_tables import AnswerTables, answer_json, answer_markdown
from enginescope.render.base.figures import TextTable
from enginescope.render.reproduction.reproduction_phrases import (
    agreement_text,
    answer_text,
    lines_of,
    scope_facts,
    sentence,
)
from enginescope.render.verdicts import upgrade_phrases

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
    return any(upgrade_phrases.is_listed(half) for half in (row.recorded, row.again) if half)


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
