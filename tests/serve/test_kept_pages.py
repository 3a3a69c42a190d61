"""What was computed is not computed again, and never shown once the store has changed."""

from __future__ import annotations

import time

import pytest

from enginescope.serve import kept_pages
from enginescope.stats import describe
from enginescope.store.archive import Store
from tests.serve.conftest import client_of
from tests.store.stored_runs import a_run

HISTORY = "/history?model=resnet.onnx"
#: Longer than a change counts as just made.
SETTLED_S = 0.1


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


def test_a_history_reads_a_run_once(store, counted) -> None:
    time.sleep(SETTLED_S)
    with client_of(store) as client:
        first = client.get(HISTORY).text
        assert counted["run"] == 2
        assert client.get(HISTORY).text == first
        assert client.get("/history?model=resnet.onnx&on=ort").text == first
        assert counted["run"] == 2
        store.save(a_run("resnet.onnx", id="aaa333", at=9))
        assert "3 runs" in client.get("/models?model=resnet").text
        client.get(HISTORY)
        assert counted["run"] == 3  # the new one alone
    assert counted["interval"] == 0  # no statistics beside the median's


def test_lists_of_an_unchanged_store_are_read_once(store, counted) -> None:
    time.sleep(SETTLED_S)
    with client_of(store) as client:
        for address in ("/", "/runs", "/models", "/runs?sort=oldest", "/", "/runs?tag=main"):
            assert client.get(address).status_code == 200
    assert counted["list"] == 1


def test_a_change_is_seen_at_once(store) -> None:
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


def test_a_change_by_another_process(store) -> None:
    """Another `Store` stands for it: nothing but files is shared."""
    other = Store(store.path)
    with client_of(store) as client:
        time.sleep(SETTLED_S)
        client.get("/runs")
        other.tag("aaa222", "nightly")
        assert "nightly" in client.get("/runs").text


def test_kept_pages_are_bounded(monkeypatch) -> None:
    monkeypatch.setattr(kept_pages, "MOST_PAGE_BYTES", 100)
    pages, made = kept_pages.KeptPages(), []

    def get(key: int) -> bytes:
        return pages.get(key, lambda: made.append(key) or kept_pages.Page(data=bytes(40))).data

    for key in (1, 2, 1, 3, 1, 2):
        assert get(key) == bytes(40)
    assert made == [1, 2, 3, 2]
    assert pages._size <= 100
