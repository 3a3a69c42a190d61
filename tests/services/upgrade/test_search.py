import subprocess
import sys
from pathlib import Path

import pytest

import enginescope as es
from enginescope.core.errors import BackendError, UsageError
from enginescope.core.record import replace
from enginescope.probe.environment import probe_environment
from enginescope.records.run.job import Job
from enginescope.records.verdict.upgrade import Release, UpgradeKind
from enginescope.render.verdicts.search_answer import answer_text, search_answer
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.upgrade import releases
from enginescope.services.upgrade import search as service
from enginescope.services.upgrade.releases import (
    HERE,
    indexed_releases,
    installed,
    named_releases,
    parse_span,
    version_key,
)
from enginescope.services.upgrade.request import UpgradeRequest
from enginescope.services.upgrade.search import SearchRequest, search_upgrade
from enginescope.services.upgrade.stacks import StackRunner
from enginescope.store.archive import Store
from tests.plants.in_process import workers_in_process
from tests.services.test_tune import Planted
from tests.services.upgrade.test_upgrade import plant_outputs, same_outputs

RELEASES = tuple(f"1.{minor}.0" for minor in range(9))
PYTHONS = tuple(f"{release}={sys.executable}" for release in RELEASES)
__all__ = ["same_outputs"]
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def plant(monkeypatch):
    """A function that plants slowdowns by a release's number; releases need no environment."""
    monkeypatch.setattr(service.releases, "installed", lambda release, *_rest: release)

    def planted(slowdowns=None, seed=0) -> Planted:
        def level(job: Job) -> float:
            return 2.0 * (slowdowns or {}).get(RELEASES.index(job.backend.environment), 1.0)

        runs = Planted(level, noise=0.003, seed=seed)
        monkeypatch.setattr(StackRunner, "run_jobs", lambda _, *jobs, **more: runs(*jobs, **more))
        return runs

    return planted


class Stoppable(MeasurementObserver):
    """Remembers an interrupt, as the command line does."""

    def interrupted(self, error: BaseException) -> None:
        self.interruption = error


def searched(model: Path, folder: Path, span: str = "1.0..1.8", **more):
    upgrade = UpgradeRequest(models=(model,), old="", samples=1, store=folder / "store", **more)
    request = SearchRequest(upgrade=upgrade, span=span, pythons=PYTHONS)
    with workers_in_process():
        return search_upgrade(request, Stoppable())


def from_release(number: int, factor: float) -> dict[int, float]:
    return dict.fromkeys(range(number, len(RELEASES)), factor)


@pytest.mark.parametrize("number", [1, 8])
def test_the_release_that_is_slower(convnet, tmp_path, plant, same_outputs, number) -> None:
    plant(from_release(number, 1.05))
    result = searched(convnet, tmp_path)
    assert (result.good, result.bad) == (RELEASES[number - 1], RELEASES[number])
    assert result.kind is UpgradeKind.WORSE
    assert result.metric == "latency"
    assert len(result.steps) <= 5
    assert result.change.models[0].rows[1].kind is UpgradeKind.WORSE
    text = answer_text(result)
    assert f"onnxruntime {RELEASES[number]} made {convnet.name} worse" in text
    assert "latency +" in text


def test_equal_releases_name_none(convnet, tmp_path, plant, same_outputs) -> None:
    named = 0
    for seed in range(20):
        runs = plant(seed=seed)
        named += searched(convnet, tmp_path / str(seed)).kind is UpgradeKind.WORSE
        assert runs.jobs  # the last release was compared with the first
    assert named <= 1


def test_the_error_is_divided_over_looks_and_steps(convnet, tmp_path, plant, same_outputs) -> None:
    plant(from_release(3, 1.05))
    store = tmp_path / "store"
    result = es.search_releases(convnet, "1.0..1.8", pythons=PYTHONS, samples=1, store=store)
    assert (result.bad, result.metric) == (RELEASES[3], "latency")
    assert repr(result) == f"<ReleaseSearch {answer_text(result)}>"
    assert "Comparisons" in result._repr_html_()
    verdicts = [result.row(step).verdict for step in result.steps]
    confidences = {verdict.estimate.interval.confidence for verdict in verdicts}
    metrics = 4
    most = 2 + 3 + service._SPARE
    assert min(confidences) == pytest.approx(1 - 0.05 / (most * len(service._LOOKS) * metrics))
    assert len(result.steps) <= most


