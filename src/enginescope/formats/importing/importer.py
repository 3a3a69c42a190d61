"""Artifacts that other tools left, as runs.

A ledger says what the import read of each file, and what it skipped.
"""

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from enginescope.core.errors import FormatError, PluginError, UsageError, foreign
from enginescope.core.jsonio import sha256_of
from enginescope.core.packed_files import packing_of, plain_head, plain_path
from enginescope.core.record import Record, replace
from enginescope.formats.benchmarks.benchmark_series import BenchmarkResult
from enginescope.formats.importing.artifact_kinds import (
    BENCHMARK_KINDS,
    BENCHMARK_READERS,
    HEAD_BYTES,
    LOG_READERS,
    NEITHER,
    OPERATOR_KINDS,
    ArtifactKind,
    Item,
    Recognised,
    group_items,
    may_be_known,
    recognise,
)
from enginescope.formats.importing.import_assembly import assemble
from enginescope.formats.importing.readers import READERS, ForeignFile, reader_of
from enginescope.formats.trtexec.trtexec_log import TrtexecLog
from enginescope.judge.notice import Notice
from enginescope.judge.units import counted
from enginescope.records.run.run import Run

#: Notices on parts of a file that were not read.
_LEFT_OUT = frozenset(
    {
        *("W-DAMAGED-FILE", "W-FIGURES-UNREAD", "W-PLAN-ENTRIES", "W-RECORDS", "W-TRUNCATED"),
        *("I-BENCHMARKS-SKIPPED", "W-LOG-UNFINISHED"),
    }
)


class LedgerEntry(Record, frozen=True, kw_only=True):
    """One file of an import.

    Attributes:
        kinds: What it was recognized as.
        read: Counts of what was read: ``"3 documents"``, ``"360 samples"``.
        left_out: Codes of the notices on parts that were not read.
    """

    path: str
    kinds: tuple[str, ...]
    read: tuple[str, ...]
    left_out: tuple[str, ...] = ()


def ledger_of(items: Sequence[Item], runs: Sequence[Run]) -> tuple[LedgerEntry, ...]:
    """Return an entry for each file, in the order of `items`."""
    by_file: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        by_file[str(item.path.absolute())].append(item)
    return tuple(_entry(path, some, runs) for path, some in by_file.items())


def _entry(path: str, items: Sequence[Item], runs: Sequence[Run]) -> LedgerEntry:
    own = [run for run in runs if any(artifact.path == path for artifact in run.artifacts)]
    kinds = tuple(dict.fromkeys(item.kind for item in items))
    amounts: dict[str, int] = {}
    if len(items) > 1 and not any(item.benchmark for item in items):
        amounts["run" if items[0].log else "document"] = len(items)
    for kind in kinds:
        for run in own:
            for unit, count in _amounts(kind, run):
                amounts[unit] = amounts.get(unit, 0) + count
    name = items[0].path.name
    codes = (
        notice.code
        for run in own
        for notice in run.notices
        if notice.code in _LEFT_OUT and notice.evidence.get("file") == name
    )
    return LedgerEntry(
        path=path,
        kinds=tuple(dict.fromkeys(item.kind_name for item in items)),
        read=tuple(counted(count, unit) for unit, count in amounts.items() if count),
        left_out=tuple(dict.fromkeys(codes)),
    )


def _amounts(kind: ArtifactKind, run: Run) -> Iterator[tuple[str, int]]:
    """Yield what a file of a kind gave a run, by its unit."""
    if kind in BENCHMARK_KINDS:
        yield "benchmark", 1
    if run.samples and (kind is ArtifactKind.TIMES or kind in BENCHMARK_KINDS):
        yield "sample", len(run.samples[0])
    if kind is ArtifactKind.PLAN and run.plan is not None:
        yield "layer", len(run.plan.layers)
    timed = {ArtifactKind.PROFILE, ArtifactKind.LAYER_LATENCIES, ArtifactKind.OTHER_TOOL}
    if kind in timed | OPERATOR_KINDS and run.profile is not None:
        unit = "operator" if kind in OPERATOR_KINDS else f"{run.profile.part} time"
        yield unit, len(run.profile.layers)
    if kind is ArtifactKind.OUTPUTS:
        yield "output", len(run.answers)
    printing = (ArtifactKind.TREX_METADATA, ArtifactKind.OTHER_TOOL, *LOG_READERS)
    if run.tool is not None and kind in printing:
        figures = [value for one in run.tool.summaries for value in one.figures.values()]
        yield "printed statistic", sum(value is not None for value in figures)
        built = (run.tool.build_s, run.tool.engine_bytes, run.tool.load_s)
        yield "build figure", sum(value is not None for value in built)


