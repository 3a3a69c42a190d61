"""Set the options of a build on TensorRT's builder configuration."""

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

from enginescope.backends.tensorrt.libraries import Libraries, compute_capabilities, member
from enginescope.core.errors import UnsupportedError, UsageError
from enginescope.core.record import Record
from enginescope.formats.trtexec.trtexec_flags import OPTIONS
from enginescope.records.tensor import DataType


class Target(Record, frozen=True, kw_only=True, eq=False):
    """What options are set on."""

    libraries: Libraries
    builder: Any
    network: Any
    config: Any

    @property
    def trt(self) -> Any:
        """The TensorRT module."""
        return self.libraries.trt


#: Option -> builder flag that it sets or clears.
FLAGS = {key: key.upper() for key, option in OPTIONS.items() if option.sets == "flag"}
#: Attributes of the configuration, each with the name of its option.
ATTRIBUTES = tuple(key for key, option in OPTIONS.items() if option.sets == "attribute")
#: Attributes of the configuration that are a member of an enumeration.
_MEMBERS = {"runtime_platform": "RuntimePlatform", "profiling_verbosity": "ProfilingVerbosity"}
_LAST = ("exclude_lean_runtime", "keep_fp32")
#: TensorRT's name of a type -> ours. An option cannot ask for the last two.
TYPES = {
    "FLOAT": DataType.FP32,
    "HALF": DataType.FP16,
    **{name: DataType[name] for name in ("BF16", "FP8", "INT64", "INT32", "INT8", "UINT8")},
    **{name: DataType[name] for name in ("INT4", "BOOL", "FP4", "E8M0")},
}
_WORDS = {dtype.value.lower(): name for name, dtype in list(TYPES.items())[:-2]}


def apply_options(target: Target, values: dict[str, Any]) -> None:
    """Set every option of a build."""
    if "profiling_verbosity" not in values:
        values = {**values, "profiling_verbosity": "detailed"}
    # layers kept in FP32 come behind what is said of all layers; a plan excludes its lean runtime
    # once it is version-compatible
    for key, value in sorted(values.items(), key=lambda one: one[0] in _LAST):
        if key in FLAGS:
            _set_flag(target, key, FLAGS[key], on=value)
        elif key in ATTRIBUTES:
            _set_attribute(target.config, key, value)
        elif key in _MEMBERS:
            _set_member(target, key, value, _MEMBERS[key])
        elif key in _SETTERS:
            _SETTERS[key](target, value)


def _set_flag(target: Target, key: str, name: str, *, on: bool) -> None:
    if (flag := getattr(target.trt.BuilderFlag, name, None)) is None:
        if on:
            raise _lacking(target, key)
        return
    (target.config.set_flag if on else target.config.clear_flag)(flag)
    if target.config.get_flag(flag) != on:  # TensorRT logs an error and goes on without
        what = f"trt: {key}={int(on)}"
        raise UsageError(what, why=f"TensorRT refused the flag {name}; its error is in the log")


def _set_attribute(config: Any, key: str, value: int) -> None:
    if not hasattr(config, key):
        raise UnsupportedError(f"trt: {key}={value}", why="this TensorRT has no such setting")
    setattr(config, key, value)
    if getattr(config, key) != value:  # TensorRT logs an error and keeps the old value
        what = f"trt: {key}={value}"
        raise UsageError(what, why=f"TensorRT refused it and stays at {getattr(config, key)}")


def _lacking(target: Target, key: str, instead: str | None = None) -> UnsupportedError:
    why = f"{target.libraries.title} has no such flag"
    return UnsupportedError(f"trt: {key}", why=why, hint=instead)


def _memory_pools(target: Target, pools: tuple[tuple[str, int], ...]) -> None:
    for name, size in pools:
        pool = member(target.trt.MemoryPoolType, name.upper(), f"memory_pools={name.lower()}")
        target.config.set_memory_pool_limit(pool, size)


