"""Folding of what repeats, whatever it is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from enginescope.analysis.folding.flow_order import ends_outside
from enginescope.analysis.folding.module_path import Path, shared_path
from enginescope.analysis.folding.node_traits import NUMBERS, NodeTraits
from enginescope.analysis.folding.repeats import Run, repeats
from enginescope.analysis.folding.tree import Group, Member

#: Modules with more members than this have those that repeat folded.
LONG = 24


def by_block(traits: NodeTraits) -> tuple[Member, ...] | None:
    """Return the members of the whole; ``None`` if no stretch of layers comes again."""
    first, middle, last = ends_outside(traits.graph)
    members = _Folder(traits).folded(middle)
    if not any(isinstance(one, Group) for one in members):
        return None
    return (*first, *members, *last)


def with_long_modules_folded(traits: NodeTraits, members: tuple[Member, ...]) -> tuple[Member, ...]:
    """Fold what repeats among the members of each module that has many."""
    folder = _Folder(traits)

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

    def __init__(self, traits: NodeTraits) -> None:
        self._traits = traits
        self._graph, self._module, self._of_node = traits.graph, traits.paths, traits.kinds
        self._first_number = max(self._of_node, default=-1) + 1
        self._number: dict[Any, int] = {}  # of groups
        self._runs: dict[tuple[int, ...], tuple[Run, ...]] = {}
        self._starred: dict[Path, Path] = {}

    def folded(self, members: Sequence[Member]) -> tuple[Member, ...]:
        """Return `members` with each stretch that repeats as one group."""
        signature = tuple(map(self._of_member, members))
        runs = self._runs.get(signature)
        if runs is None:
            nodes = [(one,) if isinstance(one, int) else tuple(one.nodes()) for one in members]
            runs = repeats(signature, self._traits.cut_widths(nodes))
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
        starred = [self._star(path) for path in set(self._paths(members))]
        return "/".join(shared_path(starred)) if starred else ""

    def _star(self, path: Path) -> Path:
        found = self._starred.get(path)
        if found is None:
            found = self._starred[path] = tuple([NUMBERS.sub("*", step) for step in path])
        return found

    def _kind(self, members: Sequence[Member]) -> str:
        one = members[0]
        if isinstance(one, Group) or len({self._of_member(member) for member in members}) > 1:
            return "block"
        node = self._graph.nodes[one]
        return node.layer.type if node.layer is not None else node.kind

    def _paths(self, members: Sequence[Member]) -> list[Path]:
        module = self._module
        found = [module[one] if isinstance(one, int) else _path_of_group(one) for one in members]
        return [path for path in found if path is not None]

    def _of_member(self, member: Member) -> int:
        if isinstance(member, int):
            return self._of_node[member]
        key = (member.copies, *map(self._of_member, member.members))
        return self._number.setdefault(key, self._first_number + len(self._number))


def _path_of_group(group: Group) -> Path | None:
    return tuple(group.path.split("/")) if group.kind == "module" else None
