from pathlib import Path

import numpy as np
import pytest

import enginescope as es
from enginescope.core.errors import BackendError, UsageError
from enginescope.core.record import replace
from enginescope.records.plan.build import BuildReport
from enginescope.records.run.run import StopReport
from enginescope.runner import session
from enginescope.services.lottery import lottery as service
from enginescope.services.lottery.lottery import LotteryRequest
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.store_access import place_of
from enginescope.store.archive import Store
from enginescope.store.machine_records import SPREADS
from tests.analysis.in_turn import crashed, process
from tests.plants.in_process import workers_in_process

SHORT = es.Workload(stop=es.StopRule(iterations=24), warmup=es.WarmUp(time_ms=0, iterations=0))


class Planted:
    """Processes with planted medians in place of measured ones.

    Attributes:
        builds: Engine caches of the processes, in their order.
    """

    def __init__(self, build_sd=0.0, *, fails=lambda *_: False, noisy=False, anew="") -> None:
        self.builds: list[str] = []
        self._draw = np.random.default_rng(5)
        self._levels: dict[str, float] = {}
        self._sd, self._fails, self._noisy, self._anew = build_sd, fails, noisy, anew

    def __call__(self, jobs, sink, *, command=None, watcher=None):
        (job,) = jobs
        build = Path(job.engine_cache).name.rpartition("-")[0].rpartition("-")[0]
        self.builds.append(build)
        draw = self._draw
        level = self._levels.setdefault(build, 2.0 * np.exp(self._sd * draw.standard_normal()))
        median = level * np.exp(0.002 * draw.standard_normal())
        run = process(median, n=48, seed=len(self.builds), job=job, command=command)
        if self._noisy and len(self.builds) == 1:
            (samples,) = run.samples
            values = np.abs(median * (1 + draw.standard_normal(48)))
            run = replace(run, samples=(replace(samples, values_ms=values),))
        if self._fails(build, self.builds.count(build)):
            run = crashed(run)
        watcher.started(0, job)
        made = BuildReport(engine="net.engine", engine_bytes=1, from_cache=build != self._anew)
        stop = StopReport(rule="duration", iterations=48, duration_ms=96.0)
        sink(replace(run, stop=stop, build=made))
        return (run,)


@pytest.fixture
def planted(monkeypatch):
    def plant(*values, **how) -> Planted:
        runs = Planted(*values, **how)
        monkeypatch.setattr(session, "run_jobs", runs)
        return runs

    return plant


def held(model: Path, folder: Path, **more):
    with workers_in_process():
        return es.lottery(model, store=folder / "store", **{"workload": SHORT, **more})


def test_each_build_is_a_graph_optimized_anew_and_outputs_agree(convnet, tmp_path) -> None:
    report = held(convnet, tmp_path, builds=3, processes=2)
    assert report.made == "optimized graph"
    assert [build.outputs for build in report.builds] == ["A"] * 3
    assert all(build.is_repeatable for build in report.builds)
    store = Store(tmp_path / "store")
    runs = [store.load(one) for build in report.builds for one in build.runs]
    records = {run.preparation.record for run in runs}
    assert len(records) == 3  # each build has a folder of its own
    assert {made.kind for run in runs for made in run.preparation.made} == {"optimized"}
    assert {run.turn.comparison for run in runs} == {report.comparison}
    assert not any(run.answers for run in runs)
    assert "builds of small_convnet.onnx" in str(report).replace("\n", " ")
    (spread,) = SPREADS.usable(store.path, pytest.fail)
    assert (spread, spread.options) == (report.spread, {})
    assert report.is_recorded


def test_processes_of_builds_are_interleaved_or_measured_again(convnet, tmp_path, planted) -> None:
    runs = planted(0.03)
    report = held(convnet, tmp_path, builds=6, processes=4)
    rounds = [runs.builds[at : at + 6] for at in range(0, 24, 6)]
    assert all(len(set(one)) == 6 for one in rounds)
    assert len({tuple(one) for one in rounds}) > 1
    assert report.component("build").low_pct > 1
    assert report.component("process").high_pct < 1
    runs = planted(fails=lambda build, count: build == "build-2" and count == 1, noisy=True)
    report = held(convnet, tmp_path / "failed", builds=4, processes=2)
    assert (len(runs.builds), len(report.builds)) == (4 * 2 + 2, 4)
    assert len(Store(tmp_path / "failed/store").rows()) == 10  # all are stored
    assert sum(len(build.runs) for build in report.builds) == 8  # and those count


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"fails": lambda build, _: build == "build-2"}, "a process failed: died of SIGSEGV"),
        ({"anew": "build-2"}, "a process did not find it and built anew"),
    ],
)
def test_a_build_that_fails_or_is_made_anew_is_skipped(
    convnet, tmp_path, planted, how, why
) -> None:
    planted(fails=lambda build, _count: build != "build-1")
    with pytest.raises(BackendError, match="1 of 4 builds"):
        held(convnet, tmp_path, builds=4, processes=2)  # too few builds that run
    assert not (tmp_path / "store" / SPREADS.file).exists()
    planted(**how)
    report = held(convnet, tmp_path, builds=4, processes=2)
    assert [build.number for build in report.builds] == [1, 3, 4]
    (notice,) = (one for one in report.notices if one.code == "W-LOST-BUILD")
    assert f"build 2 is skipped: {why}" in notice.message