def _tactic_sources(target: Target, changes: tuple[tuple[str, bool], ...]) -> None:
    sources = target.config.get_tactic_sources()
    for name, on in changes:
        bit = 1 << int(member(target.trt.TacticSource, name, f"tactic_sources={name}"))
        sources = sources | bit if on else sources & ~bit
    if not target.config.set_tactic_sources(sources):
        raise UsageError("tactic_sources", why="TensorRT refused them")


def _preview_features(target: Target, changes: tuple[tuple[str, bool], ...]) -> None:
    for name, on in changes:
        feature = member(target.trt.PreviewFeature, name, f"preview_features={name}")
        target.config.set_preview_feature(feature, on)


def _sparsity(target: Target, value: str) -> None:
    if value == "force":
        what = "trt: sparsity=force"
        why = "it overwrites weights, and then another model would be measured"
        raise UnsupportedError(what, why=why, hint="sparsity=enable, with a model that was pruned")
    _set_flag(target, "sparsity", "SPARSE_WEIGHTS", on=value == "enable")


def _hardware(target: Target, value: str) -> None:
    key = "hardware_compatibility"
    if target.libraries.is_rtx:  # it warns, and goes on without
        raise _lacking(target, key, "compute_capabilities=8.6,8.9")
    _set_member(target, key, value, "HardwareCompatibilityLevel", "hardware_compatibility_level")


def _capabilities(target: Target, values: tuple[str, ...]) -> None:
    if (known := getattr(target.trt, "ComputeCapability", None)) is None:
        raise _lacking(target, "compute_capabilities", "--on trt-rtx")
    target.config.num_compute_capabilities = len(values)
    for index, value in enumerate(values):
        if (kind := getattr(known, f"SM{value.replace('.', '')}", None)) is None:
            listed = ", ".join(compute_capabilities(target.trt))
            why = f"{target.libraries.title} builds for {listed}"
            raise UnsupportedError(f"trt: compute_capabilities={value}", why=why)
        target.config.set_compute_capability(kind, index)


def _tiling(target: Target, value: int) -> None:
    levels = ("NONE", "FAST", "MODERATE", "FULL")
    if value >= len(levels):
        raise UsageError(f"tiling_optimization_level={value}", hint="0 to 3")
    _set_member(target, "tiling_optimization_level", levels[value], "TilingOptimizationLevel")


def _set_member(
    target: Target, key: str, value: str, enumeration: str, attribute: str | None = None
) -> None:
    """Set an attribute, by default called as the option, to a member of an enumeration."""
    members = getattr(target.trt, enumeration, None)
    said = f"{key}={value.lower()}"
    if members is None:
        raise _lacking(target, said)
    setattr(target.config, attribute or key, member(members, value.upper(), said))


def _build_route(target: Target, value: str) -> None:
    if not hasattr(target.config, "build_route"):
        raise _lacking(target, f"build_route={value}")
    target.config.build_route = value


def _constraints(target: Target, value: str) -> None:
    if value != "none":
        flag = f"{value.upper()}_PRECISION_CONSTRAINTS"
        _set_flag(target, f"precision_constraints={value}", flag, on=True)


def _layer_precisions(target: Target, pairs: tuple[tuple[str, str], ...]) -> None:
    for layer, word in _matching(target, pairs, "layer_precisions"):
        if not hasattr(layer, "precision"):
            raise _lacking(target, "layer_precisions")
        layer.precision = type_called(target.trt, word)


def _layer_output_types(target: Target, pairs: tuple[tuple[str, str], ...]) -> None:
    for layer, words in _matching(target, pairs, "layer_output_types"):
        if not hasattr(layer, "set_output_type"):
            raise _lacking(target, "layer_output_types")
        types = [type_called(target.trt, word) for word in words.split("+")]
        for index in range(layer.num_outputs):
            layer.set_output_type(index, types[min(index, len(types) - 1)])