class Imported(Record, frozen=True, kw_only=True, eq=False):
    """What an import found.

    Attributes:
        runs: One for each engine or process; their artifacts are the files where they lie.
        skipped: Files that are in no run, and why.
        ledger: What was read of each file of the runs, and what was left out.
    """

    runs: tuple[Run, ...]
    ledger: tuple[LedgerEntry, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()


def import_artifacts(paths: Sequence[Path]) -> Imported:
    """Return the runs in files and folders, one for each engine.

    Args:
        paths: Folders are walked, hidden entries left out. Files are known by their content.
    """
    items: list[Item] = []
    skipped: list[tuple[str, str]] = []
    for path in _files(paths):
        found = _items(path)
        if isinstance(found, str):
            skipped.append((str(path), found))
        else:
            items += found
    runs = []
    for group in group_items(items):
        run, damaged = assemble(group)
        if run is None:
            skipped += [(str(one.path), one.reason) for one in damaged]
        else:
            runs.append(run)
    if not runs:
        raise _nothing(paths, skipped)
    return Imported(runs=tuple(runs), skipped=tuple(skipped), ledger=ledger_of(items, runs))


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    """Every file once, in the order of the paths and sorted within a folder."""
    seen: set[str] = set()
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path} does not exist", hint="give files or folders to import")
        for one in _walk(path) if path.is_dir() else [path]:
            key = os.path.realpath(one)
            if key not in seen:
                seen.add(key)
                yield one


def _walk(folder: Path) -> Iterator[Path]:
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith("."):
                yield Path(root) / name


def _items(path: Path) -> tuple[Item, ...] | str:
    """The file as something to import, one item for each process in a log; or why it is not."""
    if not str(path).isprintable():
        return "its name cannot be stored"
    try:
        if not path.is_file():
            return "not a regular file"
        file = ForeignFile(path=path, head=plain_head(path, HEAD_BYTES))
        if may_be_known(file.head, path.name):
            found = _recognised(file)
        else:
            found = f"{NEITHER}{_other_kind(path, file.head)}"
        return _read_by_plugin(file, found) if isinstance(found, str) else found
    except OSError as error:
        return error.strerror or str(error)
    except (FormatError, PluginError) as error:
        return _reason(error, path)


def _read_by_plugin(file: ForeignFile, why_not: str) -> tuple[Item, ...] | str:
    """Return the results in a file that a plug-in knows; else `why_not`, and broken plug-ins."""
    name, reader, failed = reader_of(file)
    if name is None or reader is None:
        return "; ".join((why_not, *map(str, failed)))

    def read() -> Sequence[BenchmarkResult]:
        with foreign(file.path.name, f"a file for reader {name}"):
            return reader.read(file)

    results = READERS.call(name, read)
    item = replace(_identity(file.path), kind=ArtifactKind.OTHER_TOOL, reader=name)
    items = tuple(replace(item, benchmark=result) for result in results)
    return items or f"reader {name} finds no result in it"


def _identity(path: Path) -> Item:
    size_bytes = path.stat().st_size
    return Item(path=path, kind=ArtifactKind.UNKNOWN, sha256=sha256_of(path), size_bytes=size_bytes)


def _recognised(file: ForeignFile) -> tuple[Item, ...] | str:
    """The documents of a file as items; one that cannot be read does not lose the others."""
    items: list[Item] = []
    reasons: list[str] = []
    path, identity = file.path, _identity(file.path)
    for known in recognise(file.content(), file.name):
        try:
            with foreign(path.name, known.kind.value):
                items += _document_items(known, identity)
        except FormatError as error:
            reasons.append(_reason(error, path))
    return tuple(items) or "; ".join(reasons)


