"""Parsing, or timing, without the cycle collector in the way."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Keep the cycle collector from running in the block.

    It starts on every few hundred new objects and goes through all that live: with hundreds of
    thousands of parsed values, none of them in a cycle, that is half of the time of reading them;
    and among timed iterations it makes some of them slow.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
