"""A suite as its author wrote it: TOML, YAML, or the older tools' ``model_list.json``."""

import json
import math
from pathlib import Path
from typing import Annotated, Any

import msgspec

from enginescope.core.errors import FormatError, foreign
from enginescope.core.jsonio import read_bytes
from enginescope.core.optional import require
from enginescope.core.record import Record
from enginescope.core.suggest import did_you_mean
from enginescope.records.suite.suite import SuiteInput, SuiteMode

#: Endings of files that are suites.
SUITE_SUFFIXES = frozenset({".toml", ".yaml", ".yml", ".json"})


Count = Annotated[int, msgspec.Meta(ge=0)]
Positive = Annotated[int, msgspec.Meta(ge=1)]
Limit = Annotated[float, msgspec.Meta(ge=0)]


class GeneralPart(Record, frozen=True, kw_only=True):
    """The table ``[suite]``; what is ``None`` was not said."""

    name: str | None = None
    models: tuple[str, ...] = ()
    mode: SuiteMode | None = None
    input: SuiteInput | None = None
    backends: tuple[str, ...] = ()
    precisions: tuple[str, ...] = ()
    batches: tuple[Positive, ...] = ()
    baseline: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    layers: bool = True
    retries: Count = 0
    seed: Count = 0
    timeout: str | None = None
    build_timeout: str | None = None
    memory_limit: str | None = None
    gpu: str | None = None
    exclusive: bool = False


class TimingPart(Record, frozen=True, kw_only=True):
    """The table ``[timing]``."""

    warmup: str | Count | None = None
    iterations: Positive | None = None
    duration: str | None = None
    precision: Annotated[float, msgspec.Meta(ge=0.01, le=50)] | None = None
    max_time: str | None = None
    min_samples: Annotated[int, msgspec.Meta(ge=2)] | None = None
    processes: Positive | None = None


class ValidationPart(Record, frozen=True, kw_only=True):
    """The table ``[validation]``."""

    reference: str | None = None
    samples: Positive | None = None
    tolerance: str | None = None
    rtol: Limit | None = None
    atol: Limit | None = None
    percent_mismatch: Annotated[float, msgspec.Meta(ge=0, le=100)] | None = None


class ModelPart(Record, frozen=True, kw_only=True):
    """A table ``[[model]]``."""

    path: str
    name: str | None = None
    data: str | None = None
    backends: tuple[str, ...] = ()
    precisions: tuple[str, ...] = ()
    batches: tuple[Positive, ...] = ()
    shapes: tuple[dict[str, str | tuple[int, ...]], ...] = ()
    dims: tuple[dict[str, Count], ...] = ()
    ranges: dict[str, tuple[int, int]] = {}  # noqa: RUF012 - msgspec copies empty defaults
    decode: Annotated[int, msgspec.Meta(ge=2)] | None = None
    timeout: str | None = None
    memory_limit: str | None = None
    gpu: str | None = None
    exclusive: bool | None = None


class SuiteFile(Record, frozen=True, kw_only=True):
    """A suite file's content, paths as they are written."""

    environments: dict[str, str] = {}  # noqa: RUF012 - msgspec copies empty defaults
    suite: GeneralPart = GeneralPart()
    timing: TimingPart = TimingPart()
    validation: ValidationPart = ValidationPart()
    model: tuple[ModelPart, ...] = ()


_TABLES: dict[str, type[Record]] = {
    "suite": GeneralPart,
    "timing": TimingPart,
    "validation": ValidationPart,
    "model": ModelPart,
}
#: The table whose keys are names of the user's own.
_OF_NAMES = "environments"


def read_suite_file(path: Path) -> SuiteFile:
    """Return what a suite file says."""
    from enginescope.core.toml import TOMLDecodeError, parse_toml

    data = read_bytes(path)
    with foreign(str(path), "a suite file"):
        if path.suffix.lower() == ".json":
            try:
                rows = json.loads(data)
            except (ValueError, RecursionError) as error:
                raise FormatError(str(path), why=f"not valid JSON ({error})") from None
            return _model_list(rows, path)
        if path.suffix.lower() in (".yaml", ".yml"):
            return suite_file(_parsed_yaml(data, path), source=str(path))
        try:
            table = parse_toml(data.decode("utf-8"))
        except (TOMLDecodeError, UnicodeDecodeError) as error:
            raise FormatError(str(path), why=f"not valid TOML ({error})") from None
        return suite_file(table, source=str(path))