def test_wrong_outputs_lead_to_the_release_and_node(convnet, tmp_path, plant, monkeypatch) -> None:
    runs = plant()
    bad = RELEASES[5:]
    plant_outputs(monkeypatch, lambda release, data: data + 1 if release in bad else data)
    result = searched(convnet, tmp_path, evidence=tmp_path / "bundle")
    assert (result.good, result.bad, result.metric) == (RELEASES[4], RELEASES[5], "outputs")
    assert result.kind is UpgradeKind.WORSE
    assert not runs.jobs  # outputs decide
    assert result.change.models[0].origin is not None
    assert (tmp_path / "bundle" / "reduced" / "check.py").is_file()
    assert es.reproduce(tmp_path / "bundle", check_only=True).recorded.new.name == RELEASES[5]


def test_unusable_releases_are_skipped(convnet, tmp_path, plant, same_outputs, monkeypatch) -> None:
    why = "no file for Python 3.11 on this machine"

    def skip(*versions: str) -> None:
        def installed(release, *_rest):
            return replace(release, failure=why if release.version in versions else None)

        monkeypatch.setattr(service.releases, "installed", installed)

    plant(from_release(6, 1.05))
    skip("1.4.0")
    result = searched(convnet, tmp_path)
    assert result.bad == RELEASES[6]
    assert result.kind is UpgradeKind.WORSE
    assert dict(search_answer(result).facts)["skipped"] == f"1.4.0 ({why})"
    plant(from_release(4, 1.05))
    skip(*RELEASES[3:5])
    result = searched(convnet, tmp_path)
    assert (result.good, result.bad) == (RELEASES[2], RELEASES[5])
    assert result.kind is UpgradeKind.INCONCLUSIVE
    assert "after 1.2.0, and in 1.5.0 at the latest" in answer_text(result)
    assert "1.3.0, 1.4.0" in dict(search_answer(result).facts)["between"]


def test_a_release_that_refuses_the_model(convnet, tmp_path, plant, monkeypatch) -> None:
    plant()
    usual = StackRunner.collect_outputs

    def refused(self, side, request, run_here):
        if (side.job.backend.environment or "") in RELEASES[2:]:
            raise BackendError("the model cannot be loaded", why="unsupported opset")
        return usual(self, side, request, run_here)

    monkeypatch.setattr(StackRunner, "collect_outputs", refused)
    result = searched(convnet, tmp_path)
    assert (result.good, result.bad) == (RELEASES[1], RELEASES[2])
    assert "unsupported opset" in result.row(result.steps[-1]).message
    (table, *_) = search_answer(result).tables
    *before, last = (row[-1] for row in table.rows if row[2] == "worse")
    assert set(before) == {"outputs-fail"}  # the text of the error stands once
    assert "unsupported opset" in last


def test_two_releases_of_a_range_are_needed_and_ordered(convnet, tmp_path, plant) -> None:
    plant()
    with pytest.raises(UsageError, match="two releases"):
        searched(convnet, tmp_path, "1.3..1.3")
    for text in ("1.3", "a..b", "1.4..1.3", ".."):
        with pytest.raises(UsageError, match="search"):
            parse_span(text)
    pythons = [f"{name}=/bin/python" for name in ("1.10.1", "1.9.0", "1.8.0", "1.11.0")]
    assert named_releases(pythons, "p", ("1.9", "1.10")) == [
        Release(version=version, python="/bin/python") for version in ("1.9.0", "1.10.1")
    ]
    assert version_key("1.10.1") > version_key("1.9.0")


