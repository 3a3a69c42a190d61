"""Models and backends into jobs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from enginescope.backends.registry import parse_backend
from enginescope.core.digest import sha256_of
from enginescope.core.errors import UsageError
from enginescope.core.suggest import closest
from enginescope.model.job import Job, Limits, Subject, Workload

#: Endings of serialised TensorRT engines; everything else is taken for an ONNX model.
ENGINE_SUFFIXES = frozenset({".engine", ".plan", ".trt"})


def make_jobs(
    models: Sequence[Path],
    backends: Sequence[str],
    workload: Workload,
    *,
    limits: Limits | None = None,
    layer_profile: bool = True,
    data: str = "auto",
) -> tuple[Job, ...]:
    """Return one job for each model and backend, models outermost.

    Parameters
    ----------
    backends : sequence of str
        Specifications such as ``ort-cpu?intra_op_num_threads=1``.
    data : str
        ``auto``: a ``test_data_set_*`` folder beside the model, if there is one; ``none``; or a
        folder.

    Raises
    ------
    UsageError
        A model or folder that is not there, or a backend that is not known.
    """
    specs = [parse_backend(text) for text in backends]
    jobs = []
    for model in models:
        subject = subject_of(model)
        fed = msgspec.structs.replace(workload, data_set=_data_set(model, data))
        jobs += [
            Job(
                subject=subject,
                backend=spec,
                workload=fed,
                layer_profile=layer_profile,
                limits=limits or Limits(),
            )
            for spec in specs
        ]
    return tuple(jobs)


def subject_of(path: Path) -> Subject:
    """Return the identity of a model file.

    Raises
    ------
    UsageError
        It is not a file that can be read.
    """
    if not path.is_file():
        raise UsageError(f"model {path}", why=_absence(path), hint=_neighbour(path))
    return Subject(
        name=_name(path),
        kind="engine" if path.suffix.lower() in ENGINE_SUFFIXES else "onnx",
        path=str(path.resolve()),
        sha256=sha256_of(path),
        size_bytes=path.stat().st_size,
    )


def _name(path: Path) -> str:
    """Return the file's name; with its folder where the name alone says nothing."""
    return f"{path.resolve().parent.name}/{path.name}" if path.stem == "model" else path.name


def _absence(path: Path) -> str:
    return "it is a folder, not a file" if path.is_dir() else "there is no such file"


def _neighbour(path: Path) -> str | None:
    folder = path if path.is_dir() else path.parent
    if not folder.is_dir():
        return None
    names = sorted(one.name for one in folder.glob("*.onnx"))
    near = closest(path.name, names)
    if near or names:
        return f"did you mean {folder / (near or names[0])}?"
    return None


def _data_set(model: Path, data: str) -> str | None:
    if data == "none":
        return None
    if data == "auto":
        found = sorted(
            one for one in model.resolve().parent.glob("test_data_set_*") if one.is_dir()
        )
        return str(found[0]) if found else None
    folder = Path(data).expanduser()
    if not folder.is_dir():
        raise UsageError(f"data set {data}", why="there is no such folder")
    return str(folder.resolve())
