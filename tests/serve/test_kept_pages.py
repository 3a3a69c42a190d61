"""What was computed is not computed again, and never shown once the store has changed."""

import asyncio
import gc
import hashlib
import random
import re
import threading
import time
import tracemalloc
from contextlib import closing
from http.client import HTTPConnection
from itertools import pairwise
from types import SimpleNamespace

import msgspec
import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.record import replace
from enginescope.judge.samples import Samples, frozen
from enginescope.render.page.page import report_page
from enginescope.serve import kept_pages, kept_runs, list_views, result_pages
from enginescope.serve.access import Access
from enginescope.serve.app import Taking
from enginescope.serve.kept_runs import KeptRuns
from enginescope.store.archive import Store
from enginescope.store.machine_records import FLOORS
from enginescope.store.server_tokens import ServerTokens
from enginescope.store.suite_folder import SUITES, SuiteFolder
from tests.render.page.test_page import Page
from tests.serve.conftest import client_of, served, wait_for
from tests.store.stored_runs import a_run, edit
from tests.store.test_machine_records import FLOOR
from tests.suites.made import cell, result, timed

HISTORY = "/history?model=resnet.onnx"
#: Longer than a change counts as just made.
SETTLED_S = 0.1


def test_a_history_reads_a_run_once(store, counted) -> None:
    time.sleep(SETTLED_S)
    with client_of(store) as client:
        first = client.get(HISTORY).text
        assert counted["run"] == 2
        assert client.get(HISTORY).text == first
        assert client.get("/history?model=resnet.onnx&on=ort").text == first
        assert counted["run"] == 2
        store.save(a_run("resnet.onnx", id="aaa333", at=9))
        assert "/runs/aaa333" in client.get(HISTORY).text
        assert counted["run"] == 3  # the new one alone
    assert counted["interval"] == 0  # no statistics beside the median's


def test_a_push_leaves_pages_of_other_models_as_they_are(store, monkeypatch) -> None:
    made = []
    suite = SuiteFolder(store.path / SUITES / "nightly")
    done = timed(cell("net", "ort-cpu"), 8.0)
    suite.begin(result([done]).plan)
    suite.keep(replace(done, run="ddd222"))
    for view, name in ((result_pages, "history"), (list_views, "runs"), (result_pages, "suite")):
        real = getattr(view, name)

        def counting(request, real=real):
            made.append(str(request.url.path) + "?" + str(request.url.query))
            return real(request)

        monkeypatch.setattr(view, name, counting)
    addresses = (HISTORY, "/runs?model=resnet", "/suites/nightly?")
    time.sleep(SETTLED_S)
    with client_of(store) as client:
        first = [client.get(address).text for address in addresses]
        assert made == list(addresses)
        store.save(a_run("other.onnx", id="ddd111", at=20))
        time.sleep(SETTLED_S)
        assert [client.get(address).text for address in addresses] == first
        assert made == list(addresses)
        store.save(a_run("resnet.onnx", id="ddd222", at=21))
        time.sleep(SETTLED_S)
        for address, before in zip(addresses, first, strict=True):
            assert client.get(address).text != before
        assert made == [*addresses, *addresses]


def test_a_page_whose_content_is_the_same_is_made_once() -> None:
    made, contents = [], iter(("a", "a", "b", None, None))

    def make(request: Request) -> Response:
        made.append(request.headers["state"])
        return Response(b"it")

    pages = kept_pages.KeptPages()
    respond = pages.endpoint(make, lambda one: one.headers["state"], lambda _: next(contents))
    for state in ("1", "2", "2", "1", "3", "3", "2", "4", "4", "5"):
        asyncio.run(respond(request_of("/runs", state=state)))
    assert made == ["1", "3", "4", "5"]
    assert len(pages._pages) == 4


def test_lists_of_an_unchanged_store_are_read_once(store, counted) -> None:
    time.sleep(SETTLED_S)
    with client_of(store) as client:
        for address in ("/", "/runs", "/runs?sort=oldest", "/", "/runs?tag=main"):
            assert client.get(address).status_code == 200
    assert counted["list"] == 1


def test_a_change_is_seen_at_once_by_any_process(store) -> None:
    """Another `Store` stands for it: nothing but files is shared."""
    with client_of(store) as client:
        for number in range(4):
            time.sleep(SETTLED_S * (number % 2))
            store.save(a_run("new.onnx", id=f"ccc{number}", at=10 + number))
            assert f"/runs/ccc{number}" in client.get("/runs").text
            store.tag(f"ccc{number}", f"tag{number}")
            assert f"/runs/ccc{number}" in client.get(f"/runs?tag=tag{number}").text
            assert f"{5 + number} runs of 3 models" in client.get("/").text
        store.delete("ccc0")
        assert "7 runs of 3 models" in client.get("/").text
        assert "/runs/ccc0" not in client.get("/runs").text
    other = Store(store.path)
    with client_of(store) as client:
        time.sleep(SETTLED_S)
        client.get("/runs")
        other.tag("aaa222", "nightly")
        assert "nightly" in client.get("/runs").text


