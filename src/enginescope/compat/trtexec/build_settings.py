"""Flags of the build, of the devices and of the runtime, as options of the backend ``trt``."""

import re
from collections.abc import Callable

from enginescope.compat.trtexec.arguments import Arguments, Given, decimal_number, whole_number
from enginescope.core.errors import UsageError
from enginescope.core.suggest import did_you_mean
from enginescope.formats.trtexec import trtexec_flags

_UNITS = {"B": 1, "K": 2**10, "M": 2**20, "G": 2**30}
_SIZE = re.compile(r"^(\d+(?:\.\d+)?)(?:([BKMG]?)|([KMG])iB)$")
_POOLS = {name: key for key, name in trtexec_flags.MEMORY_POOLS.items()}
_PREVIEW = {name: key for key, name in trtexec_flags.PREVIEW_FEATURES.items()}
_DEFAULTS = {"profiling_verbosity": "layer_names_only", "log_level": "info"}


def options_of(arguments: Arguments) -> dict[str, str]:
    """Return the backend's options that a command line means, shapes left out."""
    options = dict(_DEFAULTS)
    for given in arguments.given:
        flag = trtexec_flags.all_flags()[given.name]
        is_librarys = given.value == flag.default == "-1"
        if flag.fixed:
            options[flag.key or ""] = flag.fixed
        elif flag.key and given.value and flag.value != "shapes" and not is_librarys:
            options[flag.key] = _value(flag, given, arguments)
    if "workspace" in options:  # a pool as the others
        pools = (options.pop("workspace"), options.get("memory_pools"))
        options["memory_pools"] = ",".join(filter(None, pools))
    if arguments.version.major >= 11:  # it is so anyway
        options.pop("strongly_typed", None)
    if arguments.has("--exportTimes"):
        options["stamps"] = "1"
    return options | _plugins(arguments) | _weights(arguments)


def _value(flag: trtexec_flags.Flag, given: Given, arguments: Arguments) -> str:
    if flag.value in _VALUES:
        return _VALUES[flag.value](given, arguments)
    words = {theirs.lower(): ours for ours, theirs in flag.words if theirs}
    if words and given.value.lower() not in words:
        raise UsageError(f"{given.name}={given.value}", hint=f"one of: {', '.join(words)}")
    return words.get(given.value.lower(), given.value)


def precision_of(arguments: Arguments) -> tuple[str | None, tuple[str, ...]]:
    """Return the precision asked for, and remarks on what is passed over."""
    allowed = (trtexec_flags.all_flags()[given.name].precision for given in arguments.given)
    parts = list(dict.fromkeys(filter(None, allowed)))
    if {"fp8", "int8"} <= set(parts):
        raise UsageError("--fp8 and --int8", why="TensorRT does not mix them")
    if arguments.has("--stronglyTyped") and parts:
        if "best" in parts:
            raise UsageError("--best and --stronglyTyped", why="the network's own types are kept")
        names = ", ".join(f"--{part}" for part in parts)
        return None, (f"{names} has no effect with --stronglyTyped",)
    return "+".join(parts) or None, ()


def size_bytes(name: str, text: str, arguments: Arguments) -> int:
    """Return the bytes of a size: MiB without a suffix, else base-2 ``B``, ``K``, ``M``, ``G``.

    ``4096MiB`` is what it says: before TensorRT 10 trtexec reads the number as MiB.
    """
    if (match := _SIZE.match(text)) is None:
        raise UsageError(f"{name}: {text!r} is not a size", hint="MiB, as in 1024, or 1G, 512M")
    suffix = match[2] or match[3]
    if suffix and match[3] != "M" and arguments.version.major < 10:
        why = "before TensorRT 10 trtexec ignores it and reads the number as MiB"
        hint = f"the size in MiB: {float(match[1]) * _UNITS[suffix] / 2**20:g}"
        raise UsageError(f"{name}: {text!r} has a suffix", why=why, hint=hint)
    return int(float(match[1]) * _UNITS[suffix or "M"])


def _pools(given: Given, arguments: Arguments) -> str:
    sizes: dict[str, int] = {}
    for part in filter(None, given.value.split(",")):
        name, colon, size = part.partition(":")
        if name not in _POOLS or not colon:
            raise UsageError(f"--memPoolSize: {part!r}", hint=did_you_mean(name, _POOLS))
        sizes[_POOLS[name]] = size_bytes("--memPoolSize", size, arguments)
    return ",".join(f"{name}:{size}B" for name, size in sizes.items())


def _plugins(arguments: Arguments) -> dict[str, str]:
    serialized = arguments.texts("--setPluginsToSerialize")
    loaded = arguments.texts("--staticPlugins") + arguments.texts("--dynamicPlugins") + serialized
    if any("," in path for path in loaded):
        raise UsageError("plugin libraries", why="a comma in a path cannot be passed on")
    found = {"plugins": dict.fromkeys(filter(None, loaded)), "serialize_plugins": serialized}
    return {key: ",".join(paths) for key, paths in found.items() if paths}


def _preview(given: Given, _arguments: Arguments) -> str:
    parts = []
    for part in given.value.split(","):
        sign, name = part[:1], part[1:]
        if sign not in ("+", "-") or name not in _PREVIEW:
            what = f"--preview: {part!r}"
            raise UsageError(what, hint=f"{did_you_mean(name, _PREVIEW)} with + or -")
        parts.append(sign + _PREVIEW[name])
    return ",".join(parts)


def _weights(arguments: Arguments) -> dict[str, str]:
    """Return what stripped weights imply; streamed ones need a strongly typed network."""
    streams = arguments.has("--allowWeightStreaming")
    if streams and arguments.version.major < 11 and not arguments.has("--stronglyTyped"):
        what = "--allowWeightStreaming without --stronglyTyped"
        raise UsageError(what, why="only a strongly typed network can stream its weights")
    if arguments.has("--stripAllWeights"):
        return {"refit": "1"}
    strips = arguments.has("--stripWeights") and not arguments.has("--refit")
    return {"refit_identical": "1"} if strips else {}


def _budget(given: Given, arguments: Arguments) -> str:
    text = given.value
    if text in ("-1", "-2"):
        return "auto" if text == "-1" else "off"
    if text.endswith("%"):
        percent = decimal_number("--weightStreamingBudget", text[:-1])
        if not 0 <= percent <= 100:
            raise UsageError(f"--weightStreamingBudget={text}", why="it must be in 0…100 %")
        return f"{percent:g}%"
    if not text[-1:].isalpha():
        text += "B"
    return str(size_bytes("--weightStreamingBudget", text, arguments))


#: How an option is read -> the value of its flag as the option has it.
_VALUES: dict[str, Callable[[Given, Arguments], str]] = {
    "size": lambda given, _: f"workspace:{whole_number(given.name, given.value) * 2**20}B",
    "pools": _pools,
    "features": _preview,
    "budget": _budget,
}