def test_a_spread_that_cannot_be_recorded_is_told(convnet, tmp_path, planted) -> None:
    """And a maximum time makes fewer builds and processes."""
    planted()
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / SPREADS.file).write_text("{")
    with pytest.warns(UserWarning, match="not recorded"):
        report = held(convnet, tmp_path, builds=9, processes=9, max_time_s=1e-3)
    assert (report.is_recorded, len(report.builds), report.processes) == (False, 3, 2)


def held_by_service(model: Path, folder: Path, *, continues: bool = False, observer=None):
    store = place_of(folder / "store")
    request = LotteryRequest(
        model=model, builds=3, processes=3, workload=SHORT, continues=continues, store=store
    )
    with workers_in_process():
        return service.hold_lottery(request, observer or MeasurementObserver())


def test_builds_that_are_made_are_not_built_again(convnet, tmp_path, planted, monkeypatch) -> None:
    planted()
    builds: list[str] = []
    build_engines = service.build_engines

    def interrupted(jobs, *given, **more):
        builds.append(jobs[0].engine_cache)
        if len(builds) == 3:
            raise KeyboardInterrupt
        return build_engines(jobs, *given, **more)

    monkeypatch.setattr(service, "build_engines", interrupted)
    with pytest.raises(KeyboardInterrupt):
        held_by_service(convnet, tmp_path)
    report = held_by_service(convnet, tmp_path, continues=True)
    assert (len(builds), len(set(builds))) == (4, 3)
    assert [build.number for build in report.builds] == [1, 2, 3]
    assert not list((tmp_path / "store" / "lottery").iterdir())


def test_builds_stay_while_it_runs_and_go_after_a_kill(
    convnet, tmp_path, planted, monkeypatch
) -> None:
    planted()
    homes = tmp_path / "store" / "lottery"
    build_engines, running, left = service.build_engines, [], []

    def twice(jobs, *given, **more):
        if not running:
            running.extend(homes.iterdir())
            left.append(homes / f"{running[0].name.split('-')[0]}-killed")
            left[0].mkdir()
            held_by_service(convnet, tmp_path)
            assert list(homes.iterdir()) == running
        return build_engines(jobs, *given, **more)

    monkeypatch.setattr(service, "build_engines", twice)
    report = held_by_service(convnet, tmp_path)
    assert [build.number for build in report.builds] == [1, 2, 3]
    assert not left[0].exists()


def test_a_whole_lottery_tells_its_time_and_is_not_continued(convnet, tmp_path, planted) -> None:
    runs, texts = planted(), []
    observer = MeasurementObserver()
    observer.process_started = texts.append
    first = held_by_service(convnet, tmp_path, observer=observer)
    rounds = [text for text in texts if text.startswith("round")]
    assert ["at most" in text for text in rounds] == [False] * 3 + [True] * 6
    assert rounds[-1].startswith("round 3 of 3, build ")
    second = held_by_service(convnet, tmp_path, continues=True)  # without its builds
    assert first.comparison != second.comparison
    assert len(runs.builds) == 2 * 9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"builds": 2}, "`builds` 2: it is not between 3 and 26"),
        ({"processes": 1}, "`processes` 1: it is not between 2 and 100"),
        ({"workload": es.Workload(stop=es.StopRule(iterations=5))}, "iterations: 5"),
        ({"on": "fake"}, "fake makes no build"),
        ({"on": "trtexec"}, "trtexec makes no build"),
        ({"timing_cache": "absent.cache"}, "there is no such file"),
    ],
)
def test_a_request_that_cannot_be(convnet, tmp_path, monkeypatch, options, message) -> None:
    monkeypatch.setattr("enginescope.runner.jobs.check_demands", lambda *_given, **_more: None)
    with pytest.raises(UsageError, match=message):
        held(convnet, tmp_path, **options)


def test_a_built_engine_and_another_backends_timing_cache_are_refused(tmp_path, convnet) -> None:
    for name in ("net.engine", "net.cache"):
        (tmp_path / name).write_bytes(b"x")
    with pytest.raises(UsageError, match="is built already"):
        held(tmp_path / "net.engine", tmp_path)
    with pytest.raises(UsageError, match="only trt reads one"):
        held(convnet, tmp_path, timing_cache=tmp_path / "net.cache")
