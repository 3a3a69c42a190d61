import html
import re
from datetime import datetime, timezone

import pytest

from enginescope.core.jsonio import encode
from enginescope.records.suite.suite import CellStatus, Claim, SuiteChange
from enginescope.serve.access import Access
from enginescope.serve.app import Taking
from enginescope.store.suite_folder import ROWS, SUITES, SuiteFolder
from tests.serve.conftest import TOKEN, client_of
from tests.suites.made import cell, result, row, timed


@pytest.fixture
def nightly(store):
    slow, fast = cell("net", "ort-cpu"), cell("net", "ort-cpu:fp16")
    bad, none = cell("<i>bert</i>", "ort-cpu"), cell("<i>bert</i>", "ort-cpu:fp16")
    rows = [
        timed(slow, 8.0),
        timed(fast, 2.0),
        row(bad, CellStatus.CRASHED, reason="ended by signal 11", run="bbb222"),
    ]
    found = result(rows, cells=(slow, fast, bad, none))
    folder = SuiteFolder(store.path / SUITES / "nightly")
    folder.begin(found.plan)
    for one in rows:
        folder.keep(one)
    with client_of(store) as client:
        yield client


def test_the_list_and_models_by_backends(nightly, store) -> None:
    text = nightly.get("/suites").text
    assert 'href="/suites/nightly"' in text
    assert "4 cells: 2 ok, 1 crashed, 1 not done" in text
    text = nightly.get("/suites/nightly").text
    assert "8.00 ms" in text
    assert 'class="number heat-best"' in text
    assert "4.00 ×" in text
    assert '<td class="number heat-bad" title="crashed"><a href="/runs/bbb222">' in text
    assert "1 crashed: ended by signal 11" in text
    assert "/runs/rnet" not in text  # a run that is not in the store
    assert 'href="#cell-net-ort-cpu-None"' in text  # so what the suite knows of it is opened
    assert "<i>" not in text.partition("<script")[0]
    assert "&lt;i&gt;bert" in text
    assert "Cells that are not ok" in text
    answer = nightly.get("/suites/nightly")
    assert "the time of the row's fastest" in answer.text
    assert "script-src 'self';" in answer.headers["content-security-policy"]
    table = nightly.get("/suites/nightly/results.csv")
    assert table.headers["content-type"].startswith("text/csv")
    assert table.text.splitlines()[0].startswith("suite")
    cells = nightly.get("/suites/nightly/cells.csv").text.splitlines()
    assert len(cells) == 4  # the heading, and a line for each cell that has ended
    assert "latency_ms" in cells[0]
    assert nightly.get("/suites/nightly/none.csv").status_code == 404
    SuiteFolder(store.path / "elsewhere").begin(result([timed(cell(), 1.0)]).plan)
    for name in ("elsewhere", "..%2felsewhere", "%2e%2e/elsewhere", ".", "%2e", "none"):
        for rest in ("", "/results.csv"):
            answer = nightly.get(f"/suites/{name}{rest}")
            assert answer.status_code == 404 or "1 cells" not in answer.text, name


def test_lines_and_suites_that_cannot_be_read_are_named(nightly, store) -> None:
    for address in ("/suites", "/suites/nightly"):
        assert "W-SUITE-LINE" not in nightly.get(address).text
    with (store.path / SUITES / "nightly" / ROWS).open("ab") as file:
        file.write(b"merged by hand\n")
    for address in ("/suites", "/suites/nightly"):
        text = nightly.get(address).text
        assert "W-SUITE-LINE" in text
        assert "line 4 of " in text
    broken = store.path / SUITES / "broken"
    broken.mkdir()
    (broken / "suite.json").write_text("{")
    text = nightly.get("/suites").text
    assert "Not shown: broken" in text
    assert "nightly" in text
    assert nightly.get("/suites/broken").status_code == 500


def claim(store, seconds: float) -> None:
    by = Claim(owner="<b>gpu7</b> (process 12)", token="t", seconds=seconds)
    store.suites.put_suite("nightly", SuiteChange(claim=by))


