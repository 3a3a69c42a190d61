"""Options and parameter types that several verbs share, and the files that a verb writes."""

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from enginescope.cli.completion import complete_tags
from enginescope.cli.messages import note
from enginescope.cli.verb import HeadedOption
from enginescope.core.errors import UsageError
from enginescope.core.units import parse_bytes, parse_duration_ms
from enginescope.records.run.job import DimSize, InputFile, InputRange, InputShape
from enginescope.services.output_files import write_file
from enginescope.store.location import DatabaseUrl, parse_place
from enginescope.store.run_names import is_tag

F = TypeVar("F", bound=Callable[..., Any])
N = TypeVar("N", int, float)

COUNT = click.IntRange(1)
FROM_0 = click.IntRange(0)
PATH = click.Path(path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
FILE = click.Path(dir_okay=False, path_type=Path)
EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path)


#: Neither a dimension nor a batch beyond this fits any runtime.
MOST_ITEMS = 2**31 - 1


class Finite(click.FloatRange):
    """A number within bounds, and neither infinite nor NaN.

    NaN is neither below a bound nor above one, so that click alone lets it pass.
    """

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        found: float = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{value!r} is not a finite number", param, ctx)
        return found


ABOVE_0 = Finite(0, min_open=True)


class Items(click.IntRange):
    """A number of items above 0; help does not show the largest one, which nobody gives."""

    def __init__(self) -> None:
        super().__init__(1)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        number: int = super().convert(value, param, ctx)
        if number > MOST_ITEMS:
            self.fail(f"{value!r} is too large", param, ctx)
        return number


def option(flags: str, text: str, kind: Any = None, **settings: Any) -> Callable[[F], F]:
    """Declare an option: ``"--max-time,--limit max_time_s"``, help, and the `kind` of its value.

    Its help shows its default, unless `show_default` says otherwise.
    """
    settings.setdefault("show_default", "default" in settings)
    settings.setdefault("cls", HeadedOption)
    return click.option(*flags.replace(",", " ").split(), help=text, type=kind, **settings)


