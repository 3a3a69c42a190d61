"""Stages of a build in its log: memory, seconds, the timing cache.

The graph's optimization in a build log: layers after each step, and what was joined.
"""

from __future__ import annotations

import re
from typing import Literal

from enginescope.formats import log_facts
from enginescope.records.plan.build_trace import (
    GraphChange,
    LayerMemory,
    MemoryStage,
    OptimisationStep,
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
    r"^Layer: (.+) Host Persistent: (\d{1,18})(?: bytes)? Device Persistent: (\d{1,18})"
    r"(?: bytes)? Scratch Memory: (\d{1,18})(?: bytes)?$"
)
#: Line -> the stage's name, in the order of a build.
_SECONDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("parsing", re.compile(r"^Finished parsing network model\. Parse time: (\S+)$")),
    ("graph construction", re.compile(r"^Graph construction completed in (\S+) seconds")),
    ("graph optimization", re.compile(r"^Graph optimization time: (\S+) seconds")),
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


_STEP = re.compile(r"^(?:After (.+)|(Original)): (\d{1,9}) layers$")
_FUSING = re.compile(r"^(?:(\w+): )?Fusing (.+?) with (.+)$")
_WEIGHTS = re.compile(r"^Fusing convolution weights from (.+) with scale (.+)$")  # up to 8.4
_RULE = re.compile(r"^Running: (\w+) on (.+)$")
_RETYPED = re.compile(r"^(?:Swap the|Convert) layer type of (.+) from (\w+ to \w+)$")


class GraphReader:
    """Collects steps and changes.

    A fusion's result is called ``A + B`` where its parts are A and B; later fusions name it so,
    and its parts are found again by that name, not by taking names apart.
    """

    def __init__(self) -> None:
        self.steps: list[OptimisationStep] = []
        self.changes: list[GraphChange] = []
        self._parts: dict[str, tuple[str, ...]] = {}
        self._running: tuple[str, str] | None = None

    def step(self, text: str, line: int) -> bool:
        """Take the number of layers after a step; whether the line was one."""
        match = _STEP.match(text)
        if match is None:
            return False
        self.steps.append(
            OptimisationStep(name=match[1] or match[2], layers=int(match[3]), line=line)
        )
        return True

    def rule(self, text: str, line: int) -> bool:  # noqa: ARG002 - one signature for all
        """Take the rule that runs on a layer: what follows may be its doing."""
        match = _RULE.match(text)
        self._running = (match[1], match[2]) if match else None
        return match is not None

    def fusion(self, text: str, line: int) -> bool:
        """Take a fusion of two layers."""
        match = _WEIGHTS.match(text) or _FUSING.match(text)
        if match is None:
            return False
        rule = match[1] if match.re is _FUSING else None
        first, second = match.groups()[-2:]
        nodes = (*self._nodes(first), *self._nodes(second))
        self._parts[f"{first} + {second}"] = nodes
        self._add("fuse", (first, second), nodes, line, rule=rule)
        return True

    def removal(self, text: str, line: int) -> bool:
        """Take a layer that was removed."""
        name = text.removeprefix("Removing ")
        self._add("remove", (name,), self._nodes(name), line, rule=self._rule_on(name))
        return True

    def retyping(self, text: str, line: int) -> bool:
        """Take a layer whose type was changed."""
        match = _RETYPED.match(text)
        if match is None:
            return False
        before, _, after = match[2].partition(" to ")
        if before != after:
            rule = self._rule_on(match[1])
            self._add("retype", (match[1],), (match[1],), line, rule=rule, detail=match[2])
        return True

    def _nodes(self, name: str) -> tuple[str, ...]:
        return self._parts.get(name, (name,))

    def _rule_on(self, name: str) -> str | None:
        running = self._running
        return running[0] if running is not None and running[1] == name else None

    def _add(
        self,
        action: Literal["fuse", "remove", "retype"],
        names: tuple[str, ...],
        nodes: tuple[str, ...],
        line: int,
        **more: str | None,
    ) -> None:
        self.changes.append(
            GraphChange(
                action=action, names=names, nodes=nodes, step=len(self.steps), line=line, **more
            )
        )
