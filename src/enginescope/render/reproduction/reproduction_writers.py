"""Writers of an upgrade that ran again: terminal, JSON."""

from __future__ import annotations

from enginescope._version import __version__
from enginescope.core.jsonio import encode
from enginescope.records.verdict.reproduction import ReproducedRow, Reproduction
from enginescope.render.reproduction.reproduction_phrases import (
    agreement_text,
    answer_text,
    lines_of,
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


def reproduction_json(result: Reproduction) -> bytes:
    """Return the answer, a sentence for each verdict, and both reports, as strict JSON."""
    return encode(
        {
            "schema": REPRODUCE_SCHEMA,
            "enginescope": __version__,
            "reproduced": result.is_reproduced,
            "answer": answer_text(result),
            "sentences": [sentence(model, row) for model in result.models for row in model.rows],
            "report": result,
        }
    )
