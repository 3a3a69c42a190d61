"""How long `enginescope runs` takes as a whole process, over many stored runs.

Byte code is written, as in a normal installation. Wall and CPU time: under other load the CPU
time is what to look at. ``--postgresql`` asks a server too, started as the tests do, in turn with
the folder.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from enginescope.core.sidecar import SEAL
from enginescope.judge.samples import Samples, frozen
from enginescope.records.run.job import BackendSpec, Job, Subject
from enginescope.records.run.run import Run
from enginescope.store.archive import Store
from enginescope.store.location import DatabaseUrl
from enginescope.store.row import RunRow

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.store.postgresql import running_server

LIMIT_S = 0.3
MODELS = 50
BACKENDS = ("ort-cpu", "ort-cpu:fp16", "ort-cuda", "trt:fp16")
COMMANDS = (
    (),
    ("list", "--model", "model-7", "--on", "ort-cpu"),
    ("list", "--limit", "200", "--json"),
)


class Took(NamedTuple):
    """One process."""

    wall_s: float
    cpu_s: float


def make(store: Path, count: int) -> None:
    """Write `count` runs: one by the store, the others as copies with names of their own."""
    values = frozen(np.linspace(1.0, 2.0, 300))
    first = Run(
        id="0" * 12,
        created="2026-01-01T00:00:00+00:00",
        origin="measured",
        job=Job(subject=Subject(name="model-0.onnx"), backend=BackendSpec(name="ort-cpu")),
        samples=(Samples(metric="latency", values_ms=values),),
    )
    pattern = store / "runs" / first.id
    Store(store).save(first)
    document: dict[str, Any] = json.loads((pattern / "run.json").read_text())
    del document[SEAL]  # no edit would fit it
    for number in range(1, count):
        run_id = f"{number:012x}"
        folder = store / "runs" / run_id
        shutil.copytree(pattern / "arrays", folder / "arrays")
        minutes, hours = number % 60, number // 60
        document["id"] = run_id
        document["created"] = (
            f"2026-{1 + hours // 672:02}-{1 + hours // 24 % 28:02}"
            f"T{hours % 24:02}:{minutes:02}:00+00:00"
        )
        document["job"]["subject"]["name"] = f"model-{number % MODELS}.onnx"
        document["job"]["backend"] = _backend(BACKENDS[number // MODELS % len(BACKENDS)])
        (folder / "run.json").write_text(json.dumps(document))


def fill(url: DatabaseUrl, runs: Store) -> None:
    """Write to a database what a listing shows of a folder's runs."""
    from enginescope.store.sql.database import Database, put_rows

    rows: tuple[RunRow, ...] = runs.rows()
    Store(url).save(runs.load_id(rows[0].id))  # makes the tables
    with Database(url.secret_url, what="the store").write() as connection:
        put_rows(connection, rows)


def _backend(name: str) -> dict[str, Any]:
    base, _, precision = name.partition(":")
    return {"name": base, "precision": precision} if precision else {"name": base}


def once(arguments: list[str], environment: dict[str, str]) -> Took:
    """Run the command line once."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "enginescope", *arguments],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    wall_s = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Took(wall_s, cpu_s)


def measure(stores: dict[str, str], rounds: int) -> float:
    """Print a line for each command and store, asked in turn; return the worst of the first's."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    worst_s = 0.0
    for number, command in enumerate(COMMANDS):
        took: dict[str, list[Took]] = {kind: [] for kind in stores}
        for at in range(rounds + 1):
            for kind, place in stores.items():
                one = once(["runs", "--store", place, *command], environment)
                took[kind] += [one] if at else []  # the first writes the byte code
        for kind, found in took.items():
            walls, cpus = zip(*found, strict=True)
            name = " ".join(("enginescope runs", *command))
            print(
                f"{kind:10} {name:58} wall min {min(walls):.3f} "
                f"median {statistics.median(walls):.3f} s   cpu min {min(cpus):.3f} s"
            )
            worst_s = max(worst_s, min(cpus) if number == 0 else 0.0)  # one thread
    return worst_s


def main() -> int:
    """Print a line for each command and store; 1 if the first is over its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--store", type=Path, help="made there and kept; one that is there is used")
    parser.add_argument("--postgresql", action="store_true", help="ask a server of its own too")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as kept:
        os.environ["XDG_DATA_HOME"] = scratch  # what of a database is of this machine
        store = chosen.store or Path(scratch) / "store"
        if not (store / "runs").is_dir():
            make(store, chosen.runs)
        begin = time.perf_counter()
        found = len(Store(store).rows())
        print(f"{found:,} runs taken up by the index in {time.perf_counter() - begin:.1f} s")
        stores = {"folder": str(store)}
        if chosen.postgresql:
            url = kept.enter_context(running_server()).fresh_url()
            fill(DatabaseUrl(url), Store(store))
            stores["PostgreSQL"] = url
        worst_s = measure(stores, chosen.rounds)
    print(f"limit for the first: {LIMIT_S} s")
    return 0 if worst_s <= LIMIT_S else 1


if __name__ == "__main__":
    sys.exit(main())
