"""What a benchmark tool's file says of one benchmark, and what is written to such a file."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from enginescope.core.errors import FormatError, foreign
from enginescope.core.record import Record, replace
from enginescope.formats.lenient_json import finite_number
from enginescope.judge.notice import Notice
from enginescope.judge.samples import Array, Samples
from enginescope.records.environment import Device, Host
from enginescope.records.plan.build import ToolReport
from enginescope.records.plan.plan import Profile
from enginescope.records.samples import ReportedSummary


class BenchmarkResult(Record, frozen=True, kw_only=True, eq=False):
    """One benchmark of a file.

    Attributes:
        report: Name and version of the tool, its command, and figures that it printed.
        samples: ``None``: the file has printed figures only, which `report` holds.
        profile: Times of parts: layers, operators or kernels.
    """

    name: str
    report: ToolReport
    samples: Samples | None = None
    profile: Profile | None = None
    notices: tuple[Notice, ...] = ()
    host: Host = Host()
    devices: tuple[Device, ...] = ()


class ExportedSeries(Record, frozen=True, kw_only=True, eq=False):
    """Samples of one job for another tool's file.

    Attributes:
        name: For people: model and backend.
        metric: ``gpu_compute`` is on the GPU's clock; anything else is host time.
        processes_ms: Samples of each process.
        runs: Ids of the stored runs, one a process.
        batch: Items per request; ``None``: not known.
    """

    name: str
    model: str
    backend: str
    metric: str
    processes_ms: tuple[Array, ...]
    runs: tuple[str, ...]
    batch: int | None = None
    device: Device | None = None

    @property
    def values_ms(self) -> Array:
        """Samples of all processes, one after another."""
        return np.concatenate(self.processes_ms)


def origin(one: ExportedSeries) -> dict[str, Any]:
    """Return what the other tool has no field for."""
    return {"runs": one.runs, "model": one.model, "backend": one.backend, "metric": one.metric}


def milliseconds(value: Any, factor: float) -> float | None:
    """Return a time of a file in ms; ``None`` where it is no finite number.

    Args:
        value: A number, or text as nvbench writes it.
        factor: Milliseconds of its unit.
    """
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    number = finite_number(value)
    return None if number is None or number != number else number * factor


def reported(metric: str, stated: Mapping[str, Any], factor: float) -> ReportedSummary:
    """Return the figures ``min``, ``max``, ``mean`` and ``median`` of a file.

    Args:
        factor: Milliseconds of their unit.
    """
    names = ("min", "max", "mean", "median")
    figures: dict[str, Any] = {
        f"{name}_ms": milliseconds(stated.get(name), factor) for name in names
    }
    return ReportedSummary(metric=metric, **figures)


def file_notice(message: str, source: str) -> Notice:
    """Return the note on what a tool's samples are."""
    return Notice("I-BENCHMARK-FILE", message, {"file": source})


def readable_results(
    readers: Mapping[str, Callable[[], BenchmarkResult]], source: str
) -> tuple[BenchmarkResult, ...]:
    """Return what can be read of a file's benchmarks; a notice of each names the others.

    Args:
        readers: By the benchmark's name.
    """
    results: list[BenchmarkResult] = []
    refused: dict[str, FormatError] = {}
    for name, read in readers.items():
        try:
            with foreign(source, "a benchmark"):
                results.append(read())
        except FormatError as error:
            refused[name] = error
    if not results and refused:
        raise next(iter(refused.values()))
    if not refused:
        return tuple(results)
    benchmarks = "1 benchmark" if len(refused) == 1 else f"{len(refused):,} benchmarks"
    names = ", ".join(list(refused)[:3]) + (" …" if len(refused) > 3 else "")
    why = next(iter(refused.values())).why
    message = f"{source} has {benchmarks} that enginescope skips ({names}): {why}"
    notice = Notice("I-BENCHMARKS-SKIPPED", message, {"file": source, "benchmarks": list(refused)})
    return tuple(replace(result, notices=(*result.notices, notice)) for result in results)
