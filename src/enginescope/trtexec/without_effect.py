"""Flags of a command line that change nothing: they are said by name."""

from __future__ import annotations

from enginescope.trtexec.arguments import Arguments
from enginescope.trtexec.flags import all_flags

#: Flags of the group "build" that mean something to an engine that is loaded, too.
_OF_LOADED = frozenset({"--useRuntime", "--refitFromOnnx", "--tempdir", "--tempfileControls"})
#: Those that decide the build, and that a rule of ours reads rather than the table.
_SETTINGS_OF_BUILD = frozenset(
    {
        *("--minShapes", "--maxShapes", "--workspace", "--memPoolSize", "--preview"),
        *("--stripWeights", "--stripAllWeights", "--hardwareCompatibilityLevel"),
        *("--stronglyTyped", "--profilingVerbosity", "--runtimePlatform"),
    }
)
#: Without effect whatever the version, and since TensorRT 11.
_ALWAYS = ("--explicitBatch", "--explicitPrecision")
_SINCE_11 = (
    *("--stronglyTyped", "--noDataTransfers", "--useSpinWait", "--useCudaGraph"),
    "--separateProfileRun",
)


def flags_without_effect(arguments: Arguments) -> tuple[str, ...]:
    """Say which flags change nothing: what they name is so anyway, or an engine is loaded."""
    names = (*_ALWAYS, *_SINCE_11) if arguments.version.major >= 11 else _ALWAYS
    given = tuple(dict.fromkeys(one.name for one in arguments.given))
    found = [f"{one} is deprecated and has no effect" for one in names if one in given]
    if arguments.has("--loadEngine"):
        left = (one for one in given if one not in names and _is_idle(one, arguments))
        found += [f"{one} has no effect beside --loadEngine" for one in left]
    return tuple(found)


def _is_idle(name: str, arguments: Arguments) -> bool:
    """Whether a flag decides how an engine is built, and nothing of how a loaded one is run."""
    if name in ("--optShapes", "--profile"):  # the shapes to run with, where --shapes has none
        return arguments.has("--shapes") or not arguments.has("--optShapes")
    if name == "--runtimePlatform" and arguments.text(name).lower() == "windowsamd64":
        return False  # the inference is skipped
    if name == "--onnx" or name in _SETTINGS_OF_BUILD:
        return True
    flag = all_flags()[name]
    decides = flag.to.startswith(("precision ", "option "))
    return flag.group == "build" and decides and name not in _OF_LOADED
