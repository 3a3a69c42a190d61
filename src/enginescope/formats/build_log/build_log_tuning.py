"""Autotuning in a build log: formats and tactics tried for each layer, with their times."""

from __future__ import annotations

import re
from typing import Any, Literal

from enginescope.formats.log_facts import number
from enginescope.records.plan.build_trace import AddedReformat, FormatTrial, TacticTrial, TunedLayer

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
_ADDED = "Adding reformat layer: "
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
        """Open a block."""
        match = _COSTS.match(text)
        if match is None:
            return False
        self.close()
        self._kind = "reformat" if match[1] else "layer"
        self._name, self._line = (match[2] or "").strip() or None, line
        self._is_named = self._name is not None
        return True

    def formats(self, text: str, line: int) -> bool:
        """Open a combination of formats."""
        match = _FORMATS.match(text)
        if match is None:
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
        match = _RUNNER.match(text)
        if match is None:
            return False
        if self._line is None:
            self._kind, self._line = "layer", line
        elif self._is_new_block(match[1]):
            kind, opened = self._kind, self._open
            self._open = None
            self.close()
            self._kind, self._line, self._open = kind, line, opened
        self._runner = match[2]
        self._name = self._name or match[1]
        return True

    def tactic(self, text: str, line: int) -> bool:
        """Take a tactic and its time."""
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
        self._trials.append(
            TacticTrial(runner=self._runner, tactic=tactic, name=name, time_ms=time_ms)
        )
        return True

    def chose(self, text: str, line: int) -> bool:  # noqa: ARG002
        """Take the best of the combination."""
        match = _CHOSE.match(text)
        if match is None:
            return False
        if self._open is not None:
            self._open["chosen_runner"], self._open["chosen_tactic"] = match[1], match[2]
        return True

    def other(self, text: str) -> bool:
        """Take lines that begin with a name: durations, pruning, runners without tactics."""
        if " profiling completed in " in text:
            match = _COMPLETED.search(text)
            seconds = number(match[1]) if match else None
            if seconds is not None and seconds >= 0 and self._open is not None:
                self._open["tuning_s"] = self._open.get("tuning_s", 0.0) + seconds
            return match is not None
        if "o valid tactics" in text:
            return self._without(text)
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
        what, is_from, formats = text.partition(_ADDED)[2].rpartition(" from ")
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
            self.tuned.append(
                TunedLayer(
                    kind=self._kind,
                    name=self._name,
                    combinations=tuple(self._done),
                    line=self._line,
                )
            )
        self._done, self._name, self._line, self._runner = [], None, None, None
        self._kernel, self._is_named = None, False

    def _is_new_block(self, name: str) -> bool:
        """Whether a runner's layer begins a block that no line opened, as in 7.x."""
        is_other = self._name is not None and name != self._name
        return is_other and not self._is_named and not self._trials

    def _without(self, text: str) -> bool:
        match = _NOTHING.match(text)
        if match is not None and self._open is not None:
            self._open.setdefault("without_tactics", []).append(match[1] or match[2])
        return match is not None

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
