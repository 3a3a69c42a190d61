"""Options of an ONNX Runtime backend: ``ort-cpu?intra_op_num_threads=1``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from enginescope.core.errors import UsageError
from enginescope.core.suggest import did_you_mean

_COUNTS = ("intra_op_num_threads", "inter_op_num_threads")
_MOST_THREADS = 65_536
_SWITCHES = ("enable_mem_pattern", "enable_mem_reuse", "enable_cpu_mem_arena")
_ENUMS = {
    "graph_optimization_level": {
        "disable": "ORT_DISABLE_ALL",
        "basic": "ORT_ENABLE_BASIC",
        "extended": "ORT_ENABLE_EXTENDED",
        "layout": "ORT_ENABLE_LAYOUT",
        "all": "ORT_ENABLE_ALL",
    },
    "execution_mode": {"sequential": "ORT_SEQUENTIAL", "parallel": "ORT_PARALLEL"},
}
SESSION_OPTIONS = (*_COUNTS, *_SWITCHES, *_ENUMS)

#: ONNX Runtime's own session configuration keys hold a dot: ``session.intra_op.allow_spinning``.
_CONFIG_KEY = re.compile(r"^[a-z]+\.[a-z0-9_.]+$")


def is_session_option(key: str) -> bool:
    """Whether `key` configures the session rather than the provider."""
    return key in SESSION_OPTIONS or bool(_CONFIG_KEY.match(key))


def check_options(backend: str, options: Mapping[str, str], *, provider_options: bool) -> None:
    """Raise `UsageError` for a value that cannot be, or a key that no part would take."""
    for key, value in options.items():
        if key in _COUNTS and not (value.isdecimal() and int(value) <= _MOST_THREADS):
            raise UsageError(f"{backend}: {key}={value}", why="not a number of threads")
        if key in _SWITCHES and value not in ("0", "1"):
            raise UsageError(f"{backend}: {key}={value}", hint="0 or 1")
        if key in _ENUMS and value not in _ENUMS[key]:
            raise UsageError(f"{backend}: {key}={value}", hint=did_you_mean(value, _ENUMS[key]))
        if not is_session_option(key) and not provider_options:
            raise UsageError(
                f"{backend} has no option {key!r}", hint=did_you_mean(key, SESSION_OPTIONS)
            )


def session_options(ort: Any, options: Mapping[str, str], pinned_cores: Sequence[int] = ()) -> Any:
    """Return ``SessionOptions`` with the session's part of `options`; the log quiet.

    Parameters
    ----------
    pinned_cores : sequence of int
        Processors that the process is pinned to. Left to itself ONNX Runtime makes a thread for
        each physical core of the machine and pins it there, whatever the process may use; as many
        threads as are asked for stay where the process is.
    """
    made = ort.SessionOptions()
    made.log_severity_level = 3  # errors only: warnings of the runtime are not results
    for key, value in options.items():
        if key in _COUNTS:
            setattr(made, key, int(value))
        elif key in _SWITCHES:
            setattr(made, key, value == "1")
        elif key == "graph_optimization_level":
            made.graph_optimization_level = _member(ort.GraphOptimizationLevel, key, value)
        elif key == "execution_mode":
            made.execution_mode = _member(ort.ExecutionMode, key, value)
        elif is_session_option(key):
            made.add_session_config_entry(key, value)
    if pinned_cores and made.intra_op_num_threads == 0:
        made.intra_op_num_threads = len(pinned_cores)
    return made


def _member(enum: Any, key: str, value: str) -> Any:
    name = _ENUMS[key][value]
    found = getattr(enum, name, None)
    if found is None:
        raise UsageError(f"{key}={value}", why=f"this ONNX Runtime has no {name}")
    return found
