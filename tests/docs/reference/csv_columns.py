"""Every CSV file that enginescope writes, with its columns."""

import csv
import io
import re
from functools import cache
from pathlib import Path

from enginescope.analysis.plan_comparison.comparison import compare
from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.suites.suite_table import CELL_COLUMNS
from enginescope.analysis.suites.suite_table import MEANINGS as SUITE_COLUMNS
from enginescope.analysis.suites.suite_view import perf_tables
from enginescope.analysis.verdicts.measured_sides import compare_sides
from enginescope.render.compare.compare_answer import compare_csv
from enginescope.render.contend.contend_answer import contend_answer
from enginescope.render.html.answer_page import written_csv
from enginescope.render.page import export
from enginescope.render.plan_comparison.compare_tables import Chosen
from enginescope.render.plans.explore_data import COLUMNS as EXPLORE_COLUMNS
from enginescope.render.sensitivity.sensitivity_answer import sensitivity_answer
from enginescope.render.shapes.shapes_answer import shapes_answer
from enginescope.render.tune.tune_answer import tune_answer
from enginescope.render.verdicts.verdict_answer import verdict_csv
from tests.analysis.compared_plans import run_a, run_b
from tests.analysis.contend.contended import report as contended
from tests.analysis.in_turn import in_turn, named
from tests.analysis.shapes.simulated import report
from tests.docs.reference.marked_page import table
from tests.render.gpu_runs import gpu_run
from tests.render.runs import measured_run
from tests.render.sensitivity.test_sensitivity_files import report as sensitive
from tests.render.verdicts.test_tune_files import report as tuned
from tests.suites.made import cell, result, timed

MEANINGS = Path(__file__).with_name("csv_columns.txt")
_PERCENTILE = {
    "ms": "Percentile, ms.",
    "low_ms": "Lower end of its 95 % interval, ms.",
    "high_ms": "Upper end of its 95 % interval, ms.",
    "mark": "Why it is not stated without a mark; empty: it may be.",
    "effective_n": "Effective sample size at this percentile.",
}


@cache
def meanings() -> dict[str, str]:
    lines = MEANINGS.read_text(encoding="utf-8").splitlines()
    return dict(line.split(" | ") for line in lines if not line.startswith("# "))


def files() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return file to what has one row, and its columns."""
    runs, plans = [RunView(measured_run())], [run_a(), run_b()]
    return {
        "summary.csv": ("run and metric", _headers(export.summary_csv(runs))),
        "latency_series.csv": ("sample", _headers(export.latency_series_csv(runs))),
        "latency_percentiles.csv": (
            "run and percentile",
            _headers(export.latency_percentiles_csv(runs)),
        ),
        "per_layer_times.csv": ("run and layer", _headers(export.per_layer_times_csv(runs))),
        "gpu_telemetry.csv": ("sample", _headers(export.gpu_telemetry_csv([RunView(gpu_run())]))),
        "explore --csv": ("layer", EXPLORE_COLUMNS),
        "compare --csv, two plans": ("pair", _headers(compare_csv(compare(plans), Chosen()))),
        "compare --csv, more plans": (
            "plan",
            _headers(compare_csv(compare([*plans, run_a()]), Chosen())),
        ),
        "compare --csv, runs": (
            "verdict",
            _headers(verdict_csv(compare_sides(named(*in_turn(1.0))))),
        ),
        "shapes --csv": ("shape", _headers(written_csv(shapes_answer(report())))),
        "contend --csv": ("slow-down", _headers(written_csv(contend_answer(contended())))),
        "tune --csv": ("alternative", _headers(written_csv(tune_answer(tuned())))),
        "sensitivity --csv": (
            "layer and model",
            _headers(written_csv(sensitivity_answer(sensitive()))),
        ),
        "results.csv of a suite": ("cell and metric", tuple(SUITE_COLUMNS)),
        "cells.csv of a suite": ("cell, then a column for each metric", CELL_COLUMNS),
    }


def meaning_of(column: str, file: str) -> str:
    """Return what a column of a file holds: in this file, else in all."""
    if file.endswith(" of a suite"):
        return SUITE_COLUMNS[column]
    if f"{file}: {column}" in meanings():
        return meanings()[f"{file}: {column}"]
    at = re.fullmatch(r"p\d+_(\w+)", column)
    if at and at[1] in _PERCENTILE:
        return _PERCENTILE[at[1]]
    if column.startswith("b_"):
        return meanings()[f"a_{column[2:]}"].replace("in A", "in B").replace("A's plan", "B's plan")
    return meanings()[column]


def files_part() -> str:
    made = []
    for name, (row, columns) in files().items():
        rows = [(f"`{one}`", meaning_of(one, name)) for one in columns]
        made.append(f"## {name}\n\nOne row for each {row}.\n\n{table(('column', 'meaning'), rows)}")
    return "\n\n".join(made)


def perf_part() -> str:
    """Return the tables that keep the columns of ONNX Runtime's deleted scripts."""
    tables = perf_tables(result([timed(cell("net"), 2.0)]))
    rows = [
        (f"`{one.name}`", ", ".join(f"`{' '.join(head.split())}`" for head in one.headers))
        for one in tables
    ]
    return table(("table", "columns"), rows)


def _headers(data: bytes) -> tuple[str, ...]:
    return tuple(next(csv.reader(io.StringIO(data.decode("utf-8-sig")))))
