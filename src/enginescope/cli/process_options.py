"""Options of verbs that measure: what jobs do, and what they ask of machine and GPU."""

import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, TypeVar, cast

import click

from enginescope.cli.completion import complete_backends
from enginescope.cli.options import (
    COUNT,
    COUNT_OR_DURATION,
    DURATION_MS,
    DURATION_S,
    EXISTING,
    FILE,
    FROM_0,
    INPUT,
    PATH,
    RANGE,
    SHAPE,
    Finite,
    Items,
    Parsed,
    add_options,
    dims_option,
    json_option,
    option,
    page_options,
    parse_span_ms,
    store_option,
    tags_option,
)
from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.core.units import parse_ranges
from enginescope.records.run import job
from enginescope.services.declared import EXISTING_FILE, Declared, declared
from enginescope.store.location import without_password

F = TypeVar("F", bound=Callable[..., Any])
Q = TypeVar("Q", bound=Record)


def on_option(text: str, name: str = "backend") -> Callable[[F], F]:
    """Add ``--on``, whose help is `text`."""
    return option(f"--on {name}", text, shell_complete=complete_backends)


def declared_options(request: type[Record]) -> Callable[[F], F]:
    """Add an option for each declared field of a request, unless other options give it."""
    known = (field for field in declared(request) if field.param.has_flag)
    return add_options(*(_declared_option(field) for field in known if not field.is_required))


def _declared_option(field: Declared) -> Callable[[F], F]:
    param, text = field.param, field.param.text
    settings: dict[str, Any] = {"metavar": param.metavar, "heading": param.heading}
    settings |= {"is_flag": True} if field.is_a(bool) else {"kind": _type_of(field)}
    if "/" in field.flag:
        settings |= {"default": field.default, "show_default": False}
    if field.is_a(Mapping) or (field.is_a(Sequence) and param.read is None):
        settings["multiple"], text = True, f"{text.removesuffix('.')}; repeat for several."
    elif field.default not in (None, ()) and field.default is not False and "/" not in field.flag:
        settings["default"] = field.default
    if field.flag in ("--on", "--baseline"):
        settings["shell_complete"] = complete_backends
    usual = f"  [default: {param.usual}]" if param.usual else ""
    return option(f"{field.flag} {field.name}", text + usual, **settings)


def _type_of(field: Declared) -> click.ParamType:  # type: ignore[type-arg]
    param, is_open = field.param, field.param.above is not None
    if param.read is not None:
        return Parsed(param.metavar or "TEXT", param.read)
    if field.choices:
        return click.Choice(field.choices)
    if field.is_a(PathLike):
        usual = FILE if param.is_written else PATH
        return EXISTING if param.metavar == EXISTING_FILE else usual
    if field.is_a(str):
        return click.STRING
    if field.is_a(int):
        return click.IntRange(*cast("tuple[int | None, int | None]", (param.least, param.most)))
    if field.name.endswith("_ms"):
        return DURATION_MS
    if field.name.endswith("_s"):
        return DURATION_S
    return Finite(param.above if is_open else param.least, param.most, min_open=is_open)


def request_of(request: Callable[..., Q], options: Mapping[str, Any], /, **others: Any) -> Q:
    """Return a request with the options that have the names of its fields, and `others`.

    Options that have the names of other fields of a `Workload` are its inputs.
    """
    fields = cast("type[Record]", request).__struct_fields__
    inputs = {*options} & {*job.Workload.__struct_fields__} - {*fields}
    stop = job.StopRule(iterations=options.get("iterations"), duration_ms=options.get("duration"))
    timeout_ms = options.get("timeout")
    values = {
        **{name: options[name] for name in fields if options.get(name) is not None},
        "workload": job.Workload(**{name: options[name] for name in inputs}, stop=stop),
        "limits": job.Limits(timeout_s=timeout_ms / 1e3) if timeout_ms else None,
        **stored_fields(options),
    }
    return request(**{name: value for name, value in values.items() if name in fields} | others)


shape_option = option(
    "--shape shapes", "Set the shape of an input; repeat for several.", SHAPE, multiple=True
)
batch_option = option("--batch", "Set the size of dynamic first dimensions.", Items())
range_option = option(
    "--range ranges", "Bounds of random integers for an input.", RANGE, multiple=True
)
file_option = option(
    "--input files",
    "Read the values of an input from an npy, npz, raw or ONNX .pb file.",
    INPUT,
    multiple=True,
)
warmup_option = option(
    "--warmup",
    "Warm up for at least this time or count, until steady; 0 skips it.  [default: 200ms]",
    COUNT_OR_DURATION,
    multiple=True,
)
seed_option = option(
    "--seed", "Seed for all that is random, such as inputs and order.", FROM_0, default=0
)
#: Add the options that set the shapes of inputs.
input_options = add_options(shape_option, dims_option, batch_option)
#: Add what a verb has that issues requests as it is told.
request_options = add_options(input_options, file_option, range_option, seed_option, warmup_option)
#: Add tags and place of the runs that are stored, and ``--json``.
stored_options = add_options(tags_option, store_option, json_option)
#: Add what every verb has that reports on rounds of fresh processes, but for declared options.
report_options = add_options(
    option("--timeout", "Time limit per process.  [default: 10min]", DURATION_MS),
    page_options,
    stored_options,
)
#: Add `report_options`, and the file of the main table.
table_report_options = add_options(
    option("--csv", "Write the main table of the result as CSV to FILE.", FILE), report_options
)
_stop_options = add_options(
    seed_option,
    option("--iterations", "Time exactly this many iterations in each process.", COUNT),
    option("--duration", "Time each process for this long.  [default: 1s]", DURATION_MS),
)
#: Add what every verb has that times a model in rounds, with one batch.
timing_options = add_options(input_options, _stop_options, report_options)
#: Add what every verb has that searches.
search_options = add_options(shape_option, dims_option, _stop_options, table_report_options)


