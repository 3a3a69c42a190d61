"""The graph's optimisation in a build log: layers after each step, and what was joined."""

from __future__ import annotations

import re
from typing import Literal

from enginescope.records.plan.build_trace import GraphChange, OptimisationStep

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
                action=action,
                names=names,
                nodes=nodes,
                step=len(self.steps),
                line=line,
                **more,
            )
        )