class Asked:
    """Pages of an application of one address pattern, asked for without a server."""

    def __init__(self, make) -> None:
        self.pages = kept_pages.KeptPages()
        self.respond = self.pages.endpoint(make, lambda request: request.headers.get("state"))

    def get(self, path: str, **headers: str):
        return asyncio.run(self.respond(request_of(path, **headers)))


def request_of(path: str, **headers: str) -> Request:
    named = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    app = SimpleNamespace(state=SimpleNamespace(accepts=False))
    scope = {"type": "http", "path": path, "query_string": b"", "headers": named, "app": app}
    return Request(scope)


def test_kept_pages_are_bounded(monkeypatch) -> None:
    made = []

    def make(request: Request) -> Response:
        made.append(request.url.path)
        return Response(random.Random(request.url.path).randbytes(10_000))

    monkeypatch.setattr(kept_pages, "MOST_PAGE_BYTES", 25_000 + 2 * kept_pages._PAGE_BYTES)
    asked = Asked(make)
    for path in ("/1", "/2", "/1", "/3", "/1", "/2"):
        assert asked.get(path, state="same").body == random.Random(path).randbytes(10_000)
    assert made == ["/1", "/2", "/3", "/2"]
    assert asked.pages._pages.size <= 25_000 + 2 * kept_pages._PAGE_BYTES
    assert len(asked.pages._pages) == 2


def test_memory_stays_flat_whatever_is_asked_for(store, monkeypatch) -> None:
    """Long addresses, of a store that changes all the time."""
    monkeypatch.setattr(kept_pages, "MOST_PAGE_BYTES", 100_000)
    taken = []
    with served(store) as address, closing(HTTPConnection(address.partition("//")[2])) as client:
        tracemalloc.start()
        try:
            for at in range(120):
                if at % 8 == 0:
                    store.tag("aaa111", f"tag{at % 3}")
                    time.sleep(SETTLED_S)
                long = f"{at:04}" * 4_000
                client.request("GET", f"/runs?model=resnet&with={long}")
                with client.getresponse() as answer:
                    assert (answer.status, len(answer.read()) > 0) == (200, True)
                if at % 40 == 39:
                    gc.collect()
                    taken.append(tracemalloc.get_traced_memory()[0])
        finally:
            tracemalloc.stop()
    # what is kept of 40 addresses of 16 kB grows each time; a module is loaded once
    assert min(after - before for before, after in pairwise(taken)) < 300_000


def test_pages_of_an_unknown_state_and_of_problems_are_made_anew() -> None:
    made = []

    def make(request: Request) -> Response:
        made.append(request.url.path)
        problem = {"Cache-Control": "no-store"} if request.url.path == "/problem" else None
        return Response(
            b"it", status_code=404 if request.url.path == "/none" else 200, headers=problem
        )

    asked = Asked(make)
    for _ in range(2):
        asked.get("/1")
        asked.get("/problem", state="same")
        asked.get("/none", state="same")
    assert len(made) == 6
    assert len(asked.pages._pages) == 0


def test_a_page_that_changed_while_it_was_made_is_not_kept() -> None:
    """Such as that of a suite whose lease has expired meanwhile, and is renewed later."""
    states = iter(("running", "stopped", "running", "running", "running"))
    texts = iter((b"stopped", b"running"))
    respond = kept_pages.KeptPages().endpoint(
        lambda _: Response(next(texts)), lambda _: next(states)
    )
    pages = [asyncio.run(respond(request_of("/suite"))).body for _ in range(3)]
    assert pages == [b"stopped", b"running", b"running"]


def test_one_page_is_made_once_and_keeps_no_other_waiting() -> None:
    release, made = threading.Event(), []

    def make(request: Request) -> Response:
        made.append(request.url.path)
        if request.url.path == "/slow":
            assert release.wait(60)
        return Response(request.url.path.encode())

    asked = Asked(make)

    async def all_of_them() -> list[bytes]:
        slow = [
            asyncio.ensure_future(asked.respond(request_of("/slow", state="same")))
            for _ in range(3)
        ]
        while not made:
            await asyncio.sleep(0.01)
        quick = await asked.respond(request_of("/quick", state="same"))
        assert not any(one.done() for one in slow)
        release.set()
        return [quick.body, *(one.body for one in await asyncio.gather(*slow))]

    assert asyncio.run(all_of_them()) == [b"/quick", b"/slow", b"/slow", b"/slow"]
    assert made == ["/slow", "/quick"]