def rounds_end_options(function: F) -> F:
    """Add the options that end all rounds early, and that continue those in the store."""
    from enginescope.services.measurement.jobs import MeasureRequest  # loads NumPy

    return declared_options(MeasureRequest)(function)


def picked(options: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the fields of a request that have the names of options."""
    return {name: options[name] for name in names}


def stored_fields(options: Mapping[str, Any]) -> dict[str, Any]:
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


_LOCK_CLOCKS = "--lock-clocks"
_CLOCK = re.compile(r"(base|max)|([1-9]\d{0,4})(?:\s*mhz)?", re.IGNORECASE)
#: Warmer than any GPU lets itself become.
_WARMEST_C = 120.0


def parse_clock(text: str) -> int | str:
    """Return ``base``, ``max``, or MHz."""
    found = _CLOCK.fullmatch(text.strip())
    if not found:
        raise UsageError(f"{text!r} is not a clock", hint="base, max, or MHz: 1305")
    return found[1].lower() if found[1] else int(found[2])


def parse_cooldown(text: str) -> job.Cooldown:
    """Return ``60`` or ``60,2min``: degrees Celsius, and how long to wait at most."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*°?c?(?:,(.+))?", text.strip(), re.IGNORECASE)
    if not found or not 0 < float(found[1]) <= _WARMEST_C:
        raise UsageError(f"{text!r} is not TEMP[,LIMIT]", hint="degrees Celsius: 60, or 60,2min")
    limit = {"limit_s": parse_span_ms(found[2]) / 1e3} if found[2] else {}
    return job.Cooldown(temperature_c=float(found[1]), **limit)


def parse_pin(text: str) -> tuple[int, ...]:
    """Return ``0,2-4`` as numbers of logical processors."""
    try:
        return parse_ranges(text)
    except ValueError:
        raise UsageError(f"{text!r} is not a list of cores", hint="as in 0,1 or 0,2-4") from None


#: Add what is asked of the machine.
machine_options = add_options(
    option(
        f"{_LOCK_CLOCKS} clock",
        "Lock the GPU clocks while jobs run, and reset them after. Needs root.  [default: base]",
        Parsed("[base|max|MHZ]", parse_clock),
    ),
    option(
        "--cooldown",
        "Wait before each job until the GPU cools to TEMP °C, at most LIMIT.  "
        "[default limit: 3min]",
        Parsed("TEMP[,LIMIT]", parse_cooldown),
    ),
    option(
        "--pin pinned_cores", "Pin jobs to these cores: 0,1 or 0,2-4.", Parsed("CORES", parse_pin)
    ),
)


def with_clock_named(arguments: Sequence[str]) -> list[str]:
    """Return arguments in which ``--lock-clocks`` has a value, so that none is taken for one."""
    found = list(arguments)
    for at, one in enumerate(found):
        follows = found[at + 1] if at + 1 < len(found) else ""
        if one == _LOCK_CLOCKS and not _CLOCK.fullmatch(follows):
            found[at] = f"{_LOCK_CLOCKS}=base"
    return found


def conditions_of(options: dict[str, Any]) -> job.Conditions:
    """Return what the options ask of the machine while a job runs."""
    return job.Conditions(pinned_cores=options["pinned_cores"] or (), cooldown=options["cooldown"])


#: Add what is sampled of the GPU.
telemetry_options = add_options(
    option(
        "--telemetry/--no-telemetry",
        "Record power, energy, clocks, memory and temperature of the GPU in a separate pass.",
        default=None,
        show_default=False,
    ),
    option("--telemetry-time", "Duration of the telemetry pass.  [default: 20s]", DURATION_MS),
    option(
        "--gpu-sample-interval",
        "Time between two telemetry samples.  [default: 100ms]",
        DURATION_MS,
    ),
)


def telemetry_of(options: dict[str, Any]) -> job.TelemetryRule:
    """Return the rule that the options describe."""
    wanted, time_ms = options["telemetry"], options["telemetry_time"]
    interval_ms = options["gpu_sample_interval"]
    for given, flag in ((time_ms, "--telemetry-time"), (interval_ms, "--gpu-sample-interval")):
        if given is not None and not wanted:
            raise UsageError(flag, why="there is no telemetry pass", hint="--telemetry")
    usual = job.TelemetryRule()
    return job.TelemetryRule(
        depth="full" if wanted else "clock" if wanted is None else "off",
        duration_ms=time_ms or usual.duration_ms,
        interval_ms=interval_ms or usual.interval_ms,
    )
