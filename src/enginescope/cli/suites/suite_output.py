"""What a suite prints at the end."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

from enginescope.core.jsonio import encode
from enginescope.records.suite.suite import SuiteResult


def present(result: SuiteResult, folder: Path, *, as_json: bool, store: str | None = None) -> None:
    """Print a suite's results.

    Args:
        store: The store if the command line named it: the next command needs it too.
    """
    if as_json:
        sys.stdout.buffer.write(encode(result))
        sys.stdout.flush()
        return
    from enginescope.render.base.text import notice_lines, sentence, show
    from enginescope.render.base.text_table import table
    from enginescope.render.suites.suite_phrases import (
        baseline_sentence,
        counts_sentence,
        options_sentence,
        processes_sentence,
        took_sentence,
        weakness_sentence,
    )
    from enginescope.render.suites.suite_text import suite_tables

    print(f"{result.name} · {counts_sentence(result)}\n")
    for part in suite_tables(result, width=shutil.get_terminal_size().columns):
        show(sentence(part.title))
        show(table(part.headers, part.rows, right=part.right))
        if part.left_out:
            show(sentence(f"{part.left_out:,} more in results.csv"))
        print()
    for line in notice_lines(result.notices):
        show(line)
    for say in (
        options_sentence,
        took_sentence,
        processes_sentence,
        weakness_sentence,
        baseline_sentence,
    ):
        explained = say(result)
        if explained:
            show(sentence(explained))
    show(sentence(f"page: {folder / 'suite.html'}"))
    show(sentence(f"files: {folder}"))
    at = f" --store {shlex.quote(store)}" if store else ""
    show(sentence(f"runs: enginescope runs list --tag {result.name}{at}"))
