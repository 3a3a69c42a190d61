"""Activations that are alive at each layer of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import NamedTuple

from enginescope.analysis.tensor_roles import TensorRoles, tensor_roles
from enginescope.core.record import Record
from enginescope.model.plan import Plan


class Liveness(Record, frozen=True, kw_only=True):
    """Bytes of activations alive, layer by layer.

    The engine's own inputs and outputs are the caller's memory and not counted, nor are constants.

    Attributes
    ----------
    live_bytes : tuple of int
        While each layer that does work runs, in the plan's order: what it reads and writes, and
        what was written before and is still read later. With the padding of vectorised layouts.
    largest_bytes : tuple of int
        Of each layer, what it reads and writes alone.
    unknown : int
        Tensors of unknown size, left out.
    """

    live_bytes: tuple[int, ...]
    largest_bytes: tuple[int, ...]
    unknown: int

    @property
    def peak_bytes(self) -> int:
        """The most that is alive at once; 0 where nothing is between layers."""
        return max(self.live_bytes, default=0)

    @property
    def peak_at(self) -> int:
        """Position of the first layer at the peak, among those that do work, from 0."""
        return self.live_bytes.index(self.peak_bytes)


class _Use(NamedTuple):
    step: int
    is_write: bool
    nbytes: int | None


class _Life(NamedTuple):
    first: int
    last: int
    nbytes: int | None


def liveness(plan: Plan, roles: TensorRoles | None = None) -> Liveness | None:
    """Return what is alive if the layers run one after the other in the plan's order.

    A tensor lives from its first writer to its last reader. A name that is written again after it
    was read is another tensor in the same memory. What a no-op passes on is what goes into it.

    Parameters
    ----------
    plan : Plan
    roles : TensorRoles, optional
        Of its tensors, where they are known already.

    Returns
    -------
    Liveness or None
        ``None`` for a plan of names only, or that does not say what the caller provides.
    """
    if not plan.io or plan.source_schema == "names-only":
        return None
    roles = roles or tensor_roles(plan)
    if not roles.active:
        return None
    uses = tuple(_uses(plan, roles).values())
    lives = [life for some in uses for life in _lives(some)]
    count = len(roles.active)
    return Liveness(
        live_bytes=_added_up(lives, count),
        largest_bytes=_own(uses, count),
        unknown=sum(one.nbytes is None for one in lives),
    )


def _uses(plan: Plan, roles: TensorRoles) -> dict[str, list[_Use]]:
    """Uses of each tensor between layers, in order; reads of a layer before its writes."""
    sources = roles.sources
    outside = {*roles.constants, *(one.tensor.name for one in plan.io)}
    outside |= {sources[name].name for name in outside if name in sources}
    found: dict[str, list[_Use]] = {}
    for step, layer in enumerate(roles.active):
        for is_write, tensors in ((False, layer.inputs), (True, layer.outputs)):
            for one in tensors:
                name = sources[one.name].name if one.name in sources else one.name
                if name not in outside:
                    use = _Use(step, is_write, one.padded_nbytes)
                    found.setdefault(name, []).append(use)
    return found


def _lives(uses: list[_Use]) -> Iterator[_Life]:
    """One life for each time that the name is written after it was read."""
    life: list[_Use] = []
    was_read = False
    for use in uses:
        if use.is_write and was_read and life:
            yield _life(life)
            life = []
        was_read = not use.is_write
        if life or use.is_write:  # read before it was ever written: nothing holds it
            life.append(use)
    if life:
        yield _life(life)


def _life(uses: list[_Use]) -> _Life:
    known = [one.nbytes for one in uses if one.nbytes is not None]
    return _Life(uses[0].step, uses[-1].step, max(known) if known else None)


def _added_up(lives: Iterable[_Life], count: int) -> tuple[int, ...]:
    changes = [0] * (count + 1)
    for one in lives:
        changes[one.first] += one.nbytes or 0
        changes[one.last + 1] -= one.nbytes or 0
    return tuple(accumulate(changes[:count]))


def _own(every: Iterable[list[_Use]], count: int) -> tuple[int, ...]:
    own = [0] * count
    for uses in every:
        at_step: dict[int, int] = {}
        for one in uses:
            at_step[one.step] = max(at_step.get(one.step, 0), one.nbytes or 0)
        for step, nbytes in at_step.items():
            own[step] += nbytes
    return tuple(own)
