"""docs/report-card.md lists the charts there are; ``python -m tests.docs.test_report_card``
writes the lists anew.
"""

from __future__ import annotations

from pathlib import Path

from enginescope.analysis.report_card.layer_clusters import QUANTITIES
from enginescope.render.charts.card.registry import PLAN_CHARTS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "report-card.md"


def charts_table() -> str:
    rows = (
        f"| `{one.name}` | {one.shows} | {', '.join(f'`{option}`' for option in one.options)} |"
        for one in PLAN_CHARTS.values()
    )
    return "\n".join(("| chart | shows | options |", "|---|---|---|", *rows))


def quantities_table() -> str:
    rows = (f"| `{one.name}` | {one.title} | `{one.column}` |" for one in QUANTITIES.values())
    return "\n".join(("| quantity | is | column |", "|---|---|---|", *rows))


PARTS = {"charts": charts_table, "quantities": quantities_table}


def with_tables(text: str) -> str:
    """The page with its lists as the code has them."""
    for part, table in PARTS.items():
        begin, end = f"<!-- begin of the {part} -->", f"<!-- end of the {part} -->"
        head, found, rest = text.partition(begin)
        _, ended, tail = rest.partition(end)
        assert found, f"{PAGE.name} has no place for the {part}"
        assert ended, f"{PAGE.name} does not say where the {part} end"
        text = f"{head}{begin}\n{table()}\n{end}{tail}"
    return text


def test_the_page_is_up_to_date() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == with_tables(text), "run python -m tests.docs.test_report_card"


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
