"""The arena from which ONNX Runtime takes activations: what its requests need, and what it holds.

Rules of `BFCArena` and `MemPatternPlanner`, the same from 1.16 to 1.32, with the options that a
session has by default.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from typing import Literal

from enginescope.core.record import Record

#: Requests are rounded up to a multiple of this, and so are blocks of a pattern.
GRAIN = 256


def rounded(nbytes: int) -> int:
    return -(-nbytes // GRAIN) * GRAIN


class Arena:
    """Pieces of regions, in use or free; the smallest free piece that is large enough is used.

    Attributes:
        in_use_bytes, peak_bytes: With what was rounded up; now, and the most so far.
        held_bytes: Of all regions: an arena gives nothing back.
    """

    def __init__(self) -> None:
        self.in_use_bytes = self.peak_bytes = self.held_bytes = 0
        self._step = 1 << 20
        self._free: list[tuple[int, int]] = []  # size and address, sorted
        self._free_at: dict[int, int] = {}  # address -> size
        self._free_until: dict[int, int] = {}  # end -> address
        self._taken: dict[int, int] = {}
        self._end = 0  # of the addresses; no two regions touch

    def take(self, nbytes: int) -> int | None:
        """Return the address of a piece for a request; ``None`` for one of 0 bytes."""
        if not nbytes:
            return None
        size = rounded(nbytes)
        at = bisect_left(self._free, (size, -1))
        if at == len(self._free):
            self._extend(size)
            at = bisect_left(self._free, (size, -1))
        found, address = self._free[at]
        self._unlist(address)
        # one smaller than twice the request is used whole, unless as much were lost
        if found >= 2 * size or found - size >= 128 << 20:
            self._list(address + size, found - size)
            found = size
        self._taken[address] = found
        self.in_use_bytes += found
        self.peak_bytes = max(self.peak_bytes, self.in_use_bytes)
        return address

    def give_back(self, address: int | None) -> None:
        """Free a piece, and join it with the free pieces on both sides."""
        if address is None:
            return
        size = self._taken.pop(address)
        self.in_use_bytes -= size
        before, after = self._free_until.get(address), self._free_at.get(address + size)
        if after is not None:
            self._unlist(address + size)
            size += after
        if before is not None:
            size += self._free_at[before]
            self._unlist(before)
            address = before
        self._list(address, size)

    def pass_by(self, nbytes: int) -> None:
        """Take pieces of unknown number and sizes, and free them again: with all that is free."""
        free = sum(size for size, _ in self._free)
        if nbytes > free:
            self._extend(rounded(nbytes - free))
        self.peak_bytes = max(self.peak_bytes, self.in_use_bytes + nbytes)

    def _extend(self, size: int) -> None:
        grew = size > self._step
        while size > self._step:
            self._step *= 2
        self._list(self._end, self._step)
        self._end += self._step + GRAIN
        self.held_bytes += self._step
        if not grew:
            self._step = min(1 << 30, 2 * self._step)

    def _list(self, address: int, size: int) -> None:
        insort(self._free, (size, address))
        self._free_at[address] = size
        self._free_until[address + size] = address

    def _unlist(self, address: int) -> None:
        size = self._free_at.pop(address)
        del self._free_until[address + size]
        self._free.pop(bisect_left(self._free, (size, address)))


class Request(Record, frozen=True, kw_only=True):
    """Memory that is needed from one step to another.

    Attributes:
        first, last: Positions of the nodes that need it first and last; `last` may lie behind the
            last node: until the inference has ended.
        kind: A second inference with the same shapes finds activations in one block, and takes
            workspaces again; outputs stay.
    """

    nbytes: int
    first: int
    last: int
    kind: Literal["activation", "output", "workspace"] = "activation"


class ArenaForecast(Record, frozen=True, kw_only=True):
    """What an arena does in two inferences of equal shapes; the second writes to the same outputs.

    Attributes:
        first_peak_bytes: Most in use in the first inference, which takes each buffer by itself.
        block_bytes: The one block of all planned buffers that later inferences take.
        peak_bytes, held_bytes: Of all inferences.
    """

    first_peak_bytes: int
    block_bytes: int
    peak_bytes: int
    held_bytes: int


def forecast(requests: Iterable[Request], extra_bytes: Sequence[int | None]) -> ArenaForecast:
    """Follow the requests of nodes, in the order in which they are made.

    Args:
        extra_bytes: What each node needs for itself while it runs; ``None``: not known, as 0.
    """
    ordered = sorted(requests, key=lambda one: one.first)  # stable: by node, then as they came
    arena = Arena()
    _run(arena, ordered, extra_bytes)
    first_peak = arena.peak_bytes
    block = pattern_bytes([one for one in ordered if one.kind == "activation"])
    address = arena.take(block)
    _run(arena, [one for one in ordered if one.kind == "workspace"], extra_bytes)
    arena.give_back(address)
    return ArenaForecast(
        first_peak_bytes=first_peak,
        block_bytes=block,
        peak_bytes=arena.peak_bytes,
        held_bytes=arena.held_bytes,
    )


def _run(arena: Arena, ordered: Sequence[Request], extra_bytes: Sequence[int | None]) -> None:
    ending: dict[int, list[int | None]] = {}
    at = 0
    for step, extra in enumerate(extra_bytes):
        while at < len(ordered) and ordered[at].first == step:
            request = ordered[at]
            address = arena.take(request.nbytes)
            if request.kind != "output":
                ending.setdefault(request.last, []).append(address)
            at += 1
        arena.pass_by(extra or 0)
        for address in ending.pop(step, ()):
            arena.give_back(address)
    for last in range(len(extra_bytes), max(ending, default=0) + 1):
        for address in ending.pop(last, ()):
            arena.give_back(address)


def pattern_bytes(ordered: list[Request]) -> int:
    """Return the size of the block that all requests are packed into, each in the tightest gap."""
    placed: list[tuple[int, int, int]] = []  # offset, end and last step, by offset
    whole = 0
    for request in ordered:
        size = rounded(request.nbytes)
        if not size:
            continue
        placed = [one for one in placed if one[2] >= request.first]
        current, best, waste = 0, None, None
        for offset, end, _ in [*placed, (whole, whole, 0)]:
            gap = offset - current
            if gap >= size and (waste is None or gap - size < waste):
                best, waste = current, gap - size
            current = max(current, end)
        begin = max((end for _, end, _ in placed), default=0) if best is None else best
        insort(placed, (begin, begin + size, request.last))
        whole = max(whole, begin + size)
    return whole