def suite_file(held: Any, *, source: str) -> SuiteFile:
    """Return a parsed suite file as records; see `read_suite_file`."""
    if not isinstance(held, dict):
        raise FormatError(source, why="it is not a table", expected="[suite] and [[model]]")
    for table, value in held.items():
        if table == _OF_NAMES:
            _check_names(value, source)
            continue
        _check_key(table, (*_TABLES, _OF_NAMES), "table", source)
        parts = value if isinstance(value, list) else [value]
        for number, part in enumerate(parts):
            where = f"{table}[{number}]" if isinstance(value, list) else table
            if not isinstance(part, dict):
                raise FormatError(source, where=where, why="it is not a table")
            for key in part:
                _check_key(key, _TABLES[table].__struct_fields__, f"key of {table}", source, where)
    _check_finite(held, source)
    try:
        return msgspec.convert(held, SuiteFile)
    except msgspec.ValidationError as error:
        message, _, where = str(error).partition(" - at ")
        place = where.strip("`").removeprefix("$.") or None
        raise FormatError(source, where=place, why=message) from None


def _check_names(held: Any, source: str) -> None:
    """Raise for an environment that names no Python: msgspec does not say which one it is."""
    for name, python in held.items() if isinstance(held, dict) else ():
        if not isinstance(python, str) or not python.strip():
            where, hint = f"{_OF_NAMES}.{name}", f'{name} = "FOLDER/bin/python"'
            raise FormatError(source, where=where, why="it names no Python", hint=hint)


def _check_key(key: str, known: Any, kind: str, source: str, where: str | None = None) -> None:
    if key not in known:
        why, hint = f"there is no {kind} {key!r}", did_you_mean(key, known)
        raise FormatError(source, where=where, why=why, hint=hint)


def _check_finite(held: Any, source: str) -> None:
    """Raise for NaN and infinities, which TOML and YAML have: no bound of a type leaves out NaN."""
    for table in ("timing", "validation"):
        for key, value in held.get(table, {}).items():
            if isinstance(value, float) and not math.isfinite(value):
                why = f"{value} is not a finite number"
                raise FormatError(source, where=f"{table}.{key}", why=why)


#: A suite has a list for each key at most; models by the hundred are blocks, not brackets.
_MOST_BRACKETS = 500


def _parsed_yaml(data: bytes, path: Path) -> Any:
    yaml = require("yaml", purpose=f"reading {path.name}", install="enginescope[yaml]")
    if data.count(b"[") + data.count(b"{") > _MOST_BRACKETS:  # the parser takes minutes for them
        raise FormatError(str(path), why=f"it has more than {_MOST_BRACKETS} brackets")
    try:
        return yaml.safe_load(data)
    except yaml.YAMLError as error:
        text = " ".join(str(error).split())
        raise FormatError(str(path), why=f"not valid YAML ({text})") from None


def _model_list(held: Any, path: Path) -> SuiteFile:
    """Return what ``model_list.json`` of ONNX Runtime's TensorRT scripts says.

    A list of rows with ``model_name``, ``working_directory``, ``model_path`` and
    ``test_data_path``; a row with ``root_working_directory`` is where they start from. A model of
    ``model_path_fp16`` is one of its own, ``NAME_fp16``, with ``test_data_path_fp16``.
    """
    if not isinstance(held, list) or not all(isinstance(one, dict) for one in held):
        raise FormatError(str(path), why="it is not a list of models", expected="model_list.json")
    root = next((str(one[_ROOT]) for one in held if _ROOT in one), "")
    parts = []
    for number, row in enumerate(held):
        if _ROOT in row:
            continue
        lacking = [key for key in ("model_name", "model_path") if not isinstance(row.get(key), str)]
        if lacking:
            raise FormatError(str(path), where=f"[{number}]", why=f"it has no {lacking[0]}")
        folder = Path(root, str(row.get("working_directory", "")))
        for end in ("", "_fp16"):
            if not isinstance(row.get(f"model_path{end}"), str):
                continue
            data = row.get(f"test_data_path{end}")
            parts.append(
                ModelPart(
                    name=f"{row['model_name']}{end}",
                    path=str(folder / row[f"model_path{end}"]),
                    data=str(folder / str(data)) if data else None,
                )
            )
    return SuiteFile(model=tuple(parts))


_ROOT = "root_working_directory"
