"""What a backend cannot do is said before anything is started."""

from __future__ import annotations

from enginescope.backends.base import Deciding, Demanding
from enginescope.backends.profile_bounds import check_index
from enginescope.backends.registry import load_backend
from enginescope.core.errors import UsageError
from enginescope.records.run.job import BackendSpec, Mode, Subject

#: Field of `Mode` -> the option that sets it.
_OPTIONS = {
    "kind": "--mode throughput",
    "transfers": "--transfers",
    "cuda_graph": "--graph",
    "spin_wait": "--spin",
    "streams": "--streams",
    "idle_ms": "--idle",
    "cold": "--cold",
    "rotate": "--rotate",
}


def check_subject(spec: BackendSpec, subject: Subject) -> None:
    """Raise if an engine is asked for what it was not built with, or will not be.

    Raises:
        UsageError: A precision or an option of a build, for an engine; for a model an optimisation
            profile that its engine will not have.
    """
    if subject.kind == "onnx":
        check_index(spec.options, spec.profile_index)
    backend = load_backend(spec.name)
    if subject.kind != "engine" or not isinstance(backend, Deciding):
        return
    decided = backend.decided_by_build(spec)
    if decided:
        raise UsageError(
            f"{spec.name} with {decided[0]} for {subject.name}",
            why="that was decided when the engine was built",
            hint=f"--on {spec.name}, or build the model anew",
        )


def check_demands(spec: BackendSpec, mode: Mode) -> None:
    """Raise unless the backend issues requests as asked, and this machine has what it needs.

    Raises:
        UsageError: The backend would not honour a part of `mode`.
        MissingDependencyError: A library, a tool or a GPU that it needs is not there.
    """
    backend = load_backend(spec.name)
    honoured: frozenset[str] = getattr(backend, "mode_fields", frozenset())
    for field, option in _OPTIONS.items():
        asked = getattr(mode, field)
        if asked is None or (field == "kind" and asked == "latency") or field in honoured:
            continue
        raise UsageError(f"{spec.name} has no {option}", hint="leave it out, or measure on trt")
    if isinstance(backend, Demanding):
        backend.require(spec)
