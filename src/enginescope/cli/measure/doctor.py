"""``enginescope doctor``: what this machine can measure with."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from enginescope.cli.options import json_option
from enginescope.cli.verb import Verb
from enginescope.records.environment import Device, Host

if TYPE_CHECKING:
    from enginescope.services.measurement.doctor import Capability, Diagnosis

_HOW = "to get it"


@click.command(
    "doctor",
    cls=Verb,
    examples=(
        ("Show usable backends and what to install", "enginescope doctor"),
        ("Store the machine's facts for a bug report", "enginescope doctor --json"),
    ),
)
@json_option
def command(as_json: bool) -> None:
    """Report what this machine can measure, and what to install for the rest."""
    from enginescope.core.jsonio import encode
    from enginescope.render.base.text import hint_lines, show, table
    from enginescope.services.measurement.doctor import doctor

    found = doctor()
    if as_json:
        sys.stdout.buffer.write(encode(found))
        return
    _print_machine(found)
    print()
    show(table(("backend", "usable", "", _HOW), _rows(found.backends)))
    print()
    # a command that is broken over two lines cannot be copied
    show(table(("extra", "there", "for", _HOW), _rows(found.extras), whole=(_HOW,)))
    if found.hints:
        print()
        show(hint_lines(found.hints))


def _print_machine(found: Diagnosis) -> None:
    from enginescope.core.units import format_bytes

    host = found.environment.host
    cores = f"{host.cores_usable} of {host.cores_logical} cores usable"
    place = f" · in {host.container}" if host.container else ""
    print(f"{host.cpu_model or 'unknown CPU'} · {cores} · {format_bytes(host.memory_bytes)}{place}")
    print(_processor(host))
    print(f"timer {found.timer_resolution_ms * 1e6:.0f} ns")
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
