"""The command ``enginescope``: finds the verb, turns errors into exit codes.

Verbs are imported when they are called. ``--help`` imports click and nothing else of weight.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import io
import os
import sys
from importlib import import_module
from itertools import takewhile
from typing import TYPE_CHECKING, Any, TextIO

import click

from enginescope._version import __version__
from enginescope.cli.messages import USUAL, note, set_level
from enginescope.cli.verb import EXIT_INTERRUPTED, EXIT_RUN_FAILED, ending_in_order
from enginescope.core.errors import EnginescopeError, MissingDependencyError, UsageError
from enginescope.core.plugins import outside_verbs, search_path

if TYPE_CHECKING:
    from pathlib import Path

    from click.shell_completion import CompletionItem


#: Group -> verb -> (module, one line of help). The help is here so that listing imports no verb.
GROUPS = {
    "Measure": {
        "bench": ("measure.bench", "Measure models, each in a fresh process."),
        "suite": ("suites.suite", "Measure many models on many backends; resumes."),
        "load": ("measure.load", "Measure latency under load; find the highest rate for a goal."),
        "shapes": ("measure.shapes", "Find the best shape, and the cost of a change of shape."),
        "build": ("measure.build", "Build a TensorRT engine from an ONNX model."),
        "doctor": ("measure.doctor", "Report what this machine can measure; measure its noise."),
    },
    "Explore": {
        "explore": ("plans.explore", "Show the layers of a TensorRT plan and their times."),
        "lint": ("plans.lint", "Find likely performance problems in a TensorRT plan."),
        "explain": ("explain", "Explain a notice, rule, verdict or exit code."),
    },
    "Decide": {
        "compare": ("verdicts.compare", "Compare runs and plans: which is faster, and why."),
        "judge": ("verdicts.judge", "Compare commands, programs or Python functions."),
        "gate": ("verdicts.gate", "Exit with 1 on a regression against a baseline."),
        "upgrade": ("verdicts.upgrade", "Check whether new software is safe for models; rerun it."),
        "ladder": ("verdicts.ladder", "Explain why one tool's latency is not another's."),
        "contend": ("verdicts.contend", "Measure how engines slow down when they share a GPU."),
        "lottery": ("verdicts.lottery", "Measure how much builds of one model differ."),
        "tune": ("verdicts.tune", "Find the options that make a model fastest."),
        "history": ("verdicts.history", "Show a metric over stored runs, and where it changed."),
    },
    "Check": {
        "validate": ("accuracy.validate", "Compare model outputs with a reference."),
        "sensitivity": ("accuracy.sensitivity", "Find the layers to keep in FP32."),
        "depth": ("accuracy.depth", "Compare depth-estimation models: speed, GPU use, error."),
    },
    "TensorRT": {
        "trtexec": ("measure.trtexec", "Run trtexec's command line, with its log and files."),
        "process": ("plans.process", "Build, measure and profile, with trex's file names."),
    },
    "Store": {
        "runs": ("store.runs", "List, show, tag, export, send and delete stored runs."),
        "report": ("plans.report", "Write tables, plots and an HTML page of stored runs."),
        "import": ("plans.import_", "Import files of other tools as runs."),
        "archive": ("plans.archive", "Pack an engine and all files about it into one file."),
        "models": ("suites.models", "List models for suites, and download your own."),
        "serve": ("store.serve", "Serve the store as web pages; accept runs; manage tokens."),
        "completion": ("completion", "Print the completion script of a shell."),
    },
}
#: Verbs that ``--help`` lists; ``--help --all`` lists every verb.
FIRST = (
    *("bench", "suite", "load", "build", "doctor", "explore", "lint", "explain"),
    *("compare", "judge", "gate", "upgrade", "validate", "trtexec", "runs", "report"),
)
#: verb -> (module, one line of help)
VERBS = {
    verb: (f"enginescope.cli.{module}", text)
    for verbs in GROUPS.values()
    for verb, (module, text) in verbs.items()
}

EXIT_PIPE_CLOSED = 141  # as a program ends that a closed pipe kills
EXIT_BUG = 4


class OutsideVerb(click.Command):
    """A program on the PATH: it gets the arguments unread, and the store in ``ENGINESCOPE_HOME``.

    It replaces this process.
    """

    def __init__(self, name: str, program: Path) -> None:
        super().__init__(name, add_help_option=False)
        self._program = program

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.args = args
        return args

    def invoke(self, ctx: click.Context) -> Any:
        from enginescope.store.location import VARIABLE, store_place

        store = os.environ.get(VARIABLE) or str(store_place())
        environment = {**os.environ, VARIABLE: store, "PATH": search_path()}
        try:
            os.execve(self._program, [str(self._program), *ctx.args], environment)  # noqa: S606
        except OSError as error:
            raise UsageError(f"cannot run {self._program}", why=error.strerror) from error


def _outside_texts() -> dict[str, str]:
    programs = outside_verbs().items()
    return {verb: f"Run {program}." for verb, program in programs if verb not in VERBS}


class VerbGroup(click.Group):
    """A group whose commands are imported on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order of the table."""
        del ctx
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a verb's command; else that of a program on the PATH."""
        del ctx
        if cmd_name not in VERBS:
            program = outside_verbs().get(cmd_name)
            return OutsideVerb(cmd_name, program) if program else None
        command: click.Command = import_module(VERBS[cmd_name][0]).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the nearest verb when there is none of that name."""
        known = {*VERBS, *outside_verbs()} if args and args[0] not in VERBS else VERBS
        if args and args[0] not in known and not args[0].startswith("-"):
            from enginescope.core.suggest import did_you_mean

            raise click.UsageError(f"no verb {args[0]!r}: {did_you_mean(args[0], known)}", ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return verbs from the table, importing none, and options."""
        from click.shell_completion import CompletionItem

        texts = _outside_texts() | {verb: text for verb, (_, text) in VERBS.items()}
        verbs = [
            CompletionItem(verb, help=text)
            for verb, text in texts.items()
            if verb.startswith(incomplete)
        ]
        return [*verbs, *click.Command.shell_complete(self, ctx, incomplete)]

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb; output that cannot be written is an error of its own."""
        try:
            result = super().invoke(ctx)
            if sys.stdout is not None:  # closed by the caller
                sys.stdout.flush()  # at exit it would be too late to say that it failed
        except BrokenPipeError:  # the reader went away, as `| head` does
            _drop_output()
            return EXIT_PIPE_CLOSED
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            _drop_output()
            where = error.filename or "to standard output, or to a requested file"
            why = error.strerror or str(error)
            raise UsageError(f"cannot write {where}", why=why, hint="make space") from error
        return result

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Look for ``--all`` first: ``--help`` ends the program before options behind it."""
        ctx.obj = "--all" in takewhile(lambda word: word.startswith("-"), args)
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the first verbs, or with ``--all`` every one, from the table, importing none."""
        shown = VERBS if ctx.obj else FIRST
        width = max(map(len, VERBS))
        for group, verbs in GROUPS.items():
            rows = [(name.ljust(width), text) for name, (_, text) in verbs.items() if name in shown]
            with formatter.section(group):
                formatter.write_dl(rows)
        if ctx.obj and (outside := _outside_texts()):
            with formatter.section("On the PATH"):
                formatter.write_dl([(verb.ljust(width), text) for verb, text in outside.items()])
        if not ctx.obj:
            formatter.write_paragraph()
            more = len(VERBS) - len(FIRST)
            formatter.write_text(f"{more} more verbs: enginescope --help --all")


@click.group(
    cls=VerbGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with `enginescope bench`: without a model, it measures two small samples. Exit "
    "codes: 0 success, 1 a check failed, 2 an invalid command, 3 a run failed; `enginescope "
    "explain 3` says more.",
)
@click.option("--all", is_flag=True, expose_value=False, help="With --help: list every verb.")
@click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s")
def cli() -> None:
    """Measure, explain, compare and check inference engines."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code.

    0 success · 1 a check failed · 2 user error · 3 a run failed · 4 a bug of ours ·
    130 interrupted · 141 the reader of the output went away.
    """
    set_level(USUAL)
    for stream in (sys.stdout, sys.stderr):
        with_ascii_fallback(stream)
    try:
        with ending_in_order():
            status = cli.main(arguments, prog_name="enginescope", standalone_mode=False)
    except click.exceptions.Exit as leave:
        return int(leave.exit_code)
    except click.ClickException as error:
        error.show(file=sys.stderr)
        return error.exit_code
    except EnginescopeError as error:
        _say(error)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        print("enginescope: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except Exception:  # noqa: BLE001 - the last border: a bug is shown whole, with its exit code
        import traceback

        traceback.print_exc()
        print("enginescope: this is a bug of enginescope; please report it", file=sys.stderr)
        return EXIT_BUG
    given = sys.argv[1:] if arguments is None else arguments
    if status == EXIT_RUN_FAILED and "--json" not in given:
        note("exit code 3: a run failed; enginescope explain 3 says which cases count")
    return status if isinstance(status, int) else 0


def _drop_output() -> None:
    """Send the rest of standard output nowhere: flushed at exit, it would fail once more."""
    with contextlib.suppress(OSError, AttributeError):  # it has no file of its own, or is closed
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _say(error: EnginescopeError) -> None:
    if isinstance(error, MissingDependencyError):  # in one line: what is missing, how to get it
        why = f" ({error.why})" if error.why else ""
        hint = f"; try: {error.hint}" if error.hint else ""
        print(f"enginescope: {error.what}{why}{hint}", file=sys.stderr)
        return
    for label, text in (("enginescope", error.what), ("  why", error.why), ("  try", error.hint)):
        if text:
            print(f"{label}: {text}", file=sys.stderr)


_HANDLER = "enginescope.plain_signs"
#: One for one, so that columns stay below each other.
_PLAIN = str.maketrans("…×·÷−—–±→µ°─│┊┤├└•◆✗▁▂▃▄▅▆▇█", "~x-/---~>u -|:|+`*#x.:-=+*%#")


def with_ascii_fallback(stream: TextIO | None) -> None:
    """Have a stream write what it cannot encode as the ASCII sign most like it, else as ``?``."""
    if isinstance(stream, io.TextIOWrapper):  # not where the caller closed or replaced it
        stream.reconfigure(errors=_HANDLER)


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end].translate(_PLAIN)
    return signs.encode("ascii", "replace").decode("ascii"), error.end


codecs.register_error(_HANDLER, _plain)
