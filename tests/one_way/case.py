"""One verb, asked for on the command line and from Python on the same inputs."""

import json
import shlex
import shutil
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from enginescope.cli.main import main
from enginescope.core.errors import EnginescopeError


class Case(NamedTuple):
    """Parameters of one comparison.

    Attributes:
        name: The verb first: ``"gate: nothing to compare"``.
        prepare: Writes the inputs; each way gets them at the same path, untouched by the other.
        arguments: The command line without ``--json``.
        call: The same from Python.
        data: What ``--json`` prints of such a result.
        volatile: Keys whose values differ between any two calls, such as ids, dates and measured
            times.
        status: The exit code that such a result has on the command line.
        context: Surrounds both ways, such as a stand-in for a library.
    """

    name: str
    prepare: Callable[[Path], Any]
    arguments: Callable[[Path], list[str]]
    call: Callable[[Path], Any]
    data: Callable[[Any], Any]
    volatile: frozenset[str] = frozenset()
    status: Callable[[Any], int] = lambda _result: 0
    context: Callable[[], AbstractContextManager[Any]] = nullcontext


def placed(value: Any, folder: Path) -> Any:
    """Return a value in which texts that begin with ``@/`` are paths in the folder."""
    if isinstance(value, str):
        return folder / value[2:] if value.startswith("@/") else value
    if isinstance(value, dict):
        return {key: placed(one, folder) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(placed(one, folder) for one in value)
    return value


def case(name: str, prepare, line: str, call: tuple, data, volatile: str = "", **more) -> Case:
    """Return a case of which all is text.

    Args:
        line: The command line; words that begin with ``@/`` are paths in the folder.
        call: The function, its arguments, and a dict of its options, with the same paths.
        volatile: The keys, with spaces between them.
    """
    function, *given, options = call
    return Case(
        name,
        prepare,
        lambda folder: [str(placed(word, folder)) for word in shlex.split(line)],
        lambda folder: function(*placed(given, folder), **placed(options, folder)),
        data,
        frozenset(volatile.split()),
        **more,
    )


def stored(name: str, prepare, line: str, call: tuple, data, volatile: str = "", **more) -> Case:
    """Return a case whose runs are stored in its folder."""
    call = (*call[:-1], {**call[-1], "store": "@/store"})
    return case(name, prepare, f"{line} --store @/store", call, data, volatile, **more)


class Outcome(NamedTuple):
    """What came out of one way: data or an error, the exit code, the warnings."""

    status: int
    data: Any
    error: str | None
    warnings: tuple[str, ...]


def on_the_command_line(case: Case, folder: Path, capsys: Any) -> Outcome:
    """Run the verb with ``--json``; standard error has its warnings or its error."""
    prepared(case, folder)
    capsys.readouterr()
    status = main([*case.arguments(folder), "--json", "--quiet"])
    printed = capsys.readouterr()
    data = json.loads(printed.out) if printed.out.strip() else None
    lines = printed.err.splitlines()
    first = lines[0].removeprefix("enginescope: ") if lines and data is None else None
    return Outcome(
        status, without(data, case.volatile), first and as_parameters(first), tuple(lines)
    )


def from_python(case: Case, folder: Path) -> Outcome:
    """Call the verb; an exit code follows from its result or error."""
    prepared(case, folder)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = case.call(folder)
        except EnginescopeError as error:
            return Outcome(error.exit_code, None, as_parameters(error.what), ())
    value = case.data(result)
    data = json.loads(value) if isinstance(value, bytes | str) else value
    texts = tuple(str(warning.message) for warning in caught)
    return Outcome(case.status(result), without(data, case.volatile), None, texts)


def prepared(case: Case, folder: Path) -> None:
    """Put the inputs of `case` into the folder: the same for both ways, prepared once."""
    pristine = folder.with_name(f"{folder.name}-pristine")
    if not pristine.exists():
        folder.mkdir()
        case.prepare(folder)
        shutil.copytree(folder, pristine)
    shutil.rmtree(folder)
    shutil.copytree(pristine, folder)


def without(data: Any, volatile: frozenset[str]) -> Any:
    """Return JSON data in which volatile values are replaced: they may be null in one call only."""
    if isinstance(data, dict):
        return {
            key: "volatile" if key in volatile else without(value, volatile)
            for key, value in data.items()
        }
    if isinstance(data, list):
        return [without(value, volatile) for value in data]
    return data


def as_parameters(text: str) -> str:
    """Return a message in which flags and parameters have one form, as in ``max_time``."""
    return text.replace("--", "").replace("`", "").replace("-", "_")
