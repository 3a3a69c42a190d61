"""``enginescope process`` on the stand-in for TensorRT."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from enginescope.cli.main import main
from enginescope.formats.archive.engine_archive import check_tea, read_tea
from enginescope.formats.importing.importer import import_artifacts
from enginescope.store.archive import Store
from tests.fakes.loading import VERSIONS, environment

NAMES = (
    *("", ".build.log", ".build.metadata.json", ".graph.json", ".profile.json", ".profile.log"),
    *(".profile.metadata.json", ".timing.json"),
)


def process(home: Path, *arguments: str, version: str = "10.16.1", fault: str = ""):
    command = [sys.executable, "-m", "enginescope", "process", *arguments]
    variables = {**os.environ, **environment(version, fault), "ENGINESCOPE_HOME": str(home)}
    return subprocess.run(command, capture_output=True, text=True, env=variables, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_trex_finds_all_its_files(convnet, tmp_path, version) -> None:
    folder = tmp_path / "out"
    ended = process(tmp_path, str(convnet), str(folder), "--duration=0.2", version=version)
    assert ended.returncode == 0, ended.stderr
    wanted = {f"{convnet.name}.engine{ending}" for ending in NAMES}
    assert {one.name for one in folder.iterdir()} == wanted
    assert [Path(line).name for line in ended.stdout.splitlines()] == sorted(wanted)
    assert "report: enginescope report" in ended.stderr
    for name in wanted:
        if name.endswith(".json"):
            json.loads((folder / name).read_text())
    (run,) = import_artifacts([folder]).runs
    assert run.plan is not None
    assert run.profile is not None
    assert run.tool.passed
    assert not [one for one in run.notices if one.code == "W-SUMMARY-MISMATCH"]
    if not version.startswith("8."):  # whose log repeats the build's options
        log = (folder / f"{convnet.name}.engine.profile.log").read_text()
        assert "no effect" not in log
        assert "--profilingVerbosity" not in log.splitlines()[0]


@pytest.mark.slow
def test_all_of_it_as_one_file(convnet, tmp_path) -> None:
    folder, cache = tmp_path / "out", tmp_path / "mine.cache"
    flags = ("--archive", "--duration=0.2", f"--timingCacheFile={cache}")
    ended = process(tmp_path, str(convnet), str(folder), *flags)
    assert ended.returncode == 0, ended.stderr
    archive = folder / f"{convnet.name}.engine.tea"
    assert str(archive) in ended.stdout.splitlines()
    kinds = {one.name: one.kind for one in read_tea(archive).entries}
    assert set(kinds) == {*(f"{convnet.name}.engine{ending}" for ending in NAMES), "mine.cache"}
    assert (kinds[f"{convnet.name}.engine"], kinds["mine.cache"]) == ("engine", "timing_cache")
    assert check_tea(archive) == ()


@pytest.mark.slow
def test_a_failed_build_names_its_log(convnet, tmp_path) -> None:
    ended = process(tmp_path, str(convnet), str(tmp_path / "out"), fault="build_fails")
    assert ended.returncode == 3
    log = tmp_path / "out" / f"{convnet.name}.engine.build.log"
    assert str(log) in ended.stderr
    assert "&&&& FAILED" in log.read_text()
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("model", "flags", "word"),
    [
        ("MODEL", ["--fp61"], "--fp61"),
        ("MODEL", ["--exportTimes=x"], "--exportTimes"),
        ("MODEL", ["--duration=abc"], "--duration"),
        ("MODEL", ["--nope"], "--nope"),
        ("none.onnx", [], "none.onnx"),
        ("net.engine", [], "engine already"),
    ],
)
def test_mistakes_are_told_before_anything_is_built(
    use, store, convnet, model, flags, word, capsys
) -> None:
    use()
    Path("net.engine").write_bytes(b"plan")
    assert main(["process", str(convnet) if model == "MODEL" else model, "out", *flags]) == 2
    said = capsys.readouterr().err
    assert word in said
    assert "Traceback" not in said
    assert not Path("out").exists()


def test_without_tensorrt_one_line_says_so(store, convnet, capsys, monkeypatch) -> None:
    monkeypatch.setattr("enginescope.backends.tensorrt.libraries.is_installed", lambda _: False)
    assert main(["process", str(convnet), "out"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "pip install tensorrt" in line


@pytest.mark.slow
def test_python_writes_the_files_of_the_command_line(convnet, tmp_path) -> None:
    folder = tmp_path / "out"
    code = (
        "import sys, enginescope as es\n"
        "result = es.process(sys.argv[1], sys.argv[2], ['--duration=0.2'])\n"
        "print(*(file.name for file in result.files), result.run_id, sep='\\n')\n"
    )
    variables = {**os.environ, **environment("10.16.1"), "ENGINESCOPE_HOME": str(tmp_path)}
    command = [sys.executable, "-c", code, str(convnet), str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True, env=variables, check=False)
    assert ended.returncode == 0, ended.stderr
    *names, run_id = ended.stdout.splitlines()
    assert names == sorted(f"{convnet.name}.engine{ending}" for ending in NAMES)
    log = folder / f"{convnet.name}.engine.profile.log"
    assert f"enginescope: run {run_id}" in log.read_text()
    (stored,) = [row for row in Store(tmp_path).rows() if row.id == run_id]
    assert Store(tmp_path).load(stored.id).command.startswith("enginescope trtexec --loadEngine=")
