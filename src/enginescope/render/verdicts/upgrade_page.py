"""An upgrade as one HTML file that needs no network and reads without JavaScript."""

from __future__ import annotations

from enginescope.analysis.upgrade.model_means import upgrade_means
from enginescope.records.verdict.upgrade import UpgradedModel, UpgradeReport
from enginescope.render.base.figures import Figures
from enginescope.render.html.answer_page import PageSection, answer_page
from enginescope.render.verdicts.mean_phrases import mean_cells
from enginescope.render.verdicts.upgrade_phrases import (
    ROW_HEADERS,
    evidence_text,
    is_listed,
    name_of,
    row_cells,
    verdict_text,
)
from enginescope.render.verdicts.upgrade_writers import upgrade_answer, upgrade_json

#: Columns of numbers, and of sentences.
_NUMBERS, _WHY = (3, 4, 5, 6), len(ROW_HEADERS) - 1


def upgrade_page(report: UpgradeReport) -> bytes:
    """Return the page: the answer, the rows that count, then each model."""
    return answer_page(
        "upgrade",
        upgrade_answer(report),
        {"upgrade.json": upgrade_json(report)},
        title="Upgrade",
        skip="upgrade",
        overview=Figures(
            caption="Metrics that count, by model",
            headers=ROW_HEADERS,
            rows=(
                *(
                    row_cells(model, row)
                    for model in report.models
                    for row in model.rows
                    if is_listed(row)
                ),
                *(mean_cells(mean, "model", has_reasons=True) for mean in upgrade_means(report)),
            ),
            numbers=_NUMBERS,
            sentences=(_WHY,),
        ),
        sections=[_section(model, number) for number, model in enumerate(report.models, start=1)],
    )


def _section(model: UpgradedModel, number: int) -> PageSection:
    facts = [
        ("backend", model.backend),
        ("verdict", model.kind.value),
        ("evidence", evidence_text(model)),
        ("reference", model.reference or ""),
        ("stored as", f"cmp-{model.comparison}" if model.comparison else ""),
    ]
    figures = Figures(
        caption="All figures; those in brackets do not count",
        headers=(ROW_HEADERS[0], *ROW_HEADERS[2:]),
        rows=tuple((verdict_text(row), *row_cells(model, row)[2:]) for row in model.rows),
        numbers=tuple(column - 1 for column in _NUMBERS),
        sentences=(_WHY - 1,),
    )
    return PageSection(
        anchor=f"model-{number}",
        title=name_of(model),
        facts=tuple((name, text) for name, text in facts if text),
        figures=(figures,),
    )
