"""Kernel times of Nsight Systems: ``nsys stats`` as CSV or JSON, and the export to SQLite.

A capture does not say where an iteration begins, so it counts as one.
"""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from enginescope.core.errors import FormatError
from enginescope.core.record import Record, replace
from enginescope.formats.benchmarks.benchmark_series import BenchmarkResult
from enginescope.formats.importing.artifact_kinds import documents_of
from enginescope.formats.importing.readers import ForeignFile
from enginescope.formats.lenient_json import Document, decode_text
from enginescope.judge.notice import Notice
from enginescope.records.environment import Device
from enginescope.records.plan.build import ToolReport
from enginescope.records.plan.plan import LayerTiming, Profile
from enginescope_readers.results import (
    about,
    assumed,
    holds,
    name_of,
    reading,
    skipped,
    texts,
    unusable,
)
from enginescope_readers.tables import (
    Table,
    heading,
    milliseconds,
    name_and_unit,
    number,
    tables_in,
)

_EXPECTED = "kernel times of Nsight Systems"
_SQLITE = b"SQLite format 3\0"
#: Columns of a summary and of a trace of kernels; the other reports of nsys lack one of them.
_SUMMARY = {"Total Time", "Instances", "Name"}
_TRACE = {"Start", "Duration", "CorrId", "Strm", "Name"}
#: The shape of a launch tells the rows of one kernel apart, where the report has it.
_SHAPES = ("GridXYZ", "BlockXYZ")
_NO_KERNELS = "they are of reports without kernels"
#: Where a list of objects begins: nsys writes lines of prose before it.
_ROWS = re.compile(r"^\s*\[\s*\{", re.MULTILINE)
_DEVICE_NUMBER = re.compile(r"\s*\(\d+\)$")


class _Kernel(Record, frozen=True, kw_only=True):
    """A kernel, a copy or a memset, over the whole capture.

    Attributes:
        stated: Columns of the report as printed, or how often it ran.
    """

    name: str
    total_ms: float
    share_pct: float | None = None
    stated: Mapping[str, str] = {}


class _Capture(Record, frozen=True, kw_only=True):
    """What a report says.

    Attributes:
        report: ``"summary"``, ``"trace"`` or ``"export"``.
        devices: Names of GPUs.
        facts: Of the capture itself, by table.
    """

    report: str
    kernels: tuple[_Kernel, ...]
    devices: tuple[str, ...] = ()
    facts: Mapping[str, dict[str, str]] = {}
    notices: tuple[Notice, ...] = ()


def fits(file: ForeignFile) -> bool:
    """Whether a file holds kernel times of Nsight Systems, or is one of its databases."""
    if file.head.startswith(_SQLITE):
        return b"StringIds" in file.head and any(name in file.head for name in _OF_NSYS)
    return holds(file, _has_headings)


def read(file: ForeignFile) -> tuple[BenchmarkResult, ...]:
    """Return a result for each report of kernels in a file.

    Raises:
        FormatError: It has no kernel with a time.
    """
    with reading(file, _EXPECTED):
        captures = [capture for capture in _captures(file) if capture.kernels]
    if not captures:
        why, hint = "it has no kernel with a time", "nsys profile --trace=cuda records kernels"
        raise FormatError(file.path.name, why=why, expected=_EXPECTED, hint=hint)
    return tuple(
        _result(capture, file, f" {at}" if len(captures) > 1 else "")
        for at, capture in enumerate(captures, 1)
    )


def _captures(file: ForeignFile) -> Sequence[_Capture]:
    if file.head.startswith(_SQLITE):
        return [_of_database(file)]
    if holds(file, _has_rows):
        return _of_json(documents_of(file.content(), file.name, is_log=False), file)
    return _of_text(file.content(), file)


def _result(capture: _Capture, file: ForeignFile, suffix: str) -> BenchmarkResult:
    layers = tuple(
        LayerTiming(
            index=index,
            name=kernel.name,
            kind="memory" if kernel.name.startswith("[CUDA mem") else "kernel",
            total_ms=kernel.total_ms,
            mean_ms=kernel.total_ms,
            share_pct=kernel.share_pct,
        )
        for index, kernel in enumerate(capture.kernels)
    )
    text = (
        f"{file.name} has GPU times of the whole capture, by kernel, not by layer: it does not say "
        "where an iteration begins"
    )
    kernels = {kernel.name: dict(kernel.stated) for kernel in capture.kernels if kernel.stated}
    return BenchmarkResult(
        name=name_of(file) + suffix,
        report=ToolReport(tool="nsys", options={**capture.facts, **kernels}),
        profile=Profile(source="nsys", part="kernel", layers=layers, iterations=1),
        notices=(*capture.notices, about(text, file, kernels=len(layers))),
        devices=tuple(Device(name=name) for name in capture.devices),
    )


