"""A plan's graph as a tree of groups."""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.core.record import Record

#: Ways to fold: by the modules in ONNX names, by blocks that repeat, not at all.
FOLDINGS = ("module", "block", "none")


class Group(Record, frozen=True, kw_only=True):
    """Nodes that belong together.

    Attributes:
        name: As shown within the group that holds it.
        path: The whole name.
        kind: ``"repeat"`` holds equal ``"block"`` groups; its nodes are alike copy by copy.
        members: Node ids and groups, so that edges within one iteration lead forwards.
        copies: Of a repeat.
    """

    name: str
    path: str
    kind: str
    members: tuple[Member, ...]
    copies: int | None = None

    def nodes(self) -> Iterator[int]:
        """Yield the ids of the nodes in it, those of groups in it too."""
        waiting: list[Member] = [self]
        while waiting:
            one = waiting.pop()
            if isinstance(one, int):
                yield one
            else:
                waiting += reversed(one.members)

    def groups(self) -> Iterator[Group]:
        """Yield the groups in it, each before those in it."""
        waiting = [member for member in reversed(self.members) if isinstance(member, Group)]
        while waiting:
            one = waiting.pop()
            yield one
            waiting += [inner for inner in reversed(one.members) if isinstance(inner, Group)]


Member = int | Group
