import asyncio
import inspect
import time

import httpx
import pytest
from starlette.datastructures import URL
from starlette.requests import Request

from enginescope.core.errors import UsageError
from enginescope.serve import access as module
from enginescope.serve.access import COOKIE, Access, check_token
from enginescope.serve.app import Taking, application
from tests.serve.conftest import TOKEN, client_of, raw_answer, served

ADDRESSES = (
    *("/", "/runs", "/runs/aaa111", "/runs/aaa111/files", "/runs/aaa111/archive", "/changes"),
    *("/suites", "/suites/x", "/history?model=resnet.onnx", "/compare?run=aaa111&run=aaa222"),
    "/runs/aaa111/files/artifacts/build.log",
    "/none",
)


@pytest.fixture
def locked(store):
    with client_of(store, Access(token=TOKEN)) as client:
        yield client


def test_without_the_right_token_only_the_form_is_open(locked) -> None:
    for address in ADDRESSES:
        answer = locked.get(address)
        assert (answer.status_code, answer.headers["location"]) == (303, "/login"), address
        assert answer.text == ""
    for address in ("/api", "/api/none"):
        answer = locked.get(address)
        assert (answer.status_code, answer.json()) == (401, {"error": "a token is needed"})
    for address in ("/loginx", "/login/", "/login/runs", "/static"):
        assert locked.get(address).headers["location"] == "/login", address
    assert locked.post("/login", data={"token": "x" * 10_000}).status_code == 413
    for header in WRONG:
        answer = locked.get("/runs", headers={"Authorization": header.encode("latin-1")})
        assert answer.status_code == 303, header
    answer = locked.get("/runs", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200
    assert locked.get("/runs").status_code == 303  # it is for one request


def test_no_way_around_the_token(store) -> None:
    ways = (
        *("/static/../runs", "/static/..%2fruns", "/static/%2e%2e/runs", "/login/../runs"),
        *("//runs", "/login%2f..%2fruns", "/RUNS", "/./runs", "/static//../runs", "/runs/"),
        *("/runs;x", "/runs%00", "/static/page.css/../../runs", "http://localhost/runs"),
    )
    with served(store, Access(token=TOKEN)) as address:
        for way in ways:
            answer = raw_answer(address, way)
            assert b"resnet" not in answer, way
            assert b"aaa111" not in answer, way
            assert answer.startswith((b"HTTP/1.1 303", b"HTTP/1.1 404", b"HTTP/1.1 400")), way


@pytest.mark.parametrize("host", ["a/login?", "a/static/", "a/login#", "localhost/login?"])
def test_a_host_that_holds_a_path(store, monkeypatch, host) -> None:
    """Starlette 0.37, which ``[serve]`` allows, joins Host and path unchecked."""

    def joined(request: Request) -> URL:
        return URL(f"http://{request.headers['host']}{request.scope['path']}")

    monkeypatch.setattr("starlette.requests.HTTPConnection.url", property(joined))
    with client_of(store, Access(token=TOKEN, hosts=None)) as client:
        for address in ADDRESSES:
            answer = client.get(address, headers={"Host": host})
            assert (answer.status_code, answer.text) == (303, ""), address


WRONG = (
    *("", "Bearer", "Bearer x", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}"),
    *(TOKEN, "Bearer \u00e9", f"Bearer  {TOKEN.upper()}"),
)


def test_signing_in_and_out(locked, monkeypatch) -> None:
    monkeypatch.setattr("enginescope.serve.access._PAUSE_S", 0)
    form = locked.get("/login").text
    assert "Token of this server" in form
    assert "Sign out" not in form
    assert "/runs" not in form
    for wrong in ("", "x", TOKEN + "x"):
        answer = locked.post("/login", data={"token": wrong})
        assert answer.status_code == 401
        assert "not the token" in answer.text
        assert "set-cookie" not in answer.headers
    answer = locked.post("/login", data={"token": TOKEN})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert TOKEN not in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    page = locked.get("/runs")
    assert page.status_code == 200
    assert TOKEN not in page.text
    assert locked.post("/logout").status_code == 303
    assert locked.get("/runs").status_code == 303


def test_a_cookie_over_https_stays_there_and_is_no_leave_to_write(store) -> None:
    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(application(store, Access(token=TOKEN)))
        async with httpx.AsyncClient(transport=transport, base_url="https://localhost") as client:
            return await client.post("/login", data={"token": TOKEN})

    assert "Secure" in asyncio.run(ask()).headers["set-cookie"]
    with client_of(store, Access(token=TOKEN), Taking(is_on=True)) as client:
        client.post("/login", data={"token": TOKEN})
        assert client.get("/runs").status_code == 200
        assert client.post("/api/missing", content=b'{"ids": []}').status_code == 401
        assert client.put("/api/runs/new", content=b"x").status_code == 401


def test_a_wrong_cookie_or_one_of_a_week_ago(locked, monkeypatch) -> None:
    for value in ("", "x", TOKEN, '"', "a" * 64, "; ;=", "\u00e9"):
        header = f"{COOKIE}={value}".encode("latin-1")
        assert locked.get("/runs", headers={"Cookie": header}).status_code == 303
    cookie = locked.post("/login", data={"token": TOKEN}).cookies[COOKIE]
    header = {"Cookie": f"{COOKIE}={cookie}"}
    now = time.time()
    for days, status in ((6, 200), (8, 303)):
        monkeypatch.setattr("itsdangerous.timed.time.time", lambda days=days: now + days * 86_400)
        assert locked.get("/runs", headers=header).status_code == status
    monkeypatch.undo()
    head, _, signature = cookie.rpartition(".")
    for forged in (f"{head}.{signature[::-1]}", f"out.{head.partition('.')[2]}.{signature}"):
        assert locked.get("/runs", headers={"Cookie": f"{COOKIE}={forged}"}).status_code == 303


def test_hosts_of_ours_and_names_that_point_here(client) -> None:
    for host in ("localhost", "localhost:8642", "127.0.0.1:1", "[::1]:8642"):
        assert client.get("/runs", headers={"Host": host}).status_code == 200
    for host in ("evil.example", "localhost.evil.example:80", "", "127.0.0.1.x", "[::2]"):
        answer = client.get("/runs", headers={"Host": host})
        assert answer.status_code == 400
        assert "resnet" not in answer.text


def test_headers_of_every_answer(client, locked) -> None:
    for one, address in (
        *((client, address) for address in (*ADDRESSES, "/static/page.css", "/static/none")),
        *((locked, address) for address in ("/", "/login", "/api")),
        (client, "/api/none"),
    ):
        headers = one.get(address).headers
        assert headers["x-content-type-options"] == "nosniff", address
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        for words in ("http:", "https:", "*", "'unsafe-eval'"):
            assert words not in policy
    for address in ("/", "/runs"):
        answer = client.get(address)
        policy = answer.headers["content-security-policy"]
        assert "script-src 'self';" in policy
        assert "'unsafe-inline'" not in policy
        for own in ("<style", " style=", " onclick=", "<script>"):
            assert own not in answer.text
    assert client.get("/login").headers["location"] == "/"  # there is no token
    assert "Sign out" not in client.get("/").text


def test_tokens_that_can_be_guessed() -> None:
    for token in ("", "short", "   padded to length   "[:15], "é" * 40):
        with pytest.raises(UsageError, match="the token"):
            check_token(token)
    assert check_token(f" {TOKEN}\n") == TOKEN
    source = inspect.getsource(module)
    assert source.count("hmac.compare_digest") == 1  # itsdangerous compares cookies so
    assert "== self.token" not in source
