import http.server
import json
import os
import shutil
import threading
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest

from enginescope.cli.main import main
from enginescope.core.errors import StoreError, UsageError
from enginescope.serve.access import Access
from enginescope.serve.app import Taking
from enginescope.store.archive import Store
from enginescope.store.remote import RemoteStore
from tests.serve.conftest import TOKEN, served
from tests.store.stored_runs import DAMAGE, a_run, edit, plain

ACCESS = Access(token=TOKEN)


@pytest.fixture
def team(tmp_path) -> Store:
    return Store(tmp_path / "team")


@pytest.fixture
def server(team):
    with served(team, ACCESS, Taking(is_on=True, most_bytes=200_000)) as address:
        yield address


@pytest.fixture
def environment(monkeypatch) -> None:
    monkeypatch.setenv("ENGINESCOPE_TOKEN", TOKEN)


def push(address: str, store: Store, *more: str) -> int:
    return main(["runs", "push", address, "--store", str(store.path), *more])


@pytest.mark.usefixtures("environment")
def test_every_run_arrives_whole(server, store, team, capsys) -> None:
    assert push(server, store) == 0
    assert "4 sent" in capsys.readouterr().out
    assert {row.id for row in team.rows()} == {"aaa111", "aaa222", "bbb111", "bbb222"}
    for row in team.rows():
        assert plain(team.load(row.id)) == plain(store.load(row.id))
    assert team.artifact_paths("aaa111")[0].read_text() == "what the build said"
    assert push(server, store, "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"sent": [], "left_out": [], "there": 4}


@pytest.mark.usefixtures("environment")
def test_what_is_chosen(server, store, team, capsys) -> None:
    assert push(server, store, "--model", "resnet", "--on", "ort") == 0
    assert {row.id for row in team.rows()} == {"aaa111", "aaa222"}
    assert push(server, store, "bbb1", "latest") == 0
    assert len(team.rows()) == 4
    assert push(server, store, "--tag", "none") == 2
    assert push(server, store, "bbb1", "--tag", "main") == 2
    assert "give either" in capsys.readouterr().err


@pytest.mark.usefixtures("environment")
def test_a_push_that_was_cut_off_goes_on(server, store, team, monkeypatch, capsys) -> None:
    put = RemoteStore.put
    sent = []

    def cut_off(self, run_id, file):
        if len(sent) == 2:
            raise StoreError("server x", why="Connection reset by peer")
        sent.append(run_id)
        return put(self, run_id, file)

    monkeypatch.setattr(RemoteStore, "put", cut_off)
    assert push(server, store) == 2
    assert len(team.rows()) == 2
    monkeypatch.setattr(RemoteStore, "put", put)
    assert push(server, store, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["there"] == 2
    assert set(answer["sent"]) | set(sent) == {row.id for row in store.rows()}


@pytest.mark.usefixtures("environment")
def test_a_run_that_cannot_be_sent_holds_up_no_other(server, store, team, capsys) -> None:
    store.rows()
    DAMAGE["half an array"](store.runs_folder / "aaa222")
    (store.runs_folder / "bbb111" / "artifacts").mkdir()
    (store.runs_folder / "bbb111" / "artifacts" / "x.bin").write_bytes(os.urandom(300_000))
    assert push(server, store) == 3
    shown = capsys.readouterr()
    assert "2 sent" in shown.out
    assert "not sent: aaa222" in shown.err
    assert "not sent: bbb111: more than 200,000 bytes" in shown.err
    assert {row.id for row in team.rows()} == {"aaa111", "bbb222"}


@pytest.mark.parametrize(
    ("token", "why"), [("", "is needed"), (f"{TOKEN}x", "is not the server's")]
)
def test_without_the_token(server, store, team, monkeypatch, capsys, token, why) -> None:
    monkeypatch.setenv("ENGINESCOPE_TOKEN", token)
    if not token:
        monkeypatch.delenv("ENGINESCOPE_TOKEN")
    assert push(server, store) == 2
    shown = capsys.readouterr().err
    assert why in shown
    assert TOKEN not in shown
    assert team.rows() == ()


@pytest.mark.usefixtures("environment")
def test_a_server_that_only_shows(store, team, capsys) -> None:
    with served(team, ACCESS) as address:
        assert push(address, store) == 2
        assert "--accept-push" in capsys.readouterr().err
        headers = {"Authorization": f"Bearer {TOKEN}"}
        for method, path in (("PUT", "/api/runs/new"), ("POST", "/api/missing")):
            answer = httpx.request(method, address + path, headers=headers, content=b"{}")
            assert answer.status_code == 403
    assert not team.path.exists()


@pytest.mark.usefixtures("environment")
def test_no_server_there(store, capsys) -> None:
    assert push("http://127.0.0.1:9", store) == 2
    assert "is it running there" in capsys.readouterr().err
    wrong = ["ftp://x", "127.0.0.1:80", "http://u:secret@127.0.0.1", "http://[::1", "http://x:y"]
    for url in wrong:
        assert push(url, store) == 2
        assert "secret" not in capsys.readouterr().err.replace(url, "")


@pytest.fixture
def sent(server) -> Callable[..., tuple[int, dict]]:
    def put(run_id: str, data: object, kind: str = "application/zip") -> tuple[int, dict]:
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": kind}
        url = f"{server}/api/runs/{run_id}"
        answer = httpx.put(url, content=data, headers=headers, timeout=30)
        return answer.status_code, answer.json() if answer.content else {}

    return put


def zipped(tmp_path, run_id: str, **changes: object) -> bytes:
    place = Store(tmp_path / "made")
    folder = place.save(a_run(id=run_id))
    if changes:
        edit(folder, **changes)
    data = place.export(run_id, tmp_path / f"{run_id}.zip").read_bytes()
    (tmp_path / f"{run_id}.zip").unlink()
    shutil.rmtree(place.path)
    return data


def test_it_is_taken_once(sent, team, tmp_path) -> None:
    data = zipped(tmp_path, "one")
    assert sent("one", data) == (201, {"stored": "one"})
    team.tag("one", "kept")
    assert sent("one", data) == (200, {"there": "one"})
    assert sent("one", b"not even a zip") == (200, {"there": "one"})
    assert team.load("one").tags == ("kept",)


def test_many_send_the_same_at_once(sent, team, tmp_path) -> None:
    data = zipped(tmp_path, "one")
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda _: sent("one", data), range(6)))
    assert sorted(code for code, _ in found) == [200] * 5 + [201]
    assert [row.id for row in team.rows()] == ["one"]


