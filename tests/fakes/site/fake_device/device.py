"""The one fake device of this process: its memory, its timeline, its handles."""

import itertools
from typing import Any

from fake_device.errors import Error
from fake_device.memory import Memory
from fake_device.settings import faulty
from fake_device.timeline import Event, Stream, Timeline


class Device:
    def __init__(self) -> None:
        self.memory = Memory()
        self.timeline = Timeline()
        self.events: dict[int, Event] = {}
        self.graphs: dict[int, Any] = {}
        self.executables: dict[int, Any] = {}
        self.last_error = Error.cudaSuccess
        self.current = 0
        self._handles = itertools.count(0x5580_0000_1000, 0x40)

    def handle(self) -> int:
        return next(self._handles)

    def absent(self) -> Error | None:
        """Return why there is no device, or ``None``."""
        if faulty("no_gpu"):
            return Error.cudaErrorNoDevice
        return Error.cudaErrorInsufficientDriver if faulty("no_driver") else None

    def stream(self, handle: int) -> Stream | None:
        """Return a living stream; 1 and 2 are CUDA's names for default streams."""
        return self.timeline.streams.get(0 if handle in (1, 2) else handle)

    def new_stream(self, *, blocking: bool) -> Stream:
        made = Stream(self.handle(), blocking)
        self.timeline.streams[made.handle] = made
        return made

    def new_event(self, *, timing: bool) -> Event:
        made = Event(self.handle(), timing)
        self.events[made.handle] = made
        return made


DEVICE = Device()
