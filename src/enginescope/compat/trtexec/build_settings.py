"""Flags of the build, of the devices and of the runtime, as options of the backend ``trt``."""

from __future__ import annotations

import re

from enginescope.compat.trtexec.arguments import Arguments, decimal_number, whole_number
from enginescope.core.errors import UsageError
from enginescope.core.suggest import did_you_mean
from enginescope.formats.trtexec.trtexec_flags import (
    HARDWARE_LEVELS,
    MEMORY_POOLS,
    PREVIEW_FEATURES,
    all_flags,
)

_UNITS = {"B": 1, "K": 2**10, "M": 2**20, "G": 2**30}
_SIZE = re.compile(r"^(\d+(?:\.\d+)?)(?:([BKMG]?)|([KMG])iB)$")
_POOLS = {name: key for key, name in MEMORY_POOLS.items()}
_PREVIEW = {name: key for key, name in PREVIEW_FEATURES.items()}
_HARDWARE = {name: key for key, name in HARDWARE_LEVELS.items()}
_PLATFORMS = {"sameasbuild": "same_as_build", "windowsamd64": "windows_amd64"}
_VERBOSITIES = {"default": "layer_names_only", "verbose": "detailed"}


def options_of(arguments: Arguments) -> dict[str, str]:
    """Return the backend's options that a command line means, shapes left out."""
    for given in arguments.given:
        words = all_flags()[given.name].words
        if words and given.value not in words:
            raise UsageError(f"{given.name}={given.value}", hint=f"one of: {', '.join(words)}")
    stamps = {"stamps": "1"} if arguments.has("--exportTimes") else {}
    return {
        **_from_table(arguments),
        **_pools(arguments),
        **_plugins(arguments),
        **_words(arguments),
        **_weights(arguments),
        **stamps,
        "log_level": "verbose" if arguments.has("--verbose") else "info",
    }


def precision_of(arguments: Arguments) -> tuple[str | None, tuple[str, ...]]:
    """Return the precision asked for, and remarks on what is passed over."""
    allowed = (all_flags()[given.name].precision for given in arguments.given)
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
    match = _SIZE.match(text)
    if match is None:
        raise UsageError(f"{name}: {text!r} is not a size", hint="MiB, as in 1024, or 1G, 512M")
    suffix = match[2] or match[3]
    if suffix and match[3] != "M" and arguments.version.major < 10:
        raise UsageError(
            f"{name}: {text!r} has a suffix",
            why="before TensorRT 10 trtexec ignores it and reads the number as MiB",
            hint=f"the size in MiB: {float(match[1]) * _UNITS[suffix] / 2**20:g}",
        )
    return int(float(match[1]) * _UNITS[suffix or "M"])


def _from_table(arguments: Arguments) -> dict[str, str]:
    options = {}
    for given in arguments.given:
        flag = all_flags()[given.name]
        if flag.key and not given.value == flag.default == "-1":  # -1: TensorRT's own choice
            options[flag.key] = flag.fixed or given.value
    return options


def _pools(arguments: Arguments) -> dict[str, str]:
    sizes: dict[str, int] = {}
    if arguments.has("--workspace"):
        mebibytes = whole_number("--workspace", arguments.text("--workspace"))
        sizes["workspace"] = mebibytes * 2**20
    for part in filter(None, arguments.text("--memPoolSize").split(",")):
        name, colon, size = part.partition(":")
        if name not in _POOLS or not colon:
            raise UsageError(f"--memPoolSize: {part!r}", hint=did_you_mean(name, _POOLS))
        sizes[_POOLS[name]] = size_bytes("--memPoolSize", size, arguments)
    text = ",".join(f"{name}:{size}B" for name, size in sizes.items())
    return {"memory_pools": text} if text else {}


def _plugins(arguments: Arguments) -> dict[str, str]:
    serialized = arguments.texts("--setPluginsToSerialize")
    loaded = (
        *arguments.texts("--staticPlugins"),
        *arguments.texts("--dynamicPlugins"),
        *serialized,
    )
    loaded = tuple(filter(None, loaded))
    found = {"plugins": ",".join(dict.fromkeys(loaded)), "serialize_plugins": ",".join(serialized)}
    if any("," in one for one in loaded):
        raise UsageError("plugin libraries", why="a comma in a path cannot be passed on")
    return {key: value for key, value in found.items() if value}


def _words(arguments: Arguments) -> dict[str, str]:
    verbosity = arguments.text("--profilingVerbosity", "layer_names_only")
    found = {"profiling_verbosity": _VERBOSITIES.get(verbosity, verbosity)}
    if arguments.has("--hardwareCompatibilityLevel"):
        word = _HARDWARE[arguments.text("--hardwareCompatibilityLevel")]
        found["hardware_compatibility"] = word
    if arguments.has("--runtimePlatform"):
        platform = arguments.text("--runtimePlatform")
        if platform.lower() not in _PLATFORMS:
            hint = "SameAsBuild or WindowsAMD64"
            raise UsageError(f"--runtimePlatform={platform}", hint=hint)
        found["runtime_platform"] = _PLATFORMS[platform.lower()]
    if arguments.has("--preview"):
        found["preview_features"] = _preview(arguments.text("--preview"))
    if arguments.has("--stronglyTyped") and arguments.version.major < 11:
        found["strongly_typed"] = "1"
    return found


def _preview(text: str) -> str:
    parts = []
    for part in text.split(","):
        sign, name = part[:1], part[1:]
        if sign not in ("+", "-") or name not in _PREVIEW:
            raise UsageError(
                f"--preview: {part!r}", hint=f"{did_you_mean(name, _PREVIEW)} with + or -"
            )
        parts.append(sign + _PREVIEW[name])
    return ",".join(parts)


def _weights(arguments: Arguments) -> dict[str, str]:
    """Return what stripping, streaming and their budget mean."""
    found: dict[str, str] = {}
    if arguments.has("--stripAllWeights"):
        found |= {"refit": "1", "strip_plan": "1"}
    elif arguments.has("--stripWeights"):
        found["strip_plan"] = "1"
        if not arguments.has("--refit"):
            found["refit_identical"] = "1"
    streams = arguments.has("--allowWeightStreaming")
    if streams and arguments.version.major < 11 and not arguments.has("--stronglyTyped"):
        raise UsageError(
            "--allowWeightStreaming without --stronglyTyped",
            why="only a strongly typed network can stream its weights",
        )
    if arguments.has("--weightStreamingBudget"):
        found["weight_streaming_budget"] = _budget(arguments)
    return found


def _budget(arguments: Arguments) -> str:
    text = arguments.text("--weightStreamingBudget")
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