def seen(text: str) -> str:
    return html.unescape(re.search(r'hx-get="/suites/nightly/progress\?seen=([^"]*)"', text)[1])


def test_a_suite_that_runs(nightly, store) -> None:
    page = "/suites/nightly"
    assert "Stopped since 2026-11-21 18:00:09 UTC" in nightly.get(page).text
    claim(store, 900)
    answer = nightly.get(page)
    assert "&lt;b&gt;gpu7&lt;/b&gt; (process 12)</strong> · 3 of 4 cells" in answer.text
    assert "Running on" in answer.text
    assert "the last at 2026-11-21 18:00:09 UTC" in answer.text
    assert "running on &lt;b&gt;gpu7" in nightly.get("/suites").text
    assert "connect-src 'self'" in answer.headers["content-security-policy"]
    line = nightly.get(f"{page}/progress?seen={seen(answer.text)}")
    assert line.text.strip() in answer.text
    assert "hx-refresh" not in line.headers
    SuiteFolder(store.path / SUITES / "nightly").keep(
        timed(cell("<i>bert</i>", "ort-cpu:fp16"), 3.0)
    )
    assert nightly.get(f"{page}/progress?seen={seen(answer.text)}").headers["hx-refresh"] == "true"
    assert "4 of 4 cells" in nightly.get(page).text
    claim(store, 0)
    answer = nightly.get(page)
    assert 'id="live"' not in answer.text  # it has finished
    assert "connect-src" not in answer.headers["content-security-policy"]
    assert "finished" in nightly.get("/suites").text


def test_a_suite_that_was_stopped(nightly, store) -> None:
    claim(store, 900)
    shown = seen(nightly.get("/suites/nightly").text)
    claim(store, -1)
    answer = nightly.get("/suites/nightly")
    renewed = datetime.fromtimestamp(store.suite_lease("nightly").renewed, timezone.utc)
    assert f"Stopped since {renewed:%Y-%m-%d %H:%M:%S} UTC" in answer.text
    assert nightly.get(f"/suites/nightly/progress?seen={shown}").headers["hx-refresh"] == "true"


def test_only_who_has_the_token_writes_suites(store) -> None:
    found = result([timed(cell(), 1.0)])
    body = encode(SuiteChange(plan=found.plan, rows=found.rows))
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    path = "/api/suites/nightly"
    with client_of(store, Access(token=TOKEN)) as client:
        assert client.put(path, content=body, headers=bearer).status_code == 403
    with client_of(store, Access(token=TOKEN), Taking(is_on=True)) as client:
        client.post("/login", data={"token": TOKEN})
        assert client.get("/suites").status_code == 200
        assert client.put(path, content=body).status_code == 401  # a cookie cannot write
        assert client.get(path).status_code == 401
        for name in ("..", "%2e%2e", "a%2fb", ".hidden", "latest", "-x", "%00"):
            answer = client.put(f"/api/suites/{name}", content=body, headers=bearer)
            assert answer.status_code in (400, 404, 405), name
        for bad, status in ((b"{", 422), (b'{"rows": [1]}', 422), (bytes(65 << 20), 413)):
            assert client.put(path, content=bad, headers=bearer).status_code == status
        assert client.put("/api/suites/other", content=body, headers=bearer).status_code == 422
        rows = encode(SuiteChange(rows=found.rows))
        answer = client.put(path, content=rows, headers=bearer)
        assert (answer.status_code, "its plan is not stored" in answer.text) == (409, True)
        assert not (store.path / SUITES).exists()
        assert client.put(path, content=body, headers=bearer).json() == {"written": "nightly"}
        assert client.put(path, content=rows, headers=bearer).status_code == 200
        key = found.rows[0].cell.key
        assert client.get(path, headers=bearer).json() == {"ended": {key: found.rows[0].ended}}
        folder = SuiteFolder(store.path / SUITES / "nightly")
        assert folder.result().rows == found.rows
        later = encode(SuiteChange(rows=(timed(cell(), 2.0),)))
        with folder.held():  # it runs on the server's machine
            assert client.put(path, content=rows, headers=bearer).status_code == 200
            assert client.put(path, content=later, headers=bearer).status_code == 423
