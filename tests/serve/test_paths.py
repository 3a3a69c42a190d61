"""No path outside the store can be read, however it is written."""

import json

import pytest

from tests.serve.conftest import raw_answer, served
from tests.store.stored_runs import edit

SECRET = "nobody may read this"

WAYS = (
    "../secret.txt",
    "../../secret.txt",
    "..%2f..%2fsecret.txt",
    "%2e%2e/%2e%2e/secret.txt",
    "%2e%2e%2f%2e%2e%2fsecret.txt",
    "..%252f..%252fsecret.txt",
    "..\\..\\secret.txt",
    "....//....//secret.txt",
    "%00",
    "artifacts/build.log%00.txt",
    "artifacts/../run.json",
    "artifacts/../../../../secret.txt",
    "/etc/passwd",
    "%2fetc%2fpasswd",
    "run.json",
    "",
    ".",
    "..",
    "latest",
    "main",
    "aaa",
    "a" * 5000,
)


@pytest.fixture
def secret(store) -> None:
    for folder in (store.path.parent, store.path, store.runs_folder):
        (folder / "secret.txt").write_text(SECRET)


FORMS = (
    *("/runs/{}", "/runs/{}/files", "/runs/{}/archive", "/runs/aaa111/files/{}", "/static/{}"),
    *("/suites/{}", "/compare?run=aaa111&run={}"),
)


@pytest.mark.usefixtures("secret")
def test_ways_out(client) -> None:
    for address in (form.format(way) for way in WAYS for form in FORMS):
        answer = client.get(address)
        assert SECRET not in answer.text
        assert "root:x:" not in answer.text
        tidied = answer.request.url.path  # the client has resolved dots itself
        assert answer.status_code in (307, 400, 404) or ".." not in tidied, address


@pytest.mark.usefixtures("secret")
def test_ways_out_that_no_client_tidies(store) -> None:
    with served(store) as address:
        for way in WAYS[:13]:
            for path in (f"/runs/{way}", f"/runs/aaa111/files/{way}", f"/static/{way}", f"/{way}"):
                answer = raw_answer(address, path)
                assert SECRET.encode() not in answer
                assert b"root:x:" not in answer
                assert answer.startswith((b"HTTP/1.1 404", b"HTTP/1.1 400")), path


def test_a_linked_run_record_or_file_is_none(client, store, tmp_path) -> None:
    outside = tmp_path / "outside"
    (store.runs_folder / "aaa222").rename(outside)
    edit(outside, id="link01")
    (store.runs_folder / "link01").symlink_to(outside)
    for address in ("/runs/link01", "/runs/link01/files", "/runs/link01/archive"):
        assert client.get(address).status_code == 404
    assert client.get("/compare?run=aaa111&run=link01").status_code == 404
    document = store.runs_folder / "bbb111" / "run.json"
    document.rename(tmp_path / "run.json")
    document.symlink_to(tmp_path / "run.json")
    assert client.get("/runs/bbb111").status_code == 404
    (tmp_path / "secret.txt").write_text(SECRET)
    log = store.runs_folder / "aaa111" / "artifacts" / "build.log"
    log.unlink()
    log.symlink_to(tmp_path / "secret.txt")
    answer = client.get("/runs/aaa111/files/artifacts/build.log")
    assert answer.status_code == 404
    assert SECRET not in answer.text
    assert SECRET.encode() not in client.get("/runs/aaa111/archive").content


@pytest.mark.usefixtures("secret")
@pytest.mark.parametrize("path", ["../../../secret.txt", "/etc/passwd", "../aaa222/run.json"])
def test_a_record_that_names_a_file_or_an_array_elsewhere(client, store, path) -> None:
    folder = store.runs_folder / "aaa111"
    document = json.loads((folder / "run.json").read_text())
    document["artifacts"][0]["path"] = path
    edit(folder, **document)
    for written in (path, path.replace("/", "%2f").replace(".", "%2e")):
        answer = client.get(f"/runs/aaa111/files/{written}")
        assert answer.status_code == 404
        assert SECRET not in answer.text
    document["samples"][0]["values_ms"] = {"npy": "../aaa222/arrays/000.npy"}
    edit(folder, **document)
    assert client.get("/runs/aaa111").status_code == 500
