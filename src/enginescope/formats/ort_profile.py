"""ONNX Runtime's profiling JSON into per-node times.

Order in the file (1.16 to 1.31): session events, then for every run its node events, and a
``model_run`` last. A node's event is named ``<node>_kernel_time``; before 1.20 there are
``_fence_before`` and ``_fence_after`` events too. Durations are in microseconds.
"""

from __future__ import annotations

from statistics import fmean, median
from typing import Any

import msgspec

from enginescope.core.errors import FormatError
from enginescope.model.notice import Notice
from enginescope.model.timing import LayerTiming, Profile

_SUFFIX = "_kernel_time"
_CONTAINERS = frozenset({"If", "Loop", "Scan"})


class _Event(msgspec.Struct):
    cat: str = ""
    name: str = ""
    dur: float = 0.0
    args: dict[str, Any] = {}


def parse_ort_profile(data: bytes, source: str) -> tuple[Profile, tuple[Notice, ...]]:
    """Return the mean and median time of every node over the profiled runs.

    The first run is dropped when there are several: it allocates. A node that runs several times in
    one run, inside a loop, counts with the sum.

    Parameters
    ----------
    data : bytes
        The file.
    source : str
        Its name, for errors.

    Raises
    ------
    FormatError
        Not such a file, or no complete run in it.
    """
    runs = _split_runs(_events(data, source))
    if not runs:
        raise FormatError(source, why="no model_run event", expected="a profile of at least a run")
    notices: tuple[Notice, ...] = ()
    if len(runs) > 1:
        runs = runs[1:]
    else:
        notices = (
            Notice(
                code="W-PROFILE-FIRST-RUN",
                message="The profile holds one run only, the first, which is slower than others.",
                evidence={"runs": 1},
            ),
        )
    layers = tuple(_timing(index, key, runs) for index, key in enumerate(_order(runs)))
    return (
        Profile(
            source="onnxruntime",
            layers=layers,
            iterations=len(runs),
            whole_ms=fmean(run.whole_us for run in runs) / 1e3,
        ),
        notices,
    )


class _Run:
    """Node times of one run."""

    def __init__(self) -> None:
        self.times_us: dict[tuple[str, str | None, str | None], float] = {}
        self.whole_us = 0.0


def _events(data: bytes, source: str) -> list[_Event]:
    try:
        return msgspec.json.decode(data, type=list[_Event])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise FormatError(source, why=str(error), expected="an ONNX Runtime profile") from None


def _split_runs(events: list[_Event]) -> list[_Run]:
    runs: list[_Run] = []
    current = _Run()
    for event in events:
        if event.cat == "Session" and event.name == "model_run":
            current.whole_us = event.dur
            runs.append(current)
            current = _Run()
        elif event.cat == "Node" and event.name.endswith(_SUFFIX) and "op_name" in event.args:
            kind, provider = event.args.get("op_name"), event.args.get("provider")
            key = (event.name[: -len(_SUFFIX)], kind, provider)
            current.times_us[key] = current.times_us.get(key, 0.0) + event.dur
    return runs


def _order(runs: list[_Run]) -> list[tuple[str, str | None, str | None]]:
    """Return every node in the order of its first appearance."""
    seen: dict[tuple[str, str | None, str | None], None] = {}
    for run in runs:
        seen.update(dict.fromkeys(run.times_us))
    return list(seen)


def _timing(index: int, key: tuple[str, str | None, str | None], runs: list[_Run]) -> LayerTiming:
    times = [run.times_us.get(key, 0.0) / 1e3 for run in runs]  # a branch not taken took no time
    name, kind, provider = key
    return LayerTiming(
        index=index,
        name=name,
        mean_ms=fmean(times),
        median_ms=median(times),
        total_ms=sum(times),
        kind=kind,
        provider=provider,
        is_container=kind in _CONTAINERS,
    )
