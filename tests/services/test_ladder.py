import pytest

import enginescope as es
from enginescope.analysis.ladder.rungs import layer_sum
from enginescope.backends.onnxruntime import session
from enginescope.core.errors import UnsupportedError
from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.judge.verdict import EvidenceLevel
from enginescope.records.notice import is_unstable
from enginescope.records.plan.plan import LayerTiming, Profile
from enginescope.records.run.job import BackendSpec, Mode, StopRule, WarmUp, Workload
from enginescope.records.verdict.ladder import RungKey
from enginescope.services.ladder.ladder import ladder_for
from enginescope.services.measurement.observer import _merged
from tests.fakes import loading, models
from tests.plants.in_process import workers_in_process
from tests.render.runs import measured_run

SHORT = Workload(warmup=WarmUp(time_ms=0, iterations=0), stop=StopRule(iterations=30))
KEYS = RungKey


@pytest.fixture
def perceptron(tmp_path):
    return models.perceptron(tmp_path / "p.onnx")


def climbed(model, tmp_path, **more) -> es.LadderReport:
    usual = {"rounds": 3, "workload": SHORT, "store": tmp_path / "store"}
    with workers_in_process():
        return es.ladder(model, **{**usual, **more})


def test_onnxruntime_from_its_nodes_to_a_client(convnet, undisturbed, tmp_path) -> None:
    found = climbed(convnet, tmp_path, streams=3, mine="5ms")
    names = ("layers", "bound", "python", "arrays", "client", "one_ahead", "streams")
    assert [rung.key for rung in found.rungs] == [KEYS[name.upper()] for name in names]
    assert found.measured == found.rungs
    assert all(rung.interval is not None for rung in found.rungs)
    assert found.evidence is EvidenceLevel.INTERLEAVED
    assert [total.whole.to for total in found.sums] == [KEYS.CLIENT, KEYS.STREAMS]
    assert all(total.is_consistent for total in found.sums)
    assert found.mine is not None
    assert found.rungs[-1].count == 3


@pytest.mark.parametrize(
    ("mode", "sum_ms"), [("gpu", 0.25), ("host", None), (None, 0.25), ("trtexec", 0.25)]
)
def test_times_of_a_host_that_enqueues_are_not_times_of_layers(mode, sum_ms) -> None:
    layer = LayerTiming(index=0, name="a", mean_ms=0.3, median_ms=0.25)
    profile = Profile(source="tensorrt", layers=(layer,), mode=mode)
    assert layer_sum(replace(measured_run(), profile=profile)) == sum_ms


@pytest.mark.parametrize(
    ("backend", "keys"), [("ort-cuda", {KEYS.LAYERS, KEYS.DEVICE}), ("ort-trt", {KEYS.DEVICE})]
)
def test_layers_are_a_rung_where_they_may_have_times_of_the_device(backend, keys) -> None:
    ladder = ladder_for(BackendSpec(name=backend), 2, is_engine=False)
    found = {rung.key for rung in ladder.rungs if rung.why is None}
    assert found & {KEYS.LAYERS, KEYS.DEVICE} == keys
    assert ladder.ways[0].profiles is (KEYS.LAYERS in keys)


@pytest.mark.parametrize("version", loading.VERSIONS[::2])
def test_tensorrt_from_its_layers_to_streams(perceptron, tmp_path, version) -> None:
    with loading.loaded(version):
        found = climbed(perceptron, tmp_path, on="trt")
    missing = [rung for rung in found.rungs if rung.value_ms is None]
    assert [rung.key for rung in missing] == [KEYS.PROVIDER]
    assert "built without it" in str(missing[0].why)
    names = ("graph", "eager", "sync", "pinned", "pageable", "one_ahead", "streams")
    assert {step.to for step in found.steps} == {KEYS[name.upper()] for name in names}
    assert next(step for step in found.steps if step.to is KEYS.ONE_AHEAD).base is KEYS.PINNED


def test_without_a_graph_the_rung_says_why_and_steps_close_the_gap(perceptron, tmp_path) -> None:
    with loading.loaded("10.16.1", "graph_refused"):
        found = climbed(perceptron, tmp_path, on="trt")
    graph = found.rung(KEYS.GRAPH)
    assert graph.value_ms is None
    assert "cudaErrorStreamCaptureInvalidated" in str(graph.why)
    assert (KEYS.LAYERS, KEYS.EAGER) in {(step.base, step.to) for step in found.steps}


def test_a_way_that_fails_is_left_out_and_says_why(perceptron, tmp_path, monkeypatch) -> None:
    usual = session.request_for

    def failing(*arguments, **more):
        if failing_way in (*arguments, *more.values(), "every"):
            raise UnsupportedError("copying", why="for this test")
        return usual(*arguments, **more)

    monkeypatch.setattr(session, "request_for", failing)
    failing_way = "client"
    found = climbed(perceptron, tmp_path)
    client = found.rung(KEYS.CLIENT)
    assert client.value_ms is None
    assert "for this test" in str(client.why)
    assert found.measured_rounds == 3
    assert 1 <= found.rounds <= 3  # fewer, if rounds of one side were disturbed
    assert len(found.measured) == len(found.rungs) - 1
    failing_way = "every"
    with pytest.raises(es.UnsupportedError, match="for this test"):
        climbed(perceptron, tmp_path)


@pytest.mark.parametrize(("unstable", "is_said"), [(2, False), (5, True)])
def test_figures_are_unstable_where_half_of_the_processes_are(unstable, is_said) -> None:
    load = [
        Notice(code="W-LOAD", message="others", evidence={"unstable": number < unstable})
        for number in range(8)
    ]
    merged = _merged(load, processes=10)
    assert is_unstable(merged) is is_said
    assert merged.message == "others (in 8 of 10 processes)"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rounds": 2}, "rounds"),
        ({"streams": 2}, "streams"),
        ({"mine": "fast"}, "not a duration"),
        ({"on": "fake"}, "fake has no ladder"),
        ({"workload": Workload(mode=Mode(streams=2))}, "streams"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(convnet, tmp_path, options, words) -> None:
    with pytest.raises(es.UsageError, match=words):
        climbed(convnet, tmp_path, **options)
