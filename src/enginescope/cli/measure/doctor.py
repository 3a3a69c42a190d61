"""``enginescope doctor``: what this machine can measure with, and what difference it finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from enginescope.cli.comparison import continue_option, rounds_option
from enginescope.cli.options import DURATION_MS, DURATION_S, PATH, Finite, option, page_options
from enginescope.cli.process_options import input_options, on_option, stored_options
from enginescope.cli.report_output import print_data
from enginescope.cli.verb import refuse_typed, verb
from enginescope.core.errors import UsageError
from enginescope.core.units import format_bytes
from enginescope.judge.comparison.looks import FLOOR_ROUNDS, LOOKS
from enginescope.records.environment import Device

if TYPE_CHECKING:
    from enginescope.services.measurement.doctor import Capability, Diagnosis
    from enginescope.store.location import StorePlace

_HOW = "to get it"
_SELF_TEST = "enginescope doctor --self-test MODEL"


@verb(
    "doctor",
    "Show usable backends and what to install",
    "enginescope doctor",
    "Measure the smallest difference that this machine can detect",
    "enginescope doctor --noise model.onnx",
)
@click.argument("model", required=False, type=PATH)
@option(
    "--noise is_noise",
    "Compare MODEL with itself: measure the smallest difference this machine can detect.",
    is_flag=True,
)
@option(
    "--self-test is_self_test",
    "Compare MODEL with itself: measure false verdicts and the smallest difference found.",
    is_flag=True,
)
@on_option("Backend to measure on.  [default: ort-cpu; trt for an engine]", "on")
@input_options
@rounds_option(f"{FLOOR_ROUNDS}; {LOOKS[-1]} with --self-test", when=" of each comparison")
@option(
    "--threshold threshold_pct",
    "Ignore smaller differences with --self-test.  [default: 1]",
    Finite(0, 100, min_open=True),
    metavar="PERCENT",
)
@option("--duration", "Measuring time per process.  [default: 1s]", DURATION_MS)
@option(
    "--max-time max_time_s",
    "Maximum total time; measures fewer rounds if needed.  [default: 2min with --self-test]",
    DURATION_S,
)
@continue_option("the newest --noise of the same job")
@page_options
@stored_options
def command(is_noise: bool, is_self_test: bool, **options: Any) -> int:
    """Report what this machine can measure, and what to install for the rest.

    With --noise, enginescope compares MODEL, or a small sample, with itself. The rounds interleave
    fresh processes. `compare` and `bench --compare` use the recorded noise floor. With --self-test,
    it repeats such comparisons, and draws more of them with a planted difference. doctor shows the
    result with its age.
    """
    if is_noise and is_self_test:
        raise UsageError("--noise and --self-test exclude each other")
    if is_noise:
        from enginescope.cli.measure.noise_tests import noise

        refuse_typed("without --self-test", "threshold_pct", hint=_SELF_TEST)
        return noise(options)
    if is_self_test:
        from enginescope.cli.measure.noise_tests import self_test

        refuse_typed("with --self-test", "continues", hint="a new self-test measures new rounds")
        return self_test(options)
    refuse_typed("without --noise or --self-test", but=("store_folder", "as_json"), hint=_SELF_TEST)
    _diagnose(options["as_json"], options["store_folder"])
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
    for headers, parts, whole in (
        (("backend", "usable", ""), diagnosis.backends, ()),
        # a command that is broken over two lines cannot be copied
        (("extra", "there", "for"), diagnosis.extras, (_HOW,)),
        (("plug-in", "usable", ""), diagnosis.plugins, ()),
    ):
        if parts:
            print()
            show(table((*headers, _HOW), _rows(parts), whole=whole))
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
    host = found.environment.host
    cores = f"{host.cores_usable} of {host.cores_logical} cores usable"
    place = f" · in {host.container}" if host.container else ""
    print(f"{host.cpu_model or 'unknown CPU'} · {cores} · {format_bytes(host.memory_bytes)}{place}")
    known = {True: "on", False: "off", None: "not visible"}
    print(
        f"governor {host.governor or 'not visible'} · boost {known[host.boost]} · "
        f"SMT {known[host.smt]} · load {host.load_1min or 0:.2f}"
    )
    loop = "native" if found.loop.usable else f"Python: {found.loop.detail}; {found.loop.hint}"
    print(f"timer {found.timer_resolution_ms * 1e6:.0f} ns · timing loop {loop}")
    for device in found.environment.devices:
        memory = f"{format_bytes(device.memory_bytes)}{_clocks(device)}"
        print(f"{device.name} · driver {device.driver} · {memory}")
    if not found.environment.devices:
        print("no NVIDIA GPU seen")


def _rows(parts: tuple[Capability, ...]) -> list[tuple[str, ...]]:
    return [(one.name, "yes" if one.usable else "no", one.detail, one.hint or "") for one in parts]


def _clocks(device: Device) -> str:
    parts = (("SM", device.max_sm_clock_mhz), ("memory", device.max_memory_clock_mhz))
    known = [f"{part} {mhz:,} MHz" for part, mhz in parts if mhz is not None]
    most = f" · at most {', '.join(known)}" if known else ""
    return f"{most} · locked: {device.clock_lock}" if device.clock_lock else most
