"""An import on the terminal: what was read of each file, and the notices of many runs."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from enginescope.core.record import replace
from enginescope.formats.importing.importer import LedgerEntry
from enginescope.judge.notice import Notice
from enginescope.judge.units import counted
from enginescope.records.run.run import Run
from enginescope.render.base.figures import TextTable


def ledger_table(ledger: Sequence[LedgerEntry]) -> TextTable:
    """Return a line for each file: what it is, what was read, and what was left out."""
    rows = [
        (
            Path(entry.path).name,
            ", ".join(kind.replace("_", " ") for kind in entry.kinds),
            ", ".join(entry.read) or "no figure",
            ", ".join(entry.left_out) or "nothing",
        )
        for entry in ledger
    ]
    headers = ("file", "recognized as", "read", "left out")
    return TextTable(title="Files", headers=headers, rows=tuple(rows))


def shared_notices(runs: Sequence[Run]) -> tuple[Notice, ...]:
    """Return the notices of many runs, each code once, with the count of its other runs."""
    by_code: dict[str, list[Notice]] = defaultdict(list)
    for run in runs:
        for notice in {notice.code: notice for notice in run.notices}.values():
            by_code[notice.code].append(notice)
    shared = []
    for first, *others in by_code.values():
        more = f"; the same of {counted(len(others), 'more run')}" if others else ""
        shared.append(replace(first, message=f"{first.message}{more}"))
    return tuple(shared)
