"""A pool of many short fresh processes, measured in turn: A, A again, and B with a planted node.

One line of JSON a process; what a file holds already is kept, so that measuring can go on later.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import msgspec
import numpy as np
from planted_model import planted_models

from enginescope.analysis.runs.run_view import RunView
from enginescope.records.run.job import BackendSpec, Job, StopRule, Subject, WarmUp, Workload
from enginescope.records.run.run import Run
from enginescope.runner.session import run_jobs

SAME = ("A", "A'")
SIDES = (*SAME, "B")


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of one process.

    Attributes:
    ----------
    part : int
        Of the measuring: each start of it begins a new one.
    low_ms, high_ms : float or None
        The ends of the median's interval.
    other_cores : float or None
        Kept busy by others meanwhile.
    notices : tuple of str
        Codes.
    """

    part: int
    round: int
    side: str
    place: int
    median_ms: float
    low_ms: float | None
    high_ms: float | None
    samples: int
    effective: float
    other_cores: float | None
    notices: tuple[str, ...]


class Round(msgspec.Struct, frozen=True):
    """The processes of one round, by side; B may not be among them."""

    by_side: dict[str, Process]

    def median_ms(self, side: str) -> float:
        """Return a side's median."""
        return self.by_side[side].median_ms


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """How a pool is measured."""

    minutes: float
    sides: tuple[str, ...] = SIDES
    columns: int = 40
    timed_ms: float = 500.0
    threads: int = 1


def measure(file: Path, plan: Plan, *, most_rounds: int | None = None) -> None:
    """Measure rounds until the time is over, and append them to `file`."""
    file.parent.mkdir(parents=True, exist_ok=True)
    plain, slower = planted_models(file.parent / "models", plan.columns)
    jobs = {"A": _job(plain, plan), "A'": _job(plain, plan), "B": _job(slower, plan)}
    known = [one.by_side["A"] for one in rounds_of(file)]
    part = max((one.part for one in known), default=-1) + 1
    until = time.monotonic() + 60 * plan.minutes
    rng = np.random.default_rng([17, part])
    number = 0
    while time.monotonic() < until and (most_rounds is None or number < most_rounds):
        order = [plan.sides[one] for one in rng.permutation(len(plan.sides))]
        runs = run_jobs([jobs[side] for side in order], lambda _run: None)
        number += 1
        processes = [
            _process(run, part, number, side, place)
            for place, (side, run) in enumerate(zip(order, runs, strict=True))
        ]
        if None not in processes:  # a round that lost a process does not count
            with file.open("ab") as stream:
                stream.write(b"".join(msgspec.json.encode(one) + b"\n" for one in processes))


def rounds_of(file: Path) -> list[Round]:
    """Return the complete rounds of a pool, in the order they were measured."""
    if not file.exists():
        return []
    lines = [one for one in file.read_bytes().split(b"\n") if one]
    found: dict[tuple[int, int], dict[str, Process]] = {}
    for line in lines:
        one = msgspec.json.decode(line, type=Process)
        found.setdefault((one.part, one.round), {})[one.side] = one
    return [Round(one) for _, one in sorted(found.items()) if set(SAME) <= one.keys()]


def _job(path: Path, plan: Plan) -> Job:
    return Job(
        subject=Subject(name=path.name, kind="onnx", path=str(path)),
        backend=BackendSpec(name="ort-cpu", options={"intra_op_num_threads": str(plan.threads)}),
        workload=Workload(
            warmup=WarmUp(time_ms=50, iterations=3, limit_ms=300),
            stop=StopRule(duration_ms=plan.timed_ms),
        ),
        layer_profile=False,
    )


def _process(run: Run, part: int, number: int, side: str, place: int) -> Process | None:
    view = RunView(run)
    latency = view.latency
    if latency is None:
        print(f"{run.job.subject.name}: {run.outcome.message}", file=sys.stderr)
        return None
    interval = latency.median_interval
    return Process(
        part=part,
        round=number,
        side=side,
        place=place,
        median_ms=latency.median_ms,
        low_ms=interval.low if interval else None,
        high_ms=interval.high if interval else None,
        samples=latency.n,
        effective=latency.effective_n,
        other_cores=run.other_load_cores,
        notices=tuple(one.code for one in view.notices if one.level == "warning"),
    )
