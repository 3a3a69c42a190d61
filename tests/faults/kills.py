"""SIGKILL of writers at random moments, and of the database server under them."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from enginescope.store.location import StorePlace, parse_place
from tests.faults.ledger import Event, Ledger, check

#: Writers at the same time on one store.
WRITERS = 3
#: From the first acknowledged result to the kill, at most.
_MOST_S = 0.6
_START_S = 120.0
SERVER_KILL = "kill of the database server, and its restart, under writers"


class Process:
    """A writer whose printed lines go to a ledger."""

    def __init__(self, place: str, seed: str, ledger: Ledger) -> None:
        self._ledger, self._rest, self.said = ledger, b"", b""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.writer", place, seed],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._out, self._err = self._process.stdout, self._process.stderr
        os.set_blocking(self._out.fileno(), False)
        os.set_blocking(self._err.fileno(), False)

    def read(self) -> int:
        """Take what was printed up to now; return the number of whole lines."""
        *lines, self._rest = (self._rest + (self._out.read() or b"")).split(b"\n")
        for line in lines:
            self._ledger.take(line.decode())
        self.said += self._err.read() or b""  # what the store refused
        return len(lines)

    def wait_for_work(self) -> None:
        """Return once something was acknowledged."""
        end = time.monotonic() + _START_S
        while not self.read():
            if self._process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"a writer does not write: {self.said.decode()[-2000:]}")
            time.sleep(0.01)

    def kill(self) -> None:
        """End it at once, and take what it had printed."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self.read()

    def close(self) -> None:
        """End it if it still runs."""
        self.kill()
        self._out.close()
        self._err.close()


@contextmanager
def writers(place: StorePlace, seed: str, ledger: Ledger) -> Iterator[list[Process]]:
    """Processes that write to one store; they end with the block."""
    text = getattr(place, "secret_url", str(place))
    with ExitStack() as stack:
        started = [Process(text, f"{seed}:{number}", ledger) for number in range(WRITERS)]
        for one in started:
            stack.callback(one.close)
        yield started


def killed_writers(
    kind: str, places: Iterator[StorePlace], count: int, seed: str
) -> Iterator[Event]:
    """Kill `count` writers, a few at a time on one store; a fresh store now and then.

    Args:
        places: Of empty stores.
    """
    chance = random.Random(f"{seed}:{kind}")
    place, ledger = next(places), Ledger()
    for number in range(0, count, WRITERS):
        if number and number % (2 * WRITERS) == 0:
            place, ledger = next(places), Ledger()
        with writers(place, f"{seed}:{kind}:{number}", ledger) as running:
            for one in running:
                one.wait_for_work()
            while running and number + WRITERS - len(running) < count:
                time.sleep(chance.random() * _MOST_S)
                running.pop(chance.randrange(len(running))).kill()
                before = ledger.copy()
                yield _checked(kind, place, before, ledger, running)


def killed_server(server, count: int, seed: str) -> Iterator[Event]:
    """Kill a database server under its writers, and start it again."""
    chance = random.Random(f"{seed}:server")
    place, ledger = parse_place(server.fresh_url()), Ledger()
    with writers(place, f"{seed}:server", ledger) as running:
        for one in running:
            one.wait_for_work()
        for _ in range(count):
            time.sleep(chance.random() * _MOST_S)
            server.kill()
            server.start()
            for one in running:
                one.wait_for_work()
            yield _checked(SERVER_KILL, place, ledger.copy(), ledger, running)


def _checked(
    kind: str, place: StorePlace, before: Ledger, ledger: Ledger, running: list[Process]
) -> Event:
    """Check what was acknowledged before, while other writers go on."""

    def begun() -> set[str]:
        for one in running:
            one.read()
        return ledger.doomed

    return check(kind, place, before, begun, files=not running)


def folders(top: Path) -> Iterator[StorePlace]:
    """Yield new folders."""
    number = 0
    while True:
        number += 1
        yield top / f"store{number}"
