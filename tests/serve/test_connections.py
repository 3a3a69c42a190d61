"""Connections that send nothing, too little or too slowly keep nobody else out."""

import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import httpx
import pytest

from enginescope.serve import connections
from enginescope.serve.access import Access
from enginescope.serve.app import Taking
from enginescope.serve.kept_runs import NotHereError
from tests.serve.conftest import TOKEN, served, wait_for

SILENT = 80


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def half_a_body(asked: str) -> bytes:
    headers = (
        *("Host: localhost", f"Authorization: Bearer {TOKEN}", "Content-Length: 1000"),
        "Content-Type: application/zip",
    )
    return "\r\n".join((f"{asked} HTTP/1.1", *headers, "", "x")).encode()


def is_closed(one: socket.socket) -> bool:
    one.settimeout(0.01)
    try:
        return one.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


@pytest.fixture
def process(store, tmp_path) -> Iterator[tuple[subprocess.Popen, int]]:
    (tmp_path / "token").write_text(TOKEN)
    command = [sys.executable, "-m", "enginescope", "serve", "--store", str(store.path)]
    command += ["--port", "0", "--accept-push", "--token-file", str(tmp_path / "token")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as one:
        said = one.stderr.readline()
        while not (port := re.search(r"127\.0\.0\.1:(\d+)", said)):
            said = one.stderr.readline()
        try:
            yield one, int(port[1])
        finally:
            one.kill()


def test_silent_connections_keep_nobody_out(process) -> None:
    _, port = process
    with ExitStack() as held:
        for _ in range(SILENT):
            held.enter_context(connect(port))
        answer = httpx.get(f"http://127.0.0.1:{port}/login")
    assert answer.status_code == 200


def test_a_client_that_leaves_prints_no_traceback(process) -> None:
    one, port = process
    for asked in ("POST /api/missing", "POST /login", "PUT /api/runs/new"):
        with connect(port) as client:
            client.sendall(half_a_body(asked))
            time.sleep(0.2)
    assert httpx.get(f"http://127.0.0.1:{port}/login").status_code == 200
    one.send_signal(signal.SIGINT)
    assert "Traceback" not in one.communicate(timeout=30)[1]


def test_a_body_that_is_not_http_prints_no_traceback(process) -> None:
    one, port = process
    head = b" /compare HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    for body in (b"no chunk\r\n\r\n", b"PK\x03\x04garbage\r\n\r\n") * 4:
        with connect(port) as client:
            client.sendall(b"PUT" + head + body)
            assert client.recv(65_536).startswith(b"HTTP/1.1 400")
        with connect(port) as client:
            client.sendall(b"HEAD" + head + body)
            assert client.recv(65_536) == b""  # an answer to HEAD has no body
    assert httpx.get(f"http://127.0.0.1:{port}/login").status_code == 200
    one.send_signal(signal.SIGINT)
    assert "Traceback" not in one.communicate(timeout=30)[1]


def test_a_header_has_to_arrive_in_time(store, monkeypatch) -> None:
    monkeypatch.setattr(connections, "HEADER_S", 0.5)
    with served(store) as address, ExitStack() as held:
        port = int(address.rpartition(":")[2])
        silent = held.enter_context(connect(port))
        slow = held.enter_context(connect(port))
        again = held.enter_context(connect(port))
        again.sendall(b"GET /api HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200 OK" in again.recv(65_536)
        for one in (slow, again):
            one.sendall(b"GET /runs HTTP/1.1\r\nX")
        end = time.monotonic() + 10
        while not is_closed(slow) and time.monotonic() < end:
            try:
                slow.sendall(b"x")  # a byte now and then does not help
            except OSError:
                break
            time.sleep(0.1)
        wait_for(lambda: is_closed(silent), 10)
        wait_for(lambda: is_closed(again), 10)
        assert time.monotonic() < end


def test_a_body_that_stalls_is_given_up(store, monkeypatch) -> None:
    monkeypatch.setattr(connections, "STALL_S", 0.5)
    with (
        served(store, Access(token=TOKEN), Taking(is_on=True)) as address,
        connect(int(address.rpartition(":")[2])) as one,
    ):
        one.sendall(half_a_body("PUT /api/runs/new"))
        assert one.recv(65_536).startswith(b"HTTP/1.1 400")


def test_half_sent_forms_keep_nobody_out(process) -> None:
    _, port = process
    with ExitStack() as held:
        for _ in range(SILENT):
            held.enter_context(connect(port)).sendall(half_a_body("POST /login"))
        time.sleep(0.5)
        answer = httpx.get(f"http://127.0.0.1:{port}/login")
    assert answer.status_code == 200


def test_a_body_that_arrives_byte_by_byte_is_given_up(store, monkeypatch) -> None:
    monkeypatch.setattr(connections, "BODY_S", 0.5)
    with (
        served(store, Access(token=TOKEN), Taking(is_on=True)) as address,
        connect(int(address.rpartition(":")[2])) as one,
    ):
        one.sendall(half_a_body("PUT /api/runs/new"))
        one.settimeout(0.1)
        end, said = time.monotonic() + 10, b""
        while not said and time.monotonic() < end:
            one.sendall(b"x")
            with suppress(TimeoutError):
                said = one.recv(65_536)
        assert said.startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("asked", [b"", None], ids=["idle", "half sent"])
def test_a_connection_beyond_the_limit_takes_the_place_of_one_that_waits(
    store, monkeypatch, asked
) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 3)
    asked = half_a_body("PUT /api/runs/new") if asked is None else asked
    with served(store, Access(token=TOKEN), Taking(is_on=True)) as address, ExitStack() as held:
        port = int(address.rpartition(":")[2])
        opened = []
        for _ in range(3):
            opened.append(held.enter_context(connect(port)))
            opened[-1].sendall(asked)
            time.sleep(0.1)
        assert httpx.get(f"{address}/login").status_code == 200
        wait_for(lambda: is_closed(opened[0]), 5)
        assert not is_closed(opened[2])


def test_more_requests_than_the_limit_come_again(store, monkeypatch) -> None:
    monkeypatch.setattr(connections, "MOST_REQUESTS", 2)
    go_on, begun = threading.Event(), []

    def wait(*_) -> None:
        begun.append(1)
        go_on.wait(20)
        raise NotHereError("this run")

    monkeypatch.setattr("enginescope.serve.kept_runs.KeptRuns.run", wait)
    with served(store) as address:
        waiting = [
            threading.Thread(
                target=httpx.get, args=(f"{address}/runs/aaa111/files",), kwargs={"timeout": 30}
            )
            for _ in range(2)
        ]
        for one in waiting:
            one.start()
        try:
            wait_for(lambda: len(begun) == 2)
            answer = httpx.get(f"{address}/api")
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        finally:
            go_on.set()
            for one in waiting:
                one.join()
        assert httpx.get(f"{address}/api").status_code == 200


def test_answers_do_not_wait_for_acknowledgments(store, monkeypatch) -> None:
    """Else the body of each waits 40 ms for the client to acknowledge the header."""
    without_delay, real = [], connections.Connection.connection_made

    def made(self, transport) -> None:
        real(self, transport)
        own = transport.get_extra_info("socket")
        without_delay.append(own.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    monkeypatch.setattr(connections.Connection, "connection_made", made)
    with served(store) as address:
        httpx.get(f"{address}/api")
    assert without_delay
    assert all(without_delay)
