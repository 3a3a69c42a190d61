"""Writers of a contention test: JSON and Markdown."""

from __future__ import annotations

from enginescope._version import __version__
from enginescope.core.jsonio import encode
from enginescope.records.verdict.contend import ContendReport
from enginescope.render.base.answer_markdown import answer_markdown
from enginescope.render.contend.contend_phrases import answer_text, contend_tables, scope_facts

#: Version of the document's shape.
CONTEND_SCHEMA = 1


def contend_json(report: ContendReport) -> bytes:
    """Return the verdict, the answer and the whole report, as strict JSON."""
    return encode(
        {
            "schema": CONTEND_SCHEMA,
            "enginescope": __version__,
            "verdict": report.kind,
            "answer": answer_text(report),
            "report": report,
        }
    )


def contend_markdown(report: ContendReport) -> bytes:
    """Return the answer, what it is about, and the tables."""
    tables = contend_tables(report)
    notes = ((table.title.lower(), table.note or "") for table in tables)
    facts = (*scope_facts(report), *notes)
    return answer_markdown(answer_text(report), facts, tables, report.notices)
