import csv
import json
import shutil
import subprocess
import sys

import pytest

from enginescope.cli.main import main
from tests.store.test_archive import a_run

FILES = {
    *("report.json", "report.md", "report.html", "summary.json", "summary.csv"),
    *("latency_series.csv", "latency_percentiles.csv", "per_layer_times.csv"),
    *("latency_hist.png", "percentiles.png", "per_layer_time.png"),
}

TIMES = [
    {"startH2dMs": i * 1.0, "endD2hMs": i + 0.9, "computeMs": 0.5, "latencyMs": 0.8 + i % 3 / 100}
    for i in range(300)
]
PROFILE = [
    {"count": 300},
    {"name": "conv", "timeMs": 120.0, "averageMs": 0.4, "medianMs": 0.39, "percentage": 80.0},
    {"name": "fc", "timeMs": 30.0, "averageMs": 0.1, "medianMs": 0.1, "percentage": 20.0},
]


@pytest.fixture
def artifacts(tmp_path):
    folder = tmp_path / "my_model"
    folder.mkdir()
    (folder / "times.json").write_text(json.dumps(TIMES))
    (folder / "profile.json").write_text(json.dumps(PROFILE))
    (folder / "notes.txt").write_text("nothing that is known")
    return folder


def test_import_makes_one_run_of_a_folder(store, artifacts, capsys) -> None:
    assert main(["import", str(artifacts), "--tag", "theirs"]) == 0
    shown = capsys.readouterr()
    assert "my_model" in shown.out
    assert "notes.txt" in shown.err
    run = store.load("theirs")
    assert run.origin == "imported"
    assert run.profile is not None
    assert len(run.samples[0]) == 300
    kept = {artifact.path for artifact in run.artifacts}
    assert kept == {"artifacts/times.json", "artifacts/profile.json"}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [("absent", None, "does not exist"), ("unknown.txt", "hello", "unknown.txt")],
)
def test_what_cannot_be_imported(store, tmp_path, name, content, message, capsys) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    assert main(["import", str(tmp_path / name)]) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert "Traceback" not in shown


def test_report_of_an_imported_run(store, artifacts, tmp_path, capsys) -> None:
    main(["import", str(artifacts)])
    assert main(["report", "latest", "-o", str(tmp_path / "out")]) == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES
    with (tmp_path / "out" / "per_layer_times.csv").open(newline="") as file:
        assert next(iter(csv.DictReader(file)))["name"] == "conv"


def reported_runs(folder) -> int:
    with (folder / "summary.csv").open(newline="") as file:
        return len({row["run"] for row in csv.DictReader(file)})


def test_a_tag_that_has_runs_is_noted(store, artifacts, capsys) -> None:
    assert main(["import", str(artifacts), "--tag", "theirs"]) == 0
    assert "tag theirs" not in capsys.readouterr().err
    assert main(["import", str(artifacts), "--tag", "theirs", "--tag", "new"]) == 0
    said = capsys.readouterr()
    assert "tag theirs had 1 run; it has 2 now" in said.err
    assert "tag new" not in said.err
    assert main(["import", "-q", str(artifacts), "--tag", "theirs"]) == 0
    assert "tag theirs" not in capsys.readouterr().err


def test_report_of_a_tag_has_all_of_its_runs(store, tmp_path, capsys) -> None:
    for at in range(3):
        store.save(a_run(at=at), tags=["night"])
    assert main(["report", "night", "-o", str(tmp_path / "out")]) == 0
    assert reported_runs(tmp_path / "out") == 3
    for at in range(3, 13):
        store.save(a_run(at=at), tags=["night"])
    assert main(["report", "night", "-o", str(tmp_path / "newest")]) == 0
    assert reported_runs(tmp_path / "newest") == 1
    assert "tag night: 13 runs have it, too many for one report" in capsys.readouterr().err


def test_a_folder_with_the_name_of_a_tag_is_noted(
    store, artifacts, tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(artifacts, "night")
    assert main(["report", "night", "-o", "before"]) == 0
    assert "is a tag" not in capsys.readouterr().err
    for at in range(3):
        store.save(a_run(at=at), tags=["night"])
    assert main(["report", "night", "-o", "after"]) == 0
    assert reported_runs(tmp_path / "after") == 1
    assert "night is a tag of 3 runs and a folder here" in capsys.readouterr().err
    monkeypatch.setenv("ENGINESCOPE_HOME", str(artifacts / "notes.txt"))
    assert main(["report", "night", "-o", "without"]) == 0


def test_report_of_the_latest_run_by_default(store, capsys) -> None:
    assert main(["report"]) == 2
    assert "enginescope bench" in capsys.readouterr().err
    store.save(a_run(id="abcdef123456"))
    assert main(["report"]) == 0
    assert "report/abcdef/report.html" in capsys.readouterr().out.replace("\n", "")


def test_report_without_the_extra_says_what_is_missing(
    store, tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    store.save(a_run())
    assert main(["report", "-o", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().err.count("enginescope[plots]") == 1  # said once for all plots
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {name for name in FILES if not name.endswith(".png")} <= names


def test_the_library_does_the_same(tmp_path, artifacts) -> None:
    code = (
        "import enginescope as es, sys\n"
        "(run,) = es.import_artifacts(sys.argv[1])\n"
        "print(run.latency.median_ms, len(run.to_pandas()))\n"
        "es.write_report(run, sys.argv[2])\n"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code, str(artifacts), str(tmp_path / "out")],
        capture_output=True,
        text=True,
    )
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.split()[0] == "0.81"
    assert (tmp_path / "out" / "report.html").exists()


def test_the_next_command_finds_the_store_that_was_named(data, tmp_path, capsys) -> None:
    store = tmp_path / "my runs"
    profile = data / "trt86-h200-process" / "small_convnet.onnx.engine.profile.json"
    assert main(["import", str(profile), "--store", str(store)]) == 0
    assert f"enginescope report --store '{store}'" in " ".join(capsys.readouterr().err.split())
