"""The one fake device of this process: its memory, its timeline, its handles.

Its memory is real bytes at real addresses, with bounds and owners.
"""

import bisect
import ctypes
import itertools
from collections import deque
from dataclasses import dataclass
from typing import Any

from fake_device.handles import cudaError_t
from fake_device.settings import faulty, total_bytes
from fake_device.timeline import Event, Stream, Timeline

_ALIGNMENT = 256
#: What is freed is kept for a while, so that its address is not given out again.
_QUARANTINE_BYTES = 256 << 20
_POISON = 0xDB


@dataclass(eq=False)
class Block:
    address: int
    nbytes: int
    kind: str
    buffer: Any
    freed: bool = False

    end = property(lambda self: self.address + self.nbytes)


class Memory:
    #: What a context of CUDA itself takes.
    CONTEXT_BYTES = 512 << 20

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._blocks: dict[int, Block] = {}
        self._freed: deque[Block] = deque()
        self._freed_bytes = 0
        self.used = self.CONTEXT_BYTES

    free = property(lambda self: max(total_bytes() - self.used, 0))

    def allocate(self, nbytes: int, kind: str) -> Block | None:
        """Return a new block; ``None`` if it does not fit."""
        on_device = kind != "pinned"
        if faulty("oom_buffer") or (on_device and nbytes > self.free):
            return None
        buffer = (ctypes.c_uint8 * (nbytes + _ALIGNMENT))()
        address = -(-ctypes.addressof(buffer) // _ALIGNMENT) * _ALIGNMENT
        block = Block(address, nbytes, kind, buffer)
        bisect.insort(self._starts, address)
        self._blocks[address] = block
        self.used += nbytes if on_device else 0
        return block

    def release(self, address: int, kinds: tuple[str, ...]) -> bool:
        """Free a block; false if there is no such live block."""
        block = self._blocks.get(address)
        if block is None or block.freed or block.kind not in kinds:
            return False
        block.freed = True
        ctypes.memset(block.address, _POISON, min(block.nbytes, 1 << 20))
        self.used -= block.nbytes if block.kind != "pinned" else 0
        self._freed.append(block)
        self._freed_bytes += block.nbytes
        while self._freed_bytes > _QUARANTINE_BYTES:
            oldest = self._freed.popleft()
            self._freed_bytes -= oldest.nbytes
            self._starts.remove(oldest.address)
            del self._blocks[oldest.address]
        return True

    def reserve(self, nbytes: int) -> bool:
        """Take device memory that nobody addresses (weights, activations); false if too much."""
        if nbytes > self.free:
            return False
        self.used += nbytes
        return True

    def block_at(self, address: int) -> Block | None:
        """Return the block that holds an address, freed or not."""
        at = bisect.bisect_right(self._starts, address) - 1
        if at < 0:
            return None
        block = self._blocks[self._starts[at]]
        return block if address < max(block.end, block.address + 1) else None

    def on_device(self, address: int, nbytes: int) -> bool:
        """Whether the device may touch so many bytes there as its own memory."""
        block = self.block_at(address)
        return (
            block is not None
            and not block.freed
            and block.kind != "pinned"
            and address + nbytes <= block.end
        )

    def on_host(self, address: int, nbytes: int) -> bool:
        """Whether the host may touch so many bytes there: anything that is not known to be bad."""
        block = self.block_at(address)
        if block is None:
            return address != 0
        return not block.freed and block.kind != "device" and address + nbytes <= block.end

    def live(self) -> tuple[Block, ...]:
        """Return what is not freed yet: what a test finds here at the end has leaked."""
        return tuple(one for one in self._blocks.values() if not one.freed)


class Device:
    def __init__(self) -> None:
        self._handles = itertools.count(0x5580_0000_1000, 0x40)
        self.reset()

    def reset(self) -> None:
        """Be as new; objects of before keep the memory that they took theirs from."""
        self.memory = Memory()
        self.timeline = Timeline()
        self.events: dict[int, Event] = {}
        self.graphs: dict[int, Any] = {}
        self.executables: dict[int, Any] = {}
        self.last_error = cudaError_t.cudaSuccess
        self.current = 0

    def handle(self) -> int:
        return next(self._handles)

    def absent(self) -> cudaError_t | None:
        """Return why there is no device, or ``None``."""
        if faulty("no_gpu"):
            return cudaError_t.cudaErrorNoDevice
        return cudaError_t.cudaErrorInsufficientDriver if faulty("no_driver") else None

    def stream(self, handle: int) -> Stream | None:
        """Return a living stream; 1 and 2 are CUDA's names for default streams."""
        return self.timeline.streams.get(0 if handle in (1, 2) else handle)


DEVICE = Device()
