"""Activations that are alive at each layer of a plan."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import Any

from enginescope.analysis.layers.reformats import TensorRoles, tensor_roles
from enginescope.core.record import Record
from enginescope.records.plan.plan import Plan


class Liveness(Record, frozen=True, kw_only=True):
    """Bytes of activations alive, layer by layer.

    The engine's own inputs and outputs are the caller's memory and not counted, nor are constants.

    Attributes:
        live_bytes: While each layer that does work runs, in the plan's order: what it reads and
            writes, and what was written before and is still read later. With the padding of
            vectorized layouts.
        largest_bytes: Of each layer, what it reads and writes alone.
        unknown: Tensors of unknown size, left out.
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


#: First writer and last reader of a tensor, and its bytes.
_Life = list[Any]


def liveness(plan: Plan, roles: TensorRoles | None = None) -> Liveness | None:
    """Return what is alive if the layers run one after the other in the plan's order.

    A tensor lives from its first writer to its last reader. A name that is written again after it
    was read is another tensor in the same memory. What a no-op passes on is what goes into it.

    Args:
        roles: Of its tensors, where they are known already.

    Returns:
        ``None`` for a plan of names only, or that does not say what the caller provides.
    """
    if not plan.io or plan.source_schema == "names-only":
        return None
    roles = roles or tensor_roles(plan)
    if not roles.active:
        return None
    lives, own = _lives(plan, roles)
    return Liveness(
        live_bytes=_added_up(lives, len(own)),
        largest_bytes=own,
        unknown=sum(nbytes is None for _, _, nbytes in lives),
    )


def _lives(plan: Plan, roles: TensorRoles) -> tuple[list[_Life], tuple[int, ...]]:
    """Return the lives of the tensors between layers, and what each layer reads and writes.

    One life for each time that a name is written after it was read.
    """
    sources = roles.sources
    outside = {*roles.constants, *(one.tensor.name for one in plan.io)}
    outside |= {sources[name].name for name in outside if name in sources}
    lives: list[_Life] = []
    latest: dict[str, _Life] = {}
    read: set[str] = set()  # since they were written last
    own = []
    for step, layer in enumerate(roles.active):
        here: dict[str, int] = {}
        for is_read, tensors in ((True, layer.inputs), (False, layer.outputs)):
            for tensor in tensors:
                name = sources[tensor.name].name if tensor.name in sources else tensor.name
                if name in outside:
                    continue
                nbytes = tensor.padded_nbytes
                here[name] = max(here.get(name, 0), nbytes or 0)
                life = latest.get(name)
                if life is not None and (is_read or name not in read):
                    life[1] = step
                    if nbytes is not None and nbytes > (life[2] or -1):
                        life[2] = nbytes
                elif not is_read:  # read before it was ever written: nothing holds it
                    latest[name] = life = [step, step, nbytes]
                    lives.append(life)
                (read.add if is_read else read.discard)(name)
        own.append(sum(here.values()))
    return lives, tuple(own)


def _added_up(lives: Iterable[_Life], count: int) -> tuple[int, ...]:
    changes = [0] * (count + 1)
    for first, last, nbytes in lives:
        changes[first] += nbytes or 0
        changes[last + 1] -= nbytes or 0
    return tuple(accumulate(changes[:count]))
