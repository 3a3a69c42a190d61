"""Folding of what repeats, whatever it is called."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from enginescope.analysis.folding.flow_order import ends_outside
from enginescope.analysis.folding.module_path import Path, module_path, shared_path
from enginescope.analysis.folding.repeats import Run, repeats
from enginescope.analysis.folding.tree import Group, Member
from enginescope.analysis.plan_graph import GraphNode, PlanGraph
from enginescope.model.tensor import Tensor

#: Modules with more members than this have those that repeat folded.
LONG = 24
_NUMBERS = re.compile(r"\d+")


def by_block(graph: PlanGraph) -> tuple[Member, ...] | None:
    """Return the members of the whole; ``None`` if no stretch of layers comes again."""
    first, middle, last = ends_outside(graph)
    folder = _Folder(graph)
    members = folder.folded(middle)
    if not any(isinstance(one, Group) for one in members):
        return None
    return (*first, *members, *last)


def with_long_modules_folded(graph: PlanGraph, members: tuple[Member, ...]) -> tuple[Member, ...]:
    """Fold what repeats among the members of each module that has many."""
    folder = _Folder(graph)

    def shortened(members: tuple[Member, ...]) -> tuple[Member, ...]:
        inner = tuple(
            one
            if isinstance(one, int)
            else Group(name=one.name, path=one.path, kind=one.kind, members=shortened(one.members))
            for one in members
        )
        return folder.folded(inner) if len(inner) > LONG else inner

    return shortened(members)


class _Folder:
    """Folds sequences of members; equal layers have equal numbers throughout."""

    def __init__(self, graph: PlanGraph) -> None:
        self._graph = graph
        self._number: dict[Any, int] = {}
        self._runs: dict[tuple[int, ...], tuple[Run, ...]] = {}
        self._modules: dict[int, Path | None] = {}  # asked for at each level of groups
        self._of_node = [self._numbered(_signature(node)) for node in graph.nodes]

    def folded(self, members: Sequence[Member]) -> tuple[Member, ...]:
        """Return `members` with each stretch that repeats as one group."""
        signature = tuple(map(self._of_member, members))
        runs = self._runs.get(signature)
        if runs is None:
            runs = repeats(signature, self._cut_widths(members))
            self._runs[signature] = runs
        made: list[Member] = []
        at = 0
        for run in runs:
            made += members[at : run.start]
            made.append(self._repeat(members[run.start : run.stop], run))
            at = run.stop
        return (*made, *members[at:])

    def _repeat(self, members: Sequence[Member], run: Run) -> Group:
        copies: tuple[Member, ...] = tuple(members)
        if run.period > 1:
            starts = range(0, len(members), run.period)
            copies = tuple(
                self._copy(members[start : start + run.period], number)
                for number, start in enumerate(starts, start=1)
            )
        name = self._pattern(members) or self._kind(members)
        return Group(name=name, path=name, kind="repeat", members=copies, copies=run.copies)

    def _copy(self, members: Sequence[Member], number: int) -> Group:
        ends = members[0], members[-1]
        module = "/".join(shared_path(paths)) if (paths := self._paths(members)) else ""
        name = f"{module} · block {number:,}" if module else f"block {number:,}"
        if isinstance(ends[0], Group) and isinstance(ends[1], Group):
            name = f"{ends[0].path} … {ends[1].path}"
        return Group(name=name, path=name, kind="block", members=self.folded(members))

    def _pattern(self, members: Sequence[Member]) -> str:
        """Return the modules the copies share, ``*`` for the numbers that tell them apart."""
        paths = self._paths(members)
        starred = [tuple(_NUMBERS.sub("*", step) for step in path) for path in paths]
        return "/".join(shared_path(starred)) if starred else ""

    def _kind(self, members: Sequence[Member]) -> str:
        one = members[0]
        if isinstance(one, Group) or len({self._of_member(member) for member in members}) > 1:
            return "block"
        node = self._graph.nodes[one]
        return node.layer.type if node.layer is not None else node.kind

    def _paths(self, members: Sequence[Member]) -> list[Path]:
        found = []
        for one in members:
            if isinstance(one, Group):
                path: Path | None = tuple(one.path.split("/")) if one.kind == "module" else None
            else:
                path = self._module(one)
            if path is not None:
                found.append(path)
        return found

    def _module(self, node: int) -> Path | None:
        if node not in self._modules:
            layer = self._graph.nodes[node].layer
            self._modules[node] = module_path(layer) if layer is not None else None
        return self._modules[node]

    def _of_member(self, member: Member) -> int:
        if isinstance(member, int):
            return self._of_node[member]
        return self._numbered((member.copies, *map(self._of_member, member.members)))

    def _numbered(self, key: Any) -> int:
        return self._number.setdefault(key, len(self._number))

    def _cut_widths(self, members: Sequence[Member]) -> list[int]:
        """Count the tensors that cross the cut before each member."""
        place: dict[int, int] = {}
        for at, member in enumerate(members):
            inside = (member,) if isinstance(member, int) else member.nodes()
            place.update(dict.fromkeys(inside, at))
        last: dict[tuple[int, str | None], int] = {}
        for node in place:
            for target, tensor in self._after.get(node, ()):
                if place.get(target, -1) > place[node]:
                    key = node, tensor
                    last[key] = max(last.get(key, 0), place[target])
        change = [0] * (len(members) + 1)
        for (node, _), end in last.items():
            change[place[node] + 1] += 1
            change[end + 1] -= 1
        widths, width = [], 0
        for one in change:
            width += one
            widths.append(width)
        return widths

    @cached_property
    def _after(self) -> dict[int, list[tuple[int, str | None]]]:
        found: dict[int, list[tuple[int, str | None]]] = {}
        for edge in self._graph.edges:
            name = edge.tensor.name if edge.tensor else None
            found.setdefault(edge.source, []).append((edge.target, name))
        return found


def _signature(node: GraphNode) -> Any:
    layer = node.layer
    if layer is None:
        return node.kind, _stored(node.tensor)
    if layer.type == "unknown":
        return _NUMBERS.sub("", layer.name)
    return (
        layer.type,
        layer.subtype,
        tuple(map(_stored, layer.inputs)),
        tuple(map(_stored, layer.outputs)),
    )


def _stored(tensor: Tensor | None) -> Any:
    return (tensor.shape, tensor.dtype) if tensor is not None else None
