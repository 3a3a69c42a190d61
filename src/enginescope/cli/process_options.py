"""Options of verbs that measure, and the fields of requests that they give."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from enginescope.cli.completion import complete_backends
from enginescope.cli.options import (
    COUNT,
    DURATION_MS,
    SHAPE,
    Items,
    add_options,
    count_option,
    dims_option,
    json_option,
    option,
    page_options,
    store_option,
    tags_option,
)
from enginescope.core.errors import UsageError
from enginescope.records.run.job import Limits, StopRule, Workload
from enginescope.store.location import without_password

F = TypeVar("F", bound=Callable[..., Any])


def on_option(text: str, *, several: bool = False, default: str | None = None) -> Callable[[F], F]:
    """Add ``--on``, whose help is `text`; it may be repeated for `several` backends."""
    return option(
        "--on",
        "backends" if several else "backend",
        multiple=several,
        default=default,
        shell_complete=complete_backends,
        help=text,
    )


shape_option = option(
    "--shape",
    "shapes",
    multiple=True,
    type=SHAPE,
    help="Set the shape of an input; repeat for several.",
)
batch_option = option("--batch", type=Items(), help="Set the size of dynamic first dimensions.")
timeout_option = option(
    "--timeout", type=DURATION_MS, help="Time limit per process.  [default: 10min]"
)
#: Add the options that set the shapes of inputs.
input_options = add_options(shape_option, dims_option, batch_option)
#: Add the options that end the timed loop of each process.
stop_options = add_options(
    option("--iterations", type=COUNT, help="Time exactly this many iterations in each process."),
    option("--duration", type=DURATION_MS, help="Time each process for this long.  [default: 1s]"),
)
#: Add the options that end all rounds early, and that go on from those in the store.
rounds_end_options = add_options(
    option(
        "--max-time", type=DURATION_MS, help="Maximum total time; measures fewer rounds if needed."
    ),
    option(
        "--continue",
        "continues",
        is_flag=True,
        help="Continue the newest rounds of the same jobs in the store.",
    ),
)
#: Add tags and place of the runs that are stored, and ``--json``.
stored_options = add_options(tags_option, store_option, json_option)
#: Add what every verb has that reports on rounds of fresh processes.
report_options = add_options(timeout_option, page_options, rounds_end_options, stored_options)


def rounds_option(text: str) -> Callable[[F], F]:
    """Add ``--rounds`` of a verb whose rounds all count, with `text` as its help."""
    from enginescope.services.measurement.jobs import ROUNDS

    return count_option("--rounds", ROUNDS, text)


def process_workload(options: dict[str, Any]) -> Workload:
    """Return the workload of each process, timed for a second unless the options say otherwise."""
    from enginescope.services.measurement.interleaved import paced_workload

    return paced_workload(
        Workload(
            batch=options.get("batch"),
            seed=options["seed"],
            shapes=options["shapes"],
            dims=options["dims"],
            stop=StopRule(iterations=options["iterations"], duration_ms=options["duration"]),
        )
    )


def process_fields(options: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the fields of a `MeasureRequest`, but for its workload, and those of these names."""
    limits = Limits(timeout_s=options["timeout"] / 1e3) if options["timeout"] else None
    most_ms = options.get("max_time")
    return {
        **picked(options, *names),
        "process_limits": limits,
        "continues": options.get("continues", False),
        "max_time_s": most_ms and most_ms / 1e3,
        **stored_fields(options),
    }


def picked(options: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the fields of a request that have the names of options."""
    return {name: options[name] for name in names}


def stored_fields(options: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a request that say how its runs are stored."""
    return {
        "tags": options.get("tags", ()),
        "store": options["store_folder"],
        "command": command_line(),
    }


def command_line() -> str:
    """Return the command line as it was typed, for repeating it; without passwords."""
    typed = shlex.join(["enginescope", *sys.argv[1:]])
    try:
        typed.encode()
    except UnicodeEncodeError as error:
        what = f"the command line {typed!a}"
        raise UsageError(what, why="it is not UTF-8", hint="rename the file") from error
    return without_password(typed)
