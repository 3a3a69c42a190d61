"""A specification such as ``trtexec:fp16?workspace=1GiB``: checked, and as flags."""

from __future__ import annotations

from collections.abc import Mapping

from enginescope.backends.profile_bounds import check_bounds
from enginescope.backends.trtexec.arguments import OPTION as ARGUMENTS
from enginescope.backends.trtexec.arguments import Flags, split_arguments
from enginescope.backends.trtexec.options import BUILD_OPTIONS, OPTIONS, WITHOUT_FLAG
from enginescope.core.errors import UnsupportedError, UsageError
from enginescope.core.suggest import did_you_mean
from enginescope.formats.trtexec.trtexec_flags import PRECISIONS
from enginescope.records.run.job import BackendSpec, Subject

#: Of this backend alone: where the binary is, and what goes to it untouched.
OWN = ("binary", ARGUMENTS)


def check_options(spec: BackendSpec) -> None:
    """Raise `UsageError` for a precision, key or value that no version of trtexec takes."""
    for part in spec.precision.split("+") if spec.precision else ():
        if part not in PRECISIONS:
            raise UsageError(
                f"trtexec has no precision {part!r}", hint=did_you_mean(part, PRECISIONS)
            )
    if spec.precision and spec.options.get("strongly_typed") == "1":
        raise UsageError(
            f"precision {spec.precision} with strongly_typed=1",
            why="a strongly typed network computes in the types of the model",
        )
    for key, value in spec.options.items():
        _check_option(key, value)
    check_bounds(spec.options)
    split_arguments(spec.options.get(ARGUMENTS, ""))


def _check_option(key: str, value: str) -> None:
    if key in WITHOUT_FLAG:
        raise UsageError(f"trtexec: {key}", why=WITHOUT_FLAG[key], hint=f"--on trt?{key}={value}")
    if key in OWN:
        return
    if key not in OPTIONS:
        raise UsageError(f"trtexec has no option {key!r}", hint=did_you_mean(key, (*OPTIONS, *OWN)))
    if not OPTIONS[key].accepts(value):
        raise UsageError(f"trtexec: {key}={value}", hint=f"expected {OPTIONS[key].expects}")


def write_options(flags: Flags, spec: BackendSpec, subject: Subject) -> None:
    """Add the flags of precision and options.

    Raises:
        UnsupportedError: This version lacks one, or it says how to build what is built already.
    """
    if subject.kind == "engine":
        _refuse_build(spec, subject)
    else:
        _write_precision(flags, spec)
        _write_profiles(flags, spec.options)
    for key, value in _one_pool_list(spec.options).items():
        if key not in OWN:
            OPTIONS[key].write(flags, value)
    if subject.kind != "engine" and "profiling_verbosity" not in spec.options:
        flags.add("profilingVerbosity", "detailed")


def _one_pool_list(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options, the workspace among the other pools: trtexec takes one list of them."""
    found = dict(options)
    if "workspace" in found and "memory_pools" in found:
        found["memory_pools"] = f"workspace:{found.pop('workspace')},{found['memory_pools']}"
    return found


def _refuse_build(spec: BackendSpec, subject: Subject) -> None:
    of_build = [key for key in spec.options if key in BUILD_OPTIONS]
    if spec.precision:
        of_build.insert(0, f"precision {spec.precision}")
    if of_build:
        raise UnsupportedError(
            f"{', '.join(of_build)} for {subject.name}",
            why="an engine is built already, and these say how to build one",
            hint="give the ONNX model, or leave them out",
        )


def _write_precision(flags: Flags, spec: BackendSpec) -> None:
    if not spec.precision:
        return
    if flags.is_strongly_typed:
        raise UnsupportedError(
            f"trtexec:{spec.precision}",
            why="TensorRT 11 computes in the precision the model carries; "
            f"--{spec.precision.split('+')[0]} is gone",
            hint="python -m modelopt.onnx.autocast --onnx_path MODEL converts it (ModelOpt)",
        )
    for part in spec.precision.split("+"):
        flags.add(part)


def _write_profiles(flags: Flags, options: Mapping[str, str]) -> None:
    """Add the shapes of the optimisation profiles, ``;`` between them."""
    names = {"min_shapes": "minShapes", "opt_shapes": "optShapes", "max_shapes": "maxShapes"}
    given = {flag: options[key].split(";") for key, flag in names.items() if key in options}
    count = max((len(profiles) for profiles in given.values()), default=0)
    for index in range(count):
        if count > 1:
            flags.add("profile", index)
        for flag, profiles in given.items():
            flags.add(flag, profiles[index])
