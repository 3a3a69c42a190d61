"""All verbs of the command line, with the path of each."""

from collections.abc import Iterator
from importlib import import_module

import click

from enginescope.cli.main import VERBS


def every_verb() -> Iterator[tuple[str, click.Command]]:
    """Yield ``runs list`` and its command, for all verbs and their verbs."""
    for verb, (module, _) in VERBS.items():
        yield from _below(verb, import_module(module).command)


def _below(path: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    for name, one in getattr(command, "commands", {}).items():
        yield from _below(f"{path} {name}", one)
