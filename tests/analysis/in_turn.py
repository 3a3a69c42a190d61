"""Runs of comparisons, made by hand: sides in turn, with planted ratios."""

import secrets
from typing import Any

import numpy as np

from enginescope.analysis.verdicts.measured_sides import MeasuredSide
from enginescope.core.record import replace
from enginescope.judge.samples import Samples, frozen
from enginescope.records.environment import Environment, Host
from enginescope.records.progress import RoundPosition
from enginescope.records.run.job import BackendSpec, Job, Mode, Subject, Workload
from enginescope.records.run.run import Outcome, OutcomeKind, Phase, Run
from enginescope.records.tensor import DataType, Tensor

COMPARISON = "0a1b2c3d"
HOST = Host(cpu_model="Xeon", cores_usable=2)


def job(backend: str = "ort-cpu", precision: str | None = None, **options: str) -> Job:
    return Job(
        subject=Subject(name="net.onnx", kind="onnx", path="/m/net.onnx", sha256="5" * 64),
        backend=BackendSpec(name=backend, precision=precision, options=options),
        workload=Workload(batch=1, mode=Mode(kind="latency")),
    )


def process(
    median_ms: float, *, n: int = 200, seed: int = 0, turn: RoundPosition | None = None, **more: Any
) -> Run:
    """A run whose samples lie within 0.2 % of a median."""
    values = median_ms * (1 + 0.002 * np.random.default_rng(seed).standard_normal(n))
    number = turn.round if turn else seed
    fields: dict[str, Any] = {
        "id": secrets.token_hex(6),
        "created": f"2026-01-01T00:{number % 60:02}:00.000000+00:00",
        "origin": "measured",
        "job": job(),
        "environment": Environment(host=HOST, versions={"onnxruntime": "1.20"}),
        "inputs": (Tensor(name="x", dtype=DataType.FP32, shape=(1, 3)),),
        "phases": (Phase(name="load", duration_ms=float(median_ms) * 10),),
        "samples": (Samples(metric="latency", values_ms=frozen(values)),),
        "peak_memory_bytes": 100 << 20,
        "turn": turn,
    }
    return Run(**{**fields, **more})


def crashed(run: Run) -> Run:
    bad = Outcome(kind=OutcomeKind.CRASHED, message="died of SIGSEGV", signal=11)
    return replace(run, outcome=bad, samples=())


def in_turn(
    ratio: float, *, rounds: int = 12, noise: float = 0.003, seed: int = 1, jobs: Any = None
) -> tuple[tuple[Run, ...], tuple[Run, ...]]:
    """Two sides, B's medians `ratio` times A's; what a round shares is ten times the noise."""
    draw = np.random.default_rng(seed)
    a_job, b_job = jobs or (job(), job())
    sides: tuple[list[Run], list[Run]] = ([], [])
    for number in range(rounds):
        shared = np.exp(10 * noise * draw.standard_normal())
        for label, runs, factor, one in zip("AB", sides, (1.0, ratio), (a_job, b_job), strict=True):
            turn = RoundPosition(comparison=COMPARISON, side=label, round=number, place=0)
            median = 2.0 * factor * shared * np.exp(noise * draw.standard_normal())
            runs.append(process(median, seed=2 * number + (label == "B"), turn=turn, job=one))
    return tuple(sides[0]), tuple(sides[1])


def named(*sides: tuple[Run, ...]) -> tuple[MeasuredSide, ...]:
    return tuple(
        MeasuredSide(label=label, name=f"side {label}", runs=runs)
        for label, runs in zip("ABCD", sides, strict=False)
    )
