"""Figures of runs are computed once, also over restarts of the server."""

import time

import msgspec
import numpy as np

from enginescope.judge.samples import Samples, frozen
from enginescope.serve import kept_runs
from enginescope.serve.kept_runs import KeptRuns
from enginescope.store.archive import Store
from tests.serve.conftest import client_of
from tests.store.stored_runs import a_run, edit

HISTORY = "/history?model=resnet.onnx"
#: Longer than a change counts as just made.
SETTLED_S = 0.1


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
    (row, *_) = store.rows(model="resnet")
    (figure,) = kept_runs.KeptFigures(KeptRuns(store)).read([row], "latency").figures
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
