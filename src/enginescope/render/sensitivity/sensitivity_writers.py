"""Writers of what layers lose in a lower precision: JSON, Markdown, CSV, page."""

from __future__ import annotations

from enginescope.records.verdict.sensitivity import (
    ConvertedModel,
    SensitiveLayer,
    SensitivityReport,
)
from enginescope.render.base.answer_tables import (
    AnswerTables,
    answer_json,
    answer_markdown,
    page_figures,
    with_names_first,
)
from enginescope.render.base.data_table import csv_bytes
from enginescope.render.html.answer_page import answer_page, table_section
from enginescope.render.sensitivity.sensitivity_chart import error_time_chart
from enginescope.render.sensitivity.sensitivity_phrases import (
    WHY,
    answer_text,
    layer_table,
    model_table,
    point_name,
    scope_facts,
    use_text,
    why_table,
)

#: Version of the document's shape.
SENSITIVITY_SCHEMA = 1


def sensitivity_answer(report: SensitivityReport, *, names_first: bool = True) -> AnswerTables:
    """Return the answer, its facts and its tables.

    Args:
        names_first: Names are in the first column of their figures; else in the last, where a
            terminal has room for them.
    """
    tables = (layer_table(report, is_short=not names_first), model_table(report))
    why = why_table(report)
    return AnswerTables(
        answer=answer_text(report),
        facts=scope_facts(report),
        tables=(
            *(map(with_names_first, tables) if names_first else tables),
            *((why,) if why is not None else ()),
        ),
        notices=report.notices,
    )


def sensitivity_json(report: SensitivityReport) -> bytes:
    """Return the answer, the command to use it, and the whole report as strict JSON."""
    return answer_json(
        SENSITIVITY_SCHEMA, answer=answer_text(report), use=use_text(report), report=report
    )


def sensitivity_markdown(report: SensitivityReport) -> bytes:
    """Return the answer, what it is about, and the tables."""
    return answer_markdown(sensitivity_answer(report))


def sensitivity_csv(report: SensitivityReport) -> bytes:
    """Return a row for each layer alone and each cumulative model, with figures as numbers."""
    headers = (
        *("kind", "name", "converted", "state", "passes", "error_to_spread", "is_finite"),
        *("rank", "kept", "ms", "ratio", "ratio_low", "ratio_high"),
        *("saved_ms", "saved_low_ms", "saved_high_ms", "why"),
    )
    rows = [_cells(report.by, layer.name, layer.alone, layer) for layer in report.layers]
    rows += [
        _cells("cumulative", point_name(report, at), model, None)
        for at, model in enumerate(report.cumulative)
    ]
    return csv_bytes(headers, rows)


def _cells(
    kind: str, name: str, model: ConvertedModel, layer: SensitiveLayer | None
) -> tuple[object, ...]:
    time = model.time
    ends = time.ratio.interval if time is not None else None
    saved = time.saved if time is not None else None
    return (
        *(kind, name, len(model.layers), model.state, model.passes, model.error, model.is_finite),
        *(
            layer and layer.rank,
            layer and layer.is_kept,
            time and time.value_ms,
            time and time.ratio.ratio,
        ),
        *(ends and ends.low, ends and ends.high, time and time.saved_ms),
        *(saved and saved.low, saved and saved.high, model.why),
    )


def sensitivity_page(report: SensitivityReport) -> bytes:
    """Return the page: the answer, error against time, the layers, then the cumulative models."""
    answered = sensitivity_answer(report)
    chart = error_time_chart(report)
    first, *others = answered.tables
    return answer_page(
        "sensitivity",
        answered,
        {
            "sensitivity.json": sensitivity_json(report),
            "sensitivity.csv": sensitivity_csv(report),
        },
        title="Sensitive layers",
        charts=[chart] if chart is not None else [],
        overview=page_figures(first, (WHY,)),
        sections=[table_section(shown, page_figures(shown, (WHY,))) for shown in others],
    )
