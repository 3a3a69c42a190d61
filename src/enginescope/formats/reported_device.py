"""The GPU that a tool says it ran on."""

from __future__ import annotations

from collections.abc import Mapping

from enginescope.formats.log_facts import number, size_bytes
from enginescope.records.environment import Device


def device_of(facts: Mapping[str, str]) -> Device | None:
    """Return the device of a ``Device Information`` section, or ``None`` if it names none."""
    name = facts.get("Selected Device")
    if not name:
        return None
    units = number(facts.get("SMs", ""))
    return Device(
        name=name,
        uuid=facts.get("Selected Device UUID") or None,
        compute_capability=facts.get("Compute Capability") or None,
        memory_bytes=size_bytes(facts.get("Device Global Memory", "")),
        sm_count=int(units) if units is not None and 0 < units < 2**31 else None,
    )
