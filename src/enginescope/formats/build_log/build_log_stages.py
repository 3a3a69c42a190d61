"""Stages of a build in its log: memory, seconds, the timing cache.

The graph's optimization in a build log: layers after each step, and what was joined.

Also autotuning: formats and tactics tried for each layer, with their times.
"""

import re
from typing import Any, Literal

from enginescope.formats import log_facts
from enginescope.formats.log_facts import number
from enginescope.records.plan.build_trace import (
    AddedReformat,
    FormatTrial,
    GraphChange,
    LayerMemory,
    MemoryStage,
    OptimisationStep,
    TacticTrial,
    TimedStage,
    TimingCacheUse,
    TunedLayer,
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
        if (match := _CHANGE.match(text) or _SNAPSHOT.match(text)) is not None:
            names = ("host_change_bytes", "device_change_bytes", "host_bytes", "device_bytes")
            sizes = [int(group) * _MIB for group in match.groups()[1:]]  # a snapshot: the last two
            sized = dict(zip(names[-len(sizes) :], sizes, strict=True))
            self.memory.append(MemoryStage(name=match[1], line=line, **sized))
            return True
        totals = log_facts.memory(text)
        self.totals.update(totals)
        return bool(totals)

    def layer(self, text: str, line: int) -> bool:
        if (match := _LAYER.match(text)) is None:
            return False
        names = ("host_persistent_bytes", "device_persistent_bytes", "scratch_bytes")
        sized = dict(zip(names, map(int, match.groups()[1:]), strict=True))
        self.layer_memory.append(LayerMemory(name=match[1], line=line, **sized))
        return True

    def stage(self, text: str, line: int) -> bool:
        for name, pattern in _SECONDS:
            if (match := pattern.match(text)) is not None:
                seconds = log_facts.number(match[1])
                if seconds is not None and seconds >= 0:
                    self.seconds.append(TimedStage(name=name, seconds=seconds, line=line))
                return True
        return False

    def cache_line(self, text: str, line: int) -> bool:  # noqa: ARG002 - one signature for all
        for figure, pattern in _CACHE:
            if (match := pattern.match(text)) is not None:
                before = self._cache.get(figure, 0) if figure == "hits" else 0
                self._cache[figure] = before + int(match[1])
                return True
        return False

    def cache(self) -> TimingCacheUse:
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
        if (match := _STEP.match(text)) is None:
            return False
        name, layers = match[1] or match[2], int(match[3])
        self.steps.append(OptimisationStep(name=name, layers=layers, line=line))
        return True

    def rule(self, text: str, line: int) -> bool:  # noqa: ARG002 - one signature for all
        """Take the rule that runs on a layer: what follows may be its doing."""
        match = _RULE.match(text)
        self._running = (match[1], match[2]) if match else None
        return match is not None

    def fusion(self, text: str, line: int) -> bool:
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
        name = text.removeprefix("Removing ")
        self._add("remove", (name,), self._nodes(name), line, rule=self._rule_on(name))
        return True

    def retyping(self, text: str, line: int) -> bool:
        if (match := _RETYPED.match(text)) is None:
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


_COSTS = re.compile(r"^=+ Computing (reformatting )?costs(?: for)?:?(?: (.*))?$")
_FORMATS = re.compile(r"^\*+ Autotuning (format combination|Reformat): ?(.*?) \*+$")
_RUNNER = re.compile(r"^-+ Timing Runner: (.*) \(([^()\[\]]+)(?:\[[^\]]*\])?\)$")
_TIMED = re.compile(r"^(?:Tactic Name: (.+) )?Tactic: (\S+) [Tt]ime:? ?(\S+)$")
_ONLY = re.compile(r"^(?:Tactic Name: (.+) )?Tactic: (\S+) is the only option")
_SET_NAME = re.compile(r"Set Tactic Name: (\S+)(?: Tactic: (\S+))?")
_CHOSE = re.compile(r"^>+ Chose Runner Type: (.+) Tactic: (\S+)$")
_COMPLETED = re.compile(r" profiling completed in (\S+) seconds\.")
_PRUNED = re.compile(r": (\d{1,9}) available tactics, .*?(\d{1,9}) pruned, ")
_NOTHING = re.compile(r"^(\S+) has no valid tactics for this config|^Skipping (\S+): No valid ")
_SEPARATOR = re.compile(r"(?<=\)), ")


class TuningReader:
    """Collects what was tried, block by block.

    A block begins with "Computing costs", a combination of formats in it with "Autotuning", and
    each tactic's time belongs to the runner named last.
    """

    def __init__(self) -> None:
        self.tuned: list[TunedLayer] = []
        self.reformats: list[AddedReformat] = []
        self._kind: Literal["layer", "reformat"] = "layer"
        self._name: str | None = None
        self._is_named = False
        self._line: int | None = None
        self._done: list[FormatTrial] = []
        self._open: dict[str, Any] | None = None
        self._trials: list[TacticTrial] = []
        self._runner: str | None = None
        self._kernel: tuple[str, str | None] | None = None

    def costs(self, text: str, line: int) -> bool:
        if (match := _COSTS.match(text)) is None:
            return False
        self.close()
        self._kind = "reformat" if match[1] else "layer"
        self._name, self._line = (match[2] or "").strip() or None, line
        self._is_named = self._name is not None
        return True

    def formats(self, text: str, line: int) -> bool:
        if (match := _FORMATS.match(text)) is None:
            return False
        kind: Literal["layer", "reformat"] = "reformat" if match[1] == "Reformat" else "layer"
        if self._line is None or kind != self._kind:  # 7.x has reformats in a layer's block
            self.close()
            self._kind, self._line = kind, line
        self._close_combination()
        source, _, target = f" {match[2]} ".partition(" -> ")
        self._open = {"inputs": _split(source), "outputs": _split(target), "line": line}
        return True

    def runner(self, text: str, line: int) -> bool:
        """Take the runner that is timed next, and with it the layer's name."""
        if (match := _RUNNER.match(text)) is None:
            return False
        if self._line is None:
            self._kind, self._line = "layer", line
        elif self._name not in (None, match[1]) and not self._is_named and not self._trials:
            kind, opened = self._kind, self._open  # a block that no line opened, as in 7.x
            self._open = None
            self.close()
            self._kind, self._line, self._open = kind, line, opened
        self._runner = match[2]
        self._name = self._name or match[1]
        return True

    def tactic(self, text: str, line: int) -> bool:
        match = _TIMED.match(text)
        time_ms = number(match[3]) if match else None
        match = match or _ONLY.match(text)
        if match is None:
            return False
        name, tactic = match[1], match[2]
        if name is None and self._kernel is not None and self._kernel[1] in (None, tactic):
            name = self._kernel[0]
        self._kernel = None
        if self._line is None:  # a log whose beginning is cut off
            self._kind, self._line = "layer", line
        if time_ms is not None and time_ms < 0:
            time_ms = None
        trial = TacticTrial(runner=self._runner, tactic=tactic, name=name, time_ms=time_ms)
        self._trials.append(trial)
        return True

    def chose(self, text: str, line: int) -> bool:  # noqa: ARG002
        match = _CHOSE.match(text)
        if match is not None and self._open is not None:
            self._open["chosen_runner"], self._open["chosen_tactic"] = match[1], match[2]
        return match is not None

    def other(self, text: str) -> bool:
        """Take lines that begin with a name: durations, pruning, runners without tactics."""
        if " profiling completed in " in text:
            match = _COMPLETED.search(text)
            seconds = number(match[1]) if match else None
            if seconds is not None and seconds >= 0 and self._open is not None:
                self._open["tuning_s"] = self._open.get("tuning_s", 0.0) + seconds
            return match is not None
        if "o valid tactics" in text:
            match = _NOTHING.match(text)
            if match is not None and self._open is not None:
                self._open.setdefault("without_tactics", []).append(match[1] or match[2])
            return match is not None
        if " available tactics, " in text:
            match = _PRUNED.search(text)
            if match is not None and self._open is not None:
                for key, value in (("available", match[1]), ("pruned", match[2])):
                    self._open[key] = self._open.get(key, 0) + int(value)
            return match is not None
        if "Set Tactic Name: " in text:
            match = _SET_NAME.search(text)
            self._kernel = (match[1], match[2]) if match else None
            return match is not None
        return False

    def added(self, text: str, line: int) -> bool:
        """Take a conversion that was put in."""
        what, is_from, formats = text.partition("Adding reformat layer: ")[2].rpartition(" from ")
        name, is_of, tensor = what.rpartition(" (")
        source, is_to, target = formats.partition(" to ")
        if not (is_from and is_of and is_to and tensor.endswith(")")):
            return False
        self.reformats.append(
            AddedReformat(name=name, tensor=tensor[:-1], source=source, target=target, line=line)
        )
        return True

    def close(self) -> None:
        """End the open block."""
        self._close_combination()
        if self._line is not None and (self._done or self._name is not None):
            kind, name, tried = self._kind, self._name, tuple(self._done)
            self.tuned.append(TunedLayer(kind=kind, name=name, combinations=tried, line=self._line))
        self._done, self._name, self._line, self._runner = [], None, None, None
        self._kernel, self._is_named = None, False

    def _close_combination(self) -> None:
        if self._open is None and self._trials:  # times without their formats: a cut-off beginning
            self._open = {"inputs": (), "outputs": (), "line": self._line}
        if self._open is not None:
            found = self._open
            found["without_tactics"] = tuple(found.get("without_tactics", ()))
            self._done.append(FormatTrial(trials=tuple(self._trials), **found))
        self._open, self._trials, self._runner = None, [], None


def _split(text: str) -> tuple[str, ...]:
    """Formats apart: a comma within brackets is part of one."""
    stripped = text.strip()
    return tuple(_SEPARATOR.split(stripped)) if stripped else ()
