"""Every verb with its help, as click prints it, in Markdown."""

import inspect
import re
from collections.abc import Iterator, Sequence

import click

from enginescope.cli.main import cli
from tests.docs.reference.marked_page import table


class MarkdownFormatter(click.HelpFormatter):
    """Writes what a command says to `--help` as Markdown: option lists become tables."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        del prefix
        self.write(f"```\n{prog} {args}\n```\n")

    def write_heading(self, heading: str) -> None:
        self.write(f"**{heading}**\n\n")

    def write_text(self, text: str) -> None:
        """Write paragraphs; those that click is told not to wrap become code."""
        for paragraph in inspect.cleandoc(text).split("\n\n"):
            if paragraph.lstrip().startswith("\b"):
                body = paragraph.replace("\b\n", "").strip("\n")
                self.write(f"```\n{inspect.cleandoc(body)}\n```\n\n")
            else:
                self.write(" ".join(paragraph.split()).replace("<", "&lt;") + "\n\n")

    def write_paragraph(self) -> None:
        self.write("\n")

    def write_dl(
        self, rows: Sequence[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        del col_max, col_spacing
        made = [(_code(name), text.replace("<", "&lt;")) for name, text in rows]
        self.write(table(("option" if rows[0][0][:1] == "-" else "name", "meaning"), made) + "\n")


def _code(text: str) -> str:
    """Return code for a cell; Markdown's backticks take no escaped pipe in every renderer."""
    return f"<code>{text.replace('|', '&#124;')}</code>" if "|" in text else f"`{text}`"


def commands() -> Iterator[tuple[str, click.Command, click.Context]]:
    """Yield the group, every verb and every verb within a verb, with its path."""
    top = click.Context(cli, info_name="enginescope", obj=True, **cli.context_settings)
    waiting = [("enginescope", cli, top)]
    while waiting:
        path, command, context = waiting.pop(0)
        yield path, command, context
        inner = []
        for name in command.list_commands(context) if isinstance(command, click.Group) else ():
            child = command.get_command(context, name)
            assert child is not None
            made = click.Context(child, info_name=name, parent=context)
            inner.append((f"{path} {name}", child, made))
        waiting = [*waiting, *inner] if command is cli else [*inner, *waiting]


def verbs_part() -> str:
    made = []
    for path, command, context in commands():
        formatter = MarkdownFormatter(width=10_000)
        command.format_help(context, formatter)
        text = re.sub(r"\n{3,}", "\n\n", formatter.getvalue().strip())
        level = "##" if path.count(" ") < 2 else "###"
        made.append(f"{level} {path}\n\n{text}")
    return "\n\n".join(made)
