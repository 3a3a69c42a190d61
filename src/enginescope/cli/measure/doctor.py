"""``enginescope doctor``: what this machine can measure with, and what difference it finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from enginescope.cli.compare_options import rounds_option
from enginescope.cli.options import DURATION_MS, FILE, PATH, Finite, option
from enginescope.cli.process_options import input_options, on_option, stored_options
from enginescope.cli.report_output import print_data
from enginescope.cli.verb import verb
from enginescope.core.errors import UsageError
from enginescope.judge.comparison.detection import MOST_ROUNDS
from enginescope.judge.comparison.ratio import LOOKS
from enginescope.records.environment import Device, Host

if TYPE_CHECKING:
    from enginescope.services.measurement.doctor import Capability, Diagnosis
    from enginescope.store.location import StorePlace

_HOW = "to get it"
#: Parameters that ask for a self-test -> how they are written.
_OF_SELF_TEST = {
    "model": "MODEL",
    "backend": "--on",
    "shapes": "--shape",
    "dims": "--dim",
    "batch": "--batch",
    "rounds": "--rounds",
    "threshold_pct": "--threshold",
    "duration": "--duration",
    "max_time": "--max-time",
    "tags": "--tag",
    "markdown": "--markdown",
    "html": "--html",
}


@verb(
    "doctor",
    "Show usable backends and what to install",
    "enginescope doctor",
    "Measure how small a difference this machine finds",
    "enginescope doctor --self-test model.onnx --max-time 2min",
)
@click.argument("model", required=False, type=PATH)
@option(
    "--self-test",
    "is_self_test",
    is_flag=True,
    help="Compare MODEL with itself: measure false verdicts and the smallest difference found.",
)
@on_option("Backend of --self-test.  [default: ort-cpu; trt for an engine]")
@input_options
@rounds_option(LOOKS[-1], MOST_ROUNDS, " of each comparison")
@option(
    "--threshold",
    "threshold_pct",
    type=Finite(0, 100, min_open=True),
    metavar="PERCENT",
    help="Ignore smaller differences.  [default: 1]",
)
@option("--duration", type=DURATION_MS, help="Measuring time per process.  [default: 1s]")
@option("--max-time", type=DURATION_MS, help="Time limit of --self-test.  [default: 2min]")
@option("--markdown", type=FILE, help="Write the tables of --self-test as Markdown to FILE.")
@option("--html", type=FILE, help="Write the page of --self-test to FILE.")
@stored_options
def command(
    is_self_test: bool, as_json: bool, store_folder: StorePlace | None, **options: Any
) -> int:
    """Report what this machine can measure, and what to install for the rest.

    With --self-test, enginescope compares MODEL, or a small sample, with itself for --max-time.
    It then draws comparisons from the measured rounds, with a planted difference. The result is
    stored, and doctor shows it with its age.
    """
    if is_self_test:
        from enginescope.cli.measure.self_test import self_test

        return self_test({**options, "as_json": as_json, "store_folder": store_folder})
    for name, flag in _OF_SELF_TEST.items():
        if options[name]:
            raise UsageError(
                f"{flag} without --self-test", hint="enginescope doctor --self-test MODEL"
            )
    _diagnose(as_json, store_folder)
    return 0


def _diagnose(as_json: bool, store: StorePlace | None) -> None:
    from enginescope.cli.messages import warn
    from enginescope.render.base.text import hint_lines, show, table
    from enginescope.services.measurement.doctor import diagnose

    diagnosis = diagnose(store, lambda text: warn(f"enginescope: {text}"))
    if as_json:
        print_data(diagnosis)
        return
    _print_machine(diagnosis)
    print()
    show(table(("backend", "usable", "", _HOW), _rows(diagnosis.backends)))
    print()
    # a command that is broken over two lines cannot be copied
    show(table(("extra", "there", "for", _HOW), _rows(diagnosis.extras), whole=(_HOW,)))
    print()
    _print_self_tests(diagnosis)
    if diagnosis.hints:
        print()
        show(hint_lines(diagnosis.hints))


def _print_self_tests(diagnosis: Diagnosis) -> None:
    from enginescope.render.self_test.self_test_answer import recorded_line

    for test in diagnosis.self_tests:
        print(recorded_line(test))
    if not diagnosis.self_tests:
        print("no self-test of this machine; enginescope doctor --self-test")


def _print_machine(found: Diagnosis) -> None:
    from enginescope.core.units import format_bytes

    host = found.environment.host
    cores = f"{host.cores_usable} of {host.cores_logical} cores usable"
    place = f" · in {host.container}" if host.container else ""
    print(f"{host.cpu_model or 'unknown CPU'} · {cores} · {format_bytes(host.memory_bytes)}{place}")
    print(_processor(host))
    loop = "native" if found.loop.usable else f"Python: {found.loop.detail}; {found.loop.hint}"
    print(f"timer {found.timer_resolution_ms * 1e6:.0f} ns · timing loop {loop}")
    for device in found.environment.devices:
        print(
            f"{device.name} · driver {device.driver} · {format_bytes(device.memory_bytes)}"
            f"{_clocks(device)}"
        )
    if not found.environment.devices:
        print("no NVIDIA GPU seen")


def _rows(parts: tuple[Capability, ...]) -> list[tuple[str, ...]]:
    return [(one.name, "yes" if one.usable else "no", one.detail, one.hint or "") for one in parts]


def _processor(host: Host) -> str:
    known = {True: "on", False: "off", None: "not visible"}
    return (
        f"governor {host.governor or 'not visible'} · boost {known[host.boost]} · "
        f"SMT {known[host.smt]} · load {host.load_1min or 0:.2f}"
    )


def _clocks(device: Device) -> str:
    parts = (("SM", device.max_sm_clock_mhz), ("memory", device.max_memory_clock_mhz))
    known = [f"{part} {mhz:,} MHz" for part, mhz in parts if mhz is not None]
    most = f" · at most {', '.join(known)}" if known else ""
    return f"{most} · locked: {device.clock_lock}" if device.clock_lock else most