def _is_known(headings: Sequence[str]) -> bool:
    if "Name" not in headings:
        return False
    names = {name_and_unit(heading)[0] for heading in headings}
    return names >= _SUMMARY or names >= _TRACE


def _has_headings(text: str) -> bool:
    """Whether a text has the headings of a report, as a row or as keys of objects."""
    if rows := _ROWS.search(text):
        return _is_known(re.findall(r'"([^"\n]+)"\s*:', text[rows.start() :]))
    lines = (line for line in text.splitlines()[:10_000] if "Name" in line)
    return any(_is_known(line.replace('"', "").split(",")) for line in lines)


def _has_rows(text: str) -> bool:
    return _ROWS.search(text) is not None


def _of_text(data: bytes, file: ForeignFile) -> list[_Capture]:
    text, notices = decode_text(data, file.name)
    tables, others = tables_in(text, _is_known)
    whole = (*notices, *skipped(others, "row", file, _NO_KERNELS))
    captures = [_of_table(table, file) for table in tables]
    return _noting_first(captures, whole)


def _noting_first(captures: Sequence[_Capture], notices: Sequence[Notice]) -> list[_Capture]:
    """Return the reports of a file, the first one with the notices on the file."""
    first = [replace(one, notices=(*notices, *one.notices)) for one in captures[:1]]
    return [*first, *captures[1:]]


def _of_json(documents: Sequence[Document], file: ForeignFile) -> list[_Capture]:
    """Return the reports of kernels among lists of objects, whose keys are the headings."""
    captures = []
    others = 0
    for document in documents:
        rows = [row for row in document.value if isinstance(row, dict)]
        if not rows or not _is_known(list(rows[0])):
            others += len(document.value)
            continue
        units = dict(name_and_unit(key) for row in rows for key in row)
        records = ({name_and_unit(key)[0]: cell for key, cell in row.items()} for row in rows)
        capture = _of_records(records, units, file, damaged=len(document.value) - len(rows))
        captures.append(replace(capture, notices=(*document.notices, *capture.notices)))
    whole = skipped(others, "row", file, _NO_KERNELS)
    return _noting_first(captures, whole)


def _of_table(table: Table, file: ForeignFile) -> _Capture:
    return _of_records(table.records(), table.units, file, damaged=table.damaged)


def _of_records(
    records: Iterable[Mapping[str, Any]],
    units: Mapping[str, str | None],
    file: ForeignFile,
    *,
    damaged: int,
) -> _Capture:
    is_trace = units.keys() >= _TRACE
    unit = units["Duration" if is_trace else "Total Time"]
    told = () if unit else (assumed("ns", "nsys", file),)
    if is_trace:
        capture, lost = _launches(records, unit or "ns")
    else:
        capture, lost = _summaries(records, units, unit or "ns")
    why = "they have no time, or cells are missing"
    return replace(capture, notices=(*told, *unusable(damaged + lost, "row", file, why)))


def _summaries(
    records: Iterable[Mapping[str, Any]], units: Mapping[str, str | None], unit: str
) -> tuple[_Capture, int]:
    """Return the rows of a summary, and how many of them have no time."""
    kernels, lost = [], 0
    for record in records:
        total_ms = milliseconds(record.get("Total Time"), unit)
        if total_ms is None or not record.get("Name"):
            lost += 1
            continue
        share = number(record.get("Time"))
        shapes = [" ".join(str(record[shape]).split()) for shape in _SHAPES if record.get(shape)]
        stated = {
            heading(name, units[name]): cell for name, cell in record.items() if name != "Name"
        }
        kernels.append(
            _Kernel(
                name=f"{record['Name']} <{', '.join(shapes)}>" if shapes else record["Name"],
                total_ms=total_ms,
                share_pct=None if share is None else float(share),
                stated=texts(stated),
            )
        )
    return _Capture(report="summary", kernels=tuple(kernels)), lost


def _launches(records: Iterable[Mapping[str, Any]], unit: str) -> tuple[_Capture, int]:
    """Return launches added up by name in the order of their first ones, and those without time."""
    spent: dict[str, list[Decimal]] = defaultdict(list)
    devices: set[str] = set()
    lost = 0
    for record in records:
        duration = number(record.get("Duration"))
        if duration is None or not record.get("Name"):
            lost += 1
            continue
        spent[record["Name"]].append(duration)
        devices.add(record.get("Device") or "")
    kernels = (_added(name, sum(times), unit, len(times)) for name, times in spent.items())
    names = sorted({_DEVICE_NUMBER.sub("", device) for device in devices - {""}})
    return _Capture(report="trace", kernels=tuple(kernels), devices=tuple(names)), lost


def _added(name: str, total: Decimal | int, unit: str, count: int) -> _Kernel:
    total_ms = milliseconds(total, unit)
    if total_ms is None:
        raise ValueError(f"{unit!r} is not a unit of time")
    return _Kernel(name=name, total_ms=total_ms, stated={"Instances": str(count)})


