"""How long the page of a suite of 2,000 cells takes: the file, and the server's matrix.

In this process, the folder read and the table made included. Wall and CPU time: under other load
the CPU time is what to look at.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from enginescope.records.run.job import BackendSpec, Job, Subject
from enginescope.records.suite.suite import (
    Cell,
    CellFigure,
    CellRow,
    CellStatus,
    Suite,
    SuiteModel,
    SuitePlan,
)
from enginescope.store.archive import Store
from enginescope.store.suite_folder import SUITES, SuiteFolder

LIMIT_S = 1.0
BACKENDS = ("ort-cpu", "ort-cpu:fp16", "ort-cuda", "ort-cuda:fp16", "ort-trt:fp16")
BACKENDS += ("trt", "trt:fp16", "trt:bf16", "trt:int8", "trt:best")


def make(folder: SuiteFolder, count: int) -> None:
    """Write a suite of `count` cells: most went well, some failed, some are not done."""
    per_model = len(BACKENDS)
    models = tuple(
        SuiteModel(name=f"model-{number}", path=f"m{number}.onnx", backends=BACKENDS)
        for number in range(count // per_model)
    )
    cells = tuple(
        Cell(
            key=f"{number:032x}",
            model=models[number // per_model].name,
            mode="benchmark",
            input="random",
            job=Job(
                subject=Subject(name=models[number // per_model].path),
                backend=_spec(BACKENDS[number % per_model]),
            ),
        )
        for number in range(count)
    )
    suite = Suite(name="zoo", models=models)
    folder.begin(SuitePlan(suite=suite, cells=cells, created="2026-01-01T00:00:00+00:00"))
    lines = [_row(cell, number) for number, cell in enumerate(cells) if number % 97]
    for row in lines:
        folder.keep(row)


def _spec(text: str) -> BackendSpec:
    name, _, precision = text.partition(":")
    return BackendSpec(name=name, precision=precision or None)


def _row(cell: Cell, number: int) -> CellRow:
    bad = number % 11 == 5
    values = {"latency": 1 + number % 13, "p99": 2 + number % 13, "throughput": 400.0, "load": 30.0}
    values |= {"first_inference": 9.0, "peak_memory": 3e8}
    units = {"throughput": "1/s", "peak_memory": "bytes"}
    return CellRow(
        cell=cell,
        status=CellStatus.CRASHED if bad else CellStatus.OK,
        reason="the worker was ended by signal 11" if bad else None,
        run=f"{number:012x}",
        started="2026-01-01T00:00:00+00:00",
        ended="2026-01-01T00:01:00+00:00",
        figures=()
        if bad
        else tuple(
            CellFigure(metric=name, value=float(value), unit=units.get(name, "ms"))
            for name, value in values.items()
        ),
        versions={"onnxruntime": "1.31.0", "enginescope": "0.1"},
        host="bench-1",
    )


def timed(name: str, action: Callable[[], bytes], rounds: int) -> float:
    """Print the times of an action, and return the shortest CPU time."""
    size = len(action())
    walls, cpus = [], []
    for _ in range(rounds):
        begin, cpu = time.perf_counter(), time.process_time()
        action()
        walls.append(time.perf_counter() - begin)
        cpus.append(time.process_time() - cpu)
    print(
        f"{name:20} wall min {min(walls):.3f} median {statistics.median(walls):.3f} s"
        f"   cpu min {min(cpus):.3f} s   {size / 1e6:.2f} MB"
    )
    return min(cpus)  # one thread: what it takes where nothing else runs


def main() -> int:
    """Print a line for each page; 1 if one is over the limit."""
    from enginescope.serve.result_pages import suite

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=7)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        store = Store(Path(scratch))
        folder = SuiteFolder(store.path / SUITES / "zoo")
        make(folder, chosen.cells)
        state = SimpleNamespace(kept=SimpleNamespace(store=store))
        request: Any = SimpleNamespace(
            app=SimpleNamespace(state=state), path_params={"name": "zoo"}
        )
        worst_s = timed("the page", lambda: suite(request).body, chosen.rounds)
    print(f"{chosen.cells:,} cells; limit: {LIMIT_S:.0f} s")
    return 0 if worst_s <= LIMIT_S else 1


if __name__ == "__main__":
    sys.exit(main())
