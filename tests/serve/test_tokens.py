import json
import re
from datetime import datetime, timedelta, timezone

import httpx
import pytest

from enginescope.cli.main import main
from enginescope.core.errors import UsageError
from enginescope.core.jsonio import decode, encode
from enginescope.core.record import replace
from enginescope.records.suite.suite import Claim, SuiteChange
from enginescope.serve import uploads
from enginescope.serve.access import COOKIE, Access
from enginescope.serve.app import Taking
from enginescope.store.archive import Store
from enginescope.store.server_tokens import ServerTokens
from tests.serve.conftest import TOKEN, client_of
from tests.serve.test_push import zipped
from tests.suites.made import cell, result, row

PUSHES = Taking(is_on=True, most_bytes=200_000)


@pytest.fixture
def tokens(store) -> ServerTokens:
    return ServerTokens(store.path)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def put(client, token: str, run_id: str, data: bytes) -> httpx.Response:
    headers = {**bearer(token), "Content-Type": "application/zip"}
    return client.put(f"/api/runs/{run_id}", content=data, headers=headers)


def test_each_scope_allows_its_own(store, tokens, tmp_path) -> None:
    by_scope = {one: tokens.create(one, (one,), None) for one in ("read", "push", "admin")}
    data = zipped(tmp_path, "one")
    expected = {  # pages, the list of pushes, pushing
        "read": (200, 403, 403),
        "push": (403, 403, 201),
        "admin": (200, 200, 200),
    }
    with client_of(store, Access(named=tokens), PUSHES) as client:
        for scope, statuses in expected.items():
            headers = bearer(by_scope[scope])
            seen = [client.get(path, headers=headers).status_code for path in ("/runs", "/pushes")]
            assert (*seen, put(client, by_scope[scope], "one", data).status_code) == statuses, scope
        refused = client.get("/runs", headers=bearer(by_scope["push"]))
        assert refused.json() == {"error": "token push has no scope read"}
        assert client.get("/runs").headers["location"] == "/login"


def test_a_token_is_not_in_its_file_and_ends_when_it_expires_or_is_revoked(
    store, tokens, monkeypatch
) -> None:
    short = tokens.create("short", ("read",), timedelta(hours=1))
    assert short.removeprefix("es_") not in tokens.file.read_text()
    for private in (tokens.file, tokens.file.parent):
        assert private.stat().st_mode & 0o077 == 0
    other = tokens.create("other", ("read",), None)
    with client_of(store, Access(named=tokens)) as client:
        cookie = client.post("/login", data={"token": short}).cookies[COOKIE]
        signed_in = {"Cookie": f"{COOKIE}={cookie}"}
        client.cookies.clear()
        for headers in (bearer(short), bearer(other), signed_in):
            assert client.get("/runs", headers=headers).status_code == 200

        class Later(datetime):
            @classmethod
            def now(cls, tz=None):
                return datetime.now(timezone.utc) + timedelta(hours=2)

        monkeypatch.setattr("enginescope.store.server_tokens.datetime", Later)
        for headers, status in ((bearer(short), 303), (signed_in, 303), (bearer(other), 200)):
            assert client.get("/runs", headers=headers).status_code == status
        monkeypatch.undo()
        ServerTokens(store.path).revoke("short")  # as another process does
        for headers, status in ((bearer(short), 303), (signed_in, 303), (bearer(other), 200)):
            assert client.get("/runs", headers=headers).status_code == status
        tokens.create("short", ("read",), None)  # another token of that name is another one
        assert client.get("/runs", headers=signed_in).status_code == 303
        ServerTokens(store.path).revoke("short")
        ServerTokens(store.path).revoke("other")
        assert client.get("/runs").status_code == 303  # no token is left, and nobody gets in


