"""A suite in a notebook."""

from __future__ import annotations

from enginescope.notebook.html.fragment import data_table, fragment, notice_list, paragraph
from enginescope.records.suite.suite import SuiteResult
from enginescope.render.suites.suite_phrases import counts_sentence, options_sentence
from enginescope.render.suites.suite_text import suite_tables

#: Columns of text beyond which the terminal's tables would split; a notebook scrolls.
_WIDTH = 10_000


def suite_html(result: SuiteResult) -> str:
    """Return the count of cells by status, and the tables that `suite` prints."""
    return fragment(
        f"{result.name}: {counts_sentence(result)}",
        paragraph(options_sentence(result)),
        *(
            data_table(
                table.title,
                table.headers,
                (tuple(cell.replace("\n", "; ") for cell in row) for row in table.rows),
                numbers=table.right,
                note=f"and {table.left_out:,} more" if table.left_out else None,
            )
            for table in suite_tables(result, width=_WIDTH)
        ),
        notice_list(result.notices),
    )
