"""Stages of a build in its log: memory, seconds, the timing cache."""

from __future__ import annotations

import re

from enginescope.formats import log_facts
from enginescope.records.plan.build_trace import (
    LayerMemory,
    MemoryStage,
    TimedStage,
    TimingCacheUse,
)

_MIB = 2**20
_N = r"([-+]?\d{1,12})"
_CHANGE = re.compile(
    rf"^\[MemUsageChange\] (.+): CPU {_N}, GPU {_N}, now: CPU {_N}, GPU {_N} \(MiB\)$"
)
_SNAPSHOT = re.compile(rf"^\[MemUsageSnapshot\] (.+): CPU {_N} MiB, GPU {_N} MiB$")
_LAYER = re.compile(
    r"^Layer: (.+) Host Persistent: (\d{1,18}) Device Persistent: (\d{1,18})"
    r" Scratch Memory: (\d{1,18})$"
)
#: Line -> the stage's name, in the order of a build.
_SECONDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("parsing", re.compile(r"^Finished parsing network model\. Parse time: (\S+)$")),
    ("graph construction", re.compile(r"^Graph construction completed in (\S+) seconds")),
    ("graph optimisation", re.compile(r"^Graph optimization time: (\S+) seconds")),
    ("tuning", re.compile(r"^Formats and tactics selection completed in (\S+) seconds")),
    ("engine generation", re.compile(r"^Engine generation completed in (\S+) seconds")),
    ("whole build", re.compile(r"^Engine built in (\S+) sec")),
)
_CACHE: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("loaded", re.compile(r"^Loaded (\d{1,12}) timing cache entries")),
    ("stored", re.compile(r"^Serialized (\d{1,12}) timing cache entries")),
    ("hits", re.compile(r"^Deleting timing cache: \d{1,12} entries, served (\d{1,12}) hits")),
)


class StageReader:
    """Collects memory, seconds and the timing cache's figures."""

    def __init__(self) -> None:
        self.memory: list[MemoryStage] = []
        self.totals: dict[str, int] = {}
        self.layer_memory: list[LayerMemory] = []
        self.seconds: list[TimedStage] = []
        self._cache: dict[str, int] = {}

    def take_memory(self, text: str, line: int) -> bool:
        """Take memory at a stage, or a total."""
        match = _CHANGE.match(text)
        if match is not None:
            changes = [int(group) * _MIB for group in match.groups()[1:]]
            self.memory.append(
                MemoryStage(
                    name=match[1],
                    host_change_bytes=changes[0],
                    device_change_bytes=changes[1],
                    host_bytes=changes[2],
                    device_bytes=changes[3],
                    line=line,
                )
            )
            return True
        match = _SNAPSHOT.match(text)
        if match is not None:
            host, device = int(match[2]) * _MIB, int(match[3]) * _MIB
            self.memory.append(
                MemoryStage(name=match[1], host_bytes=host, device_bytes=device, line=line)
            )
            return True
        totals = log_facts.memory(text)
        self.totals.update(totals)
        return bool(totals)

    def layer(self, text: str, line: int) -> bool:
        """Take the memory of a layer."""
        match = _LAYER.match(text)
        if match is None:
            return False
        host, device, scratch = (int(group) for group in match.groups()[1:])
        self.layer_memory.append(
            LayerMemory(
                name=match[1],
                host_persistent_bytes=host,
                device_persistent_bytes=device,
                scratch_bytes=scratch,
                line=line,
            )
        )
        return True

    def stage(self, text: str, line: int) -> bool:
        """Take the seconds of a stage."""
        for name, pattern in _SECONDS:
            match = pattern.match(text)
            if match is not None:
                seconds = log_facts.number(match[1])
                if seconds is not None and seconds >= 0:
                    self.seconds.append(TimedStage(name=name, seconds=seconds, line=line))
                return True
        return False

    def cache_line(self, text: str, line: int) -> bool:  # noqa: ARG002 - one signature for all
        """Take a figure of the timing cache."""
        for figure, pattern in _CACHE:
            match = pattern.match(text)
            if match is not None:
                before = self._cache.get(figure, 0) if figure == "hits" else 0
                self._cache[figure] = before + int(match[1])
                return True
        return False

    def cache(self) -> TimingCacheUse:
        """Return what the cache did."""
        return TimingCacheUse(**self._cache)
