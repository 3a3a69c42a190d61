"""The fault run: ``python -m tests.faults [--seed 19] [--share 1.0] [--only KIND …]``.

Kills, restarts, full disks, hostile files and requests, drawn from a seed; the moment of a kill
also depends on the machine. After each event, what was acknowledged is read back. Prints a table;
ends with 1 if something was lost or could not be read.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy
import pytest
import sqlalchemy

import enginescope
from enginescope.store.location import DatabaseUrl, StorePlace
from tests.faults.damage import damaged_databases, damaged_runs, flipped_records
from tests.faults.disks import full_disks, has_mounts
from tests.faults.hostile import hostile_archives, hostile_models
from tests.faults.kills import folders, killed_server, killed_writers
from tests.faults.ledger import Event
from tests.faults.servers import fuzzed_requests, killed_clients, killed_servers
from tests.faults.suites import killed_suites
from tests.store.postgresql import Server, running_server

#: Events of each room in a whole run.
COUNTS = {
    "requests": 160,
    "archives": 80,
    "tmpfs": 70,
    "limit": 70,
    "damage": 110,
    "records": 60,
    "file": 40,
    "folder": 30,
    "sqlite": 15,
    "postgresql": 12,
    "database": 6,
    "serve": 8,
    "push": 4,
    "suites": 8,
    "models": 9,
}


def rooms(
    top: Path, seed: str, server: Server | None
) -> dict[str, Callable[[int], Iterator[Event]]]:
    def sqlite() -> Iterator[StorePlace]:
        return (DatabaseUrl(f"sqlite:///{one}.db") for one in folders(top / "sqlite"))

    writing = "kill of a writer, {}".format
    found = {
        "folder": partial(killed_writers, writing("folder"), folders(top / "folder"), seed=seed),
        "sqlite": partial(killed_writers, writing("SQLite"), sqlite(), seed=seed),
        "suites": partial(killed_suites, folders(top / "suites"), top / "suites", seed=seed),
        "limit": partial(full_disks, "limit", top / "limit", seed=seed),
    }
    own = {
        "serve": killed_servers,
        "push": killed_clients,
        "damage": damaged_runs,
        "records": flipped_records,
        "file": damaged_databases,
        "archives": hostile_archives,
        "models": hostile_models,
        "requests": fuzzed_requests,
    }
    found |= {name: partial(room, top / name, seed=seed) for name, room in own.items()}
    if server is not None:
        fresh = (DatabaseUrl(server.fresh_url()) for _ in itertools.count())
        found["postgresql"] = partial(killed_writers, writing("PostgreSQL"), fresh, seed=seed)
        found["database"] = partial(killed_server, server, seed=seed)
    if has_mounts():
        found["tmpfs"] = partial(full_disks, "tmpfs", top / "tmpfs", seed=seed)
    for name in COUNTS:
        (top / name).mkdir(parents=True, exist_ok=True)
    return found


class Table:
    def __init__(self) -> None:
        self.events: dict[str, list[Event]] = {}

    def add(self, event: Event) -> None:
        self.events.setdefault(event.kind, []).append(event)
        for what in (*event.lost, *event.unreadable):
            print(f"{event.kind}: {what}", file=sys.stderr, flush=True)

    @property
    def is_sound(self) -> bool:
        return not any(one.lost or one.unreadable for each in self.events.values() for one in each)

    def __str__(self) -> str:
        """Return the table as Markdown, with a line of sums."""
        rows = [(kind, each) for kind, each in self.events.items()]
        rows.append(("all", [one for each in self.events.values() for one in each]))
        lines = [
            "| event | events | results read back | lost | unreadable |",
            "|---|---|---|---|---|",
        ]
        for kind, each in rows:
            sums = (
                *(len(each), sum(one.checked for one in each)),
                *(sum(len(one.lost) for one in each), sum(len(one.unreadable) for one in each)),
            )
            lines.append(f"| {kind} | {' | '.join(f'{number:,}' for number in sums)} |")
        return "\n".join(lines)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", default="19")
    parser.add_argument("--share", type=float, default=1.0, help="of the events of a whole run")
    parser.add_argument("--only", nargs="*", choices=COUNTS, default=[*COUNTS])
    return parser.parse_args()


def run(top: Path, seed: str, counts: dict[str, int], server: Server | None) -> Table:
    table, began = Table(), time.monotonic()
    known = rooms(top, seed, server)
    for name, count in counts.items():
        if name not in known:
            print(f"skipped: {name}: not on this machine", file=sys.stderr)
            continue
        for event in known[name](count=count):
            table.add(event)
        print(f"{time.monotonic() - began:6.0f} s: {name} done", file=sys.stderr, flush=True)
    return table


def main() -> int:
    """Print the table and the versions."""
    asked = _arguments()
    counts = {name: max(1, round(COUNTS[name] * asked.share)) for name in asked.only}
    os.environ.pop("ENGINESCOPE_HOME", None)
    with ExitStack() as stack:
        top = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="faults-")))
        os.environ["XDG_DATA_HOME"] = str(top / "home")
        server = None
        if {"postgresql", "database"} & counts.keys():
            try:
                server = stack.enter_context(running_server())
            except pytest.skip.Exception as reason:
                print(f"skipped: PostgreSQL: {reason}", file=sys.stderr)
        table = run(top, asked.seed, counts, server)
    print(table)
    day = datetime.datetime.now(datetime.timezone.utc).date()
    versions = {
        "enginescope": enginescope.__version__,
        "Python": platform.python_version(),
        "NumPy": numpy.__version__,
        "SQLAlchemy": sqlalchemy.__version__,
        platform.system(): platform.release(),
    }
    print(f"\n{day}, seed {asked.seed}, {', '.join(map(' '.join, versions.items()))}")
    return 0 if table.is_sound else 1


if __name__ == "__main__":
    sys.exit(main())
