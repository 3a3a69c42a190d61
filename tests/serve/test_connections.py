"""Connections that send nothing, too little or too slowly keep nobody else out."""

import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

import httpx
import pytest

from enginescope.serve import connections
from enginescope.serve.access import Access
from enginescope.serve.app import Taking
from enginescope.serve.kept_runs import NotHereError
from tests.serve.conftest import TOKEN, served, wait_for

SILENT = 80
PUSHES = (Access(token=TOKEN), Taking(is_on=True))


def connect(address: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), timeout=20)


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
def process(store, tmp_path) -> Iterator[tuple[subprocess.Popen, str]]:
    (tmp_path / "token").write_text(TOKEN)
    command = [sys.executable, "-m", "enginescope", "serve", "--store", str(store.path)]
    command += ["--port", "0", "--accept-push", "--token-file", str(tmp_path / "token")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as one:
        while not (address := re.search(r"http://127\.0\.0\.1:\d+", one.stderr.readline())):
            pass
        try:
            yield one, address[0]
        finally:
            one.kill()


@pytest.mark.parametrize("sent", [b"", half_a_body("POST /login")], ids=["silent", "half a form"])
def test_connections_that_wait_keep_nobody_out(store, sent) -> None:
    with served(store, *PUSHES) as address, ExitStack() as held:
        for _ in range(SILENT):
            held.enter_context(connect(address)).sendall(sent)
        time.sleep(0.5 if sent else 0)
        assert httpx.get(f"{address}/login").status_code == 200


def test_clients_that_leave_or_send_no_http_print_no_traceback_until_the_server_ends(
    process,
) -> None:
    one, address = process
    shown = httpx.get(f"{address}/runs", headers={"Authorization": f"Bearer {TOKEN}"})
    assert ("/runs/aaa111" in shown.text, "server" in shown.headers) == (True, False)
    for asked in ("POST /api/missing", "POST /login", "PUT /api/runs/new"):
        with connect(address) as client:
            client.sendall(half_a_body(asked))
            time.sleep(0.2)
    assert httpx.get(f"{address}/login").status_code == 200
    head = b" /compare HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    for body in (b"no chunk\r\n\r\n", b"PK\x03\x04garbage\r\n\r\n") * 4:
        with connect(address) as client:
            client.sendall(b"PUT" + head + body)
            assert client.recv(65_536).startswith(b"HTTP/1.1 400")
        with connect(address) as client:
            client.sendall(b"HEAD" + head + body)
            assert client.recv(65_536) == b""  # an answer to HEAD has no body
    assert httpx.get(f"{address}/login").status_code == 200
    one.send_signal(signal.SIGINT)
    assert "Traceback" not in one.communicate(timeout=30)[1]
    assert one.returncode == 130


def test_a_header_has_to_arrive_in_time(store, monkeypatch) -> None:
    monkeypatch.setattr(connections, "HEADER_S", 0.5)
    with served(store) as address, ExitStack() as held:
        silent, slow, again = (held.enter_context(connect(address)) for _ in range(3))
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


@pytest.mark.parametrize("limit", ["STALL_S", "BODY_S"], ids=["stalls", "byte by byte"])
def test_a_body_that_stalls_or_arrives_byte_by_byte_is_given_up(store, monkeypatch, limit) -> None:
    monkeypatch.setattr(connections, limit, 0.5)
    with served(store, *PUSHES) as address, connect(address) as one:
        one.sendall(half_a_body("PUT /api/runs/new"))
        one.settimeout(0.1)
        end, said = time.monotonic() + 20, b""
        while not said and time.monotonic() < end:
            if limit == "BODY_S":
                one.sendall(b"x")
            with suppress(TimeoutError):
                said = one.recv(65_536)
        assert said.startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("sent", [b"", half_a_body("PUT /api/runs/new")], ids=["idle", "half sent"])
def test_a_connection_beyond_the_limit_takes_the_place_of_one_that_waits(
    store, monkeypatch, sent
) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 3)
    with served(store, *PUSHES) as address, ExitStack() as held:
        opened = []
        for _ in range(3):
            opened.append(held.enter_context(connect(address)))
            opened[-1].sendall(sent)
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
        with ThreadPoolExecutor(2) as pool:
            for _ in range(2):
                pool.submit(httpx.get, f"{address}/runs/aaa111/files", timeout=30)
            try:
                wait_for(lambda: len(begun) == 2)
                answer = httpx.get(f"{address}/api")
                assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            finally:
                go_on.set()
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
