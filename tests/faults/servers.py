"""``serve`` that is killed during pushes, clients that are killed, and requests of no sense."""

import http.client
import random
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from enginescope.core.errors import StoreError
from enginescope.store.archive import Store
from enginescope.store.remote import RemoteStore
from tests.faults.ledger import Event, Ledger, check, digest_of
from tests.faults.writer import drawn_run

TOKEN = "a-token-that-nobody-guesses-" * 2
_MOST_S = 0.5
_ANSWER_S = 30.0
SERVER_KILL, CLIENT_KILL = "kill of the server during pushes", "kill of a client that pushes"
FUZZED = "fuzzed request"


@contextmanager
def serving(store: Path, log: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Start a server, and yield its process and port."""
    (log.parent / "token").write_text(TOKEN)
    command = [sys.executable, "-m", "enginescope", "serve", "--store", str(store), "--port", "0"]
    command += ["--accept-push", "--token-file", str(log.parent / "token")]
    start = log.stat().st_size if log.exists() else 0
    with log.open("ab") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file)
    try:
        end = time.monotonic() + 120
        while not (found := re.search(rb"127\.0\.0\.1:(\d+)", log.read_bytes()[start:])):
            assert process.poll() is None, log.read_text()[-2000:]
            assert time.monotonic() < end
            time.sleep(0.02)
        yield process, int(found[1])
    finally:
        process.kill()
        process.wait()


def _runs_to_push(folder: Path, count: int, chance: random.Random) -> list[tuple[str, str, Path]]:
    """Id, digest and zip file of new runs."""
    store = Store(folder / "ours")
    made = []
    for _ in range(count):
        run = drawn_run(chance)
        store.save(run)
        made.append((run.id, digest_of(run), store.export(run.id, folder / f"{run.id}.zip")))
    return made


def killed_servers(top: Path, count: int, seed: str) -> Iterator[Event]:
    """Kill a server while two clients push; what it acknowledged is there when it runs again."""
    chance = random.Random(f"{seed}:serve")
    runs = iter(_runs_to_push(top, 24 * count, chance))
    store, ledger = top / "theirs", Ledger()
    for _ in range(count):
        with serving(store, top / "serve.log") as (process, port):
            clients = [
                threading.Thread(target=_push, args=(port, [next(runs) for _ in range(12)], ledger))
                for _ in range(2)
            ]
            before = len(ledger.saved)
            for one in clients:
                one.start()
            while len(ledger.saved) == before and any(one.is_alive() for one in clients):
                time.sleep(0.001)
            time.sleep(chance.random() * _MOST_S)
            process.kill()
            for one in clients:
                one.join()
        yield check(SERVER_KILL, store, ledger)


def _push(port: int, runs: list[tuple[str, str, Path]], ledger: Ledger) -> None:
    server = RemoteStore(f"http://127.0.0.1:{port}", TOKEN)
    for run_id, digest, file in runs:
        try:
            if server.put(run_id, file):
                ledger.saved[run_id] = digest
        except StoreError:
            return  # it was killed


def killed_clients(top: Path, count: int, seed: str) -> Iterator[Event]:
    """Kill ``enginescope runs push`` at random moments; the next one sends the rest."""
    chance = random.Random(f"{seed}:push")
    runs = _runs_to_push(top, 40, chance)
    store, ledger = top / "theirs", Ledger()
    (top / "token").write_text(TOKEN)
    with serving(store, top / "serve.log") as (_, port):
        command = [sys.executable, "-m", "enginescope", "runs", "push", f"http://127.0.0.1:{port}"]
        command += ["--store", str(top / "ours"), "--token-file", str(top / "token")]
        for _ in range(count):
            client = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            with suppress(subprocess.TimeoutExpired):
                client.wait(1 + chance.random() * 2)
            client.kill()
            client.wait()
            event = check(CLIENT_KILL, store, ledger)
            there = {*Store(store).ids()}
            ledger.saved |= {key: digest for key, digest, _ in runs if key in there}
            yield event
        subprocess.run(command, check=True, capture_output=True)
        ledger.saved |= {key: digest for key, digest, _ in runs}
    event = check(CLIENT_KILL, store, ledger)
    if event.lost or event.unreadable:
        yield event


def fuzzed_requests(top: Path, count: int, seed: str) -> Iterator[Event]:
    """Send what no client sends; the server refuses it, goes on, and keeps its runs."""
    chance = random.Random(f"{seed}:requests")
    store, ledger = top / "theirs", Ledger()
    for _ in range(3):
        run = drawn_run(chance)
        Store(store).save(run)
        ledger.keep(run)
    ((_, _, packed),) = _runs_to_push(top, 1, chance)
    log = top / "serve.log"
    with serving(store, log) as (process, port):
        for number in range(count):
            before = log.stat().st_size
            request = _request(chance, packed.read_bytes(), [*ledger.saved])
            wrong = _wrong_answer(port, request)
            said = log.read_bytes()[before:]
            if b"Traceback" in said or process.poll() is not None:
                wrong = f"the server failed after {request[:200]!r}: {said[-800:].decode()}"
            found = check(FUZZED, store, ledger) if number % 10 == 9 else Event(FUZZED)
            problems = (*found.unreadable, *([wrong] if wrong else ()))
            yield Event(FUZZED, found.checked, found.lost, problems)
            if process.poll() is not None:
                return


_PATHS = (
    *("/", "/runs", "/history", "/compare", "/suites", "/login", "/api"),
    *("/api/missing", "/api/runs/{id}", "/runs/{id}", "/runs/{id}/files/{odd}", "/suites/{odd}"),
    *("/runs/{odd}", "/static/{odd}", "/runs/{id}/archive", "/api/runs/{odd}"),
)
_ODD = (
    *("..%2f..%2fetc%2fpasswd", "%00", "%ff%fe", "../../../etc/passwd", "a" * 5_000, "%c0%ae", "-"),
    *("{{7*7}}", "<script>", "'%20OR%201=1", "%0d%0aX: y", "latest", ".part-0", "run.json", "~"),
)
_METHODS = (*("GET",) * 4, *("PUT",) * 3, "POST", "HEAD", "DELETE", "ÿ")
_QUERIES = (
    *("?since={odd}", "?page=99999999999999999999", "?page=-1", "?model={odd}&sort={odd}", "?run="),
    *("?run={id}&run={odd}", "?until=2026-13-99", "?outcome={odd}&tag={odd}&backend={odd}", "", ""),
)


def _request(chance: random.Random, packed: bytes, ids: list[str]) -> bytes:
    """A request that is odd in one or several ways."""
    path = chance.choice(_PATHS) + chance.choice(_QUERIES)
    while "{odd}" in path or "{id}" in path:
        path = path.replace("{odd}", chance.choice(_ODD), 1)
        path = path.replace("{id}", chance.choice(ids), 1)
    body = bytearray(chance.choice((b"", b'{"ids": [', b'{"ids": [1, {}]}', packed, packed)))
    for _ in range(chance.randrange(20) if body else 0):
        body[chance.randrange(len(body))] = chance.randrange(256)
    body = body[: chance.choice((None, None, chance.randrange(len(body) + 1)))]
    length = str(chance.choice((len(body),) * 4 + (-1, len(body) + 100, "x", 1 << 70)))
    headers = {
        "Host": chance.choice(("localhost", "localhost", "evil.example", "\xff", "")),
        "Authorization": chance.choice((f"Bearer {TOKEN}",) * 3 + ("Bearer", "Basic x", "\x80")),
        "Content-Type": chance.choice(("application/zip", "application/json", "text/html;;;")),
        "Content-Length": length,
        "Cookie": chance.choice(("", "session=" + "é" * 50, "a=b; " * 500)),
        chance.choice(("Range", "Transfer-Encoding", "Accept-Encoding", "If-None-Match")): (
            chance.choice(("bytes=5-1", "chunked", "gzip;q=x", "*", "\x00"))
        ),
    }
    dropped = chance.choice((*headers, "none", "none"))
    lines = [f"{chance.choice(_METHODS)} {path} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in headers.items() if name != dropped]
    data = "\r\n".join((*lines, "", "")).encode("latin-1", errors="replace") + bytes(body)
    return chance.randbytes(200) if chance.random() < 0.05 else data


def _wrong_answer(port: int, request: bytes) -> str | None:
    """Send bytes; return what is wrong with the answer, or with that to a sound request."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=_ANSWER_S) as client:
            with suppress(OSError):  # it may answer before it has read all, and close
                client.sendall(request)
                client.shutdown(socket.SHUT_WR)
            answer = b""
            with suppress(ConnectionError):
                while block := client.recv(1 << 16):
                    answer = answer or block
        if answer.startswith(b"HTTP/1.1 5"):
            return f"{answer[:40]!r} to {request[:300]!r}"
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_ANSWER_S)
        connection.request("GET", "/api", headers={"Authorization": f"Bearer {TOKEN}"})
        status = connection.getresponse().status
        connection.close()
    except OSError as error:
        return f"{error!r} after {request[:300]!r}"
    return None if status == 200 else f"{status} for /api after {request[:300]!r}"
