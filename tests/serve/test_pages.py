import re
import zipfile
from io import BytesIO

from enginescope.judge.samples import Samples, frozen
from enginescope.records.run.run import Artifact
from enginescope.store.archive import Store
from enginescope.store.location import DatabaseUrl
from tests.render.page.test_page import Page
from tests.serve.conftest import client_of, wait_for
from tests.store.stored_runs import DAMAGE, a_run


def links(text: str) -> list[str]:
    page = Page(text)
    return page.links + [address for _, address in page.loads]


def test_the_first_page_and_those_of_every_kind_have_the_same_links(client) -> None:
    wait_for(lambda: "; reading " not in client.get("/").text)
    answer = client.get("/")
    assert answer.status_code == 200
    assert "4 runs of 2 models" in answer.text
    assert "/runs/bbb222" in answer.text
    for address in ("/", "/runs", "/suites", "/runs/aaa111", "/runs/aaa111/files", *FRAMED):
        text = client.get(address).text
        top = text.partition('<header class="top">')[2].partition("</header>")[0]
        assert links(top)[:4] == ["/", "/", "/runs", "/suites"], address
        assert top.count("enginescope") == 1


def test_an_empty_store(tmp_path) -> None:
    with client_of(Store(tmp_path / "none")) as client:
        assert "No runs yet" in client.get("/").text
        assert "No such runs" in client.get("/runs").text
        assert "No suites in this folder" in client.get("/suites").text
    assert not (tmp_path / "none").exists()


def test_every_link_leads_somewhere(client) -> None:
    seen, to_see = set(), ["/"]
    while to_see:
        address = to_see.pop()
        if address in seen or address.startswith(("#", "data:")):
            continue
        seen.add(address)
        assert address.startswith("/"), address
        answer = client.get(address)
        # a form is sent with what was chosen; a run that failed is compared with none
        is_fine = address == "/compare" or ("/compare" in address and "bbb222" in address)
        is_fine |= address.startswith("/changes?") and answer.status_code == 204
        assert answer.status_code == 200 or is_fine, address
        if "html" in answer.headers.get("content-type", ""):
            to_see += [one for one in links(answer.text) if one != "/logout"]
    assert {"/runs/aaa111", "/runs/aaa111/files/artifacts/build.log", "/suites"} <= seen


def test_names_are_text_and_nothing_is_loaded_from_elsewhere(client) -> None:
    for address in ("/", "/runs", "/runs/bbb111", "/runs?model=<b>x", "/runs?with=<b>x"):
        text = client.get(address).text
        assert "<b>" not in re.sub(r"(?s)<script.*?</script>", "", text), address
    assert "&lt;b&gt;bert&lt;/b&gt;.onnx" in client.get("/runs").text
    for address in ("/", "/runs", "/suites", "/runs/aaa111/files"):
        for one in links(client.get(address).text):
            assert one.startswith(("/", "#", "data:,")), one
            assert not one.startswith("//")
    for name in ("page.css", "htmx.min.js", "serve.js", "LICENSES.txt"):
        assert client.get(f"/static/{name}").status_code == 200


FRAMED = ("/history?model=resnet.onnx", "/compare?run=aaa111&run=aaa222")
ASKED = (
    ("", ["bbb222", "bbb111", "aaa222", "aaa111"]),
    ("model=RESNET", ["aaa222", "aaa111"]),
    ("tag=main", ["aaa111"]),
    ("outcome=crashed", ["bbb222"]),
    ("on=trt", []),
    ("model=+resnet+&on=ort", ["aaa222", "aaa111"]),
)


def test_runs_that_are_asked_for_in_their_order(client) -> None:
    for query, expected in ASKED:
        text = client.get(f"/runs?{query}").text
        assert re.findall(r'href="/runs/(\w+)"', text) == expected
    for sort, expected in (
        ("oldest", ["aaa111", "aaa222", "bbb111", "bbb222"]),
        ("model", ["bbb222", "bbb111", "aaa222", "aaa111"]),
    ):
        text = client.get(f"/runs?sort={sort}").text
        assert re.findall(r'href="/runs/(\w+)"', text) == expected
    assert text.count('aria-sort="ascending"') == 1
    assert "No such runs" in client.get("/runs?until=2001-01-01").text


