"""The answer of two files of benchmarks, compared by name: a row each, the largest change first."""

from collections import Counter

from enginescope.core.jsonio import encode
from enginescope.judge.units import counted, signed_pct
from enginescope.records.verdict.named import NamedComparison
from enginescope.render.base.figures import UNKNOWN, TextTable
from enginescope.render.base.phrases import few
from enginescope.render.html.answer_page import Answer
from enginescope.render.verdicts.verdict_phrases import kind_text, value_text

_HEADERS = ("benchmark", "A", "B", "change %", "verdict")


def named_answer(found: NamedComparison) -> Answer:
    """Return how many benchmarks have each verdict, and a row for each."""
    rows = sorted(found.rows, key=lambda row: -abs(row.change_pct or 0.0))
    counts = Counter(row.verdict.kind.value for row in rows)
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in counts.most_common())
    others = (
        ("no figures", found.without_figures),
        ("only in A", found.only_a),
        ("only in B", found.only_b),
    )
    cells = tuple(
        (
            row.name,
            value_text(row.verdict.metric, row.verdict.a),
            value_text(row.verdict.metric, row.verdict.b),
            UNKNOWN if row.change_pct is None else signed_pct(row.change_pct),
            kind_text(row.verdict),
        )
        for row in rows
    )
    title = "Benchmarks by name"
    table = TextTable(title=title, headers=_HEADERS, rows=cells, numbers=_HEADERS[1:4])
    return Answer(
        verb="compare",
        title=title,
        report=found,
        document=encode(found),
        answer=f"{counted(len(rows), 'benchmark')} in both files: {kinds or 'no figures'}",
        facts=tuple(
            (name, f"{counted(len(names), 'benchmark')}: {few(names, 3)}")
            for name, names in others
            if names
        ),
        tables=(table,) if rows else (),
        csv=(_HEADERS, table.rows),
    )
