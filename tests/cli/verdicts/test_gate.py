"""``enginescope gate`` on stored sets of runs."""

import gzip
import json
from collections.abc import Iterable
from xml.etree import ElementTree as ET

import pytest

import enginescope as es
from enginescope.cli.main import main
from enginescope.cli.verdicts.gate import limits_of
from enginescope.core.errors import UsageError
from enginescope.records.progress import RoundPosition
from enginescope.records.run.run import Run
from enginescope.store.archive import Store
from tests.analysis.gated_runs import crashed, job, process, processes

NAMES = ("slower", "fails", "faster", "same")


@pytest.fixture
def store(store) -> Store:
    """Two sets: `main` and `head`, with a regression, a new failure and an improvement."""
    jobs = {name: job(f"{name}.onnx") for name in NAMES}
    save(store, "main", (run for one in jobs.values() for run in processes(4.0, of=one)))
    head = {"slower": 4.2, "faster": 3.6, "same": 4.002}
    for name, median_ms in head.items():
        save(store, "head", processes(median_ms, of=jobs[name], first=60))
    save(store, "head", [crashed(60, of=jobs["fails"])])
    return store


def save(store: Store, tag: str, runs: Iterable[Run]) -> None:
    for run in runs:
        store.save(run, tags=[tag])


def document(capfdbinary, *arguments: str) -> dict:
    main(["gate", *arguments, "--json"])
    return json.loads(capfdbinary.readouterr().out)


def test_exactly_the_rows_that_matter_unless_all_are_asked_for(store, capsys) -> None:
    assert main(["gate", "--baseline", "main", "head"]) == 1
    shown = capsys.readouterr().out
    lines = shown.splitlines()
    assert lines[0] == "gate failed: 1 regression, 1 new failure"
    assert max(map(len, lines)) <= 80
    first = [line.split("  ")[0] for line in lines if line[:1].isalpha()]
    assert first[2:] == ["regression", "new failure", "improvement", "mean"]
    assert "same.onnx" not in shown
    assert "1 improvement, 1 without regression" in " ".join(shown.split())
    main(["gate", "--baseline", "main", "head", "--all"])
    assert "same.onnx" in capsys.readouterr().out
    one, other = (store.rows(tag=tag, model="same")[0].id for tag in ("main", "head"))
    assert main(["gate", "--baseline", one, other]) == 1
    assert "I-ASSUMED-SCATTER" in capsys.readouterr().out


