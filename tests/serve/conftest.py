import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from enginescope.judge.stats import describe
from enginescope.records.run.run import Artifact, Outcome, OutcomeKind
from enginescope.serve.access import Access
from enginescope.serve.app import Taking, application
from enginescope.serve.configuration import Configuration
from enginescope.store.archive import Store
from tests.conftest import missing
from tests.render.conftest import browser, tab  # noqa: F401 - fixtures
from tests.store.stored_runs import a_run

#: Long enough, and looked for in every answer.
TOKEN = "a-token-that-nobody-guesses"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Four runs of two models: one with a file, one that failed."""
    made = Store(tmp_path / "store")
    (tmp_path / "build.log").write_text("what the build said")
    log = Artifact(path=str(tmp_path / "build.log"), kind="log")
    made.save(a_run("resnet.onnx", id="aaa111", at=1, artifacts=(log,)), tags=["main"])
    made.save(a_run("resnet.onnx", id="aaa222", at=2))
    made.save(a_run("<b>bert</b>.onnx", id="bbb111", at=3))
    failed = Outcome(kind=OutcomeKind.CRASHED, message="it crashed")
    made.save(a_run("<b>bert</b>.onnx", id="bbb222", at=4, samples=(), outcome=failed))
    return made


@pytest.fixture
def client(store: Store) -> Iterator:
    with client_of(store) as made:
        yield made


@pytest.fixture
def counted(monkeypatch) -> dict[str, int]:
    """How often the server read a run, listed the store and computed an interval."""
    calls = {"run": 0, "list": 0, "interval": 0}

    def count(key: str, owner: object, name: str) -> None:
        real = getattr(owner, name)

        def counting(*given, **more):
            calls[key] += 1
            return real(*given, **more)

        monkeypatch.setattr(owner, name, counting)

    count("run", Store, "load_id")
    count("list", Store, "select")
    count("interval", describe, "quantile_interval")
    return calls


@contextmanager
def client_of(store: Store, *more: Access | Taking | Configuration | None) -> Iterator:
    """A browser of a real server, that follows no answer elsewhere by itself."""
    import httpx

    with served(store, *more) as address, httpx.Client(base_url=address) as made:
        yield made


@contextmanager
def served(
    store: Store, *more: Access | Taking | Configuration | None, port: int = 0, **named: Any
) -> Iterator:
    """A real server on loopback, with what `application` takes; yields its address."""
    try:
        import uvicorn  # noqa: F401
    except ImportError:
        missing("uvicorn is not installed")
    with socket.create_server(("127.0.0.1", port)) as listener:
        from enginescope.serve.connections import server as server_of

        server = server_of(application(store, *more, **named), log_level="error")
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        wait_for(lambda: server.started)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = server.force_exit = True
            thread.join(timeout=10)


def raw_answer(address: str, path: str) -> bytes:
    """What a server answers to a path as it is; a client would resolve its dots."""
    port = int(address.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        rest = "HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        connection.sendall(f"GET {path} {rest}".encode())
        return b"".join(iter(lambda: connection.recv(65536), b""))


def wait_for(condition: Callable[[], bool], limit_s: float = 20.0) -> None:
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.01)
