"""A backend that measures nothing real: known times, and every way to fail.

For tests, documentation and for trying how the rest behaves. ``fake?latency_us=500&seed=3`` waits
so long per request; ``fake?fault=segfault`` dies on the first one; ``fake?gpu=0`` says that it runs
on a GPU. Faults: ``segfault``, ``abort``, ``exit``, ``hang``, ``memory``, ``error``,
``unsupported``.
"""

import ctypes
import os
import time
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

import numpy as np

from enginescope.backends.base import (
    Availability,
    Feeds,
    FeedSource,
    InputSpec,
    Measured,
    ProgressSink,
)
from enginescope.backends.plain import PlainSession
from enginescope.backends.stepwise import measure
from enginescope.core.errors import BackendError, UnsupportedError, UsageError
from enginescope.core.suggest import did_you_mean
from enginescope.judge.notice import Notice
from enginescope.judge.samples import Array
from enginescope.records.plan.plan import LayerTiming, Profile
from enginescope.records.run.job import BackendSpec, Job
from enginescope.records.run.run import ProviderShare
from enginescope.records.tensor import DataType, Tensor

_BUSY_NS = 1_000_000
OPTIONS = ("latency_us", "jitter_pct", "seed", "fault", "gpu")


class FakeBackend:
    """The backend called ``fake``."""

    mode_fields: frozenset[str] = frozenset()

    def check(self, spec: BackendSpec) -> None:
        """Accept `OPTIONS` only."""
        for key, value in spec.options.items():
            if key not in OPTIONS:
                raise UsageError(f"fake has no option {key!r}", hint=did_you_mean(key, OPTIONS))
            if key == "fault" and value not in FAULTS:
                raise UsageError(f"fake has no fault {value!r}", hint=did_you_mean(value, FAULTS))

    def availability(self) -> Availability:
        return Availability(usable=True, detail="built in")

    def prepare(self) -> None:
        """Nothing to import."""

    def execute(self, job: Job, feeds: FeedSource, progress: ProgressSink) -> Measured:
        return measure(job, FakeSession, feeds, progress, _profile)


class FakeSession(PlainSession):
    """Waits a known time per step."""

    providers = ("FakeExecutionProvider",)
    placement = (ProviderShare(provider="FakeExecutionProvider", nodes=3, subgraphs=3),)
    input_specs = (
        InputSpec(name="x", dtype=DataType.FP32, shape=(1, 3, 8, 8), type_text="tensor(float)"),
    )

    def __init__(self, job: Job) -> None:
        options = job.backend.options
        self.gpu = options.get("gpu")
        fault = options.get("fault")
        if fault == "unsupported":
            raise UnsupportedError("fake", why="asked to be unsupported")
        self._fault = FAULTS[fault] if fault else None
        base_ns = float(options.get("latency_us", "200")) * 1e3
        jitter = float(options.get("jitter_pct", "1")) / 100
        generator = np.random.default_rng(int(options.get("seed", "0")))
        self._waits = (base_ns * (1 + jitter * generator.standard_normal(1024))).astype(np.int64)
        self._count = 0

    def step(self) -> None:
        """Wait as for a GPU: asleep at first, busy in the last millisecond, which is exact."""
        if self._fault:
            self._fault()
        until = perf_counter_ns() + int(self._waits[self._count % 1024])
        self._count += 1
        if (left := until - perf_counter_ns()) > _BUSY_NS:
            time.sleep((left - _BUSY_NS) / 1e9)
        while perf_counter_ns() < until:
            pass

    def tensors(self) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        shape = tuple(self.arrays["x"].shape)
        made = [Tensor(name=name, shape=shape, dtype=DataType.FP32) for name in ("x", "y")]
        return (made[0],), (made[1],)

    def notices(self) -> tuple[Notice, ...]:
        return (Notice("I-FAKE", "the fake backend measures nothing"),)


def _profile(job: Job, feeds: Feeds) -> tuple[Profile, tuple[Notice, ...]]:
    del feeds
    whole_ms = float(job.backend.options.get("latency_us", "200")) / 1e3
    parts = (("stem", "Conv", 0.5), ("body", "MatMul", 0.4), ("head", "Softmax", 0.2))
    layers = tuple(
        LayerTiming(
            index=index,
            name=name,
            kind=kind,
            mean_ms=share * whole_ms,
            median_ms=share * whole_ms,
            total_ms=10 * share * whole_ms,
            provider="FakeExecutionProvider",
        )
        for index, (name, kind, share) in enumerate(parts)
    )
    return Profile(source="fake", layers=layers, iterations=10, whole_ms=1.1 * whole_ms), ()


def _segfault() -> None:
    ctypes.string_at(0)


def _hang() -> None:
    while True:
        time.sleep(3600)


def _fill_memory() -> None:
    hoard: list[Array] = []
    while True:
        hoard.append(np.ones(8 << 20, dtype=np.float64))  # 64 MiB, touched


def _error() -> None:
    raise BackendError("fake request", why="asked to fail")


FAULTS: dict[str, Callable[[], Any]] = {
    "segfault": _segfault,
    "abort": os.abort,
    "exit": lambda: os._exit(7),
    "hang": _hang,
    "memory": _fill_memory,
    "error": _error,
    "unsupported": _error,
}
