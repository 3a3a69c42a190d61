"""One layer, one time: in tables, tooltips, graph, files, notebook; sums are of what is listed."""

import csv
import io
import json
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginescope.analysis.claims.layer_claims import WholeRequest, layer_times, profiler_cost
from enginescope.analysis.plans.plan_view import explore
from enginescope.analysis.runs.run_view import RunView, layer_columns
from enginescope.records.plan.plan import LayerTiming, Profile
from enginescope.records.run.run import Run
from enginescope.render.charts.bars import layer_bars
from enginescope.render.graph.node_labels import times_of
from enginescope.render.page.export import per_layer_times_csv, report_json
from enginescope.render.page.markdown import report_markdown
from enginescope.render.plans.explore_data import explore_csv, explore_json
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.sections.layers import layers
from enginescope.rules.view import LintInput, LintView
from enginescope.store.archive import Store
from tests.claims.recorded import PLANS, name_of, view_of
from tests.conftest import DATA

every_plan = pytest.mark.parametrize("file", PLANS, ids=name_of)
RUNS = ("trt86-h100-gated/mobilenet_v2.run.tar.xz", "trt86-h200-runs/runs.tar.xz")
#: The one time, and the named figure of the profiler beside it in details and files.
TIMES = {"time_ms", "raw_ms"}


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Recorded runs that have layer times: TensorRT's, gated and not."""
    runs = []
    for name in RUNS:
        folder = tmp_path_factory.mktemp("runs")
        with tarfile.open(DATA / name) as archive:
            safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
            archive.extractall(folder, **safe)  # type: ignore[arg-type]
        store = Store(folder)
        runs += [store.load(path.name) for path in sorted(store.runs_folder.iterdir())]
    timed = [run for run in runs if run.profile is not None]
    assert timed
    return timed


def check(view: RunView) -> None:
    """Compare the times of each layer in all outputs with those of the view."""
    times = [row.time_ms for row in view.layers]
    assert layer_columns(view.layers)["time_ms"] == times
    listed = [ms for row in view.layers if (ms := row.time_ms) is not None and not row.is_container]
    if view.layer_sum is not None:
        assert view.layer_sum.sum_ms == pytest.approx(sum(listed))
    for name, several in outputs(view):
        assert several == times, name
    for name, some in parts(view):
        assert not Counter(some) - Counter(times), name
    check_names(view)


def outputs(view: RunView) -> Iterator[tuple[str, list[float | None]]]:
    """Yield the times of every output that has all layers, in the order of the view."""
    rows = csv.DictReader(io.StringIO(per_layer_times_csv([view]).decode()))
    time_of = {(int(one["index"]), one["name"]): one["time_ms"] for one in rows}
    texts = [time_of[row.index, row.name] for row in view.layers]
    yield "CSV of a report", [float(text) if text else None for text in texts]
    section = layers(PageSubject(view))
    if section is not None and section.tables:
        columns = {one.title: one.values for one in section.tables[0].columns}
        if "Time ms" in columns:
            names = zip(columns["#"], columns["Layer"], strict=True)
            shown = dict(zip(names, columns["Time ms"], strict=True))
            yield "table of the page", [shown[row.index, row.name] for row in view.layers]
    run = view.run
    found = explore("net", run.plan, run.profile, view=view.plan_view)
    document = json.loads(b"".join(explore_json(found, found.layers)))
    yield "JSON of explore", [layer["time_ms"] for layer in document["layers"]]
    rows = csv.DictReader(io.StringIO(explore_csv(found.layers).decode()))
    yield "CSV of explore", [float(one["time_ms"]) if one["time_ms"] else None for one in rows]


def parts(view: RunView) -> Iterator[tuple[str, list[float]]]:
    """Yield the times of outputs that have some of the layers."""
    (run,) = json.loads(report_json([view]))["runs"]
    yield "JSON of a report", [layer["time_ms"] for layer in run["top_layers"]]
    chart = layer_bars(view.layers)
    if chart is not None:
        yield "bars and their tooltips", [one["value"] for one in chart.spec["data"]["values"]]
    plan = view.plan_view
    if plan is not None:
        times = times_of(plan.attribution)
        yield "graph", list(times.time_ms.values()) if times else []
        frame = plan.columns()["latency.avg_time"]
        yield "frame of a notebook", [ms for ms in frame if ms is not None]
        given = LintInput.of_run(view)
        yield "lint", list(LintView(given).times_ms.values()) if given else []
        roofs = plan.against(plan.gpu, None).roofline
        yield "roofline", [one.time_ms for one in roofs.layers if one.time_ms] if roofs else []


def check_names(view: RunView) -> None:
    """No output has another figure of a layer: no mean beside a median, no total."""
    rows = csv.reader(io.StringIO(per_layer_times_csv([view]).decode()))
    assert {name for name in next(rows) if name.endswith("_ms")} == TIMES
    assert {name for name in layer_columns(view.layers) if name.endswith("_ms")} == TIMES
    text = report_markdown([view], topk=5).decode()
    if view.layer_sum is not None:
        first = max(row.time_ms or 0.0 for row in view.layers if not row.is_container)
        shown = first if first >= 1 else 1e3 * first  # as the page's table of layers: ms or µs
        assert f"{shown:.4g}" in text
    assert "Mean ms | Share" not in text