COMPARE = "/compare?run=aaa111&run=aaa222"
PAGES = ("/", "/runs", "/runs/aaa111", HISTORY, COMPARE)


def test_a_browser_that_has_a_page_gets_no_other(store) -> None:
    time.sleep(SETTLED_S)
    with client_of(store) as client:
        wait_for(lambda: "; reading " not in client.get("/").text)
        for address in PAGES:
            first = client.get(address)
            assert first.headers["content-encoding"] == "gzip"
            again = client.get(address, headers={"If-None-Match": first.headers["etag"]})
            assert (again.status_code, again.content) == (304, b""), address
            plain = client.get(address, headers={"Accept-Encoding": "identity"})
            assert plain.text == first.text
            assert plain.headers["etag"] != first.headers["etag"]
            assert plain.headers["cache-control"] == "private, no-cache"
            policy = plain.headers["content-security-policy"]
            assert policy == first.headers["content-security-policy"]
            assert "frame-ancestors 'none'" in policy
        store.save(a_run("resnet.onnx", id="aaa444", at=9))
        for address in ("/", "/runs", HISTORY):
            tag = {"If-None-Match": first.headers["etag"]}
            assert client.get(address, headers=tag).status_code == 200


def test_every_page_shows_a_change_at_once(store) -> None:
    """Of a run, a tag, a suite, a noise floor; pages were kept before each."""
    suite = SuiteFolder(store.path / SUITES / "nightly")
    done = timed(cell("net", "ort-cpu"), 8.0)
    suite.begin(result([done], cells=(done.cell, cell("net", "ort-cpu:fp16"))).plan)

    def settle() -> None:
        for address in (*PAGES, "/suites", "/suites/nightly"):
            client.get(address)
        time.sleep(SETTLED_S)
        for address in (*PAGES, "/suites", "/suites/nightly"):
            assert client.get(address).status_code == 200

    with client_of(store) as client:
        settle()
        suite.keep(done)
        assert "1 ok" in client.get("/suites").text
        assert "8.00 ms" in client.get("/suites/nightly").text
        settle()
        suite.path.rename(suite.path.with_name("weekly"))
        assert "weekly" in client.get("/suites").text
        assert client.get("/suites/nightly").status_code == 404
        suite.path.with_name("weekly").rename(suite.path)
        settle()
        edit(store.path / "runs" / "aaa222", tags=["by-hand"])
        assert "by-hand" in Page(client.get("/runs/aaa222").text).data["files"]["report.json"]
        settle()
        key = store.load("aaa111").environment.comparable_key()
        for scatter_pct in (40.0, 20.0):
            before = client.get(COMPARE).text
            FLOORS.record(store.path, replace(FLOOR, environment=key, scatter_pct=scatter_pct))
            assert client.get(COMPARE).text != before
            settle()
        settle()
        store.delete("aaa222")
        assert client.get("/compare?run=aaa111&run=aaa222").status_code == 404
        assert client.get("/runs/aaa222").status_code == 404
        left = client.get(HISTORY).text
        assert "aaa111" in left
        assert "aaa222" not in left


def test_a_kept_page_is_shown_to_nobody_else(store) -> None:
    tokens = ServerTokens(store.path)
    admin, reader, pusher = (
        {"Authorization": f"Bearer {tokens.create(one, (one,), None)}"}
        for one in ("admin", "read", "push")
    )
    time.sleep(SETTLED_S)
    with client_of(store, Access(named=tokens), Taking(is_on=True)) as client:
        for address in ("/", "/runs", "/runs/aaa111"):
            page = client.get(address, headers=admin)
            assert 'href="/pushes"' in page.text
            assert 'href="/pushes"' not in client.get(address, headers=reader).text
            assert 'href="/pushes"' in client.get(address, headers=admin).text
            tag = {"If-None-Match": page.headers["etag"]}
            assert client.get(address, headers=tag).status_code == 303
            assert client.get(address, headers={**pusher, **tag}).status_code == 403


