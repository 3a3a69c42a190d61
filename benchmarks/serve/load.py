"""How a server answers many clients: p50 and p95 of every page, errors, and its memory.

Clients ask for one page after another, without a pause. Stretches without and with silent
connections take turns, so that other load on the machine disturbs both alike. Ends with 1 where a
page is over its limit, silent connections change p95 by more than a fifth, or a request fails.
"""

from __future__ import annotations

import argparse
import http.client
import random
import re
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.serve.many_runs import MODELS, make

from enginescope.store.archive import Store

HISTORY_LIMIT_MS, LIMIT_MS = 300.0, 500.0
MOST_CHANGE = 0.2
#: Of runs that are looked at: those on the first pages of the list.
NEWEST = 200
_TIMEOUT_S = 120


@dataclass
class Answers:
    """What clients saw: milliseconds by page, and what went wrong."""

    took_ms: dict[str, list[float]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    size: dict[str, int] = field(default_factory=dict)

    def p95_ms(self) -> float:
        """Return p95 over all pages."""
        return percentile([one for each in self.took_ms.values() for one in each], 95)


class Silent:
    """Connections that never send a byte; one that the server closes is opened again."""

    def __init__(self, port: int, count: int) -> None:
        self._port, self._open = port, [self._connect(port) for _ in range(count)]
        self.closed = 0

    @staticmethod
    def _connect(port: int) -> socket.socket:
        one = socket.create_connection(("127.0.0.1", port), timeout=10)
        one.settimeout(0)
        return one

    def refresh(self) -> None:
        """Open those again that were closed."""
        for at, one in enumerate(self._open):
            try:
                is_closed = one.recv(1) == b""
            except BlockingIOError:
                continue
            except OSError:
                is_closed = True
            if is_closed:
                one.close()
                self.closed += 1
                self._open[at] = self._connect(self._port)

    def close(self) -> None:
        """Close all of them."""
        for one in self._open:
            one.close()


def pages(newest: list[str]) -> dict[str, str]:
    """Return addresses by the name of the page, drawn anew."""
    model = f"model-{random.randrange(MODELS)}.onnx"
    a, b = random.sample(newest, 2)
    return {
        "/": "/",
        "/runs": f"/runs?page={random.randint(1, 20)}",
        "/runs?model=": f"/runs?model={model}&sort=fastest",
        "/?model=": f"/?model={model}",
        "/runs/ID": f"/runs/{a}",
        "/runs/ID/files": f"/runs/{a}/files",
        "/history": f"/history?model={model}",
        "/compare": f"/compare?run={a}&run={b}",
        "/suites": "/suites",
        "/suites/NAME": "/suites/zoo",
    }


def client(
    port: int, until: float, newest: list[str], found: Answers, lock: threading.Lock
) -> None:
    """Ask for one page after another."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_S)
    with closing(connection):
        while time.monotonic() < until:
            name, address = random.choice(list(pages(newest).items()))
            begin = time.perf_counter()
            try:
                connection.request("GET", address, headers={"Accept-Encoding": "gzip"})
                answer = connection.getresponse()
                size = len(answer.read())
                problem = None if answer.status == 200 else f"{address}: {answer.status}"
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                size, problem = 0, f"{address}: {error!r}"
            took_ms = (time.perf_counter() - begin) * 1e3
            with lock:
                found.took_ms.setdefault(name, []).append(took_ms)
                found.size[name] = size
                found.errors += [problem] if problem else []


def drive(port: int, clients: int, seconds: float, newest: list[str], found: Answers) -> None:
    """Let clients ask for so long."""
    until, lock = time.monotonic() + seconds, threading.Lock()
    threads = [
        threading.Thread(target=client, args=(port, until, newest, found, lock))
        for _ in range(clients)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()


@contextmanager
def serving(store: Path) -> Iterator[tuple[int, psutil.Process]]:
    """Start ``enginescope serve``, and yield its port and process."""
    command = [sys.executable, "-m", "enginescope", "serve", "--store", str(store), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        threading.Thread(target=process.stderr.read, daemon=True).start()
        port = re.search(r"http://127\.0\.0\.1:(\d+)", said)
        if port is None:
            process.kill()
            raise SystemExit(f"the server did not start: {said}")
        try:
            yield int(port[1]), psutil.Process(process.pid)
        finally:
            process.terminate()


def percentile(values: list[float], share: float) -> float:
    """Return a percentile by nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share / 100))]


def print_table(answers: dict[str, Answers]) -> bool:
    """Print p50 and p95 of every page, and return whether each is within its limit."""
    print(f"{'page':16}", *(f"{name:>34}" for name in answers))
    is_fine = True
    for page in sorted({page for found in answers.values() for page in found.took_ms}):
        cells = []
        for found in answers.values():
            took = found.took_ms.get(page) or [0.0]
            p50, p95 = statistics.median(took), percentile(took, 95)
            is_fine &= p95 <= (HISTORY_LIMIT_MS if page == "/history" else LIMIT_MS)
            size = found.size.get(page, 0) // 1024
            cells.append(f"{len(took):6} × p50 {p50:6.0f} p95 {p95:6.0f} ms {size:4} KiB")
        print(f"{page:16}", *cells)
    for name, found in answers.items():
        print(f"{name}: p95 of all {found.p95_ms():.0f} ms, {len(found.errors)} errors")
        for problem in found.errors[:5]:
            print(f"  {problem}")
    return is_fine and not any(found.errors for found in answers.values())


def main() -> int:
    """Print a line for each page; 1 if something is over its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=120.0, help="of each kind of stretch")
    parser.add_argument("--turns", type=int, default=3, help="stretches of each kind")
    parser.add_argument("--silent", type=int, default=200, help="silent connections; 0: none")
    parser.add_argument("--store", type=Path, help="made there and kept; one that is there is used")
    chosen = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4096)), hard))
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as kept:
        store = chosen.store or Path(scratch) / "store"
        if not (store / "runs").is_dir():
            make(store, chosen.runs)
        newest = [row.id for row in Store(store).rows(limit=NEWEST)]
        port, process = kept.enter_context(serving(store))
        drive(port, 1, 2, newest, Answers())
        before = process.memory_info().rss
        quiet, crowded = Answers(), Answers()
        for _ in range(chosen.turns):
            drive(port, chosen.clients, chosen.seconds / chosen.turns, newest, quiet)
            if chosen.silent:
                closed = under_silence(port, chosen, newest, crowded)
        after = process.memory_info().rss
    answers = {"quiet": quiet} | ({f"{chosen.silent} silent": crowded} if chosen.silent else {})
    is_fine = print_table(answers)
    print(f"memory of the server: {before >> 20} MiB before, {after >> 20} MiB after")
    if chosen.silent:
        change = crowded.p95_ms() / quiet.p95_ms() - 1
        print(f"silent connections change p95 by {change:+.0%}; the server closed {closed} of them")
        is_fine &= change <= MOST_CHANGE
    return 0 if is_fine else 1


def under_silence(port: int, chosen: argparse.Namespace, newest: list[str], found: Answers) -> int:
    """Drive clients beside silent connections, and return how many the server closed."""
    silent, is_over = Silent(port, chosen.silent), threading.Event()

    def refresh() -> None:
        while not is_over.wait(0.5):
            silent.refresh()

    keeper = threading.Thread(target=refresh)
    keeper.start()
    try:
        drive(port, chosen.clients, chosen.seconds / chosen.turns, newest, found)
    finally:
        is_over.set()
        keeper.join()
        silent.close()
    return silent.closed


if __name__ == "__main__":
    sys.exit(main())
