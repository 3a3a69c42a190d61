"""How a session issues its requests: what was asked for, with every default filled in."""

from __future__ import annotations

import msgspec

from enginescope.core.errors import UsageError
from enginescope.model.job import Mode


def resolved(asked: Mode) -> Mode:
    """Return `asked` with defaults: copies, spinning waits, one stream; graphs stay open.

    Raises
    ------
    UsageError
        What only makes sense where queries overlap was asked of the latency mode.
    """
    kind = asked.kind or "latency"
    streams = asked.streams or 1
    if kind == "latency" and streams > 1:
        raise UsageError(
            f"{streams} streams in latency mode",
            why="it has one request in flight",
            hint="--mode throughput",
        )
    return msgspec.structs.replace(
        asked,
        kind=kind,
        in_flight=1 if kind == "latency" else asked.in_flight or 2,
        transfers=True if asked.transfers is None else asked.transfers,
        spin_wait=True if asked.spin_wait is None else asked.spin_wait,
        streams=streams,
        cold=bool(asked.cold),
        rotate=asked.rotate or 1,
    )
