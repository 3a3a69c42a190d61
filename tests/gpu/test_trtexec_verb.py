"""trtexec's command line on a real GPU: what it printed is what its files hold."""

import json
from pathlib import Path

import pytest

from enginescope.analysis.runs.run_view import RunView
from enginescope.cli.main import main
from enginescope.formats.importing.importer import import_artifacts
from tests.gpu.conftest import OPTIONS


def needs() -> list[str]:
    """The backend's options that this TensorRT needs, as trtexec's flags."""
    pairs = [one.split("=", 1) for one in OPTIONS.split("&") if one]
    return [f"--tacticSources={value}" for key, value in pairs if key == "tactic_sources"]


@pytest.mark.parametrize("graph", [True, False], ids=["graph", "eager"])
def test_files_hold_what_was_printed(samples, tmp_path, monkeypatch, capfd, graph) -> None:
    monkeypatch.setenv("ENGINESCOPE_HOME", str(tmp_path / "home"))
    names = {"Times": "timing", "Profile": "profile", "LayerInfo": "graph"}
    files = {flag: tmp_path / f"net.engine.{word}.json" for flag, word in names.items()}
    arguments = [
        "trtexec",
        f"--onnx={samples[0]}",
        f"--saveEngine={tmp_path / 'net.engine'}",
        *(f"--export{flag}={path}" for flag, path in files.items()),
        "--profilingVerbosity=detailed",
        "--separateProfileRun",
        "--dumpProfile",
        "--duration=1",
        *(["--useCudaGraph"] if graph else []),
        *needs(),
    ]
    assert main(arguments) == 0
    printed = capfd.readouterr().out
    assert "&&&& PASSED TensorRT.trtexec" in printed
    (tmp_path / "net.engine.profile.log").write_text(printed)
    for path in files.values():
        json.loads(path.read_text())  # strict
    found = import_artifacts([*files.values(), tmp_path / "net.engine.profile.log"])
    (run,) = found.runs
    assert not found.skipped
    view = RunView(run)
    assert not [one for one in view.notices if one.code == "W-SUMMARY-MISMATCH"]
    assert run.plan is not None
    assert run.profile is not None
    assert run.tool.throughput_per_s is not None
    ours = view.summary("gpu_compute")
    theirs = next(one for one in run.tool.summaries if one.metric == "gpu_compute")
    assert theirs.median_ms is not None
    assert ours.median_ms == pytest.approx(theirs.median_ms, rel=1e-5)
    assert Path(tmp_path / "net.engine").stat().st_size > 0