def add_options(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Return a decorator that adds options in their order."""

    def add(function: F) -> F:
        for each in reversed(options):
            function = each(function)
        return function

    return add


class Parsed(click.ParamType):  # type: ignore[type-arg]
    """A parameter read by a function that raises `UsageError`."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except UsageError as error:
            hint = f"; {error.hint}" if error.hint else ""
            return self.fail(f"{error}{hint}", param, ctx)


def parse_tag(text: str) -> str:
    """Return a tag, as the store takes it."""
    if not is_tag(text):
        hint = "a tag has no spaces or slashes, and does not start with '-' or latest"
        raise UsageError(f"{text!r} is not a tag", hint=hint)
    return text


def parse_shape(text: str) -> InputShape:
    """Return ``NAME:1x3x224x224``; the last colon splits, so names may hold colons."""
    name, colon, dims = text.rpartition(":")
    try:
        sizes = tuple(int(part) for part in dims.lower().split("x"))
    except ValueError:
        sizes = ()
    if not colon or not name or not sizes or min(sizes) < 0 or max(sizes) > MOST_ITEMS:
        raise UsageError(f"{text!r} is not NAME:DIMS", hint="as in image:1x3x224x224")
    return InputShape(name=name.strip("'"), dims=sizes)


def parse_dim(text: str) -> DimSize:
    """Return ``NAME=SIZE``; the last equals sign splits."""
    name, _, size = text.rpartition("=")
    if not name or not size.isdecimal() or not 0 <= int(size) <= MOST_ITEMS:
        raise UsageError(f"{text!r} is not NAME=SIZE", hint="as in batch=1 or seq=128")
    return DimSize(name=name, size=int(size))


def parse_input(text: str) -> InputFile:
    """Return ``NAME:FILE``; the first colon with a file behind it splits: names may hold some."""
    parts = text.split(":")
    splits = [(":".join(parts[:at]), ":".join(parts[at:])) for at in range(1, len(parts))]
    pairs = [(name, file) for name, file in splits if name and file]
    if not pairs:
        raise UsageError(f"{text!r} is not NAME:FILE", hint="as in image:cat.npy")
    for name, file in pairs:
        path = os.path.expanduser(file)  # noqa: PTH111 - Path's raises where there is no such user
        if os.path.isfile(path):  # noqa: PTH113 - Path's raises where the name is too long
            return InputFile(name=name, path=str(Path(path).resolve()))
    raise UsageError(f"input {text!r}", why=f"there is no file {pairs[0][1]}")


def parse_range(text: str) -> InputRange:
    """Return ``NAME:LOW:HIGH``, bounds included."""
    parts = text.rsplit(":", 2)
    try:
        name, low, high = parts[0], int(parts[1]), int(parts[2])
    except (IndexError, ValueError):
        raise UsageError(f"{text!r} is not NAME:LOW:HIGH", hint="as in ids:0:30521") from None
    if low > high:
        raise UsageError(f"range {text!r}", why="the lower bound is above the upper one")
    return InputRange(name=name, low=low, high=high)


def parse_count_or_duration(text: str) -> int | float:
    """Return an int for ``50``, milliseconds as a float for ``200ms``."""
    return int(text) if text.strip().isdecimal() else _finite(text, parse_duration_ms(text))


def parse_span_ms(text: str) -> float:
    """Return a duration in milliseconds that is neither nothing nor endless."""
    return _positive(text, _finite(text, parse_duration_ms(text)))


def parse_memory(text: str) -> int:
    """Return a number of bytes that is neither nothing nor endless."""
    try:
        return _positive(text, parse_bytes(text))
    except OverflowError:
        raise UsageError(f"{text!r} is too large") from None


def _finite(text: str, value: float) -> float:
    if math.isinf(value):
        raise UsageError(f"{text!r} is too large")
    return value


def _positive(text: str, value: N) -> N:
    if value <= 0:
        raise UsageError(f"{text!r} is not above 0", hint="omit the option for its default")
    return value


def parse_name(text: str) -> str:
    """Return a name without blanks around it."""
    name = text.strip()
    if not name or not name.isprintable():
        raise UsageError(f"{text!r} is not a name", why="it is empty, or more than one line")
    return name


DIM = Parsed("NAME=SIZE", parse_dim)
SHAPE = Parsed("NAME:DIMS", parse_shape)
INPUT = Parsed("NAME:FILE", parse_input)
RANGE = Parsed("NAME:LOW:HIGH", parse_range)
DURATION_MS = Parsed("DURATION", parse_span_ms)
DURATION_S = Parsed("DURATION", lambda text: parse_span_ms(text) / 1e3)
COUNT_OR_DURATION = Parsed("TIME|COUNT", parse_count_or_duration)
SIZE = Parsed("SIZE", parse_memory)
NAME = Parsed("TEXT", parse_name)


class PlaceOfStore(Parsed):
    """A folder, or the URL of a database."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a path, or a `DatabaseUrl`, which shows no password."""
        place = super().convert(value, param, ctx)
        return place if isinstance(place, DatabaseUrl) else FOLDER.convert(place, param, ctx)


store_option = option(
    "--store store_folder",
    "Folder or database of runs.  [default: $ENGINESCOPE_HOME, else the data folder]",
    PlaceOfStore("DIR|URL", parse_place),
)


def _each_once(
    _context: click.Context, param: click.Parameter, dims: tuple[DimSize, ...]
) -> tuple[DimSize, ...]:
    names = [one.name for one in dims]
    twice = next((one for one in names if names.count(one) > 1), None)
    if twice is not None:
        raise click.BadParameter(f"dimension {twice!r} has two sizes", param=param)
    return dims


dims_option = option(
    "--dim dims",
    "Set the size of a named dynamic dimension in all inputs; repeat for several.",
    DIM,
    multiple=True,
    callback=_each_once,
)
tags_option = option(
    "--tag tags",
    "Tag the stored runs; a tag collects all runs that ever got it. Repeat for more.",
    Parsed("TEXT", parse_tag),
    shell_complete=complete_tags,
    multiple=True,
)
json_option = option(
    "--json as_json",
    "Print the results as JSON on standard output, and nothing else there.",
    is_flag=True,
)


#: Add the files of an answer that people read.
page_options = add_options(
    option("--markdown", "Write the result and its tables as Markdown to FILE.", FILE),
    option("--html", "Write one HTML page to FILE.", FILE),
)

card_option = option("--card", "Write one 16:9 PNG for a slide or a chat to FILE.", FILE)


def write_output(path: Path, data: bytes) -> None:
    """Write a file that was asked for, and note it."""
    write_file(path, data)
    note(f"written: {path}")
