import sys
from pathlib import Path

import numpy as np
import pytest

import enginescope as es
from enginescope.core.errors import BackendError, UsageError
from enginescope.core.record import replace
from enginescope.probe.environment import probe_environment
from enginescope.records.verdict.upgrade import Release, UpgradeKind
from enginescope.render.verdicts.search_answer import answer_text, search_answer
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.upgrade import checks
from enginescope.services.upgrade import search as service
from enginescope.services.upgrade.releases import named_releases, parse_span, version_key
from enginescope.services.upgrade.request import UpgradeRequest
from enginescope.services.upgrade.search import SearchRequest, search_upgrade
from enginescope.services.upgrade.stacks import StackRunner
from enginescope.store.archive import Store
from tests.analysis.in_turn import process
from tests.plants.in_process import workers_in_process
from tests.services.upgrade.test_upgrade import plant_outputs

RELEASES = tuple(f"1.{minor}.0" for minor in range(9))
pytestmark = pytest.mark.filterwarnings("ignore")


class Planted:
    """Medians of each release: `slowdowns` by its number, with noise of 0.3 %."""

    def __init__(self, slowdowns: dict[int, float], seed: int = 0) -> None:
        self._slowdowns, self._draw, self.timed = slowdowns, np.random.default_rng(seed), 0

    def run_jobs(self, jobs, sink, **_more):
        (job,) = jobs
        self.timed += 1
        number = RELEASES.index(job.backend.environment)
        median = 2.0 * (1 + 0.003 * self._draw.standard_normal())
        median *= self._slowdowns.get(number, 1.0)
        run = process(median, n=50, seed=self.timed, job=replace(job, layer_profile=False))
        sink(run)
        return (run,)


@pytest.fixture
def plant(monkeypatch):
    """A function that plants medians; releases need no environment."""
    monkeypatch.setattr(service.releases, "installed", lambda release, *_rest: release)

    def planted(slowdowns=None, seed=0) -> Planted:
        runs = Planted(slowdowns or {}, seed)
        monkeypatch.setattr(StackRunner, "run_jobs", runs.run_jobs)
        return runs

    return planted


@pytest.fixture
def same_outputs(monkeypatch):
    """Outputs of the first comparison for all: they are the same, and take time."""
    rows: dict[str, object] = {}
    usual = checks.compare_outputs

    def once(*given):
        rows.setdefault("row", rows.get("row") or usual(*given))
        return rows["row"]

    monkeypatch.setattr(checks, "compare_outputs", once)


class Stoppable(MeasurementObserver):
    """Remembers an interrupt, as the command line does."""

    def interrupted(self, error: BaseException) -> None:
        self.interruption = error


def searched(model: Path, folder: Path, span: str = "1.0..1.8", **more):
    upgrade = UpgradeRequest(models=(model,), old="", samples=1, store=folder / "store", **more)
    pythons = tuple(f"{release}={sys.executable}" for release in RELEASES)
    with workers_in_process():
        return search_upgrade(
            SearchRequest(upgrade=upgrade, span=span, pythons=pythons), Stoppable()
        )


def from_release(number: int, factor: float) -> dict[int, float]:
    return dict.fromkeys(range(number, len(RELEASES)), factor)


@pytest.mark.parametrize("number", [1, 4, 8])
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
        result = searched(convnet, tmp_path / str(seed))
        named += result.kind is UpgradeKind.WORSE
        assert runs.timed  # the last release was compared with the first
    assert named <= 1


def test_the_error_is_divided_over_looks_and_steps(convnet, tmp_path, plant, same_outputs) -> None:
    plant(from_release(3, 1.05))
    result = searched(convnet, tmp_path)
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
    assert not runs.timed  # outputs decide
    assert result.change.models[0].origin is not None
    assert (tmp_path / "bundle" / "reduced" / "check.py").is_file()
    assert es.reproduce(tmp_path / "bundle", check_only=True).recorded.new.name == RELEASES[5]


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


