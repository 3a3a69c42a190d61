"""Runs to store, ways to break them, and what makes two of them the same."""

import json
import secrets
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from enginescope.core.sidecar import SEAL
from enginescope.judge.samples import Samples, frozen
from enginescope.records.run.job import BackendSpec, Job, Subject
from enginescope.records.run.run import Run


def a_run(name: str = "m.onnx", *, at: int = 0, **more: Any) -> Run:
    """A measured run of eleven samples, made `at` seconds past midnight."""
    values = frozen(np.linspace(1, 2, 11))
    fields = {
        "id": secrets.token_hex(6),
        "created": f"2026-01-01T00:{at // 60:02}:{at % 60:02}+00:00",
        "origin": "measured",
        "job": Job(subject=Subject(name=name), backend=BackendSpec(name="ort-cpu")),
        "samples": (Samples(metric="latency", values_ms=values, warmup_ms=frozen([3.0])),),
    }
    return Run(**(fields | more))


def plain(run: Run) -> Any:
    """Everything in a run, arrays with their types, so that ``==`` compares it."""
    return msgspec.to_builtins(run, enc_hook=lambda array: [array.dtype.str, array.tolist()])


def edit(folder: Path, **changes: Any) -> None:
    """Change fields of a stored run's document, which has no checksum then."""
    file = folder / "run.json"
    document = json.loads(file.read_text()) | changes
    document.pop(SEAL, None)
    file.write_text(json.dumps(document))


def _array(folder: Path, values: Any) -> None:
    np.save(folder / "arrays/000.npy", np.array(values))


def _endless(folder: Path) -> None:
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**13,)}
    with (folder / "arrays/000.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)


def _document(text: str) -> Any:
    return lambda folder: (folder / "run.json").write_text(text)


#: what has happened -> how to do it to a run's folder
DAMAGE = {
    "empty": _document(""),
    "half": _document('{"id": "x", '),
    "no text": lambda folder: (folder / "run.json").write_bytes(b"\xff\xfe\x00"),
    "another thing": _document("[]"),
    "nested without end": _document("[" * 200_000),
    "no document": lambda folder: (folder / "run.json").unlink(),
    "no field": _document('{"schema_version": 1}'),
    "no version": lambda folder: edit(folder, schema_version=None),
    "version that never was": lambda folder: edit(folder, schema_version=0),
    "newer": _document('{"schema_version": 99}'),
    "another id": lambda folder: edit(folder, id="0123456789ab"),
    "no array": lambda folder: (folder / "arrays/000.npy").unlink(),
    "half an array": lambda folder: (folder / "arrays/000.npy").write_bytes(b"\x93NUMPY"),
    "array of texts": lambda folder: _array(folder, ["a", "b"]),
    "array of two dimensions": lambda folder: _array(folder, [[1.0], [2.0]]),
    "array beyond memory": _endless,
}