@every_plan
def test_each_layer_of_a_plan_has_one_time(file: Path) -> None:
    check(view_of(file))


def test_each_layer_of_a_recorded_run_has_one_time_and_lint_its_engine(stored: list[Run]) -> None:
    """0.1116 ms stood in one table, and 0.0984 ms in the other."""
    for view in map(RunView, stored):
        check(view)
        given = LintInput.of_run(view)
        if given is not None and view.plan_view is not None:
            assert LintView(given).engine_ms == pytest.approx(view.plan_view.engine_ms)


def ort_profile() -> Profile:
    """Layers of ONNX Runtime on a busy machine: pauses move means, not medians."""
    rows = (("a", 0.5, 0.1), ("b", 0.3, 0.2), ("c", 0.25, 0.24))
    return Profile(
        source="onnxruntime",
        layers=tuple(
            LayerTiming(index=at, name=name, mean_ms=mean, median_ms=median)
            for at, (name, mean, median) in enumerate(rows)
        ),
    )


def test_layers_are_ranked_by_the_medians_that_are_added_up_else_by_means() -> None:
    """A list of means of 4.945 ms stood below a sum of medians of 1.797 ms."""
    found = explore("net", None, ort_profile(), whole=WholeRequest("latency", 0.9, 0.5))
    assert [one.row.time_ms for one in found.layers] == [0.1, 0.2, 0.24]
    assert (found.time.statistic, found.time.sum_ms) == ("median", pytest.approx(0.54))
    assert all(one.row.raw_ms is None for one in found.layers)  # nothing is known of its profiler
    profile = ort_profile()
    bare = LayerTiming(index=3, name="d", mean_ms=0.4)
    mixed = layer_times(Profile(source="onnxruntime", layers=(*profile.layers, bare)))
    assert mixed.statistic == "mean"
    assert [one.time_ms for one in mixed.layers] == [0.5, 0.3, 0.25, 0.4]
    layer = LayerTiming(index=0, name="a", mean_ms=0.5, median_ms=0.4)
    given = Profile(source="trtexec", layers=(layer,))
    (own,) = layer_times(given, WholeRequest("gpu_compute", 0.499, 0.399)).layers
    assert (own.time_ms, own.raw_ms) == (pytest.approx(0.499), 0.5)
    (raw,) = layer_times(given).layers
    assert (raw.time_ms, raw.raw_ms) == (0.5, None)


def test_times_are_decided_once_for_all_layers() -> None:
    once = layer_times(ort_profile())
    assert layer_times(once, WholeRequest("latency", 0.1, 0.1)) is once
    layers = (LayerTiming(index=at, name=f"{at}", mean_ms=2.0, median_ms=1.0) for at in range(50))
    layer_times(Profile(source="onnxruntime", layers=Counted(layers)))
    assert Counted.walks < 10


class Counted(tuple[LayerTiming, ...]):
    """Layers that count how often something goes through them."""

    __slots__ = ()
    walks = 0

    def __iter__(self) -> Iterator[LayerTiming]:
        Counted.walks += 1
        return super().__iter__()


PROFILE = Profile(source="trtexec", layers=())


def test_each_layer_pays_the_same_up_to_what_was_measured() -> None:
    cost = profiler_cost(PROFILE, (0.004, 0.010, 0.006), 0.014)
    assert (cost.per_layer_ms, cost.scale) == (pytest.approx(0.002), 1.0)
    assert cost.own_ms(0.010) == pytest.approx(0.008)
    cost = profiler_cost(PROFILE, (0.1, 0.2), 0.15)
    assert cost.per_layer_ms == 0.00234
    assert cost.own_ms(0.1) + cost.own_ms(0.2) == pytest.approx(0.15)
    # 105 layers of ResNet-50 add up to 0.692 ms; the engine takes 0.4441 ms without a profiler.
    cost = profiler_cost(PROFILE, [0.692 / 105] * 105, 0.4441)
    assert cost.per_layer_ms == 0.00234
    assert cost.scale > 0.98  # nearly all of the difference is the events'


@pytest.mark.parametrize("whole_ms", [None, 0.31, 0.4])
def test_it_cannot_be_estimated(whole_ms: float | None) -> None:
    assert profiler_cost(PROFILE, (0.1, 0.2), whole_ms) is None


@given(st.lists(st.floats(1e-6, 10), min_size=1, max_size=20), st.floats(1e-3, 10))
def test_own_times_never_add_up_to_more_than_the_engine(times: list[float], whole: float) -> None:
    cost = profiler_cost(PROFILE, times, whole)
    if cost is not None:
        assert sum(map(cost.own_ms, times)) <= whole * (1 + 1e-9)
        assert all(0 <= cost.own_ms(one) <= one for one in times)
