"""``enginescope completion``: the completion script of a shell, and callbacks that complete words.

A callback never fails and never waits: without words it offers nothing.
"""

from importlib import import_module
from typing import NamedTuple

import click
from click.shell_completion import CompletionItem, get_completion_class

from enginescope.cli.verb import verb

_SERVICE = "enginescope.services.completion"


class Words(NamedTuple):
    """Completes a parameter with the words of a function in `services.completion`, or with files.

    The function is imported when it is called (`kind`).
    """

    kind: str
    or_file: bool = False

    def __call__(
        self, ctx: click.Context, _param: click.Parameter, typed: str
    ) -> list[CompletionItem]:
        """Return the words that start with the typed text, in any case."""
        try:
            words = getattr(import_module(_SERVICE), self.kind)(ctx.params.get("store_folder"))
        except Exception:  # noqa: BLE001 - an error would appear inside the user's command line
            return []
        fitting = [word for word in words if word.lower().startswith(typed.lower())]
        if not fitting and self.or_file:
            return [CompletionItem(typed, type="file")]
        return [CompletionItem(word) for word in dict.fromkeys(fitting)]


complete_backends = Words("backends")
complete_codes = Words("codes")
complete_rules = Words("rules")
complete_runs = Words("runs", or_file=True)
complete_tags = Words("tags")


@verb(
    "completion",
    "Enable completion in this bash session",
    'eval "$(enginescope completion bash)"',
    "Print the script for fish",
    "enginescope completion fish",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, /, shell: str) -> None:
    """Print the completion script of SHELL.

    The script completes verbs, options, run ids, tags, backends and rules.
    """
    found = get_completion_class(shell)
    assert found is not None  # click knows all choices
    program = ctx.find_root().command
    print(found(program, {}, "enginescope", "_ENGINESCOPE_COMPLETE").source())
