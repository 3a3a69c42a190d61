"""A gate's answer as JSON."""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins

from enginescope._version import __version__
from enginescope.core.jsonio import encode
from enginescope.records.verdict.gate import GateOutcome, GateReport, GateRow
from enginescope.render.verdicts.gate_phrases import answer_text, change_pct

#: Version of the document's shape.
GATE_SCHEMA = 1


def gate_json(report: GateReport) -> bytes:
    """Return every row as strict JSON, those without regression too."""
    return encode(
        {
            "schema": GATE_SCHEMA,
            "enginescope": __version__,
            "passed": report.is_passed,
            "answer": answer_text(report),
            "baseline": report.baseline,
            "terms": report.terms,
            "jobs": report.jobs,
            "counts": {one.value: report.count(one) for one in GateOutcome},
            "rows": [_row(report, row) for row in report.rows],
            "notices": report.notices,
        }
    )


def _row(report: GateReport, row: GateRow) -> dict[str, Any]:
    verdict = row.verdict
    return {
        **to_builtins(row),
        "fails": report.fails(row),
        "change_pct": change_pct(verdict) if verdict else None,
    }
