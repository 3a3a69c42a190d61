"""An upgrade as one HTML file that needs no network and reads without JavaScript."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.analysis.upgrade.model_means import upgrade_means
from enginescope.records.verdict.upgrade import UpgradedModel, UpgradeReport
from enginescope.render.base.figures import Figures
from enginescope.render.html.answer_page import PageSection, answer_page
from enginescope.render.verdicts.mean_phrases import mean_cells
from enginescope.render.verdicts.upgrade_layers import layer_figures, layers_text, most_text
from enginescope.render.verdicts.upgrade_phrases import (
    PER_ROUND,
    ROW_HEADERS,
    evidence_text,
    is_listed,
    name_of,
    row_cells,
)
from enginescope.render.verdicts.upgrade_writers import upgrade_answer, upgrade_json

_MODEL, _CHANGE = ROW_HEADERS.index("Model"), ROW_HEADERS.index("Change")
_NUMBERS = ("Old", "New", "Change", "Interval")


def upgrade_page(report: UpgradeReport) -> bytes:
    """Return the page: the answer, the rows that count, then each model."""
    rows = [
        row_cells(model, row) for model in report.models for row in model.rows if is_listed(row)
    ]
    rows += [mean_cells(mean, "model", has_reasons=True) for mean in upgrade_means(report)]
    return answer_page(
        "upgrade",
        upgrade_answer(report),
        {"upgrade.json": upgrade_json(report)},
        title="Upgrade",
        skip="upgrade",
        overview=_figures("What counts", rows, has_models=len(report.models) > 1),
        sections=[_section(model, number) for number, model in enumerate(report.models, start=1)],
    )


def _figures(caption: str, rows: Sequence[tuple[str, ...]], *, has_models: bool) -> Figures:
    """Return a table of rows: what all of them have in common stands in the caption."""
    if any(row[_CHANGE].endswith(PER_ROUND) for row in rows):
        caption += "; changes are the middle of those of the rounds"
    columns = [at for at in range(len(ROW_HEADERS)) if has_models or at != _MODEL]
    headers = tuple(ROW_HEADERS[at] for at in columns)
    return Figures(
        caption=caption,
        headers=headers,
        rows=tuple(tuple(row[at].removesuffix(PER_ROUND) for at in columns) for row in rows),
        numbers=tuple(map(headers.index, _NUMBERS)),
        sentences=(len(headers) - 1,),
    )


def _section(model: UpgradedModel, number: int) -> PageSection:
    layers = [layers_text(model.layers), most_text(model)] if model.layers else []
    facts = [
        ("backend", model.backend),
        ("verdict", model.kind.value),
        ("evidence", evidence_text(model)),
        ("reference", model.reference or ""),
        ("layers", "; ".join(filter(None, layers))),
        ("stored as", f"cmp-{model.comparison}" if model.comparison else ""),
    ]
    figures = _figures(
        "All figures; those in brackets do not count",
        [row_cells(model, row) for row in model.rows],
        has_models=False,
    )
    listed = layer_figures(model)
    return PageSection(
        anchor=f"model-{number}",
        title=name_of(model),
        facts=tuple((name, text) for name, text in facts if text),
        figures=(figures, *((listed,) if listed else ())),
    )
