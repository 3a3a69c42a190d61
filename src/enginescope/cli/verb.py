"""A verb: its help under headings, examples, flags in its errors, exit codes, and how it ends."""

import re
import signal
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

import click

from enginescope.cli.messages import level_options, warn
from enginescope.core.errors import EnginescopeError, UsageError

#: Heading -> long flags, in the order of the help page.
HEADINGS = {
    "Model and inputs": (
        *("on", "engines", "image", "gt", "metric-images-dir", "metric-gt-dir", "input-size"),
        *("shape", "input-shape", "dim", "batch", "input", "range", "data", "images", "targets"),
        *("task", "random", "samples", "seed", "reference", "map", "profile-index"),
        *("image-input", "image-size", "image-fit", "image-filter", "image-colors", "layout"),
        *("normalize", "image-divisor", "image-mean", "image-std", "output-name", "disparity"),
        *("gt-scale", "min-depth", "max-depth", "model", "include", "exclude", "name", "init"),
        *("list", "outcome", "profile", "metadata", "build-metadata", "plan-profile", "onnx"),
        *("build-log", "config", "layers", "trtexec-args", "rebuild", "without", "only", "check"),
        *("jsonl", "python", "outputs", "environment", "mode", "profile-mode", "old", "new"),
        *("self-test", "noise", "reproduce", "sweep", "weight", "check-only", "routes", "share"),
        *("search", "package", "memory", "fits", "gpu"),
    ),
    "Load": (
        *("rate", "arrivals", "trace", "queries", "concurrency", "slo", "find-max", "resolution"),
        *("scenario", "samples-per-query"),
    ),
    "Build": (
        *("min-shape", "opt-shape", "max-shape", "option", "plugin", "memory-pool"),
        *("version-compatible", "exclude-lean-runtime", "refit", "strip-plan", "weight-streaming"),
        *("strongly-typed", "workspace", "builder-optimization-level", "hardware-compatibility"),
        *("timing-cache", "calibration-cache", "profiling-verbosity", "tactic-sources"),
        "profiles",
    ),
    "Stopping": (
        *("warmup", "iterations", "duration", "precision", "max-time", "min-samples"),
        *("timeout", "retries", "retry-failed", "retry-busy", "fail-fast", "processes", "rounds"),
        *("builds", "visits", "requests", "repeats", "seconds", "proposals"),
    ),
    "GPU": (
        *("gpu-id", "graph", "transfers", "spin", "streams", "idle", "cold", "rotate"),
        *("decode", "lock-clocks", "cooldown", "telemetry", "telemetry-time"),
        "gpu-sample-interval",
    ),
    "Machine": (
        *("pin", "loop", "memory-limit", "jobs", "on-ray", "in-docker", "host", "port"),
        *("certificate", "key"),
    ),
    "Comparing": (
        *("compare", "continue", "threshold", "across", "baseline", "max-regression", "metric"),
        *("inconclusive", "confidence", "tolerance", "rtol", "atol", "percent-mismatch", "percent"),
        *("allow-nothing-compared", "align", "bisect", "suggest-precision", "marks", "select"),
        *("ignore", "level", "session", "last", "mine", "gain", "max-error"),
    ),
    "Store": (
        *("tag", "commit", "store", "push", "suite", "token-file", "accept-push", "max-upload"),
        *("scope", "expires"),
        "yes",
    ),
    "Output": (
        *("output", "output-dir", "archive", "extract", "evidence", "without-inputs", "keep"),
        *("skip-output-save", "to", "force", "format", "limit", "topk", "open", "markdown", "html"),
        *("card", "json", "csv", "junit", "sarif", "xlsx", "netron", "model-explorer", "perfetto"),
        *("svg", "png", "passport", "raw", "top", "sort", "filter", "highlight", "fold", "regions"),
        *("constants", "color", "overlay", "beam", "all", "quiet", "verbose"),
    ),
}


