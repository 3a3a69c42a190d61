"""Folding by the modules that ONNX names tell."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from enginescope.analysis.graph.folding.flow_order import ends_outside, module_order, paths_of
from enginescope.analysis.graph.folding.module_path import Path
from enginescope.analysis.graph.folding.node_traits import NodeTraits
from enginescope.analysis.graph.folding.tree import Group, Member


def by_module(traits: NodeTraits) -> tuple[Member, ...] | None:
    """Return the members of the whole; ``None`` if the names tell no modules.

    A module whose layers cannot stand together without a cycle is several groups.
    """
    first, middle, last = ends_outside(traits.graph)
    paths = paths_of(traits, middle)
    if not paths:
        return None
    order = module_order(traits.graph, middle, paths)
    inner = _unwrapped(_members(order, paths, ()))
    if not any(isinstance(one, Group) for one in inner):
        return None
    return (*first, *inner, *last)


def _members(nodes: Sequence[int], paths: dict[int, Path], above: Path) -> tuple[Member, ...]:
    """Split nodes, all of a module, into what is directly in it and its modules."""
    depth = len(above)
    found: list[Member] = []
    for step, run in itertools.groupby(nodes, lambda node: paths[node][depth : depth + 1]):
        inside = list(run)
        if not step or len(inside) == 1:
            found += inside
        else:
            found.append(_module(inside, paths, (*above, *step)))
    return tuple(found)


def _module(nodes: Sequence[int], paths: dict[int, Path], path: Path) -> Group:
    """Return the group; modules that hold nothing but one module are one with it."""
    start = len(path) - 1
    while len(steps := {paths[node][len(path) : len(path) + 1] for node in nodes}) == 1:
        (step,) = steps
        if not step:
            break
        path = (*path, *step)
    return Group(
        name="/".join(path[start:]),
        path="/".join(path),
        kind="module",
        members=_members(nodes, paths, path),
    )


def _unwrapped(members: tuple[Member, ...]) -> tuple[Member, ...]:
    """Leave out a module that holds everything."""
    while len(members) == 1 and isinstance(members[0], Group):
        members = members[0].members
    return members