def test_an_unusable_release_is_skipped(
    convnet, tmp_path, plant, same_outputs, monkeypatch
) -> None:
    plant(from_release(6, 1.05))

    def installed(release, *_rest):
        failure = "no file for Python 3.11 on this machine" if release.version == "1.4.0" else None
        return replace(release, failure=failure)

    monkeypatch.setattr(service.releases, "installed", installed)
    result = searched(convnet, tmp_path)
    assert result.bad == RELEASES[6]
    assert result.kind is UpgradeKind.WORSE
    facts = dict(search_answer(result).facts)
    assert facts["skipped"] == "1.4.0 (no file for Python 3.11 on this machine)"


def test_skipped_releases_widen_the_range(
    convnet, tmp_path, plant, same_outputs, monkeypatch
) -> None:
    plant(from_release(4, 1.05))
    skipped = RELEASES[3:5]
    monkeypatch.setattr(
        service.releases,
        "installed",
        lambda release, *_: replace(release, failure="x" if release.version in skipped else None),
    )
    result = searched(convnet, tmp_path)
    assert (result.good, result.bad) == (RELEASES[2], RELEASES[5])
    assert result.kind is UpgradeKind.INCONCLUSIVE
    assert "after 1.2.0, and in 1.5.0 at the latest" in answer_text(result)
    assert "1.3.0, 1.4.0" in dict(search_answer(result).facts)["between"]


def test_two_releases_are_needed(convnet, tmp_path, plant) -> None:
    plant()
    with pytest.raises(UsageError, match="two releases"):
        searched(convnet, tmp_path, "1.3..1.3")


@pytest.mark.parametrize("text", ["1.3", "a..b", "1.4..1.3", ".."])
def test_a_span_that_is_not_one(text) -> None:
    with pytest.raises(UsageError, match="search"):
        parse_span(text)


def test_releases_of_interpreters_are_ordered_and_within_the_range() -> None:
    names = ["1.10.1", "1.9.0", "1.8.0", "1.11.0"]
    found = named_releases([f"{name}=/bin/python" for name in names], "p", ("1.9", "1.10"))
    assert found == [
        Release(version="1.9.0", python="/bin/python"),
        Release(version="1.10.1", python="/bin/python"),
    ]
    assert version_key("1.10.1") > version_key("1.9.0")


@pytest.mark.parametrize("at", [1, 30, 60])
def test_a_stopped_search_continues(
    convnet, tmp_path, plant, same_outputs, monkeypatch, at
) -> None:
    runs = plant(from_release(3, 1.05))

    def run_jobs(_runner, jobs, sink, **_more):
        if runs.timed == at:
            runs.timed += 1
            raise KeyboardInterrupt
        return runs.run_jobs(jobs, lambda run: sink(replace(run, environment=probe_environment())))

    monkeypatch.setattr(StackRunner, "run_jobs", run_jobs)
    stopped = searched(convnet, tmp_path)
    assert [notice.code for notice in stopped.notices] == ["W-INTERRUPTED"]
    assert stopped.kind is UpgradeKind.INCONCLUSIVE
    assert len(Store(tmp_path / "store").rows()) == at
    result = searched(convnet, tmp_path, continues=True)
    assert (result.good, result.bad) == (RELEASES[2], RELEASES[3])
    rows = len(Store(tmp_path / "store").rows())
    assert rows == runs.timed - 1  # the one that was stopped is not stored
    used = sum(len(model.old) + len(model.new) for model in _models(result))
    assert rows - used in (0, 1)  # a comparison without a whole round begins again


def _models(result):
    return [model for step in result.steps for model in step.models]


def test_python_searches_as_the_command_line_does(convnet, tmp_path, plant, same_outputs) -> None:
    plant(from_release(2, 1.05))
    found = es.search_releases(
        convnet,
        "1.0..1.8",
        pythons=[f"{release}={sys.executable}" for release in RELEASES],
        samples=1,
        store=tmp_path / "store",
    )
    assert (found.bad, found.metric) == (RELEASES[2], "latency")
    assert repr(found) == f"<ReleaseSearch {answer_text(found)}>"
    assert "Comparisons" in found._repr_html_()
