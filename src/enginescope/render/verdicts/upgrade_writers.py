"""Writers of an upgrade: terminal, JSON, Markdown and a page that needs no network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from enginescope.analysis.verdicts.model_mean import upgrade_means
from enginescope.judge.notice import Notice
from enginescope.records.verdict.upgrade import UpgradedModel, UpgradeReport, UpgradeRow
from enginescope.render.base.answer_tables import (
    AnswerTables,
    answer_json,
    answer_lines,
    notice_items,
)
from enginescope.render.base.data_table import UNKNOWN, escaped, markdown_row
from enginescope.render.base.figures import Figures, TextTable
from enginescope.render.charts.estimates import Estimate, estimate_chart
from enginescope.render.html.answer_page import PageSection, answer_page
from enginescope.render.html.images import Chart
from enginescope.render.verdicts.gate_phrases import interval_text
from enginescope.render.verdicts.mean_phrases import mean_cells, mean_lines
from enginescope.render.verdicts.upgrade_layers import layer_figures, layers_text, most_text
from enginescope.render.verdicts.upgrade_phrases import (
    PER_ROUND,
    ROW_HEADERS,
    answer_text,
    change_text,
    evidence_text,
    is_listed,
    metric_text,
    name_of,
    row_cells,
    scope_facts,
    sentence,
    values_of,
    verdict_text,
    why_of,
)

#: Version of the document's shape.
UPGRADE_SCHEMA = 1
#: Columns of the terminal's table.
HEADERS = ("verdict", "model and metric")


def upgrade_rows(report: UpgradeReport, *, everything: bool = False) -> tuple[tuple[str, str], ...]:
    """Return what is listed below `HEADERS`.

    Args:
        everything: All rows that do not count too.
    """
    rows = (
        (verdict_text(row), "\n".join(_lines(model, row)))
        for model in report.models
        for row in model.rows
        if is_listed(row) or everything
    )
    layers = (("layers", text) for text in filter(None, map(_layers, report.models)))
    means = (("mean", mean_lines(mean, "model")) for mean in upgrade_means(report))
    return (*rows, *layers, *means)


def _layers(model: UpgradedModel) -> str | None:
    if model.layers is None:
        return None
    title = f"{name_of(model)} · {model.backend} · Layers"
    return "\n".join(filter(None, (title, layers_text(model.layers), most_text(model))))


def _lines(model: UpgradedModel, row: UpgradeRow) -> Iterator[str]:
    yield f"{name_of(model)} · {model.backend} · {metric_text(row)}"
    old, new = values_of(row)
    if row.old is not None:
        figures = (f"{old} → {new}", change_text(row), interval_text(row))
        known = ", ".join(text for text in figures if text != UNKNOWN)
        yield known if row.verdict else f"largest error {old} → {new}"
    yield why_of(row)


def upgrade_answer(report: UpgradeReport, *, everything: bool = False) -> AnswerTables:
    """Return the answer, its facts, `upgrade_rows` and the notices."""
    rows = upgrade_rows(report, everything=everything)
    return AnswerTables(
        answer=answer_text(report),
        facts=scope_facts(report),
        tables=(TextTable(title="Models", headers=HEADERS, rows=rows),),
        notices=tuple(notices_of(report)),
    )


def upgrade_json(report: UpgradeReport) -> bytes:
    """Return verdicts and sentences, and the whole report, as strict JSON."""
    return answer_json(
        UPGRADE_SCHEMA,
        passed=report.is_passed,
        verdict=report.kind,
        answer=answer_text(report),
        models=[
            {
                "model": model.model,
                "verdict": model.kind,
                "sentences": [sentence(model, row) for row in model.rows],
                "layers": layers_text(model.layers) if model.layers else None,
            }
            for model in report.models
        ],
        means=upgrade_means(report),
        report=report,
    )


_MARKS = ("---", "---", "---", "---:", "---:", "---:", "---:", "---")


def upgrade_markdown(report: UpgradeReport) -> bytes:
    """Return the answer, a table of the rows that count, and the rest folded away."""
    answered = upgrade_answer(report)
    lines = [*answer_lines(answered), "", *_table(report, listed=True)]
    rest = _table(report, listed=False)
    if len(rest) > len(_table_head()):
        lines += _folded("figures that do not count", rest)
    lines += [line for model in report.models for line in _layer_lines(model)]
    return ("\n".join([*lines, *notice_items(answered.notices)]) + "\n").encode()


def _folded(title: str, lines: Sequence[str]) -> list[str]:
    return ["", f"<details><summary>{title}</summary>", "", *lines, "", "</details>"]


def _layer_lines(model: UpgradedModel) -> list[str]:
    """Return the layers of a model, folded away; nothing without any."""
    if model.layers is None:
        return []
    texts = filter(None, (layers_text(model.layers), most_text(model)))
    lines = [f"- {escaped(text)}" for text in texts]
    figures = layer_figures(model)
    if figures is not None:
        marks = ["---:" if at in figures.numbers else "---" for at in range(len(figures.headers))]
        lines += ["", markdown_row(figures.headers), markdown_row(marks)]
        lines += [markdown_row(list(map(escaped, row))) for row in figures.rows]
    return _folded(f"layers of {escaped(name_of(model))}", lines)


def _table_head() -> list[str]:
    return [markdown_row(ROW_HEADERS), markdown_row(_MARKS)]


def _table(report: UpgradeReport, *, listed: bool) -> list[str]:
    return [
        *_table_head(),
        *(markdown_row(list(map(escaped, cells))) for cells in _cells(report, listed=listed)),
    ]


def _cells(report: UpgradeReport, *, listed: bool) -> Iterator[tuple[str, ...]]:
    """Yield the rows that count with the means, or those that do not."""
    for model in report.models:
        yield from (row_cells(model, row) for row in model.rows if is_listed(row) is listed)
    for mean in upgrade_means(report) if listed else ():
        yield mean_cells(mean, "model", has_reasons=True)


def notices_of(report: UpgradeReport) -> Sequence[Notice]:
    """Return the notices of all models, each once, with the models where not all have it."""
    merged: dict[tuple[str, str], tuple[Notice, list[str]]] = {}
    for model in report.models:
        for notice in model.notices:
            merged.setdefault((notice.code, notice.message), (notice, []))[1].append(name_of(model))
    return (*report.notices, *(_on_models(*one, len(report.models)) for one in merged.values()))


def _on_models(notice: Notice, models: Sequence[str], count: int) -> Notice:
    if len(models) == count:
        return notice
    return Notice(
        code=notice.code,
        message=f"{', '.join(models)}: {notice.message}",
        evidence=notice.evidence,
        level=notice.level,
    )


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
        overview=_figures("Metrics that count", rows, has_models=len(report.models) > 1),
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
        "Metrics that count: change of the new stack against the old one",
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
