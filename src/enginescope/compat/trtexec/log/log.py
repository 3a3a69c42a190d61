"""Lines of a log as trtexec has them.

The section on the GPU, and the version line after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Literal, NamedTuple

from enginescope.compat.trtexec.arguments import Version
from enginescope.records.environment import Device

Level = Literal["I", "W", "E", "V"]
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class Line(NamedTuple):
    """One message.

    Attributes:
        level: Warnings and errors go to standard error, the others to standard output.
        text: May hold line feeds: only the first line gets the prefix, as in trtexec's own log.
    """

    level: Level
    text: str


def info(*texts: str) -> tuple[Line, ...]:
    """Return messages of level I."""
    return tuple(Line("I", text) for text in texts)


def warning(*texts: str) -> tuple[Line, ...]:
    """Return messages of level W."""
    return tuple(Line("W", text) for text in texts)


def error(*texts: str) -> tuple[Line, ...]:
    """Return messages of level E."""
    return tuple(Line("E", text) for text in texts)


def printed(line: Line, now: datetime) -> str:
    """Return a message with its prefix."""
    return f"[{now:%m/%d/%Y-%H:%M:%S}] [{line.level}] {line.text}"


def status(word: str, version: Version, command: Iterable[str]) -> str:
    """Return a ``&&&& RUNNING``, ``PASSED`` or ``FAILED`` line, which has no prefix."""
    build = f" [b{version.build}]" if version.major >= 9 and version.build is not None else ""
    typed = on_one_line(" ".join(command))
    return f"&&&& {word} TensorRT.trtexec [TensorRT v{version.number}]{build} # {typed}"


def number(value: float) -> str:
    """Return a number as a C++ stream prints it: six significant digits."""
    return f"{value:.6g}"


def enabled(value: bool) -> str:  # noqa: FBT001 - the word for a switch
    """Return ``Enabled`` or ``Disabled``."""
    return "Enabled" if value else "Disabled"


def on_one_line(text: str) -> str:
    r"""Return `text` with its control characters written out: a name must not end a line."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def device_lines(
    devices: Sequence[Device], selected: Device | None, index: int, version: Version
) -> tuple[Line, ...]:
    """Return the facts that are known; what is not known has no line.

    Args:
        devices: All that are there.
        selected: The one CUDA calls `index`.
    """
    lists_all = version.at_least(9)
    texts = ["=== Device Information ==="]
    if lists_all:
        texts.append("Available Devices: ")
        texts += [
            f'  Device {place}: "{one.name}" UUID: {one.uuid or ""}'
            for place, one in enumerate(devices)
        ]
    if selected is not None:
        texts += _selected(selected, index, lists_all=lists_all)
    return info(*texts, "", f"TensorRT version: {version}")


def _selected(device: Device, index: int, *, lists_all: bool) -> Iterator[str]:
    yield f"Selected Device: {device.name}"
    if lists_all:
        yield f"Selected Device ID: {index}"
        if device.uuid is not None:
            yield f"Selected Device UUID: {device.uuid}"
    if device.compute_capability is not None:
        yield f"Compute Capability: {device.compute_capability}"
    if device.sm_count is not None:
        yield f"SMs: {device.sm_count}"
    if device.memory_bytes is not None:
        yield f"Device Global Memory: {device.memory_bytes // 2**20} MiB"
    if device.shared_per_sm_bytes is not None:
        yield f"Shared Memory per SM: {device.shared_per_sm_bytes // 2**10} KiB"
    if device.memory_bus_bits is not None and device.has_ecc is not None:
        ecc = "enabled" if device.has_ecc else "disabled"
        yield f"Memory Bus Width: {device.memory_bus_bits} bits (ECC {ecc})"
    if device.clock_mhz is not None and device.memory_clock_mhz is not None:
        yield f"Application Compute Clock Rate: {number(device.clock_mhz / 1e3)} GHz"
        yield f"Application Memory Clock Rate: {number(device.memory_clock_mhz / 1e3)} GHz"
        yield ""
        yield (
            "Note: The application clock rates do not reflect the actual clock rates that the GPU "
            "is currently running at."
        )
