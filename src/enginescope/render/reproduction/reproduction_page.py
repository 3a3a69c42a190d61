"""An upgrade that ran again, as one HTML file without network, readable without JavaScript."""

from __future__ import annotations

from collections.abc import Iterable

from enginescope.records.verdict.reproduction import ReproducedModel, ReproducedRow, Reproduction
from enginescope.render.base.figures import Figures
from enginescope.render.html.answer_page import PageSection, answer_page
from enginescope.render.reproduction.reproduction_phrases import (
    ROW_HEADERS,
    outputs_text,
    rows_of,
)
from enginescope.render.reproduction.reproduction_writers import (
    is_listed,
    reproduction_answer,
    reproduction_json,
)
from enginescope.render.verdicts.upgrade_phrases import PER_ROUND, name_of

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
            "Verdicts, recorded and again",
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
