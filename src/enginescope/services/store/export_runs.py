"""Export stored runs: a zip file of one, or samples in the JSON of another benchmark tool."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.services.observer import Observer
from enginescope.services.output_files import write_file
from enginescope.services.store_access import place_of
from enginescope.store.location import StorePlace

if TYPE_CHECKING:
    from enginescope.formats.benchmarks.benchmark_series import ExportedSeries
    from enginescope.records.run.run import Run

ExportFormat = Literal["zip", "hyperfine", "google-benchmark", "nvbench"]
EXPORT_FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)


class ExportRequest(Record, frozen=True, kw_only=True):
    """What to export, and where to; see `export_run`."""

    run: str
    file: Path
    format: ExportFormat = "zip"
    store: StorePlace | None = None


def export_stored(request: ExportRequest, observer: Observer) -> tuple[Path, ...]:
    """Write the files of a request, and return their paths; the first is the one to name."""
    from enginescope.formats.benchmarks.google_benchmark import google_json
    from enginescope.formats.benchmarks.hyperfine import hyperfine_json
    from enginescope.formats.benchmarks.nvbench import nvbench_files
    from enginescope.services.verdicts.run_selection import resolve_runs
    from enginescope.store.archive import Store

    store = Store(request.store)
    if request.format == "zip":
        return (store.export(request.run, request.file),)
    if request.format not in EXPORT_FORMATS:
        known = ", ".join(EXPORT_FORMATS)
        raise UsageError(f"format {request.format!r}", why="not known", hint=f"one of {known}")
    runs = resolve_runs((request.run,), store, observer.warn)
    series = _series(request.run, runs, observer.warn)
    if request.format == "hyperfine":
        files = {request.file.name: hyperfine_json(series)}
    elif request.format == "google-benchmark":
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        files = {request.file.name: google_json(series, now)}
    else:
        files = nvbench_files(series, request.file.name)
    written = []
    for name, data in files.items():
        path = request.file.parent / name
        path.parent.mkdir(exist_ok=True)
        write_file(path, data)
        written.append(path)
    return tuple(written)


def _series(
    name: str, runs: Sequence[Run], warn: Callable[[str], None]
) -> tuple[ExportedSeries, ...]:
    """Return the headline samples of each job, or of each side of a comparison."""
    from enginescope.analysis.verdicts.job_identity import identity_of, labels_of
    from enginescope.formats.benchmarks.benchmark_series import ExportedSeries

    sampled = [run for run in runs if run.headline is not None]
    if not sampled:
        raise UsageError(f"no samples in {name}", why="a printed figure is not a sample")
    if len(sampled) < len(runs):
        warn(f"skipped: {len(runs) - len(sampled)} of {len(runs)} runs have no samples")
    groups: dict[tuple[object, ...], list[Run]] = {}
    for run in sorted(sampled, key=lambda one: (_side(one), one.created, one.id)):
        metric = run.headline.metric if run.headline else None
        groups.setdefault((identity_of(run), _side(run), metric), []).append(run)
    firsts = [processes[0] for processes in groups.values()]
    labels = labels_of([identity_of(run) for run in firsts])
    series = []
    for label, first, processes in zip(labels, firsts, groups.values(), strict=True):
        is_twin = labels.count(label) > 1
        devices = first.environment.devices
        series.append(
            ExportedSeries(
                name=f"{label} · {_side(first)}" if is_twin else label,
                model=first.job.subject.name,
                backend=str(first.job.backend),
                metric=first.headline.metric if first.headline else "latency",
                processes_ms=tuple(run.headline.values_ms for run in processes if run.headline),
                runs=tuple(run.id for run in processes),
                batch=first.job.workload.batch,
                device=devices[0] if devices else None,
            )
        )
    return tuple(series)


def _side(run: Run) -> str:
    return run.turn.side if run.turn else ""


def export_run(
    run: str | PathLike[str],
    file: str | PathLike[str],
    *,
    format: ExportFormat = "zip",  # noqa: A002 - as the option is called
    store: str | PathLike[str] | None = None,
) -> tuple[Path, ...]:
    """Export a stored run, or the samples of a tag's runs in the JSON of another benchmark tool.

    Args:
        run: The start of an id, ``"latest"``, a run's folder. For other tools also a tag: each job,
            and each side of a comparison, is one benchmark.
        file: File to write. For nvbench, samples are written to the folder ``FILE-bin`` beside it.
        format: ``"zip"`` has everything, and `import_artifacts` reads it back. ``"hyperfine"``,
            ``"google-benchmark"`` and ``"nvbench"`` have samples of the headline.
        store: Path or URL of the store; by default that of the command line.

    Returns:
        The files.

    Raises:
        UsageError: No run has samples, or a file cannot be written.
        StoreError: There is no such run.
    """
    request = ExportRequest(run=fspath(run), file=Path(file), format=format, store=place_of(store))
    return export_stored(request, Observer())
