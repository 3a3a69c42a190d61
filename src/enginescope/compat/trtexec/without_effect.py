"""Flags of a command line that change nothing: they are said by name."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.compat.trtexec.arguments import Arguments, read_arguments
from enginescope.compat.trtexec.flags import STORE_FLAG, flag_for
from enginescope.compat.trtexec.version import Version
from enginescope.formats.trtexec.trtexec_flags import all_flags

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


def flags_of_loaded(flags: Sequence[str], version: Version) -> tuple[str, ...]:
    """Return those of a build's and a run's flags that an engine which is loaded reads.

    Raises:
        UsageError: A flag is wrong.
    """
    arguments = read_arguments(("--loadEngine=any", *flags), version)
    return tuple(one for one in flags if not _is_idle(_target(one, version), arguments))


def _target(flag: str, version: Version) -> str:
    """Return the name that counts: aliases have that of another flag."""
    name = flag.partition("=")[0]
    return name if name == STORE_FLAG else flag_for(name, version).alias_of or name


def _is_idle(name: str, arguments: Arguments) -> bool:
    """Whether a flag decides how an engine is built, and nothing of how a loaded one is run."""
    if name in ("--optShapes", "--profile"):  # the shapes to run with, where --shapes has none
        return arguments.has("--shapes") or not arguments.has("--optShapes")
    if name == "--runtimePlatform" and arguments.text(name).lower() == "windowsamd64":
        return False  # the inference is skipped
    if name == STORE_FLAG:
        return False
    return all_flags()[name].decides_build