def test_the_shared_token_still_allows_all(store, tokens, tmp_path) -> None:
    named = tokens.create("ada", ("read",), None)
    with client_of(store, Access(token=TOKEN, named=tokens), PUSHES) as client:
        assert put(client, TOKEN, "one", zipped(tmp_path, "one")).status_code == 201
        assert client.get("/pushes", headers=bearer(TOKEN)).status_code == 200
        assert client.post("/login", data={"token": named}).status_code == 303
        page = client.get("/runs")
        assert page.status_code == 200
        assert 'href="/pushes"' not in page.text
        client.cookies.clear()
        assert client.post("/login", data={"token": TOKEN}).status_code == 303
        assert 'href="/pushes"' in client.get("/runs").text


def test_damaged_files_and_missing_scopes_let_nobody_in(store, tokens, monkeypatch) -> None:
    monkeypatch.setattr("enginescope.serve.access._PAUSE_S", 0)
    token = tokens.create("ci", ("push",), None)
    with client_of(store, Access(named=tokens)) as client:
        answer = client.post("/login", data={"token": token})
        assert answer.status_code == 401
        assert "Token ci has no scope read" in answer.text
        assert "set-cookie" not in answer.headers
    token = tokens.create("ada", ("read",), None)
    with client_of(store, Access(named=tokens)) as client:
        whole = tokens.file.read_text()
        tokens.file.write_text(whole[:50])
        assert client.get("/runs", headers=bearer(token)).status_code == 500
        tokens.file.write_text(whole)
        assert client.get("/runs", headers=bearer(token)).status_code == 200


def test_every_push_is_recorded(store, tokens, tmp_path) -> None:
    ci, ada = (tokens.create(name, ("push",), None) for name in ("ci", "ada"))
    admin = tokens.create("boss", ("admin",), None)
    data = zipped(tmp_path, "one")
    with client_of(store, Access(named=tokens), PUSHES) as client:
        put(client, ci, "one", data)
        put(client, ada, "one", data)
        put(client, ada, "two", b"not a run")
        put(client, "wrong", "three", data)
        page = client.get("/pushes", headers=bearer(admin)).text
        found = uploads.PushLog(store.path).newest()
        (store.path / "server" / uploads.FILE).unlink()
        (store.path / "server" / uploads.FILE).mkdir()
        answer = put(client, ci, "one", data)  # it cannot be recorded
        assert (answer.status_code, "pushes.jsonl" in answer.json()["error"]) == (500, True)
    seen = [(one.token, one.run, one.status) for one in found]
    assert seen == [("ada", "two", 422), ("ada", "one", 200), ("ci", "one", 201)]
    assert {one.address for one in found} == {"127.0.0.1"}
    assert [one.result for one in found[1:]] == ["there", "stored"]
    assert found[0].result.startswith("not a run")
    now = datetime.now(timezone.utc)
    for one in found:
        assert abs(datetime.fromisoformat(one.at.replace("Z", "+00:00")) - now).seconds < 600
    assert "refused: not a run" in page
    assert "3 pushes" in page
    for token in (ci, ada, admin):
        assert token not in page


def test_records_of_pushes_survive_kills_and_stay_small(tmp_path, monkeypatch) -> None:
    log = uploads.PushLog(tmp_path)
    push = uploads.Push(
        at="2026-11-23T10:00:00Z", token="ci", address="::1", run="a", status=201, result="stored"
    )
    log.add(push)
    with log.file.open("ab") as file:
        file.write(b'{"at":"2026')
    log.add(replace(push, run="b"))
    assert [one.run for one in log.newest()] == ["b", "a"]
    monkeypatch.setattr(uploads, "MOST_BYTES", 1_000)
    log = uploads.PushLog(tmp_path)
    for at in range(200):
        log.add(replace(push, at="", address="", run=f"r{at}"))
    assert sum(one.stat().st_size for one in log.file.parent.iterdir()) < 2_500
    runs = [one.run for one in log.newest()]
    assert runs == [f"r{at}" for at in range(199, 199 - len(runs), -1)]


def tokens_of(*words: str, store: Store) -> int:
    return main(["serve", "tokens", *words, "--store", str(store.path)])


