"""An upgrade that ran again, as one HTML file without network, readable without JavaScript."""

from __future__ import annotations

from collections.abc import Iterable

from enginescope.records.verdict.reproduction import ReproducedModel, ReproducedRow, Reproduction
from enginescope.render.base.figures import Figures
from enginescope.render.html.page_frame import PageData, page_bytes
from enginescope.render.reproduction.reproduction_phrases import (
    ROW_HEADERS,
    answer_text,
    rows_of,
    scope_facts,
)
from enginescope.render.reproduction.reproduction_writers import is_listed, reproduction_json
from enginescope.render.verdicts.upgrade_page import ModelSection
from enginescope.render.verdicts.upgrade_phrases import name_of

#: Columns of figures.
_NUMBERS = (5, 6, 7, 8)


def reproduction_page(result: Reproduction, *, script_address: str | None = None) -> bytes:
    """Return the page: the answer, the bundle, the verdicts that count, then each model.

    Args:
        script_address: See `page_bytes`.
    """
    answer = answer_text(result)
    rows = [(model, row) for model in result.models for row in model.rows]
    return page_bytes(
        "upgrade.html.j2",
        PageData(charts={}, files={"reproduction.json": reproduction_json(result).decode()}),
        script_address=script_address,
        title="Reproduction",
        answer=f"{answer[:1].upper()}{answer[1:]}",
        facts=scope_facts(result),
        notices=(),
        overview=_figures(
            "Verdicts, recorded and again", (pair for pair in rows if is_listed(pair[1]))
        ),
        sections=[
            ModelSection(
                anchor=f"model-{number}",
                title=name_of(model.recorded),
                facts=(("backend", model.recorded.backend),),
                figures=_figures(
                    "All figures; those in brackets do not count",
                    ((model, row) for row in model.rows),
                ),
            )
            for number, model in enumerate(result.models, start=1)
        ],
        left_out=[],
    )


def _figures(caption: str, rows: Iterable[tuple[ReproducedModel, ReproducedRow]]) -> Figures:
    return Figures(
        caption=caption,
        headers=ROW_HEADERS,
        rows=tuple(cells for model, row in rows for cells in rows_of(model, row)),
        numbers=_NUMBERS,
    )
