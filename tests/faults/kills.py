"""SIGKILL of writers at random moments, and of the database server under them."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from enginescope.store.location import StorePlace, parse_place
from tests.faults.ledger import Event, Ledger, check

#: Writers at the same time on one store.
WRITERS = 3
#: From the first acknowledged result to the kill, at most.
_MOST_S = 0.6
_START_S = 120.0
SERVER_KILL = "kill of the database server, and its restart, under writers"


class Nursery:
    """Starts writers: see `tests.faults.writer`."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._log = (Path(self._folder.name) / "log").open("w+")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.writer"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        self._count = 0

    def writer(self, place: str, seed: str, ledger: Ledger) -> Process:
        self._count += 1
        pipe = Path(self._folder.name) / f"pipe{self._count}"
        os.mkfifo(pipe)
        end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        print(place, seed, pipe, file=self._process.stdin, flush=True)
        return Process(int(self._process.stdout.readline()), end, self, ledger)

    def said(self) -> str:
        self._log.seek(0)
        return self._log.read()[-2000:]

    def close(self) -> None:
        self._process.communicate()
        self._log.close()
        self._folder.cleanup()


class Process:
    """A writer whose printed lines go to a ledger."""

    def __init__(self, pid: int, pipe: int, nursery: Nursery, ledger: Ledger) -> None:
        self._pid, self._pipe, self._nursery, self._ledger = pid, pipe, nursery, ledger
        self._rest, self._is_open = b"", True

    def read(self) -> int:
        """Take what was printed up to now; return the number of whole lines."""
        data = b""
        with suppress(BlockingIOError):  # nothing is there now
            while self._is_open and (block := os.read(self._pipe, 1 << 16)):
                data += block
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._ledger.take(line.decode())
        return len(lines)

    def wait_for_work(self) -> None:
        """Return once something was acknowledged."""
        end = time.monotonic() + _START_S
        while not self.read():
            if time.monotonic() > end:
                raise AssertionError(f"a writer does not write: {self._nursery.said()}")
            time.sleep(0.01)

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        while Path(f"/proc/{self._pid}").exists():
            time.sleep(0.001)
        self.read()

    def close(self) -> None:
        if self._is_open:
            self.kill()
            os.close(self._pipe)
            self._is_open = False


@contextmanager
def writers(
    nursery: Nursery, place: StorePlace, seed: str, ledger: Ledger
) -> Iterator[list[Process]]:
    """Processes that write to one store; they end with the block."""
    text = getattr(place, "secret_url", str(place))
    with ExitStack() as stack:
        started = []
        for number in range(WRITERS):
            started.append(nursery.writer(text, f"{seed}:{number}", ledger))
            stack.callback(started[-1].close)
        yield started


def killed_writers(
    kind: str, places: Iterator[StorePlace], count: int, seed: str
) -> Iterator[Event]:
    """Kill `count` writers, a few at a time on one store; a fresh store now and then.

    Args:
        places: Of empty stores.
    """
    chance = random.Random(f"{seed}:{kind}")
    place, ledger, nursery = next(places), Ledger(), Nursery()
    for number in range(0, count, WRITERS):
        if number and number % (2 * WRITERS) == 0:
            place, ledger = next(places), Ledger()
        with writers(nursery, place, f"{seed}:{number}", ledger) as running:
            for one in running:
                one.wait_for_work()
            while running and number + WRITERS - len(running) < count:
                time.sleep(chance.random() * _MOST_S)
                running.pop(chance.randrange(len(running))).kill()
                yield _checked(kind, place, ledger.copy(), ledger, running)
    nursery.close()


def killed_server(server, count: int, seed: str) -> Iterator[Event]:
    """Kill a database server under its writers, and start it again."""
    chance = random.Random(f"{seed}:server")
    place, ledger, nursery = parse_place(server.fresh_url()), Ledger(), Nursery()
    with writers(nursery, place, f"{seed}:server", ledger) as running:
        for one in running:
            one.wait_for_work()
        for _ in range(count):
            time.sleep(chance.random() * _MOST_S)
            server.kill()
            server.start()
            for one in running:
                one.wait_for_work()
            yield _checked(SERVER_KILL, place, ledger.copy(), ledger, running)
    nursery.close()


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
    number = 0
    while True:
        number += 1
        yield top / f"store{number}"
