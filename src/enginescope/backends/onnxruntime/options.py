"""Options of an ONNX Runtime backend: ``ort-cpu?intra_op_num_threads=1``.

ONNX Runtime's words for element types.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from enginescope.backends.onnxruntime.providers.providers import Provider, check_value
from enginescope.core.errors import UsageError
from enginescope.core.suggest import did_you_mean
from enginescope.formats.onnx.onnx_precision import DATA_TYPES
from enginescope.records.run.job import BackendSpec
from enginescope.records.tensor import DataType

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


#: Where nodes go that the provider does not take.
LEFTOVER = ("cuda", "cpu")
#: How :fp16 is reached: a switch of the provider, ONNX Runtime's converter, ModelOpt's AutoCast.
FP16_BY = ("switch", "converter", "autocast")
#: Stores the optimized graph once; every process loads it as it is.
STORED_GRAPH = "optimized_model"
_OWN: dict[str, tuple[str, ...] | None] = {
    "leftover": LEFTOVER,
    "fp16_by": FP16_BY,
    "keep_io_types": ("0", "1"),
    "op_block_list": None,
    "node_block_list": None,
    "autocast_python": None,
    "ep_context": ("0", "1"),
    "infer_shapes": ("auto", "always", "never"),
    STORED_GRAPH: ("0", "1"),
    "plugin": None,
}
_OF_CONVERSION = frozenset({"keep_io_types", "op_block_list", "node_block_list"})


def is_session_option(key: str) -> bool:
    """Whether `key` configures the session rather than the provider."""
    return key in SESSION_OPTIONS or is_config_entry(key)


def is_config_entry(key: str) -> bool:
    """Whether `key` is one of ONNX Runtime's own session configuration keys."""
    return bool(_CONFIG_KEY.match(key))


def provider_part(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options that are the provider's own."""
    return {k: v for k, v in options.items() if not is_session_option(k) and k not in _OWN}


def fp16_way(spec: BackendSpec, provider: Provider) -> str | None:
    """Return how the precision of `spec` is reached, one of `FP16_BY`; ``None`` without one."""
    if spec.precision in (None, "fp32"):
        return None
    usual = "switch" if spec.precision in provider.switches else "converter"
    return spec.options.get("fp16_by", usual)


def check_spec(spec: BackendSpec, provider: Provider) -> None:
    """Raise `UsageError` for a precision or value that cannot be, or a key that nothing takes."""
    _check_precision(spec, provider)
    for key, value in spec.options.items():
        _check_session_value(provider.backend, key, value)
        if key in _OWN:
            choices = _OWN[key]
            if choices is not None and value not in choices:
                what = f"{provider.backend}: {key}={value}"
                raise UsageError(what, hint=did_you_mean(value, choices))
        elif not is_session_option(key):
            if provider.is_cpu:  # it takes none
                what = f"{provider.backend} has no option {key!r}"
                raise UsageError(what, hint=did_you_mean(key, (*SESSION_OPTIONS, *_OWN)))
            check_value(provider.backend, key, value, provider.options)
    _check_conversion(spec, provider)


def _check_precision(spec: BackendSpec, provider: Provider) -> None:
    known = ("fp32", "fp16", *(switch for switch in provider.switches if switch != "fp16"))
    if spec.precision is not None and spec.precision not in known:
        raise UsageError(
            f"{provider.backend} has no precision {spec.precision!r}",
            why=f"ONNX Runtime computes in the precision of the model; {provider.backend}:fp16 "
            + ("switches the provider to FP16" if provider.switches else "converts the model"),
            hint=f"one of: {', '.join(known)}; or a model exported in {spec.precision}",
        )


def _check_session_value(backend: str, key: str, value: str) -> None:
    if key in _COUNTS and not (value.isdecimal() and int(value) <= _MOST_THREADS):
        raise UsageError(f"{backend}: {key}={value}", why="not a number of threads")
    if key in _SWITCHES and value not in ("0", "1"):
        raise UsageError(f"{backend}: {key}={value}", hint="0 or 1")
    if key in _ENUMS and value not in _ENUMS[key]:
        raise UsageError(f"{backend}: {key}={value}", hint=did_you_mean(value, _ENUMS[key]))


def _check_conversion(spec: BackendSpec, provider: Provider) -> None:
    """Raise for options of a conversion that does not take place, or a way that is not there."""
    way = fp16_way(spec, provider)
    named = f"{provider.backend}:{spec.precision or 'fp32'}"
    if "fp16_by" in spec.options and spec.precision != "fp16":
        raise UsageError(f"{named}: fp16_by", hint=f"--on {provider.backend}:fp16")
    if way == "switch" and spec.precision not in provider.switches:
        what, why = f"{named}: fp16_by=switch", "this provider has no such switch"
        raise UsageError(what, why=why, hint="fp16_by=converter converts the model")
    for key in sorted(_OF_CONVERSION & spec.options.keys()):
        if way in (None, "switch"):
            hint = f"{provider.backend}:fp16?fp16_by=converter"
            raise UsageError(f"{named}: {key}", why="the model is not converted", hint=hint)
    if way == "autocast" and "autocast_python" not in spec.options:
        what, why = f"{named}: fp16_by=autocast", "ModelOpt needs a separate environment"
        raise UsageError(what, why=why, hint="autocast_python=/path/to/its/bin/python")
    wanted = provider.switches.get(spec.precision or "", {}) if way == "switch" else {}
    for key, value in wanted.items():
        if spec.options.get(key, value).lower() not in (value, "true"):
            what = f"{named}: {key}={spec.options[key]}"
            raise UsageError(what, why="they contradict each other")


def session_options(
    ort: Any, options: Mapping[str, str], pinned_cores: Sequence[int] = (), severity: int = 3
) -> Any:
    """Return ``SessionOptions`` with the session's part of `options`; the log quiet.

    Args:
        pinned_cores: Processors that the process is pinned to. Left to itself ONNX Runtime makes a
            thread for each physical core of the machine and pins it there, whatever the process may
            use; as many threads as are asked for stay where the process is.
        severity: From which on its log is written; 3 is errors only, for its warnings are no
            results.
    """
    made = ort.SessionOptions()
    made.log_severity_level = severity
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
    if options.get(STORED_GRAPH) == "1":  # what is loaded is optimized already
        made.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    if pinned_cores and made.intra_op_num_threads == 0:
        made.intra_op_num_threads = len(pinned_cores)
    return made


_EXTERNAL = "session.optimized_model_external_initializers"
#: Smaller weights stay in the file; ONNX Runtime cannot write a file above 2 GB.
_LEAST_BYTES = 1 << 20


def write_graph(options: Any, target: Path) -> None:
    """Let a session of these options write the graph that it executes, beside its large weights."""
    options.optimized_model_filepath = str(target)
    options.add_session_config_entry(f"{_EXTERNAL}_file_name", f"{target.name}.weights")
    options.add_session_config_entry(f"{_EXTERNAL}_min_size_in_bytes", str(_LEAST_BYTES))


def _member(enum: Any, key: str, value: str) -> Any:
    name = _ENUMS[key][value]
    if (found := getattr(enum, name, None)) is None:
        raise UsageError(f"{key}={value}", why=f"this ONNX Runtime has no {name}")
    return found


def dtype_of(type_text: str) -> DataType | None:
    """Return the element type in ``tensor(float)``; ``None`` for sequences, maps and the rest."""
    if not type_text.startswith("tensor(") or not type_text.endswith(")"):
        return None
    return DATA_TYPES.get(type_text[len("tensor(") : -1].upper())
