"""Builds and processes of a lottery, made by hand: planted variation at each level."""

import numpy as np

from enginescope.analysis.lottery.lottery_report import Draw, OutputTally, TimedRun, lottery_report
from enginescope.core.record import replace
from enginescope.records.plan.build import BuildReport
from enginescope.records.progress import RoundPosition
from enginescope.records.run.run import Run, StopReport, TensorValues
from enginescope.records.tensor import DataType
from enginescope.records.verdict.lottery import LotteryReport
from tests.analysis.in_turn import COMPARISON, job, process


def built(number: int, **more: object) -> BuildReport:
    facts = {
        "engine": f"/b{number}/net.engine",
        "engine_bytes": 1 << 20,
        "engine_sha256": f"{number:064x}",
        "model": "net.onnx",
        "model_sha256": "5" * 64,
        "precision": "fp16",
        "build_ms": 9e3,
        "from_cache": True,
    }
    return BuildReport(**{**facts, **more})


def one_process(number: int, turn: int, median_ms: float, **more: object) -> Run:
    position = RoundPosition(comparison=COMPARISON, side=chr(64 + number), round=turn, place=0)
    fields = {
        "job": job("trt", "fp16"),
        "turn": position,
        "build": built(number),
        "stop": StopReport(rule="duration", iterations=240, duration_ms=480.0),
    }
    return process(median_ms, n=240, seed=100 * number + turn, **{**fields, **more})


def tensor(*values: float) -> tuple[TensorValues, ...]:
    data = np.array(values, dtype=np.float32)
    return (TensorValues(name="y", dtype=DataType.FP32, shape=data.shape, data=data),)


def draws(
    builds: int = 10,
    processes: int = 3,
    *,
    build_sd: float = 0.0,
    process_sd: float = 0.0,
    seed: int = 0,
    plans: tuple[Run, ...] = (),
) -> list[Draw]:
    """Builds whose latencies vary by so much between builds and between processes.

    Args:
        plans: Runs whose plan and layer times the first process of each build has.
    """
    draw = np.random.default_rng(seed)
    found = []
    for number in range(1, builds + 1):
        level = 2.0 * np.exp(build_sd * draw.standard_normal())
        runs = [
            one_process(number, turn, level * np.exp(process_sd * draw.standard_normal()))
            for turn in range(processes)
        ]
        if plans:
            planned = plans[number - 1]
            runs[0] = replace(runs[0], plan=planned.plan, profile=planned.profile)
        tally = OutputTally()
        tally.add(number, tensor(1.0, 2.0))
        found.append(
            Draw(
                number=number,
                build_s=10.0 + number / 10,
                processes=tuple(TimedRun(run=run, seconds=2.5) for run in runs),
                outputs=tally.of(number),
            )
        )
    return found


def report(*, backend: str = "trt:fp16", **planted: object) -> LotteryReport:
    return lottery_report(draws(**planted), backend=backend, duration_s=180.0)
