"""Options of a build on the command line, and the backend's options they mean."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from enginescope.cli.options import SHAPE
from enginescope.core.errors import UsageError
from enginescope.records.run.job import InputShape

F = TypeVar("F", bound=Callable[..., Any])

#: Switches, by the name of the backend's option.
_SWITCHES = {
    "version_compatible": "A plan that later TensorRT versions load too.",
    "exclude_lean_runtime": "Leave the lean runtime out of a version-compatible plan.",
    "refit": "An engine whose weights can be replaced.",
    "strip_plan": "Leave weights out of the plan; they are refitted when it is loaded.",
    "weight_streaming": "Weights may stay on the host (needs --strongly-typed).",
    "strongly_typed": "Types from the model alone.",
}
#: Values, by the name of the backend's option.
_VALUES = {
    "workspace": ("SIZE", "Most memory for tactics."),
    "builder_optimization_level": ("0…5", "How long to search: 3 by default."),
    "hardware_compatibility": ("LEVEL", "none, ampere_plus or same_compute_capability."),
    "timing_cache": ("FILE", "Read and written; none: none; by default that of the engine cache."),
    "calibration_cache": ("FILE", "INT8 ranges, where the version calibrates."),
    "profiling_verbosity": ("LEVEL", "detailed (default), layer_names_only or none."),
    "tactic_sources": ("±NAME,…", "Such as -CUDNN,-CUBLAS."),
}
_BOUNDS = ("min", "opt", "max")


def build_options(function: F) -> F:
    """Add what steers a build."""
    for key, text in reversed(_SWITCHES.items()):
        function = click.option(_flag(key), key, is_flag=True, help=text)(function)
    for key, (metavar, text) in reversed(_VALUES.items()):
        function = click.option(_flag(key), key, metavar=metavar, help=text)(function)
    for name, key, metavar, text in (
        ("--option", "others", "KEY=VALUE", "Any other option of the backend."),
        ("--plugin", "plugins", "FILE", "Plugin library."),
        ("--memory-pool", "memory_pools", "POOL:SIZE", "Most memory of a pool."),
    ):
        option = click.option(name, key, multiple=True, metavar=metavar, help=text)
        function = option(function)
    for bound in reversed(_BOUNDS):
        text = f"{bound} shape of an input; given again for the same input: of the next profile."
        option = click.option(
            f"--{bound}-shape", f"{bound}_shapes", multiple=True, type=SHAPE, help=text
        )
        function = option(function)
    return function


def options_of(given: dict[str, Any]) -> dict[str, str]:
    """Return the backend's options that the command line means.

    Raises:
        UsageError: An ``--option`` that is not KEY=VALUE, or one that is given twice.
    """
    found = {key: "1" for key in _SWITCHES if given[key]}
    found |= {key: given[key] for key in _VALUES if given[key] is not None}
    for bound in _BOUNDS:
        if given[f"{bound}_shapes"]:
            found[f"{bound}_shapes"] = profiles_text(given[f"{bound}_shapes"])
    for key in ("plugins", "memory_pools"):
        if given[key]:
            found[key] = ",".join(given[key])
    for pair in given["others"]:
        key, equals, value = pair.partition("=")
        if not equals or key in found:
            why = "it is given twice" if equals else "it is not KEY=VALUE"
            raise UsageError(f"--option {pair}", why=why)
        found[key] = value
    return found


def profiles_text(shapes: Sequence[InputShape]) -> str:
    """Return shapes as the backend's option has them: the n-th of an input in profile n."""
    profiles: dict[int, list[str]] = defaultdict(list)
    seen: dict[str, int] = defaultdict(int)
    for one in shapes:
        dims = "x".join(map(str, one.dims)) or "scalar"
        profiles[seen[one.name]].append(f"{one.name}:{dims}")
        seen[one.name] += 1
    return ";".join(",".join(profiles[index]) for index in sorted(profiles))


def _flag(key: str) -> str:
    return f"--{key.replace('_', '-')}"
