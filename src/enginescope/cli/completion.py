"""``enginescope completion``: the completion script of a shell, and what its words complete to.

A completion never fails and never waits: without an answer it offers nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class

from enginescope.cli.verb import Verb

_VARIABLE = "_ENGINESCOPE_COMPLETE"
#: The newest runs that are offered.
_MOST_RUNS = 50
Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _safe(words: Callable[[click.Context], Iterable[str]]) -> Completer:
    """Return a completer that offers the words that start with the typed text."""

    @functools.wraps(words)
    def complete(ctx: click.Context, _param: click.Parameter, typed: str) -> list[CompletionItem]:
        try:
            offered = list(dict.fromkeys(words(ctx)))
        except Exception:  # noqa: BLE001 - an error would appear in the middle of a command line
            return []
        lower = typed.lower()
        return [CompletionItem(one) for one in offered if one.lower().startswith(lower)]

    return complete


def _rows(ctx: click.Context) -> tuple[Any, ...]:
    """Return the newest rows of a store that is a folder; a database would have to answer first."""
    from enginescope.store.archive import Store
    from enginescope.store.location import DatabaseUrl
    from enginescope.store.row import Filter

    store = Store(ctx.params.get("store_folder"))
    if isinstance(store.place, DatabaseUrl):
        return ()
    return tuple(store.rows(Filter(limit=_MOST_RUNS)))


@_safe
def complete_tags(ctx: click.Context) -> Iterable[str]:
    """Offer tags of the newest runs."""
    return (tag for row in _rows(ctx) for tag in row.tags)


@_safe
def complete_runs(ctx: click.Context) -> Iterable[str]:
    """Offer `latest`, ids and tags of the newest runs."""
    rows = _rows(ctx)
    return ("latest", *(row.id for row in rows), *(tag for row in rows for tag in row.tags))


@_safe
def complete_backends(_ctx: click.Context) -> Iterable[str]:
    """Offer names of backends."""
    from enginescope.backends.registry import backend_names

    return backend_names()


@_safe
def complete_rules(_ctx: click.Context) -> Iterable[str]:
    """Offer codes and names of lint rules."""
    from enginescope.rules.catalogue import RULES

    return (word for rule in RULES for word in (rule.code, rule.name))


@_safe
def complete_codes(_ctx: click.Context) -> Iterable[str]:
    """Offer the codes of `explain`."""
    from enginescope.services.explain import explanations

    return (one.code for one in explanations())


@click.command(
    "completion",
    cls=Verb,
    examples=(
        ("Enable completion in this bash session", 'eval "$(enginescope completion bash)"'),
        ("Print the script for fish", "enginescope completion fish"),
    ),
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of SHELL.

    The script completes verbs, options, run ids, tags, backends and rules.
    """
    from enginescope.cli.main import cli

    found = get_completion_class(shell)
    assert found is not None  # click has these three
    print(found(cli, {}, "enginescope", _VARIABLE).source())