@pytest.mark.parametrize("at", [1, 30, 60])
def test_a_stopped_search_goes_on(convnet, tmp_path, plant, same_outputs, monkeypatch, at) -> None:
    runs = plant(from_release(3, 1.05))

    def run_jobs(_runner, jobs, sink, **more):
        if len(runs.jobs) == stop:
            raise KeyboardInterrupt
        here = probe_environment()
        return runs(jobs, lambda run: sink(replace(run, environment=here)), **more)

    monkeypatch.setattr(StackRunner, "run_jobs", run_jobs)
    stop = at
    stopped = searched(convnet, tmp_path)
    assert [notice.code for notice in stopped.notices] == ["W-INTERRUPTED"]
    assert stopped.kind is UpgradeKind.INCONCLUSIVE
    assert len(Store(tmp_path / "store").rows()) == at
    stop = None
    result = searched(convnet, tmp_path, continues=True)
    assert (result.good, result.bad) == (RELEASES[2], RELEASES[3])
    rows = len(Store(tmp_path / "store").rows())
    assert rows == len(runs.jobs)
    used = sum(len(one.old) + len(one.new) for step in result.steps for one in step.models)
    assert rows - used in (0, 1)  # a comparison without a whole round begins again


#: As pip 26.3 prints it.
WHEEL = (
    "  Skipping link: none of the wheel's tags (cp39-cp39-win_amd64) are compatible (run pip debug "
    "--verbose to show compatible tags): https://files.pythonhosted.org/packages/4b/f2/"
    "{name}-{version}-cp39-cp39-win_amd64.whl (from https://pypi.org/simple/{name}/)\n"
)
LISTED = "onnxruntime (1.32.0)\nAvailable versions: {versions}\n  INSTALLED: 1.32.0\n"


@pytest.fixture
def pip(monkeypatch):
    def prints(out: str = "", error: str = "") -> list[tuple[str, ...]]:
        asked: list[tuple[str, ...]] = []

        def run(*arguments: str) -> subprocess.CompletedProcess[str]:
            asked.append(arguments)
            return subprocess.CompletedProcess(arguments, int(bool(error)), out, error)

        monkeypatch.setattr(releases, "_pip", run)
        return asked

    return prints


def test_the_releases_of_the_index_within_a_range(pip) -> None:
    skipped = "".join(
        WHEEL.format(name="onnxruntime", version=version)
        for version in ("1.9.0", "1.20.0", "1.22.0", "1.21.0")
    )
    asked = pip(skipped + LISTED.format(versions="1.23.0rc1, 1.22.1, 1.22.0, 1.20.1, 1.20.0"))
    assert indexed_releases("onnxruntime", ("1.20.1", "1.22")) == [
        Release(version="1.20.1"),
        Release(version="1.21.0", failure=f"no file for Python {HERE} on this machine"),
        Release(version="1.22.0"),
        Release(version="1.22.1"),
    ]
    assert asked == [("-vv", "index", "versions", "onnxruntime")]


def test_a_dash_is_an_underscore_in_files_and_the_index_may_lack_a_package(pip) -> None:
    pip(WHEEL.format(name="onnxruntime_gpu", version="1.21.0") + LISTED.format(versions="1.22.0"))
    found = indexed_releases("onnxruntime-gpu", ("1.0", "2.0"))
    assert [one.version for one in found] == ["1.21.0", "1.22.0"]
    pip(error="ERROR: No matching distribution found for nothing\n")
    with pytest.raises(UsageError, match="No matching distribution found for nothing"):
        indexed_releases("nothing", ("1.0", "2.0"))


def test_an_environment_is_made_once_and_one_that_cannot_be_is_named(pip, tmp_path) -> None:
    asked, told = pip(), []
    release = installed(Release(version="2.9.9"), "onnxruntime", tmp_path, told.append)
    assert release.failure is None
    assert Path(release.python).is_relative_to(tmp_path / f"onnxruntime-2.9.9-{HERE}")
    assert [command[-1] for command in asked] == ["onnxruntime==2.9.9"]
    assert installed(Release(version="2.9.9"), "onnxruntime", tmp_path, told.append) == release
    assert len(asked) == len(told) == 1
    pip(error="ERROR: No matching distribution found for onnxruntime==9\n\n[notice] A new pip\n")
    release = installed(Release(version="9"), "onnxruntime", tmp_path / "other", told.append)
    assert release.failure == "ERROR: No matching distribution found for onnxruntime==9"
    assert not list((tmp_path / "other").iterdir())
    release = Release(version="9", python=sys.executable)
    found = installed(release, "no_such_module", tmp_path, told.append)
    assert found.failure == "ModuleNotFoundError: No module named 'no_such_module'"