def test_the_command_line(store, capsys) -> None:
    words = ("create", "ci", "--scope", "push", "--scope", "read", "--expires", "30d", "--json")
    assert tokens_of(*words, store=store) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["scopes"] == ["read", "push"]
    end = datetime.fromisoformat(made["expires"].replace("Z", "+00:00"))
    assert 29 <= (end - datetime.now(timezone.utc)).days <= 30
    assert tokens_of("create", "ada", "--expires", "never", store=store) == 0
    shown = capsys.readouterr()
    assert re.fullmatch(r"es_[\w-]{43}\n", shown.out)
    assert shown.out.strip() not in shown.err
    assert tokens_of("list", store=store) == 0
    listed = capsys.readouterr().out
    for words in ("ada", "never", "read, push"):
        assert words in listed
    assert tokens_of("revoke", "ci", store=store) == 0
    capsys.readouterr()
    assert tokens_of("list", "--json", store=store) == 0
    (left,) = json.loads(capsys.readouterr().out)
    assert left == {"name": "ada", "scopes": ["read"], "created": left["created"], "expires": None}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("create", "-x y"), "option"),
        (("create", "a/b"), "a name is up to 64"),
        (("create", "shared token"), "a name is up to 64"),
        (("create", "ada"), "there is a token"),
        (("create", "x", "--expires", "2020-01-01"), "not a day in the future"),
        (("create", "x", "--expires", "0d"), "not a day in the future"),
        (("create", "x", "--scope", "write"), "write"),
        (("revoke", "adda"), "did you mean"),
    ],
)
def test_mistakes_on_the_command_line(store, tokens, capsys, words, why) -> None:
    tokens.create("ada", ("read",), None)
    assert tokens_of(*words, store=store) == 2
    assert why in capsys.readouterr().err


def test_options_before_the_verb_and_expired_or_missing_tokens_have_a_next_step(
    store, capsys, tokens
) -> None:
    """It said "one of: " and named none."""
    assert tokens_of("revoke", "ada", store=store) == 2
    assert "enginescope serve tokens create makes one" in capsys.readouterr().err
    tokens.create("old", ("read",), timedelta(seconds=-1))
    assert main(["serve", "--store", str(store.path), "--port", "0"]) == 2
    assert "have expired" in capsys.readouterr().err
    for option, value in (("--host", "0.0.0.0"), ("--store", "elsewhere")):
        assert main(["serve", option, value, "tokens", "list"]) == 2
        assert f"{option} before a verb of serve" in capsys.readouterr().err


def test_a_file_of_a_newer_enginescope(tokens) -> None:
    tokens.create("ada", ("read",), None)
    document = decode(tokens.file.read_bytes(), dict, source="it") | {"schema_version": 9}
    tokens.file.write_text(json.dumps(document))
    with pytest.raises(Exception, match="version 9"):
        ServerTokens(tokens.file.parent.parent).all()
    with pytest.raises(UsageError, match="no token"):
        ServerTokens(tokens.file.parent).revoke("ada")


def test_rows_of_a_suite_are_recorded_and_leases_are_not(store, tokens) -> None:
    token = tokens.create("ci", ("push",), None)
    admin = tokens.create("boss", ("admin",), None)
    made = result([row(cell("net"))])
    claim = Claim(owner="bench-1", token="t" * 16, seconds=60)
    with client_of(store, Access(named=tokens), PUSHES) as client:
        for change in (SuiteChange(plan=made.plan, rows=made.rows), SuiteChange(claim=claim)):
            answer = client.put(
                f"/api/suites/{made.plan.suite.name}", content=encode(change), headers=bearer(token)
            )
            assert answer.status_code == 200, answer.text
        page = client.get("/pushes", headers=bearer(admin)).text
    found = [(one.run, one.result, one.is_suite) for one in uploads.PushLog(store.path).newest()]
    assert found == [(made.plan.suite.name, "written", True)]
    assert f'href="/suites/{made.plan.suite.name}"' in page
