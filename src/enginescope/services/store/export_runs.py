"""Export stored runs as files, and send them to a server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from enginescope.core.errors import FormatError, StoreError, UsageError
from enginescope.core.plugins import Registry
from enginescope.core.record import Record
from enginescope.core.suggest import did_you_mean
from enginescope.core.temporary_folder import temporary_folder
from enginescope.records.suite.suite import SuiteChange, SuiteResult
from enginescope.services.observer import Observer
from enginescope.services.output_files import write_file
from enginescope.services.store_access import place_of, selected_rows
from enginescope.store.location import StorePlace
from enginescope.store.row import Filter

if TYPE_CHECKING:
    from enginescope.formats.benchmarks.benchmark_series import ExportedSeries
    from enginescope.records.run.run import Run
    from enginescope.store.archive import Store
    from enginescope.store.remote import RemoteStore


#: Functions that return the files of another tool, by path: of series, and the first file's name.
EXPORTERS = Registry(
    "exporter",
    {
        "hyperfine": "enginescope.formats.benchmarks.hyperfine:hyperfine_files",
        "google-benchmark": "enginescope.formats.benchmarks.google_benchmark:google_files",
        "nvbench": "enginescope.formats.benchmarks.nvbench:nvbench_files",
    },
)
WHOLE_RUN = "zip"


def export_formats() -> tuple[str, ...]:
    """Return the names of all formats."""
    return (WHOLE_RUN, *EXPORTERS.names())


class ExportRequest(Record, frozen=True, kw_only=True):
    """What to export, and where to; see `export_run`."""

    run: str
    file: Path
    format: str = WHOLE_RUN
    store: StorePlace | None = None


def export_stored(request: ExportRequest, observer: Observer) -> tuple[Path, ...]:
    """Write the files of a request, and return their paths; the first is the one to name."""
    from enginescope.services.verdicts.run_selection import resolve_runs
    from enginescope.store.archive import Store

    store = Store(request.store)
    if request.format == WHOLE_RUN:
        return (store.export(request.run, request.file),)
    if request.format not in export_formats():
        hint = did_you_mean(request.format, export_formats())
        raise UsageError(f"no format is called {request.format!r}", hint=hint)
    exporter = EXPORTERS.load(request.format)
    runs = resolve_runs((request.run,), store, observer.warn)
    series = _series(request.run, runs, observer.warn)
    files = EXPORTERS.call(request.format, exporter, series, request.file.name)
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
    format: str = WHOLE_RUN,  # noqa: A002 - as the option is called
    store: str | PathLike[str] | None = None,
) -> tuple[Path, ...]:
    """Export a stored run, or the samples of a tag's runs in the JSON of another benchmark tool.

    Args:
        run: The start of an id, ``"latest"``, a run's folder. For other tools also a tag: each job,
            and each side of a comparison, is one benchmark.
        file: File to write. For nvbench, samples are written to the folder ``FILE-bin`` beside it.
        format: ``"zip"`` has everything, and `import_artifacts` reads it back. ``"hyperfine"``,
            ``"google-benchmark"``, ``"nvbench"`` and formats of plug-ins have samples of the
            headline.
        store: Path or URL of the store; by default that of the command line.

    Returns:
        The files.

    Raises:
        UsageError: There is no such format, no run has samples, or a file cannot be written.
        PluginError: A plug-in fails.
        StoreError: There is no such run.
    """
    request = ExportRequest(run=fspath(run), file=Path(file), format=format, store=place_of(store))
    return export_stored(request, Observer())


#: Rows of one request.
_BATCH = 100


class PushObserver(Observer):
    """Receives warnings, and the progress of a push."""

    def sent(self, number: int, total: int) -> None:
        """Report that run `number` of `total` is sent or refused."""


class PushRequest(Record, frozen=True, kw_only=True):
    """Which runs of the store to send where: those named, or without names those `wanted` chooses.

    Of a suite, by its name or folder: its plan, its rows, and the runs of its rows.
    """

    url: str
    token: str
    names: tuple[str, ...] = ()
    wanted: Filter = Filter()
    suite: str | None = None
    store: StorePlace | None = None


class RefusedRun(Record, frozen=True, kw_only=True):
    """A run that was not sent."""

    run: str
    why: str


class PushReport(Record, frozen=True, kw_only=True):
    """Result of a push to a server: ids of runs, how many it had, and the rows of a suite."""

    server: str
    sent: tuple[str, ...]
    left_out: tuple[RefusedRun, ...]
    there: int
    rows: int = 0


def push_runs(request: PushRequest, observer: PushObserver) -> PushReport:
    """Send the runs that the server does not have, the oldest first."""
    from enginescope.store.archive import Store
    from enginescope.store.remote import RemoteStore

    store, server = Store(request.store), RemoteStore(request.url, request.token)
    warn_if_plain(server, observer)
    suite = _suite(request, store)
    if suite is None:
        ids = _chosen(store, request, observer)
    else:
        of_rows = dict.fromkeys(run for row in suite.rows for run in row.run_ids)
        ids = [run for run in of_rows if store.has(run)]
    server.check()
    missing = server.missing(ids)
    reasons: dict[str, str | None] = {}
    with temporary_folder() as folder:
        for number, run_id in enumerate(missing, 1):
            reasons[run_id] = send_run(store, server, run_id, folder / f"{run_id}.zip")
            observer.sent(number, len(missing))
    refused = (RefusedRun(run=run, why=why) for run, why in reasons.items() if why is not None)
    return PushReport(
        server=str(server),
        sent=tuple(run for run, why in reasons.items() if why is None),
        left_out=tuple(refused),
        there=len(ids) - len(missing),
        rows=_send_rows(suite, server) if suite is not None else 0,
    )


def warn_if_plain(server: RemoteStore, observer: Observer) -> None:
    """Warn if others on the way to a server can read what is sent."""
    from enginescope.core.http_pool import is_loopback

    if server.is_plain and not is_loopback(server.host):
        observer.warn("http:// can be read on its way, the token too; https:// cannot")


def _suite(request: PushRequest, store: Store) -> SuiteResult | None:
    from enginescope.store.suite_folder import suite_named

    if request.suite is None:
        return None
    if request.names or request.wanted != Filter():
        raise UsageError("a suite, and runs or options that choose runs", hint="give either")
    folder = suite_named(request.suite, store.suite_home())
    if folder is None:
        raise UsageError(f"no suite {request.suite!r}", why=f"in {store.place}")
    return folder.result()


def _send_rows(suite: SuiteResult, server: RemoteStore) -> int:
    server.put_suite(suite.name, SuiteChange(plan=suite.plan))
    ended = server.suite_ended(suite.name)
    rows = [row for row in suite.rows if ended.get(row.cell.key, "") < row.ended]
    for start in range(0, len(rows), _BATCH):
        server.put_suite(suite.name, SuiteChange(rows=tuple(rows[start : start + _BATCH])))
    return len(rows)


def _chosen(store: Store, request: PushRequest, observer: PushObserver) -> list[str]:
    if request.names and request.wanted != Filter():
        raise UsageError("runs by name, and options that choose others", hint="give either")
    if request.names:
        return list(dict.fromkeys(store.id_of(name) for name in request.names))
    rows = selected_rows(store, request.wanted, observer.warn)
    if not rows:
        raise UsageError("no such runs", why=f"in {store.place}")
    return [row.id for row in reversed(rows)]  # the oldest first, as they were measured


def send_run(store: Store, server: RemoteStore, run_id: str, file: Path) -> str | None:
    """Send a run by a temporary file; return why the server, or a check of the run, refuses it."""
    try:
        store.load_id(run_id)  # a damaged run is not sent
        server.put(run_id, store.export(run_id, file))
    except FormatError as error:
        return str(error)
    except StoreError as error:
        why = error.why or ""
        if not store.has(run_id) or not why.startswith(("not a run", "more than")):
            raise  # the server would refuse every run
        return why
    finally:
        file.unlink(missing_ok=True)
    return None