def test_without_current_runs_the_newer_ones_are_taken(store, capsys) -> None:
    assert main(["gate", "--baseline", "main", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["passed"], found["jobs"]) == (False, 4)
    assert found["counts"]["regression"] == 1
    assert main(["gate", "--baseline", "head"]) == 2
    assert "none that is newer" in capsys.readouterr().err
    for name in NAMES:
        save(store, "again", processes(4.0, of=job(f"{name}.onnx"), first=30))
    assert main(["gate", "--baseline", "main", "again"]) == 0  # a set that holds
    shown = capsys.readouterr().out
    assert shown.startswith("gate passed: no regression in 4 metrics\n")
    assert "same.onnx" in shown
    assert "limit 2 %" in shown


def test_files_of_every_kind(store, tmp_path, capsys) -> None:
    asked = ["gate", "--baseline", "main", "head"]
    files = [f"--{one}={tmp_path / one}" for one in ("html", "markdown", "junit", "sarif")]
    assert main([*asked, *files]) == 1
    shown = capsys.readouterr().err
    assert "written: " in shown
    assert f"open: {tmp_path / 'html'}" in shown
    for text in ((tmp_path / "html").read_text(), (tmp_path / "markdown").read_text()):
        assert "ate failed: 1 regression, 1 new failure" in text
        assert "same.onnx" in text
    assert ET.parse(tmp_path / "junit").getroot().get("errors") == "1"
    assert json.loads((tmp_path / "sarif").read_text())["version"] == "2.1.0"
    for more, why in (
        (["--html", str(tmp_path)], ""),
        (["--markdown", "x", "--junit", "x"], "two results"),
        (["--junit", "no/such/folder"], "cannot write no/such/folder"),
    ):
        assert main([*asked, *more]) == 2
        assert why in capsys.readouterr().err
    for number, tag in enumerate(("one", "two")):
        save(store, tag, [process(4.0, 300 + number)])
    nothing = ["gate", "--baseline", "one", "two", "--metric", "engine_size"]  # no pass
    assert main(nothing) == 2
    assert "no job has engine_size on both sides" in capsys.readouterr().err


def test_a_damaged_run_comes_with_a_next_step(store, capsys) -> None:
    damaged = store.rows(tag="main")[0].id
    (store.runs_folder / damaged / "run.json").write_text("{")
    for asked in (["gate", "--baseline", "main", "head"], ["report", damaged]):
        assert main(asked) == 2
        err = capsys.readouterr().err
        assert f"{damaged}/run.json" in err
        assert f"  try: enginescope runs delete {damaged} removes it from the store\n" in err
    inside = str(store.runs_folder / store.rows(tag="head")[0].id)
    main(["gate", "--baseline", str(store.runs_folder), inside])  # a folder's is skipped
    assert f"skipped: {store.runs_folder / damaged}" in capsys.readouterr().err


def test_the_stores_history_says_how_sessions_differ(store, capfdbinary) -> None:
    """Command line and Python read the same history."""
    for at, level in enumerate((4.0, 4.05, 3.96, 4.02, 3.98, 4.03, 3.97)):
        save(store, "nightly", processes(level, of=job("same.onnx"), first=200 + 120 * at))
    rows = document(capfdbinary, "--baseline", "main", "nightly")["rows"]
    (row,) = [row for row in rows if row["model"] == "same.onnx"]
    assert row["sessions"]["sessions"] == 1  # the nightly runs are the current side
    save(store, "tonight", processes(4.0, of=job("same.onnx"), first=1300))
    found = document(capfdbinary, "--baseline", "main", "tonight")
    (row,) = [row for row in found["rows"] if row["sessions"]]
    assert row["sessions"]["sessions"] == 8
    assert "I-SESSIONS" in [notice["code"] for notice in found["notices"]]
    report = es.gate("tonight", baseline="main", store=store.path)
    assert [one.sessions.sd for one in report.rows if one.sessions] == [row["sessions"]["sd"]]


def test_a_comparison_is_held_against_its_other_side(store, capfdbinary) -> None:
    for number in range(12):
        for side, median_ms in (("A", 4.0), ("B", 4.2)):
            turn = RoundPosition(comparison="c0", side=side, round=number, place=0)
            name = {"A": "old.onnx", "B": "new.onnx"}[side]
            save(store, "pair", [process(median_ms, 300 + number, of=job(name), turn=turn)])
    found = document(capfdbinary, "--baseline", "pair")
    assert [row["outcome"] for row in found["rows"]] == ["regression"]
    assert found["rows"][0]["verdict"]["estimate"]["method"] == "rounds"


def test_folders_and_zip_files_are_sets_too(store, tmp_path, capfdbinary) -> None:
    zips = tmp_path / "zips"
    zips.mkdir()
    for row in store.rows(tag="main"):
        store.export(row.id, zips / row.id)
    by_zip = document(capfdbinary, "--baseline", str(zips), "head")
    assert by_zip["counts"] == document(capfdbinary, "--baseline", "main", "head")["counts"]
    for folder in (store.path, store.runs_folder):
        assert main(["gate", "--baseline", str(folder), "head"]) == 2  # all of them are in it
        assert b"all of them are the baseline's" in capfdbinary.readouterr().err


def test_latest_is_the_newest_run_with_samples(store, capsys) -> None:
    """After an import `latest` was a plan without samples."""
    one = store.rows(tag="main", model="same")[0].id
    newest = process(4.0, 500, of=job("same.onnx"))
    plan = process(4.0, 501, of=job("same.onnx"), samples=(), origin="imported")
    save(store, "new", [newest, plan])
    assert main(["gate", "--baseline", one, "latest"]) == 1
    shown = capsys.readouterr()
    assert f"latest: run {newest.id}; skipped 1 newer run without samples" in shown.err
    assert main(["gate", "--baseline", one, "latest~999"]) == 2
    assert "have samples" in capsys.readouterr().err


def test_files_of_trtexec_against_each_other(data, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("ENGINESCOPE_HOME", str(tmp_path / "store"))
    packed = (data / "trt86-h200/depth_anything_small.timing.json.gz").read_bytes()
    for side in ("before", "after"):
        (tmp_path / side).mkdir()
        (tmp_path / side / "depth.timing.json").write_bytes(gzip.decompress(packed))
    sides = ["--baseline", str(tmp_path / "before"), str(tmp_path / "after")]
    assert main(["gate", *sides, "--max-regression", "5%"]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith("gate inconclusive")
    assert "not measured again: its figures are imported (W-NOT-MEASURED-AGAIN)" in shown
    assert main(["gate", *[*sides, "--max-regression", "5%", "--inconclusive", "pass"]]) == 0
    assert "treated as passed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("limits", "metrics", "expected"),
    [
        ((), (), {"latency": 2.0}),
        (("3%",), (), {"latency": 3.0}),
        (("p99=5",), (), {"latency": 2.0, "p99": 5.0}),
        (("1.5 %", "p99=5 %"), ("throughput",), {"throughput": 1.5, "p99": 5.0}),
        (("0",), ("p99", "latency"), {"p99": 0.0, "latency": 0.0}),
    ],
)
def test_limits(limits, metrics, expected) -> None:
    assert {one.metric: one.regression_pct for one in limits_of(limits, metrics)} == expected
    for text in ("x", "p99=", "=", "p98=3"):
        with pytest.raises(UsageError):
            limits_of((text,), ())
