"""The pages of suites: which there are, a cell's run behind it, the whole page, the table."""

from __future__ import annotations

import pytest

from enginescope.records.suite.suite import CellStatus
from enginescope.store.suite_folder import ROWS, SUITES, SuiteFolder
from tests.serve.conftest import client_of
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


def test_the_list(nightly) -> None:
    text = nightly.get("/suites").text
    assert 'href="/suites/nightly"' in text
    assert "4 cells: 2 ok, 1 crashed, 1 not done" in text
    assert 'href="/suites/nightly"' in nightly.get("/").text


def test_models_by_backends(nightly) -> None:
    text = nightly.get("/suites/nightly").text
    assert "8.00 ms" in text
    assert 'class="number heat-faster-3"' in text
    assert "4.00 ×" in text
    assert '<td class="number heat-bad" title="crashed"><a href="/runs/bbb222">' in text
    assert "1 crashed: ended by signal 11" in text
    assert "/runs/rnet" not in text  # a run that is not in the store
    assert 'href="#cell-net-ort-cpu-None"' in text  # so what the suite knows of it is opened
    assert "<i>" not in text.partition("<script")[0]
    assert "&lt;i&gt;bert" in text
    assert "What failed" in text


def test_the_whole_page_and_the_table(nightly) -> None:
    answer = nightly.get("/suites/nightly/report")
    assert "Speed-up over the baseline" in answer.text
    assert "script-src 'self';" in answer.headers["content-security-policy"]
    table = nightly.get("/suites/nightly/results.csv")
    assert table.headers["content-type"].startswith("text/csv")
    assert table.text.splitlines()[0].startswith("suite")


def test_only_suites_of_the_list(nightly, store) -> None:
    outside = SuiteFolder(store.path / "elsewhere")
    outside.begin(result([timed(cell(), 1.0)]).plan)
    for name in ("elsewhere", "..%2felsewhere", "%2e%2e/elsewhere", ".", "%2e", "none"):
        for rest in ("", "/report", "/results.csv"):
            answer = nightly.get(f"/suites/{name}{rest}")
            assert answer.status_code == 404 or "1 cells" not in answer.text, name


def test_a_line_that_cannot_be_read_is_named(nightly, store) -> None:
    for address in ("/suites", "/suites/nightly", "/suites/nightly/report"):
        assert "W-SUITE-LINE" not in nightly.get(address).text
    with (store.path / SUITES / "nightly" / ROWS).open("ab") as file:
        file.write(b"merged by hand\n")
    for address in ("/suites", "/suites/nightly", "/suites/nightly/report"):
        text = nightly.get(address).text
        assert "W-SUITE-LINE" in text
        assert "line 4 of " in text


def test_a_suite_that_cannot_be_read(nightly, store) -> None:
    broken = store.path / SUITES / "broken"
    broken.mkdir()
    (broken / "suite.json").write_text("{")
    text = nightly.get("/suites").text
    assert "Not shown: broken" in text
    assert "nightly" in text
    assert nightly.get("/suites/broken").status_code == 500