#: Tables of an export whose rows ran on the GPU.
_KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
_COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
_MEMSETS = "CUPTI_ACTIVITY_KIND_MEMSET"
_GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
_ACTIVITIES = (_KERNELS, _COPIES, _MEMSETS, _GRAPHS)
#: Tables of names and values.
_FACTS = ("META_DATA_CAPTURE", "META_DATA_EXPORT")
#: Beginnings of tables, one of which every export has.
_OF_NSYS = (b"CUPTI_ACTIVITY_KIND_", b"TARGET_INFO_", b"META_DATA_")


@contextmanager
def _opened(file: ForeignFile) -> Iterator[sqlite3.Connection]:
    """Open a database without writing to it; one that is packed is unpacked first."""
    with TemporaryDirectory() as folder, file.path.open("rb") as packed:
        path = file.path
        if packed.read(len(_SQLITE)) != _SQLITE:
            path = Path(folder, file.name)
            path.write_bytes(file.content())
        place = f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"
        with closing(sqlite3.connect(place, uri=True)) as database:
            database.text_factory = lambda text: text.decode("utf-8", "replace")
            yield database


def _of_database(file: ForeignFile) -> _Capture:
    try:
        with _opened(file) as database:
            tables = _columns(database)
            timed = [
                row
                for table in _ACTIVITIES
                if table in tables
                for row in _timed(database, table, tables)
            ]
            devices = tuple(_devices(database, tables))
            facts = {name: _pairs(database, name) for name in _FACTS if name in tables}
    except sqlite3.Error as error:
        why = f"SQLite says: {error}"
        raise FormatError(
            file.path.name, why=why, expected="an export of Nsight Systems"
        ) from error
    ran = sorted((one for one in timed if one[2]), key=lambda one: one[-1])
    lost = sum(count - ended for _, count, ended, _, _ in timed)
    return _Capture(
        report="export",
        kernels=tuple(_added(name, total, "ns", ended) for name, _, ended, total, _ in ran),
        devices=devices,
        facts={name: some for name, some in facts.items() if some},
        notices=unusable(lost, "event", file, "they have no end"),
    )


def _columns(database: sqlite3.Connection) -> dict[str, set[str]]:
    """Return the columns of each table."""
    rows = database.execute("select name from sqlite_master where type = 'table'").fetchall()
    return {
        name: {row[1] for row in database.execute(f'pragma table_info("{name}")')}
        for (name,) in rows
    }


def _timed(
    database: sqlite3.Connection, table: str, tables: Mapping[str, set[str]]
) -> list[tuple[str, int, int, int, int]]:
    """Return name, launches, those that ended, their total ns and first start, by name."""
    name, join = _name_in(table, tables)
    figures = 'count(*), count("end" - start), sum("end" - start), min(start)'
    query = f"select {name}, {figures} from {table} as one {join} group by 1"  # noqa: S608 - no value in it
    return list(database.execute(query))


def _name_in(table: str, tables: Mapping[str, set[str]]) -> tuple[str, str]:
    """Return the expression of a row's name in a table, and what has to be joined for it."""
    if table == _KERNELS:
        columns = ("demangledName", "shortName", "mangledName")
        column = next(column for column in columns if column in tables[table])
        join = f"left join StringIds as text on text.id = one.{column}"
        return f"coalesce(text.value, 'kernel ' || one.{column})", join
    if table == _COPIES and "ENUM_CUDA_MEMCPY_OPER" in tables:
        join = "left join ENUM_CUDA_MEMCPY_OPER as kind on kind.id = one.copyKind"
        return "'[CUDA memcpy ' || coalesce(kind.label, 'kind ' || one.copyKind) || ']'", join
    names = {
        _COPIES: "'[CUDA memcpy kind ' || one.copyKind || ']'",
        _MEMSETS: "'[CUDA memset]'",
        _GRAPHS: "'[CUDA graph ' || one.graphId || ']'",
    }
    return names[table], ""


def _devices(database: sqlite3.Connection, tables: Mapping[str, set[str]]) -> Iterator[str]:
    """Yield the names of the GPUs that ran kernels; of all GPUs where the export cannot say it."""
    if "name" not in tables.get("TARGET_INFO_GPU", ()):
        return
    query = "select name from TARGET_INFO_GPU"
    if {"gpuId", "cudaId"} <= tables.get("TARGET_INFO_CUDA_DEVICE", set()) and _KERNELS in tables:
        query += (
            " where id in (select gpuId from TARGET_INFO_CUDA_DEVICE where cudaId in "
            "(select deviceId from CUPTI_ACTIVITY_KIND_KERNEL))"
        )
    for (name,) in database.execute(query):
        yield str(name)


def _pairs(database: sqlite3.Connection, table: str) -> dict[str, str]:
    rows = database.execute(f"select name, value from {table}")  # noqa: S608 - no value in it
    return texts({str(name): value for name, value in rows})
