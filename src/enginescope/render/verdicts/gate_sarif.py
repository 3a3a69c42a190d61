"""A gate's result as SARIF."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from enginescope.records.verdict.gate import GateOutcome, GateReport, GateRow
from enginescope.render.base.sarif import sarif_log, sarif_result, sarif_rule
from enginescope.render.verdicts.gate_answer import answer_text, checked_text, sentence
from enginescope.render.verdicts.verdict_phrases import change_pct

_FLAKY = "GATE006"
_CODES = {
    GateOutcome.REGRESSION: "GATE001",
    GateOutcome.NEW_FAILURE: "GATE002",
    GateOutcome.LOST: "GATE003",
    GateOutcome.INCOMPARABLE: "GATE004",
    GateOutcome.INCONCLUSIVE: "GATE005",
    GateOutcome.UNSTABLE: "GATE007",
}


def gate_sarif(report: GateReport, *, root: str | None = None) -> bytes:
    """Return what fails or is open as results; the file of a job's model is its place.

    Args:
        root: Models below this folder are named relative to it, as code hosts want them.
    """
    about = {"answer": answer_text(report), "checked": checked_text(report)}
    return sarif_log([list(_results(report, root))], _rules(report), properties=about)


def _results(report: GateReport, root: str | None) -> Iterator[dict[str, Any]]:
    for row in report.rows:
        if row.outcome in _CODES:
            level = _open_level(report) if row.outcome is GateOutcome.INCONCLUSIVE else "error"
            yield _result(row, _CODES[row.outcome], level, f"{row.job}: {sentence(row)}.", root)
        for notice in row.notices:
            if notice.code == "W-FLAKY-BASELINE":
                yield _result(row, _FLAKY, "warning", f"{row.job}: {notice.message}.", root)


def _result(row: GateRow, rule: str, level: str, message: str, root: str | None) -> dict[str, Any]:
    return sarif_result(
        *(rule, level, message),
        subject=f"{row.job}/{row.metric or 'run'}",
        places=((row.job, f"{row.model}/{row.backend}"),),
        kind="module",
        file=_below(row.path, root),
        properties={
            "metric": row.metric,
            "limit_pct": row.limit_pct,
            "change_pct": change_pct(row.verdict),
            "baseline_runs": row.baseline,
            "current_runs": row.current,
        },
    )


def _below(path: str | None, root: str | None) -> str | None:
    if path is None or root is None:
        return path
    pure = PurePath(path)
    return pure.relative_to(root).as_posix() if pure.is_relative_to(root) else path


def _open_level(report: GateReport) -> str:
    return "note" if report.terms.inconclusive == "pass" else "error"


def _rules(report: GateReport) -> list[dict[str, Any]]:
    levels = {"GATE005": _open_level(report), _FLAKY: "warning"}
    return [sarif_rule(*one, level=levels.get(one[0], "error")) for one in RULES]


#: Code, name, what it says in short, in full, and what to do.
RULES = (
    (
        "GATE001",
        "regression",
        "A metric is worse than its limit allows.",
        "The ratio is beyond the limit, and its interval excludes 1 at the confidence shown.",
        "Look for the cause: enginescope compare BASELINE CURRENT, enginescope history MODEL.",
    ),
    (
        "GATE002",
        "new-failure",
        "A job fails that did not fail in the baseline.",
        "At least one process of the job ended in a failure, and none did in the baseline.",
        "Read its log: enginescope runs show RUN.",
    ),
    (
        "GATE003",
        "lost-coverage",
        "The baseline has a job or a figure that the current runs lack.",
        "A job that is no longer measured cannot show a regression.",
        "Measure it, or remove it from the baseline.",
    ),
    (
        "GATE004",
        "incomparable",
        "A job was measured under other conditions than its baseline.",
        "Another GPU, driver, processor, precision, shape or mode changes figures too.",
        "Measure the baseline here, or compare different conditions on purpose with --across.",
    ),
    (
        "GATE005",
        "inconclusive",
        "Inconclusive: the figure may or may not be worse than its limit.",
        "The interval of the ratio exceeds the limit, or there is no interval.",
        "Measure more processes of either side.",
    ),
    (
        "GATE006",
        "flaky-baseline",
        "The baseline itself is not steady.",
        "Its run-to-run variation is larger than usual, or its samples drift or are bimodal.",
        "Measure the baseline again on a quiet machine, with more processes.",
    ),
    (
        "GATE007",
        "unstable",
        "The current side is unstable by itself.",
        "Its processes are disturbed in more rounds than the baseline's, beyond chance.",
        "Look for what changes between processes: threads, allocation, clocks.",
    ),
)
