"""An upgrade as one HTML file that needs no network and reads without JavaScript."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.analysis.upgrade.model_means import upgrade_means
from enginescope.records.verdict.upgrade import UpgradedModel, UpgradeReport, UpgradeRow
from enginescope.render.base.figures import Figures
from enginescope.render.charts.estimates import Estimate, estimate_chart
from enginescope.render.html.answer_page import PageSection, answer_page
from enginescope.render.html.images import Chart
from enginescope.render.verdicts.mean_phrases import mean_cells
from enginescope.render.verdicts.upgrade_layers import layer_figures, layers_text, most_text
from enginescope.render.verdicts.upgrade_phrases import (
    PER_ROUND,
    ROW_HEADERS,
    evidence_text,
    is_listed,
    metric_text,
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
        charts=[chart] if (chart := upgrade_chart(report)) is not None else [],
        overview=_figures("What counts", rows, has_models=len(report.models) > 1),
        sections=[_section(model, number) for number, model in enumerate(report.models, start=1)],
    )


def upgrade_chart(report: UpgradeReport) -> Chart | None:
    """Return the changes that count, with their intervals; ``None`` without any."""
    has_models = len(report.models) > 1
    changes = (
        _change(f"{name_of(model)}: {metric_text(row)}" if has_models else metric_text(row), row)
        for model in report.models
        for row in model.rows
        if row.decides
    )
    return estimate_chart(
        "upgrade_changes",
        "What counts: change of the new stack against the old one",
        [change for change in changes if change is not None],
        axis="change, %",
        reference=0.0,
        lines="intervals",
    )


def _change(name: str, row: UpgradeRow) -> Estimate | None:
    estimate = row.verdict.estimate if row.verdict is not None else None
    if estimate is None or estimate.interval is None:
        return None
    ends = (estimate.ratio, estimate.interval.low, estimate.interval.high)
    value, low, high = (100 * (end - 1) for end in ends)
    return Estimate(name=name, value=value, kind=row.kind.value, low=low, high=high)


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
