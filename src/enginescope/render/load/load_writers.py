"""Writers of a load test: terminal and JSON."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from enginescope._version import __version__
from enginescope.core.jsonio import encode
from enginescope.records.verdict.load import LoadReport
from enginescope.render.base.phrases import percentile_name
from enginescope.render.base.text_table import table
from enginescope.render.load.load_phrases import (
    FIGURE_HEADERS,
    PART_HEADERS,
    STEP_HEADERS,
    answer_text,
    loadgen_rows,
    part_rows,
    percentile_of,
    step_rows,
)

#: Version of the document's shape.
LOAD_SCHEMA = 1


def load_tables(report: LoadReport) -> RenderableType:
    """Return the tables below the answer."""
    return Group(*_tables(report))


def _tables(report: LoadReport) -> Iterator[RenderableType]:
    if report.loadgen is not None:
        yield table(FIGURE_HEADERS, loadgen_rows(report.loadgen), right=FIGURE_HEADERS[1:])
    elif len(report.trials) == 1:
        yield table(PART_HEADERS, part_rows(report.trials[0]), right=PART_HEADERS[1:])
    else:
        numbers = (*STEP_HEADERS[:1], *STEP_HEADERS[3:])
        yield table(STEP_HEADERS, step_rows(report), right=numbers, whole=STEP_HEADERS[1:2])
        name = percentile_name(percentile_of(report))
        yield Text(f"times: {name} of each run, in ms", style="dim")
        if any(trial.is_late for trial in report.trials):
            yield Text("* the load generator was late (W-LATE)", style="yellow")


def load_json(report: LoadReport) -> bytes:
    """Return the verdict, the answer and the whole report, as strict JSON."""
    return encode(
        {
            "schema": LOAD_SCHEMA,
            "enginescope": __version__,
            "passed": report.is_passed,
            "verdict": report.kind,
            "answer": answer_text(report),
            "report": report,
        }
    )