class HeadedOption(click.Option):
    """An option with the heading of its help, where that is not the one of its flag."""

    def __init__(self, *arguments: Any, heading: str | None = None, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.heading = heading


def heading_of(option: click.Option) -> str:
    """Return the heading under which help lists an option."""
    if isinstance(option, HeadedOption) and option.heading:
        return option.heading
    flag = long_flag(option)
    return next((heading for heading, flags in HEADINGS.items() if flag in flags), "Output")


def long_flag(option: click.Option) -> str:
    """Return the first long flag of an option, without its dashes."""
    return next(text for text in option.opts if text.startswith("--")).removeprefix("--")


_UNIT = re.compile(r"_(pct|s|ms)$")


class _Examples(click.Command):
    """A command whose help ends with examples: what each does, and its command line."""

    def __init__(self, *arguments: Any, examples: Sequence[str] = (), **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.examples = tuple(zip(examples[::2], examples[1::2], strict=True))

    def get_help_option_names(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of the help option; click keeps those of the first context it meets."""
        return ["-h", "--help"]

    def get_short_help_str(self, limit: int = 45) -> str:  # noqa: ARG002
        """Return the first sentence of the help, whole: a list of verbs breaks it into lines."""
        return super().get_short_help_str(1_000)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples; a command line stays on one line, so that it can be copied."""
        super().format_epilog(ctx, formatter)
        if not self.examples:
            return
        with formatter.section("Examples"):
            for purpose, line in self.examples:
                margin = " " * formatter.current_indent
                formatter.write(f"{margin}# {purpose}\n{margin}{line}\n")


class Verb(_Examples):
    """A verb whose help lists its options under headings, and which has ``-q`` and ``-v``."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.params += level_options()

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb; its errors name flags: `` `max_time` `` is ``--max-time``."""
        try:
            return super().invoke(ctx)
        except EnginescopeError as error:
            error.what = self.as_flags(error.what)
            error.why = self.as_flags(error.why) if error.why else None
            error.hint = self.as_flags(error.hint) if error.hint else None
            raise

    def as_flags(self, text: str) -> str:
        """Return a text in which parameters between backquotes are flags of this verb."""
        flags = {one.name: long_flag(one) for one in self.params if isinstance(one, click.Option)}

        def flag(match: re.Match[str]) -> str:
            return f"--{flags.get(match[1]) or _UNIT.sub('', match[1]).replace('_', '-')}"

        return re.sub(r"`(\w+)`", flag, text)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, a section for each heading."""
        sections: dict[str, list[tuple[str, str]]] = {name: [] for name in HEADINGS}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and isinstance(param, click.Option):
                sections[heading_of(param)].append(record)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


def verb(
    name: str, *examples: str, cls: type[Verb] = Verb, **settings: Any
) -> Callable[[Callable[..., Any]], Verb]:
    """Declare a verb; `examples` in pairs: what an example does, and its command line."""
    return click.command(name, cls=cls, examples=examples, **settings)


class VerbOfVerbs(Verb, click.Group):
    """A verb with verbs of its own."""

    def verb(
        self, name: str, *examples: str, **settings: Any
    ) -> Callable[[Callable[..., Any]], click.Command]:
        """Declare one of its verbs, as the function `verb`."""
        return self.command(name, cls=Verb, examples=examples, **settings)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


def verb_of_verbs(
    name: str, *examples: str, **settings: Any
) -> Callable[[Callable[..., Any]], VerbOfVerbs]:
    """Declare a verb with verbs of its own, as `verb`."""
    return click.group(name, cls=VerbOfVerbs, examples=examples, **settings)


def typed() -> dict[str, str]:
    """Return the parameters on the command line: name -> as its help writes it, ``--max-time``."""
    context = click.get_current_context()
    return {
        name: f"--{long_flag(one)}" if isinstance(one, click.Option) else one.human_readable_name
        for one in context.command.params
        if one.expose_value
        and (name := one.name or "")
        and context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        and context.params[name] not in (None, ())
    }


def refuse_typed(
    where: str, *names: str, but: Collection[str] | None = None, hint: str | None = None
) -> None:
    """Raise `UsageError` where the command line has one of `names`, or any parameter not in `but`.

    The message ends with `where`: ``without --self-test``.
    """
    for name, flag in typed().items():
        if name in names or (but is not None and name not in but):
            raise UsageError(f"{flag} {where}", hint=hint)


EXIT_INTERRUPTED = 130


@contextmanager
def ending_in_order() -> Iterator[None]:
    """In this block, end by `SystemExit` with 128 + the signal's number, not on the spot.

    So that children are ended and temporary files removed. A signal that is ignored, as ``nohup``
    has it, stays so.
    """

    def leave(number: int, _frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    taken, is_main = {}, threading.current_thread() is threading.main_thread()
    for name in ("SIGTERM", "SIGHUP"):  # of timeout, CI, service managers; a closed terminal
        number = getattr(signal, name, None)  # not all on every platform
        if number is not None and signal.getsignal(number) is signal.SIG_DFL and is_main:
            taken[number] = signal.signal(number, leave)
    try:
        yield
    finally:
        for number, handler in taken.items():
            signal.signal(number, handler)


@contextmanager
def saying_what_stands(what: Callable[[], str]) -> Iterator[None]:
    """In this block, being told to end is said once, with what is kept, and ends the program."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as error:
        warn(f"enginescope: interrupted; {what()}")
        if isinstance(error, SystemExit):
            raise
        raise click.exceptions.Exit(EXIT_INTERRUPTED) from error


#: A run or a build failed, or a run is not stored.
EXIT_RUN_FAILED = 3