def test_runs_are_marked_as_their_own_pages_are(tmp_path) -> None:
    store = Store(tmp_path / "store")
    for number, count in enumerate((12, 400)):
        samples = Samples(metric="latency", values_ms=frozen([1.0, 1.001] * (count // 2)))
        store.save(a_run(id=f"run{count}", at=number, samples=(samples,)))
    with client_of(store) as client:
        text = client.get("/runs").text
        for count in (12, 400):
            row = text.partition(f'href="/runs/run{count}"')[2].partition("</tr>")[0]
            marked = re.search(r'<td title="([^"]*)" class="[^"]*">\s*(.*?)</td>', row)
            assert re.search(r">± [\d.]+ %<", row)
            own = client.get(f"/runs/run{count}").text
            codes = re.findall(r"\((W-[A-Z-]+)\)", marked[1])
            more = f" + {len(codes) - 1}" if len(codes) > 1 else ""
            assert marked[2] == (codes[0][2:].replace("-", " ").lower() if codes else "—") + more
            assert ("W-FEW-SAMPLES" in codes) is (count == 12)
            assert all(f"<code>{code}</code>" in own for code in codes)


def test_runs_that_are_not_read_yet_are_not_without_warnings(store, monkeypatch) -> None:
    monkeypatch.setattr("enginescope.serve.kept_runs._READ_AT_ONCE", 1)
    monkeypatch.setattr("enginescope.serve.list_views.WAIT_S", 0)
    with client_of(store) as client:
        for unread in (3, 2, 1, 0):
            text = client.get("/runs?model=").text
            assert text.count("<td>…</td>") == unread
            assert ('hx-trigger="load delay' in text) is (unread > 0)


def test_what_there_is_not_and_what_cannot_be_asked(client) -> None:
    for query in (
        *("page=0", "page=-1", "page=x", "page=²", "page=" + "9" * 400),
        *("page=000000001" + "0" * 5000, "outcome=odd", "sort=odd", "since=yesterday"),
    ):
        answer = client.get(f"/runs?{query}")
        assert answer.status_code == 400
        assert "Not shown" in answer.text
    for address in ("/none", "/runs/none", "/suites/none", "/static/none", "/static/serve.css"):
        answer = client.get(address)
        assert answer.status_code == 404, address
        assert "Not shown" in answer.text
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        for address in ("/", "/runs", "/runs/aaa111", "/runs/aaa111/files"):
            assert client.request(method, address).status_code == 405


def test_pages_of_many_runs(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("enginescope.serve.list_views.PAGE_ROWS", 3)
    store = Store(tmp_path / "store")
    for number in range(7):
        store.save(a_run(f"m{number}.onnx", id=f"run{number}", at=number), tags=["t"])
    with client_of(store) as client:
        address, seen = "/runs?tag=t", []
        while address:
            text = client.get(address).text
            seen += re.findall(r'href="/runs/(\w+)"', text)
            address = next(iter(re.findall(r'href="([^"]+)" rel="next"', text)), "")
            address = address.replace("&amp;", "&")
        assert seen == [f"run{number}" for number in range(6, -1, -1)]
        assert "runs 7 … 7" in text


def test_the_report_the_files_and_the_whole_of_a_run(client, store, tmp_path) -> None:
    answer = client.get("/runs/aaa111")
    assert (answer.status_code, "Distribution of latency" in answer.text) == (200, True)
    policy = answer.headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert policy.endswith("frame-ancestors 'none'")
    assert "artifacts/build.log" in client.get("/runs/aaa111/files").text
    answer = client.get("/runs/aaa111/files/artifacts/build.log")
    assert answer.text == "what the build said"
    assert answer.headers["content-disposition"] == 'attachment; filename="build.log"'
    assert answer.headers["content-type"] == "application/octet-stream"
    assert "No other files" in client.get("/runs/aaa222/files").text
    answer = client.get("/runs/aaa111/archive")
    assert "aaa111/run.json" in zipfile.ZipFile(BytesIO(answer.content)).namelist()
    (tmp_path / "one.zip").write_bytes(answer.content)
    assert Store(tmp_path / "other").import_zip(tmp_path / "one.zip").tags == ("main",)
    (store.runs_folder / "aaa111/artifacts/build.log").unlink()
    text = client.get("/runs/aaa111/files").text
    assert "not in the store" in text
    assert "/files/artifacts" not in text
    answer = client.get("/runs/aaa111/files/artifacts/build.log")
    assert answer.status_code == 404
    assert "artifacts/build.log of run aaa111: it is not in the store" in answer.text


def test_a_history_and_a_comparison(client) -> None:
    assert "History of resnet.onnx" in client.get("/history?model=resnet.onnx").text
    for query in ("model=none", "", "model=resnet", "model=resnet.onnx&metric=odd"):
        answer = client.get(f"/history?{query}")
        assert answer.status_code == 400, query
    answer = client.get("/compare?run=aaa111&run=aaa222")
    assert answer.status_code == 200
    assert "aaa111" in answer.text
    assert client.get("/compare?run=aaa222&run=bbb111").status_code == 200
    for query in ("run=aaa111", "run=aaa111&run=aaa111", "", "run=a&run=b&run=c"):
        assert client.get(f"/compare?{query}").status_code == 400
    answer = client.get("/compare?run=aaa111&run=bbb222")
    assert answer.status_code == 400
    assert "it crashed" in answer.text
    assert client.get("/compare?run=aaa111&run=none").status_code == 404
    assert client.get("/compare?tag=main").status_code == 404  # not of a comparison


def test_a_damaged_run_is_named(client, store) -> None:
    DAMAGE["half"](store.runs_folder / "aaa222")
    (store.path / "index.sqlite").unlink()
    for address in ("/runs/aaa222", "/runs/aaa222/files", "/compare?run=aaa111&run=aaa222"):
        answer = client.get(address)
        assert answer.status_code == 500
        assert "Not shown" in answer.text
        assert "enginescope runs delete aaa222" in answer.text
    for address in ("/", "/runs"):
        assert "W-BROKEN-RUN" in client.get(address).text
    store.delete("aaa222")
    for address in ("/", "/runs"):
        assert "W-BROKEN-RUN" not in client.get(address).text


def test_only_what_is_not_there_is_not_found(client, store, tmp_path) -> None:
    """A run of a newer enginescope is there, and a database may come back."""
    DAMAGE["newer"](store.runs_folder / "aaa222")
    answer = client.get("/runs/aaa222")
    assert answer.status_code == 500
    assert "install a newer enginescope" in answer.text
    (tmp_path / "team.db").write_bytes(b"not a database" * 500)
    with client_of(Store(DatabaseUrl(f"sqlite:///{tmp_path / 'team.db'}"))) as other:
        answer = other.get("/runs")
        assert answer.status_code == 500
        assert "file is not a database" in answer.text


def test_a_history_with_a_damaged_run(client, store) -> None:
    assert len(store.rows()) == 4  # the index knows it
    DAMAGE["half"](store.runs_folder / "aaa222")
    answer = client.get("/history?model=resnet.onnx")
    assert answer.status_code == 200
    assert "History of resnet.onnx" in answer.text
    assert "run aaa222 is skipped: " in answer.text
    assert "enginescope runs delete aaa222" in answer.text
    DAMAGE["no array"](store.runs_folder / "aaa111")
    with client_of(store) as other:  # the first server has the figure
        answer = other.get("/history?model=resnet.onnx")
    assert answer.status_code == 500
    assert "none can be read; run aaa222 is skipped: " in answer.text


def test_a_server_says_of_an_index_that_cannot_be_used_once(client, store) -> None:
    (store.path / "index.sqlite").unlink(missing_ok=True)
    (store.path / "index.sqlite").mkdir()
    for _ in range(3):
        answer = client.get("/runs")
        assert answer.text.count("<code>W-INDEX</code>") == 1
        assert "/runs/aaa222" in answer.text


def test_a_bug_has_the_headers_too(client, monkeypatch) -> None:
    monkeypatch.setattr("enginescope.serve.kept_runs.KeptRuns.run", lambda *_: 1 / 0)
    answer = client.get("/runs/aaa111")
    assert answer.status_code == 500
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "ZeroDivision" not in answer.text


def test_a_store_in_a_database(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    store = Store(DatabaseUrl(f"sqlite:///{tmp_path / 'team.db'}"))
    (tmp_path / "build.log").write_text("what the build said")
    log = Artifact(path=str(tmp_path / "build.log"), kind="log")
    store.save(a_run("resnet.onnx", id="aaa111", at=1, artifacts=(log,)))
    store.save(a_run("resnet.onnx", id="aaa222", at=2))
    with client_of(store) as client:
        assert "2 runs of 1 model" in client.get("/").text
        assert "Distribution of latency" in client.get("/runs/aaa111").text
        assert client.get("/runs/aaa111/files/artifacts/build.log").text == "what the build said"
        assert client.get("/compare?run=aaa111&run=aaa222").status_code == 200
        assert "History of resnet" in client.get("/history?model=resnet.onnx").text
        assert client.get("/runs/none").status_code == 404
