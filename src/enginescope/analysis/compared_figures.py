"""Figures that a run has one of, and that are compared beside its samples."""

from __future__ import annotations

from collections.abc import Callable

from enginescope.analysis.run_view import RunView
from enginescope.core.record import Record
from enginescope.model.run import Run

#: Sampled series that are compared beside the headline: the GPU's part of it, or without copies.
COMPARED_SERIES = ("gpu_compute", "device_latency")


class Figure(Record, frozen=True, kw_only=True):
    """A figure that a run has one of.

    Attributes
    ----------
    name, title : str
    unit : {"ms", "B", "/s", "J"}
    of : callable
        From a `RunView` to the figure, or ``None``.
    is_exact : bool
        It comes out the same each time, so that any difference is one.
    of_build : bool
        It is the engine's: processes that ran the engine of one build have it once together.
    """

    name: str
    title: str
    unit: str
    of: Callable[[RunView], float | None]
    is_exact: bool = False
    of_build: bool = False
    higher_is_better: bool = False


def _phase(name: str) -> Callable[[RunView], float | None]:
    return lambda view: view.run.phase_ms(name)


def _engine_bytes(run: Run) -> float | None:
    if run.build is not None:
        return run.build.engine_bytes
    return run.job.subject.size_bytes if run.job.subject.kind == "engine" else None


FIGURES: tuple[Figure, ...] = (
    Figure(
        name="throughput",
        title="Throughput",
        unit="/s",
        of=lambda view: view.throughput_per_s,
        higher_is_better=True,
    ),
    Figure(
        name="first_inference", title="First inference", unit="ms", of=_phase("first_inference")
    ),
    Figure(name="load", title="Load", unit="ms", of=_phase("load")),
    Figure(
        name="build",
        title="Build",
        unit="ms",
        of=lambda view: view.run.build.build_ms if view.run.build else None,
        of_build=True,
    ),
    Figure(
        name="peak_memory",
        title="Peak host memory",
        unit="B",
        of=lambda view: view.run.peak_memory_bytes,
    ),
    Figure(
        name="device_memory",
        title="Device memory",
        unit="B",
        of=lambda view: view.run.device_memory.process_bytes if view.run.device_memory else None,
    ),
    Figure(
        name="energy",
        title="Energy of a request",
        unit="J",
        of=lambda view: view.energy.joules if view.energy else None,
    ),
    Figure(
        name="engine_size",
        title="Engine size",
        unit="B",
        of=lambda view: _engine_bytes(view.run),
        is_exact=True,
    ),
)