def evil(tmp_path, name: str, data: bytes = b"x") -> bytes:
    file = tmp_path / "evil.zip"
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("one/run.json", "{}")
        made.writestr(name, data)
    return file.read_bytes()


def test_what_is_no_run_or_of_another_version_is_refused_whole(sent, team, tmp_path) -> None:
    empty = tmp_path / "empty.zip"
    zipfile.ZipFile(empty, "w").close()
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("one/run.json", "{}")
        made.writestr("one/zeros", bytes(2_000_000))
    good = zipped(tmp_path, "other")
    for data, status, why in (
        (b"", 422, "not a run"),
        (b"PK\x03\x04 half a zip", 422, "not a run"),
        (empty.read_bytes(), 422, "not a run"),
        (evil(tmp_path, "one/../../evil.txt"), 422, "lead out"),
        (evil(tmp_path, "/tmp/evil.txt"), 422, "lead out"),
        (evil(tmp_path, "C:/evil.txt"), 422, "lead out"),
        (evil(tmp_path, "two/x"), 422, "not one folder"),
        (evil(tmp_path, "one/x"), 422, "schema_version"),
        (bomb.read_bytes(), 422, "at most 1,600,000 are accepted"),
        (good, 422, "it is 'other'"),
        (good[:-40], 422, "not a run"),
        (bytes(300_000), 413, "more than 200,000 bytes"),
        (iter([bytes(100_000)] * 3), 413, "more than 200,000 bytes"),
        (iter([bytes(1_000_000)] * 30), 413, "more than 200,000 bytes"),
    ):
        found, answer = sent("one", data)
        assert (found, why in answer["error"]) == (status, True), answer
        assert str(tmp_path) not in answer["error"]
    assert team.rows() == ()
    assert list(team.runs_folder.iterdir()) == []
    assert not list(tmp_path.rglob("evil.txt"))
    data = zipped(tmp_path, "one")
    for run_id in ("..%2f..%2fx", "-x", ".part-1", "a b", "x" * 65, "%00"):
        assert sent(run_id, data)[0] in (400, 404), run_id
    for kind in ("text/plain", "multipart/form-data", "application/zip; x=1"):
        assert sent("one", data, kind)[0] == 415
    assert team.rows() == ()
    status, answer = sent("one", zipped(tmp_path, "one", schema_version=99))
    assert status == 409
    assert "schema 99" in answer["error"]


