import csv
import json
import shutil
from pathlib import Path

import pytest

import enginescope as es
from enginescope.cli.main import main
from tests.cli.plans.conftest import ENGINE
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


def test_report_of_a_tag_has_all_of_its_runs(store, without_plots, tmp_path, capsys) -> None:
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
    store, artifacts, without_plots, tmp_path, monkeypatch, capsys
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


def test_report_of_the_latest_run_without_the_extra(store, without_plots, capsys) -> None:
    assert main(["report"]) == 2
    assert "enginescope bench" in capsys.readouterr().err
    store.save(a_run(id="abcdef123456"))
    assert main(["report"]) == 0
    shown = capsys.readouterr()
    assert "report/abcdef/report.html" in shown.out.replace("\n", "")
    assert shown.err.count("enginescope[plots]") == 1  # said once for all plots
    names = {path.name for path in Path("report/abcdef").iterdir()}
    assert {name for name in FILES if not name.endswith(".png")} <= names


def test_the_library_does_the_same(tmp_path, artifacts) -> None:
    with pytest.warns(UserWarning, match="notes.txt"):
        (run,) = es.import_artifacts(artifacts)
    assert run.latency.median_ms == 0.81
    assert len(run.to_pandas()) > 0
    es.write_report(run, tmp_path / "out")
    assert (tmp_path / "out" / "report.html").exists()


def test_the_next_command_finds_the_store_that_was_named(data, tmp_path, capsys) -> None:
    store = tmp_path / "my runs"
    profile = data / "trt86-h200-process" / "small_convnet.onnx.engine.profile.json"
    assert main(["import", str(profile), "--store", str(store)]) == 0
    assert f"enginescope report --store '{store}'" in " ".join(capsys.readouterr().err.split())


def test_the_page_of_a_report_has_what_was_named_beside_the_plan(bare, log, convnet, tmp_path):
    folder = tmp_path / "out"
    asked = ("--gpu", "H200", "--onnx", str(convnet), "--build-log", str(log))
    assert main(["report", str(bare), "-o", str(folder), *asked]) == 0
    text = (folder / "report.html").read_text(encoding="utf-8")
    for expected in ("at the limits of H200", "Layers after each step", "nodes are in"):
        assert expected in text, expected


def test_a_gpu_counts_for_every_plan_a_log_for_one(bare, log, tmp_path, capsys) -> None:
    other = tmp_path / "other.graph.json"
    for role in ("graph", "profile"):
        shutil.copy(tmp_path / f"net.{role}.json", tmp_path / f"other.{role}.json")
    folder = tmp_path / "out"
    both = ("report", str(bare), str(other), "-o", str(folder))
    assert main([*both, "--build-log", str(log)]) == 2
    said = capsys.readouterr().err
    assert "--build-log" in said
    assert "2 were given" in said
    assert not folder.exists()
    assert main([*both, "--gpu", "H200"]) == 0
    assert (folder / "report.html").read_text(encoding="utf-8").count("at the limits of H200") >= 2


@pytest.mark.parametrize("verb", ["explore", "report"])
def test_the_first_screen_has_the_version_that_the_log_tells(verb, bare, log, tmp_path, capsys):
    page = tmp_path / "out" / "report.html"
    page.parent.mkdir()
    to = ("--html", str(page)) if verb == "explore" else ("-o", str(page.parent))
    assert main([verb, str(bare), *to]) == 0
    assert "version of TensorRT not known" in page.read_text(encoding="utf-8")
    capsys.readouterr()
    assert main([verb, str(bare), *to, "--build-log", str(log)]) == 0
    assert "TensorRT 8.6.0" in page.read_text(encoding="utf-8")
    if verb == "explore":
        assert "TensorRT 8.6.0" in capsys.readouterr().out.splitlines()[0]


def test_another_model_is_said_where_the_report_is_written(bare, transformer, tmp_path, capsys):
    asked = ("--onnx", str(transformer), "-o", str(tmp_path / "out"))
    assert main(["report", str(bare), *asked]) == 0
    shown = capsys.readouterr()
    assert "0 of 19 layers of net were made from nodes of" in shown.err
    assert "W-ONNX-NO-MATCH" not in shown.out


def test_the_gpu_given_stands_in_for_a_machine_that_is_not_known(bare, recorded, tmp_path) -> None:
    shutil.copy(recorded / f"{ENGINE}.timing.json", tmp_path / "net.timing.json")
    text = {}
    for name, asked in (("with", ("--gpu", "H200")), ("without", ())):
        folder = tmp_path / name
        assert main(["report", str(bare), "-o", str(folder), *asked]) == 0
        text[name] = (folder / "report.html").read_text(encoding="utf-8")
    assert "machine not known" in text["without"]
    assert "H200, as given" in text["with"]
    assert "machine not known" not in text["with"]


def test_open_shows_the_page(bare, tmp_path, monkeypatch, capsys) -> None:
    shown: list[str] = []
    monkeypatch.setattr("click.launch", shown.append)
    folder = tmp_path / "out"
    assert main(["report", str(bare), "-o", str(folder)]) == 0
    assert shown == []
    assert f"open: {folder / 'report.html'}" in capsys.readouterr().err
    assert main(["report", str(bare), "-o", str(folder), "--open"]) == 0
    assert shown == [str(folder / "report.html")]
