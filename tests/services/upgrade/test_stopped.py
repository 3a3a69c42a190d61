import json
import re
import shutil
import sys

import pytest

from enginescope.cli.main import main
from enginescope.core.record import replace
from enginescope.probe.environment import probe_environment
from enginescope.records.verdict.upgrade import UpgradeKind
from enginescope.services.upgrade import upgrade as service
from enginescope.services.upgrade.evidence import read_evidence
from enginescope.services.upgrade.remaining import TimeLeft
from enginescope.services.upgrade.stacks import StackRunner
from enginescope.store.archive import Store
from tests.plants.in_process import workers_in_process
from tests.services.test_tune import Planted

pytestmark = pytest.mark.filterwarnings("ignore")
#: Each stack has its own, neither of which this Python has.
VERSIONS = {"old": {"onnxruntime": "1.2.3"}, "new": {"onnxruntime": "1.2.4"}}


class Stop:
    """Ends the upgrade at a process, counted over outputs and timings."""

    def __init__(self, monkeypatch, at: int | None, error: BaseException) -> None:
        self.at, self.count, self._error = at, 0, error
        runs = Planted(lambda _job: 2.0, noise=0.003)
        collect = StackRunner.collect_outputs

        def collected(runner, *given):
            self._next()
            return collect(runner, *given)

        def run_jobs(_runner, jobs, sink, **more):
            self._next()
            here = probe_environment()
            versions = {**here.versions, **VERSIONS[jobs[0].backend.environment]}
            environment = replace(here, versions=versions)
            return runs(jobs, lambda run: sink(replace(run, environment=environment)), **more)

        def with_versions(stack):
            return replace(stack, versions={**probe_environment().versions, **VERSIONS[stack.name]})

        monkeypatch.setattr(StackRunner, "collect_outputs", collected)
        monkeypatch.setattr(StackRunner, "run_jobs", run_jobs)
        monkeypatch.setattr(service, "with_versions", with_versions)

    def _next(self) -> None:
        self.count += 1
        if self.count == self.at:
            raise self._error


@pytest.fixture
def run(convnet, tmp_path, capfd):
    """Run an upgrade of two models; return its exit code, report and messages."""
    models = [str(shutil.copy(convnet, tmp_path / name)) for name in ("a.onnx", "b.onnx")]

    def upgrade(*more: str):
        arguments = ["upgrade", *models, "--old", sys.executable, "--samples", "1"]
        arguments += ["--evidence", str(tmp_path / "bundle"), "--store", str(tmp_path / "store")]
        with workers_in_process():
            code = main([*arguments, "--json", *more])
        out, err = capfd.readouterr()
        assert out, err
        return code, json.loads(out)["report"], err

    return upgrade


#: 8 processes return the outputs of a model; then 8 or more rounds of two processes time each.
@pytest.mark.parametrize("at", [1, 8, 9, 16, 17, 18, 26, 40])
def test_the_report_and_the_evidence_are_there_and_true(run, monkeypatch, tmp_path, at) -> None:
    stop = Stop(monkeypatch, at, SystemExit(143) if at % 2 else KeyboardInterrupt())
    code, report, err = run()
    assert code == (143 if at % 2 else 130)
    assert "--continue" in err
    assert [notice["code"] for notice in report["notices"]] == ["W-INTERRUPTED"]
    models = report["models"]
    assert [model["model"] for model in models] == ["a.onnx", "b.onnx"]
    for model in models:
        outputs, *figures = model["rows"]
        assert (outputs["reason"] == "not-reached") is (outputs["kind"] == "inconclusive")
        assert all(
            row["reason"] == "not-reached" for row in figures if not model["old"] and row["decides"]
        )
    assert sum(model["rows"][0]["kind"] == "safe" for model in models) == min(2, (at - 1) // 8)
    assert read_evidence(tmp_path / "bundle").bundle.report.kind is UpgradeKind.INCONCLUSIVE
    assert json.loads((tmp_path / "bundle" / "evidence.json").read_text())["report"]["models"]
    before = len(Store(tmp_path / "store").rows())
    stop.at, stop.count = None, 0
    code, report, _ = run("--continue")
    assert [model["rows"][0]["kind"] for model in report["models"]] == ["safe", "safe"]
    assert not report["notices"]
    rows = Store(tmp_path / "store").rows()
    assert len(rows) == before + stop.count - 16  # outputs are compared again, rounds are not
    assert read_evidence(tmp_path / "bundle").bundle.report.models[1].old


def test_the_maximum_time_is_of_all_models(run, monkeypatch) -> None:
    Stop(monkeypatch, None, KeyboardInterrupt())
    code, report, err = run("--max-time", "1ms")
    assert code == 1
    assert {notice["code"] for notice in report["notices"]} == {"I-SHORT-SEARCH"}
    assert {row["reason"] for row in report["models"][1]["rows"]} == {"not-reached"}
    assert re.search("the maximum time was over after [01] of 4 steps", err)  # one may begin


def test_a_folder_that_is_not_a_bundle_is_not_removed_to_continue(run, tmp_path) -> None:
    (tmp_path / "bundle").mkdir()
    for name in ("evidence.json", "mine.txt"):
        (tmp_path / "bundle" / name).write_text("{}")
    with pytest.raises(AssertionError, match="it is not empty"):
        run("--continue")
    assert (tmp_path / "bundle" / "mine.txt").read_text() == "{}"


def test_what_is_left_comes_from_what_was_taken() -> None:
    left = TimeLeft(6, (8, 16, 30, 60), timed_s=1.0, processes=8)
    assert left.seconds is None
    left.outputs_ended(8.0, is_timed=True)
    assert left.seconds == pytest.approx(5 * 8.0 + 6 * 16 * 2 * 2.0)
    for _ in range(5):
        left.outputs_ended(8.0, is_timed=False)
    assert left.seconds == pytest.approx(16 * 2 * 2.0)
    left.model_started()
    for _ in range(16):
        left.process_ended(3.0)
    assert left.seconds == pytest.approx(8 * 2 * 3.0)
    left.model_ended()
    assert left.seconds == 0.0
    left = TimeLeft(6, (8, 16), timed_s=100.0, processes=8, max_time_s=60.0)
    left.outputs_ended(8.0, is_timed=True)
    assert left.seconds == pytest.approx(60.0, abs=5.0)
    assert left.model_started() == pytest.approx(10.0, abs=1.0)
    assert left.limit_s
