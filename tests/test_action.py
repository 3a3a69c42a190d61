"""action.yml: the steps of the GitHub Action, run here as a runner would."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from enginescope.store.archive import Store
from tests.analysis.gated_runs import job, processes
from tests.docs.recipe_inputs import another_python

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = ACTION["runs"]["steps"]
_EXPRESSION = re.compile(r"\$\{\{\s*([^}]+?)\s*\}\}")


class Runner:
    """As much of GitHub's runner as the steps can see."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.temp = folder / "temp"
        self.temp.mkdir()
        self.summary = folder / "summary.md"
        self.outputs: dict[str, dict[str, str]] = {}
        self.shown = ""

    def run(self, **inputs: str) -> int:
        """Run every step until one fails; return its exit code, else 0."""
        assert not ({one.replace("_", "-") for one in inputs} - set(ACTION["inputs"]))
        given = {name: one.get("default", "") for name, one in ACTION["inputs"].items()}
        given |= {name.replace("_", "-"): value for name, value in inputs.items()}
        for step in STEPS:
            code = self._step(step, given)
            if code:
                return code
        return 0

    def _step(self, step: dict[str, Any], inputs: dict[str, str]) -> int:
        output = self.folder / f"output-{len(self.outputs)}"
        output.touch()
        script = self.folder / "step.sh"
        script.write_text(step["run"], encoding="utf-8")
        variables = {name: self._value(text, inputs) for name, text in step["env"].items()}
        own = {
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "RUNNER_TEMP": str(self.temp),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }
        ended = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=self.folder,
            env={**os.environ, **own, **variables},
            capture_output=True,
            text=True,
        )
        self.shown += ended.stdout + ended.stderr
        pairs = (line.partition("=") for line in output.read_text().splitlines())
        self.outputs[step.get("id", step["name"])] = {name: value for name, _, value in pairs}
        return ended.returncode

    def _value(self, text: str, inputs: dict[str, str]) -> str:
        return _EXPRESSION.sub(lambda found: self._expression(found[1], inputs), str(text))

    def _expression(self, text: str, inputs: dict[str, str]) -> str:
        kind, *names = text.split(".")
        if kind == "inputs":
            return inputs[names[0]]
        if kind == "steps":
            return self.outputs[names[0]].get(names[2], "")
        assert text == "github.action_path"
        return str(ROOT)


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    if shutil.which("bash") is None:
        pytest.skip("no bash")
    return Runner(tmp_path)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(tmp_path / "store")
    for tag, slow_ms, first in (("main", 4.0, 0), ("head", 4.4, 60)):
        for name, median_ms in (("a", slow_ms), ("b", 2.0)):
            for run in processes(median_ms, of=job(f"{name}.onnx"), first=first):
                made.save(run, tags=[tag])
    return made


def test_inputs_are_used_said_and_reach_the_shell_as_variables_only() -> None:
    for step in STEPS:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], step["name"]
        for text in step["env"].values():
            for expression in _EXPRESSION.findall(text):
                assert expression.split(".")[0] in ("inputs", "steps", "github")
    used = set(re.findall(r"inputs\.([\w-]+)", (ROOT / "action.yml").read_text()))
    assert used == set(ACTION["inputs"])
    told = (ROOT / "docs" / "reference" / "gate.md").read_text(encoding="utf-8")
    for name in (*ACTION["inputs"], *ACTION["outputs"]):
        assert f"`{name}`" in told, name
    # The package alone has nothing that runs a model.
    install = next(step["run"] for step in STEPS if "pip install" in step.get("run", ""))
    assert "${ACTION_PATH}[ort]" in install


def test_a_regression_fails_the_job_and_is_in_its_summary(runner, store) -> None:
    assert runner.run(install="none", store=str(store.path), baseline="main") == 1, runner.shown
    summary = runner.summary.read_text(encoding="utf-8")
    assert "gate failed" in summary
    assert "a.onnx" in summary
    outputs = runner.outputs["gate"]
    assert outputs["passed"] == "false"
    for name in ("html", "markdown", "junit", "sarif"):
        assert Path(outputs[name]).is_file()


def test_limits_metrics_and_policy_are_handed_on(runner, store) -> None:
    code = runner.run(
        install="none",
        store=str(store.path),
        baseline="main",
        max_regression="15%\nthroughput=20%",
        metric="latency\nthroughput",
        inconclusive="fail",
        across="cpu,governor",
    )
    assert code == 0, runner.shown
    assert runner.outputs["gate"]["passed"] == "true"
    assert "latency 15 %, throughput 20 %" in runner.summary.read_text(encoding="utf-8")


def test_without_a_baseline_nothing_is_held_against_anything(runner, store) -> None:
    assert runner.run(install="none", store=str(store.path)) == 0
    assert "passed" not in runner.outputs["gate"]
    assert not runner.summary.exists()
    assert runner.run(install="none", store=str(store.path), baseline="nope") == 2
    assert "run 'nope'" in runner.shown
    assert runner.run(install="none", models="no/*.onnx") == 2
    assert "no file matches" in runner.shown


@pytest.mark.slow
def test_models_are_interleaved_with_their_baseline(
    runner, convnet, transformer, monkeypatch
) -> None:
    another_python(runner.folder / "bin" / "python")  # whose workers need no processes
    monkeypatch.setenv("PYTHONPATH", f"{runner.folder / 'bin'}:{ROOT}", prepend=os.pathsep)
    for folder, models in (("base models", (convnet, transformer)), ("head", (convnet,))):
        (runner.folder / folder).mkdir()
        for model in models:
            shutil.copy(model, runner.folder / folder)
    (runner.folder / "head" / "broken.onnx").write_bytes(b"no model")
    code = runner.run(
        install="none",
        models="head/*.onnx",
        baseline_models="base models/*.onnx",
        processes="1",
        rounds="8",
        bench_args="--no-layers\n--duration\n20ms\n--warmup\n0",
        max_regression="900%",
        inconclusive="pass",
    )
    assert code == 1, runner.shown
    assert "1 new failure, 1 lost" in runner.summary.read_text(encoding="utf-8")
    store = Store(Path(runner.outputs["measure"]["runs"]).parent)
    rounds, new = runner.outputs["measure"]["current"].split()
    _, lost = runner.outputs["measure"]["baseline"].split()
    turns = [store.load(row.id).turn for row in store.rows(tag=rounds)]
    assert {turn.side for turn in turns} == {"A", "B"}
    pairs = {(turn.round, turn.side) for turn in turns}
    assert len(pairs) == 16  # a disturbed one is measured again
    assert [row.model for row in store.rows(tag=new)] == ["broken.onnx"]
    assert [row.model for row in store.rows(tag=lost)] == [transformer.name]
