"""Simulated runs of one job, for simulations that call the gate itself."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

import numpy as np

from enginescope.judge.samples import Samples, frozen
from enginescope.records.run.job import BackendSpec, Job, Subject
from enginescope.records.run.run import Run

#: First day of the simulated calendar; sessions are a day apart.
START = datetime(2026, 1, 1, tzinfo=timezone.utc)
_NUMBERS = itertools.count()


def processes_of(
    series: Sequence[np.ndarray], *, model: str = "net.onnx", session: int = 0
) -> list[Run]:
    """Return one run for each series of samples; the runs of a session are a minute apart.

    Parameters
    ----------
    series : sequence of array, shape (n,)
        Samples of each process in milliseconds.
    model : str
    session : int
        Days since the start of the simulated calendar.
    """
    job = Job(subject=Subject(name=model, kind="onnx"), backend=BackendSpec(name="ort-cpu"))
    begun = START + timedelta(days=session)
    return [
        Run(
            id=f"{next(_NUMBERS):012x}",
            created=(begun + timedelta(minutes=number)).isoformat(),
            origin="measured",
            job=job,
            samples=(Samples(metric="latency", values_ms=frozen(values)),),
        )
        for number, values in enumerate(series)
    ]
