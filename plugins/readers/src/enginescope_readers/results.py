"""What all readers need: a file's text, its name, and the notices on what it states."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from enginescope.core.errors import FormatError, foreign
from enginescope.core.record import replace
from enginescope.formats.benchmarks.benchmark_series import BenchmarkResult
from enginescope.formats.importing.artifact_kinds import stem_of
from enginescope.formats.importing.readers import ForeignFile
from enginescope.formats.lenient_json import decode_text
from enginescope.judge.notice import Notice
from enginescope.judge.units import counted

_SHOWN = {"us": "µs"}


def name_of(file: ForeignFile) -> str:
    """Return the name that a file gives its result where it states no model."""
    return stem_of(file.path.with_name(file.name).with_suffix(""))


def holds(file: ForeignFile, test: Callable[[str], bool]) -> bool:
    """Whether the beginning of a file is text that passes a test."""
    text, _ = decode_text(file.head, file.name)
    return "\0" not in text[:4096] and test(text.lstrip())


def is_json(data: bytes) -> bool:
    """Whether a file begins as JSON does."""
    return data.lstrip()[:1] in (b"{", b"[")


@contextmanager
def reading(file: ForeignFile, expected: str) -> Iterator[None]:
    """In this block, raise a `FormatError` about the file for whatever its content causes."""
    try:
        with foreign(file.path.name, expected):
            yield
    except csv.Error as error:
        why = f"it is not a table ({error})"
        raise FormatError(file.path.name, why=why, expected=expected) from error


def about(message: str, file: ForeignFile, **evidence: Any) -> Notice:
    """Return the note on what the figures of a tool's file are."""
    return Notice("I-BENCHMARK-FILE", message, {"file": file.path.name, **evidence})


def noting(result: BenchmarkResult, notices: Sequence[Notice]) -> BenchmarkResult:
    """Return a result with notices on its file before its own."""
    return replace(result, notices=(*notices, *result.notices))


def assumed(unit: str, tool: str, file: ForeignFile) -> Notice:
    """Return the note on times whose unit the file does not state."""
    text = (
        f"{file.name} states no unit; times count as {_SHOWN.get(unit, unit)}, as {tool} documents"
    )
    return Notice("I-UNIT-ASSUMED", text, {"file": file.path.name, "unit": unit})


def unusable(count: int, what: str, file: ForeignFile, why: str) -> tuple[Notice, ...]:
    """Return a warning about damaged parts of a file; none where there are none."""
    return _left_out("W-RECORDS", count, what, file, why)


def skipped(count: int, what: str, file: ForeignFile, why: str) -> tuple[Notice, ...]:
    """Return a note on parts of a file that are not read on purpose; none where there are none."""
    return _left_out("I-BENCHMARKS-SKIPPED", count, what, file, why)


def _left_out(code: str, count: int, what: str, file: ForeignFile, why: str) -> tuple[Notice, ...]:
    if not count:
        return ()
    text = f"enginescope skips {counted(count, what)} of {file.name}: {why}"
    return (Notice(code, text, {"file": file.path.name, "count": count}),)


def texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Return values as texts, floats with all their digits; unknown ones are left out."""
    return {
        str(key): value if isinstance(value, str) else repr(value)
        for key, value in values.items()
        if value is not None and value != ""
    }