def _keep_fp32(target: Target, names: tuple[str, ...]) -> None:
    """Let layers compute in FP32 and hand it on, whatever the build is allowed.

    Args:
        names: Names of layers, which are those of the model's nodes, or patterns. Those that became
            no layer of floating numbers are passed over: the parser folds some.
    """
    if not names:
        return
    trt, network = target.trt, target.network
    flag = getattr(trt.BuilderFlag, "OBEY_PRECISION_CONSTRAINTS", None)
    layers = [network.get_layer(index) for index in range(network.num_layers)]
    if flag is None or (layers and not hasattr(layers[0], "precision")):
        why = f"TensorRT {trt.__version__} builds strongly typed networks only"
        hint = "convert the model, and keep these nodes in FP32"
        raise UnsupportedError("trt: keep_fp32", why=why, hint=hint)
    exact = frozenset(names)
    matching = [
        layer
        for layer in layers
        if layer.name in exact or any(fnmatchcase(layer.name, name) for name in names)
    ]
    if not matching:
        raise UsageError(f"trt: keep_fp32={names[0]}", why="the network has no layer of this name")
    for layer in matching:
        _keep(trt, layer)
    target.config.set_flag(flag)


def _keep(trt: Any, layer: Any) -> None:
    floats = (trt.DataType.FLOAT, trt.DataType.HALF)
    slots = range(layer.num_outputs)
    floating = [index for index in slots if layer.get_output(index).dtype in floats]
    if floating and hasattr(layer, "precision"):
        layer.precision = trt.DataType.FLOAT
    if hasattr(layer, "set_output_type"):
        for index in floating:
            layer.set_output_type(index, trt.DataType.FLOAT)


def _layer_devices(target: Target, pairs: tuple[tuple[str, str], ...]) -> None:
    for layer, word in _matching(target, pairs, "layer_device_types"):
        kind = member(target.trt.DeviceType, word.upper(), f"layer_device_types={word}")
        target.config.set_device_type(layer, kind)


def _matching(
    target: Target, pairs: tuple[tuple[str, str], ...], key: str
) -> list[tuple[Any, str]]:
    """Return every layer with its value: an exact name before a pattern."""
    network = target.network
    layers = [network.get_layer(index) for index in range(network.num_layers)]
    exact = dict(pairs)
    found, used = [], set()
    for layer in layers:
        pattern = layer.name if layer.name in exact else None
        pattern = pattern or next((p for p, _ in pairs if fnmatchcase(layer.name, p)), None)
        if pattern is not None:
            used.add(pattern)
            found.append((layer, exact[pattern]))
    if missing := [pattern for pattern in exact if pattern not in used]:
        raise UsageError(f"{key}={missing[0]}", why="the network has no layer of this name")
    return found


def type_called(trt: Any, word: str) -> Any:
    """Return TensorRT's type for ``fp16``."""
    if (name := _WORDS.get(word.lower())) is None:
        raise UsageError(f"type {word!r}", hint=", ".join(_WORDS))
    return member(trt.DataType, name, f"type {word}")


def _dla(target: Target, core: int) -> None:
    target.config.default_device_type = target.trt.DeviceType.DLA
    target.config.DLA_core = core


_SETTERS: dict[str, Callable[[Target, Any], None]] = {
    "workspace": lambda target, size: _memory_pools(target, (("WORKSPACE", size),)),
    "memory_pools": _memory_pools,
    "tactic_sources": _tactic_sources,
    "preview_features": _preview_features,
    "sparsity": _sparsity,
    "hardware_compatibility": _hardware,
    "compute_capabilities": _capabilities,
    "tiling_optimization_level": _tiling,
    "build_route": _build_route,
    "precision_constraints": _constraints,
    "layer_precisions": _layer_precisions,
    "layer_output_types": _layer_output_types,
    "keep_fp32": _keep_fp32,
    "layer_device_types": _layer_devices,
    "dla_core": _dla,
    "max_threads": lambda target, count: setattr(target.builder, "max_threads", count),
    "serialize_plugins": lambda target, paths: setattr(
        target.config, "plugins_to_serialize", list(paths)
    ),
}
