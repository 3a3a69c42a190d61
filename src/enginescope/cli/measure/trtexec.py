"""``enginescope trtexec``: trtexec's command line, log and files, on TensorRT's Python API."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

import click

from enginescope.cli.messages import note, words
from enginescope.cli.process_options import command_line
from enginescope.core.errors import MissingDependencyError
from enginescope.services.trtexec_session import (
    TrtexecObserver,
    TrtexecRequest,
    installed_tensorrt,
    run_trtexec,
)

if TYPE_CHECKING:
    from enginescope.compat.trtexec.arguments import CheckedLine
    from enginescope.compat.trtexec.log.log import Line
    from enginescope.records.run.job import Job, Watcher
    from enginescope.records.run.run import Run

#: trtexec's own: of a build, a run or a file that failed.
EXIT_FAILED = 1
_INSTALL = "pip install tensorrt 'enginescope[trt]'"


class RawCommand(click.Command):
    """A command whose arguments click leaves alone: trtexec's are not in its form."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Pass all arguments on as they are."""
        ctx.params["arguments"] = tuple(args)
        return []


@click.command("trtexec", cls=RawCommand, add_help_option=False)
def command(arguments: tuple[str, ...]) -> int:
    """Build, measure and inspect an engine as trtexec does."""
    from enginescope.compat.trtexec.arguments import (
        check_known,
        checked_line,
        help_text,
        read_arguments,
        wants_help,
    )
    from enginescope.compat.trtexec.settings import settings_of

    if wants_help(arguments):
        print(help_text(installed_tensorrt(arguments)), end="")
        return 0
    version = installed_tensorrt(arguments)
    checked = checked_line(arguments, version)
    if checked is not None:
        _show_checked(checked)
        return int(not checked.is_accepted)
    if version is None:
        check_known(arguments)
        raise MissingDependencyError(f"TensorRT is not installed: {_INSTALL}")
    settings = settings_of(read_arguments(arguments, version))
    request = TrtexecRequest(settings=settings, arguments=arguments, command=command_line())
    return 0 if run_trtexec(request, _PrintingObserver()) else EXIT_FAILED


def _show_checked(checked: CheckedLine) -> None:
    """Print what a version makes of a command line."""
    from enginescope.render.base.text import show, table

    rows = [
        (flag.argument, flag.state, "; ".join(filter(None, (flag.why, flag.instead))))
        for flag in checked.flags
    ]
    if rows:
        show(table((f"TensorRT {checked.version}", "", "why, and what to do"), rows, whole=("",)))
        print()
    print(*checked.notes, words("enginescope", "trtexec", *checked.written), sep="\n")


class _PrintingObserver(TrtexecObserver):
    """Prints the log as it grows, and shows progress on a terminal."""

    def status(self, line: str) -> None:
        print(line, flush=True)

    def lines(self, lines: Iterable[Line]) -> None:
        say(lines)

    def run_stored(self, run: Run) -> None:
        note(f"enginescope: run {run.id}")

    @contextmanager
    def measuring(self, job: Job) -> Iterator[Watcher | None]:
        """Show progress on a terminal."""
        from enginescope.cli.progress import JobProgress

        is_terminal = sys.stderr is not None and sys.stderr.isatty()
        with JobProgress((job,)) as progress:
            yield progress.watcher if is_terminal else None


def say(lines: Iterable[Line]) -> None:
    """Print messages: warnings and errors on standard error, the others on standard output."""
    from enginescope.compat.trtexec.log.log import printed

    for line in lines:
        stream = sys.stdout
        if line.level in "WE":
            sys.stdout.flush()  # so that the order holds where both go to one file
            stream = sys.stderr
        print(printed(line, datetime.now()), file=stream)  # noqa: DTZ005 - local, as trtexec's
    sys.stdout.flush()
