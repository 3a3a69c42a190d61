"""The section on the GPU, and the version line after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from enginescope.compat.trtexec.log.log import Line, info
from enginescope.compat.trtexec.version import Version
from enginescope.records.environment import Device


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