def _reason(error: FormatError | PluginError, path: Path) -> str:
    reason = str(error).removeprefix(f"{path}: ").removeprefix(f"{path.name}: ")
    return "; ".join(filter(None, (reason, error.hint)))


def _document_items(known: Recognised, identity: Item) -> Iterator[Item]:
    """Yield a document as an item: one for each process of a log, and for each benchmark."""
    path = identity.path
    if known.kind is ArtifactKind.UNKNOWN:
        raise FormatError(path.name, why=known.reason or "not recognized")
    item = replace(identity, kind=known.kind, process=known.number, suffix=_numbered(known.number))
    if known.kind in BENCHMARK_READERS and known.document is not None:
        for benchmark in BENCHMARK_READERS[known.kind](known.document, plain_path(path)):
            yield replace(item, benchmark=benchmark)
    elif known.kind in LOG_READERS:
        yield from _log_items(LOG_READERS[known.kind](known.text, path.name), item)
    else:
        yield replace(item, document=known.document)


def _log_items(read: Sequence[tuple[TrtexecLog, tuple[Notice, ...]]], item: Item) -> Iterator[Item]:
    processes = _engines([log for log, _ in read])
    backends = [log.backend for log, _ in read]
    is_told_apart = len(set(backends)) == len(backends)
    for process, (log, notices) in zip(processes, read, strict=True):
        suffix = "" if is_told_apart else _numbered(process)
        yield replace(item, log=log, notices=notices, process=process, suffix=suffix)


def _numbered(number: int | None) -> str:
    return "" if number is None else f" #{number}"


def _engines(logs: Sequence[TrtexecLog]) -> list[int | None]:
    """Return the process that each log counts as.

    A process that loads the engine which the one before only built is of the same run.
    """
    processes: list[int | None] = []
    saved = ""  # by the process before, if it only built
    for at, log in enumerate(logs):
        options = log.report.options.get("Build Options", {})
        joins = saved and saved == options.get("Load engine")
        processes.append(processes[-1] if joins else at + 1)
        saved = "" if log.report.summaries else options.get("Save engine") or ""
    return processes if len(set(processes)) > 1 else [None] * len(processes)


_KNOWN_BEGINNINGS = (
    (b"PK\x03\x04", ": it is a zip file; unpack it"),
    (b"SQLite format 3\0", ": it is an SQLite database; enginescope-readers reads those of nsys"),
    (b"\x28\xb5\x2f\xfd", ": it is compressed with zstd; unpack it"),
    (b"ftrt", ": it is an engine; enginescope explore reads it where TensorRT is installed"),
)


def _other_kind(path: Path, head: bytes) -> str:
    """Return what a file is that cannot be imported, and what to do; nothing if not known."""
    if path.suffix.lower() == ".onnx":
        return ": it is a model; enginescope bench measures it"
    if not head:
        return ": it is empty"
    if packing := packing_of(head):
        return f": it was packed more than once, at last with {packing}; unpack it"
    return next((text for start, text in _KNOWN_BEGINNINGS if head.startswith(start)), "")


def _nothing(paths: Sequence[Path], skipped: Sequence[tuple[str, str]]) -> UsageError:
    where = ", ".join(str(path) for path in paths)
    why = f"{skipped[0][0]}: {skipped[0][1]}" if skipped else "there are no files"
    more = f" (and {len(skipped) - 1} more)" if len(skipped) > 1 else ""
    return UsageError(
        f"nothing that can be read in {where}",
        why=why + more,
        hint="enginescope reads trtexec's JSON and logs, trex's metadata, logs of TensorRT and "
        "Polygraphy, profiles of ONNX Runtime and PyTorch, and JSON of hyperfine, Google Benchmark "
        "and nvbench; enginescope-readers adds nsys, benchmark_app, perf_analyzer and AIPerf",
    )
