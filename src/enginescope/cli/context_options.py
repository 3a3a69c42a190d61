"""Options that name what a plan is compared with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_OPTIONS = (
    click.option("--gpu", metavar="NAME", help="Each layer against this GPU's limits."),
    click.option("--onnx", type=_FILE, help="The model it was built from: what its nodes cost."),
    click.option("--build-log", type=_FILE, help="Verbose log of the build: the build's story."),
)


def context_options(function: F) -> F:
    """Add the options that name a GPU, a model and a log; see `ContextFiles`."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function
