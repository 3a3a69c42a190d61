"""What ``import`` prints beside its runs: their notices, and what was read of each file."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from enginescope.cli.run_output import SCREENS, present
from enginescope.cli.terminal_observer import NotingObserver
from enginescope.formats.importing.importer import LedgerEntry
from enginescope.records.run.run import Run
from enginescope.render.base.text import notice_lines, show, stacked
from enginescope.render.plans.import_text import ledger_table, shared_notices
from enginescope.services.plans.import_artifacts import ImportObserver
from enginescope.store.location import StorePlace


class LedgerObserver(NotingObserver, ImportObserver):
    """Notes reports on standard error, and keeps what was read of each file."""

    def __init__(self) -> None:
        self.ledger: list[LedgerEntry] = []

    def read_files(self, ledger: Sequence[LedgerEntry]) -> None:
        """Keep the entries."""
        self.ledger += ledger


def present_imported(
    runs: Sequence[Run],
    ledger: Sequence[LedgerEntry],
    *,
    as_json: bool,
    store: StorePlace | None = None,
) -> None:
    """Print imported runs and, for people, the notices of all and a line for each file."""
    present(runs, {"as_json": as_json, "store_folder": store})
    if as_json:
        return
    if len(runs) > SCREENS:  # each of fewer runs has its notices on its screen
        sys.stdout.write("\n")
        for line in notice_lines(shared_notices(runs)):
            show(line)
    if ledger:
        for line in stacked([ledger_table(ledger)])[:-1]:
            show(line)