def test_lists_that_are_none(server, team) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    for body, status in (
        (b"", 400),
        (b"[]", 400),
        (b'{"ids": "x"}', 400),
        (b'{"ids": [1]}', 400),
        (b"\xff", 400),
        (json.dumps({"ids": ["x"] * 100_001}).encode(), 413),
        (bytes(17 << 20), 413),
    ):
        answer = httpx.post(f"{server}/api/missing", content=body, headers=headers)
        assert answer.status_code == status
    asked = {"ids": ["a", "../x", "latest"]}
    answer = httpx.post(f"{server}/api/missing", json=asked, headers=headers)
    assert answer.json() == {"missing": ["a", "../x", "latest"]}


def test_an_answer_that_is_not_trusted(store) -> None:
    class Liar(RemoteStore):
        def _ask(self, *_, **__):
            return {"missing": ["aaa111", "../../etc", 5]}

    assert Liar("http://127.0.0.1:1", TOKEN).missing(["aaa111", "bbb"]) == ("aaa111",)
    with pytest.raises(UsageError, match="credentials"):
        RemoteStore("http://u:p@h", TOKEN)


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def running(handler: type[Handler]) -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.usefixtures("environment")
def test_a_server_that_sends_elsewhere_gets_no_token(store, team, capsys) -> None:
    """An answer with another address is no success, and is not followed."""
    asked = []

    class Redirecting(Handler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(307)
            self.send_header("Location", "http://127.0.0.1:1/api")
            self.send_header("Content-Length", "0")
            self.end_headers()

    with running(Redirecting) as address:
        assert push(f"{address}/team", store) == 2
    assert asked == ["/team/api"]
    assert "it returned 307" in capsys.readouterr().err


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("way", ["cut off", "busy", "busy for ever", "not there"])
def test_a_request_that_fails_is_sent_again(store, team, monkeypatch, capsys, way) -> None:
    """The server behind a proxy that cuts connections, or answers for it."""
    monkeypatch.setattr("enginescope.core.http_pool.WAIT_S", 0.01)
    asked: list[str] = []
    with served(team, ACCESS, Taking(is_on=True)) as address:

        class Proxy(Handler):
            def do_GET(self) -> None:
                data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                asked.append(f"{self.command} {self.path}")
                is_first = asked.count(asked[-1]) < 3
                if way == "cut off" and is_first:
                    self.close_connection = True
                    return
                if way == "busy for ever" or (way == "busy" and is_first):
                    self._reply(503, b"busy")
                    return
                kept = {name: self.headers[name] for name in ("Authorization", "Content-Type")}
                answer = httpx.request(
                    self.command, address + self.path, headers=kept, content=data, timeout=30
                )
                self._reply(answer.status_code, answer.content)

            do_POST = do_PUT = do_GET  # noqa: N815

            def _reply(self, status: int, data: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        with running(Proxy) as proxy:
            status = push(proxy, store) if way != "not there" else None
        if way == "not there":
            status = push(proxy, store)
    error = capsys.readouterr().err
    if way in ("cut off", "busy"):
        assert status == 0, error
        assert len(team.rows()) == 4
        assert {asked.count(one) for one in asked} == {3}
    elif way == "busy for ever":
        assert status == 2
        assert "it returned 503" in error
        assert asked == ["GET /api"] * 6
    else:
        assert status == 2
        assert "Connection refused" in error