def test_kept_runs_are_bounded_and_read_anew_once_they_changed(store, monkeypatch) -> None:
    time.sleep(SETTLED_S)
    kept = KeptRuns(store)
    first = kept.run("aaa111")
    assert kept.run("aaa111") is first
    one = kept._runs.size
    monkeypatch.setattr(kept_runs, "MOST_RUN_BYTES", one + one // 2)
    kept.run("aaa222")
    assert kept._runs.size <= one + one // 2
    assert len(kept._runs) == 1
    assert kept.run("aaa111") is not first
    store.tag("aaa111", "new")
    assert kept.run("aaa111").tags == ("main", "new")


def test_a_history_after_a_restart_reads_no_run(store, counted) -> None:
    time.sleep(SETTLED_S)
    with client_of(store) as client:
        first = client.get(HISTORY).text
    assert counted["run"] == 2
    with client_of(Store(store.path)) as client:
        assert client.get(HISTORY).text == first
    assert counted["run"] == 2
    edit(store.runs_folder / "aaa222", created="2026-01-02T00:00:00+00:00")
    time.sleep(SETTLED_S)
    with client_of(Store(store.path)) as client:
        client.get(HISTORY)
    assert counted["run"] == 3  # the one that was changed
    file = store.path / "server" / "figures.sqlite"
    assert file.parent.stat().st_mode & 0o077 == 0
    for damage in (b"not a database" * 500, b""):
        file.write_bytes(damage)
        counted["run"] = 0
        with client_of(Store(store.path)) as client:
            assert client.get(HISTORY).status_code == 200
        assert counted["run"] == 2


def test_figures_come_back_from_the_disk_as_they_were(store) -> None:
    values = frozen(np.random.default_rng(1).gamma(9, 0.1, 300))
    store.save(a_run("resnet.onnx", at=9, samples=(Samples(metric="latency", values_ms=values),)))
    time.sleep(SETTLED_S)
    rows = store.rows(model="resnet")
    read = [kept_runs.KeptFigures(KeptRuns(store)).read(rows, "latency") for _ in range(2)]
    first, again = (msgspec.to_builtins(one.figures) for one in read)
    assert first == again
    assert read[1].figures[0].interval is not None


def test_stored_figures_are_bounded_and_shown_where_they_cannot_be(
    tmp_path, store, monkeypatch
) -> None:
    monkeypatch.setattr(kept_runs, "MOST_STORED", 3)
    (row, *_) = store.rows(model="resnet")
    (figure,) = kept_runs.KeptFigures(KeptRuns(store)).read([row], "latency").figures
    file = kept_runs.FigureFile(tmp_path / "new" / "figures.sqlite")
    for key in "abcde":
        file.keep({key: figure})
    assert sorted(file.find("abcde")) == ["c", "d", "e"]
    assert file.find("abcde")["c"].value == figure.value
    (tmp_path / "file").write_text("no folder")
    for place in (tmp_path / "file" / "figures.sqlite", tmp_path):
        file = kept_runs.FigureFile(place)
        file.keep({"a": figure})
        assert file.find("a") == {}


def test_kept_figures_are_bounded_and_share_what_is_equal(store, monkeypatch) -> None:
    rows = store.rows(model="resnet")
    kept = kept_runs.KeptFigures(KeptRuns(store))
    one, two = kept.read(rows, "latency").figures
    assert one.run.environment is two.run.environment
    assert one.run.job is two.run.job
    size = kept._figures.size
    monkeypatch.setattr(kept_runs, "MOST_FIGURE_BYTES", size)
    kept.read(store.rows(), "latency")
    assert kept._figures.size <= size
    assert len(kept._figures) < len(store.rows())


REPORTS = ("/runs/aaa111", "/history?model=resnet.onnx", "/compare?run=aaa111&run=aaa222")


def test_reports_share_one_script_that_is_compressed_and_kept(client) -> None:
    pages = [client.get(address).text for address in REPORTS]
    addresses = re.findall(r'<script src="(/static/[^"]+)"></script>', "".join(pages))
    assert addresses == 3 * addresses[:1]
    address = addresses[0]
    for text in pages:
        assert len(text) < 300_000
        assert not re.findall(r"<script>", text)
    answer = client.get(address, headers={"Accept-Encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert int(answer.headers["content-length"]) < 340_000
    assert "immutable" in answer.headers["cache-control"]
    assert hashlib.sha256(answer.content).hexdigest()[:16] in address
    plain = client.get(address, headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.content == answer.content
    assert plain.headers["etag"] != answer.headers["etag"]
    for kept in (address, "/static/page.css"):
        answer = client.get(kept, headers={"If-None-Match": client.get(kept).headers["etag"]})
        assert (answer.status_code, answer.content) == (304, b"")
        assert client.get(kept, headers={"If-None-Match": '"other"'}).status_code == 200


def test_styles_are_whole_and_scripts_of_this_version_or_in_exported_pages(client, store) -> None:
    text = client.get("/static/page.css").text
    assert ':root[data-theme="dark"]' in text
    assert ".pages a[aria-current]" in text
    assert "&" not in text.replace("&:", "")
    assert ".pages a[aria-current]" in client.get("/runs/aaa111").text.partition("<body>")[2]
    assert client.get("/static/pages-0123456789abcdef.js").status_code == 404
    page = report_page([RunView(store.load_id("aaa111"))]).decode()
    assert not re.findall(r"<script src=", page)
    assert "&#39;sha256-" in page
    assert len(page) > 800_000
