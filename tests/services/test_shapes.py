from pathlib import Path

import numpy as np
import pytest
from onnx import helper

import enginescope as es
from enginescope.judge.verdict import EvidenceLevel
from enginescope.records.run import rounds
from enginescope.records.run.job import DimSize, Limits, Mode, Workload
from enginescope.records.verdict.shapes import ShapesReport
from enginescope.services.shapes.shapes import parse_sizes, parse_sweep, parse_weight
from enginescope.store.archive import Store
from tests.fakes import loading, models
from tests.plants.in_process import workers_in_process

TWO_PROFILES = "trt?min_shapes=x:1x4;x:4x4&opt_shapes=x:2x4;x:8x4&max_shapes=x:2x4;x:8x4"


@pytest.fixture
def perceptron(tmp_path) -> Path:
    return models.perceptron(tmp_path / "p.onnx")


def swept(model, tmp_path, **more) -> ShapesReport:
    usual = {"rounds": 3, "visits": 2, "requests": 5, "store": tmp_path / "store"}
    with workers_in_process():
        return es.shapes(model, **{**usual, **more})


def in_thirds(path: Path, dims: list[int | str]) -> Path:
    """Write a model that takes ``x`` as three rows, and fails where it has no third."""
    node = helper.make_node("Reshape", ["x", "three"], ["y"])
    x, y = models.value("x", dims), models.value("y", [3, "rest"])
    return models.save(path, [node], [x], [y], three=np.array([3, -1], np.int64))


def test_onnxruntime_has_levels_costs_and_a_profile(perceptron, undisturbed, tmp_path) -> None:
    more = {"visits": 2, "requests": 5, "store": tmp_path / "store"}
    report = es.shapes(perceptron, batch=(8, 1, 2), gain_pct=5, rounds=3, **more)
    assert [level.label for level in report.levels] == ["1", "2", "8"]
    assert report.measured == report.levels
    assert all(level.interval and level.processes == 3 for level in report.levels)
    dims = [shape.dims for level in report.levels for shape in level.inputs]
    assert dims == [(1, 4), (2, 4), (8, 4)]
    assert {cost.kind for cost in report.costs} == {"new", "again", "bind"}
    assert report.evidence is EvidenceLevel.INTERLEAVED
    assert (report.knee.gain_pct, len(report.profiles)) == (5, 1)
    rows = Store(tmp_path / "store").rows()
    assert len(rows) >= report.rounds
    assert all(f"cmp-{report.comparison}" in row.tags for row in rows)


def test_a_rejected_shape_is_named_and_failing_processes_end_the_sweep(tmp_path) -> None:
    model = in_thirds(tmp_path / "thirds.onnx", ["n", 1])
    report = swept(model, tmp_path, batch=(3, 4, 6))
    assert [level.label for level in report.measured] == ["3", "6"]
    (notice,) = [one for one in report.notices if one.code == "W-SHAPE-LEFT-OUT"]
    assert "1 of 3 shapes are not measured: 4: " in notice.message
    more = {"limits": Limits(timeout_s=0.01), "store": tmp_path / "store"}
    with pytest.raises(es.BackendError, match="on ort-cpu: timed_out"):
        es.shapes(model, batch=(3, 6), rounds=3, **more)


def test_disturbed_processes_are_told_if_few_count(perceptron, tmp_path, monkeypatch) -> None:
    def uncertainty(run) -> float:
        return 50.0 if run.turn.round == 1 else 0.5

    monkeypatch.setattr(rounds, "uncertainty_of", uncertainty)
    report = swept(perceptron, tmp_path, batch=(1, 2))
    (notice,) = [one for one in report.notices if one.code == "W-DISTURBED-ROUNDS"]
    assert notice.message.startswith("1 of 3 rounds were disturbed")
    assert (report.rounds, report.measured_rounds) == (3, 3)  # both kinds are kept
    assert report.is_unstable
    assert (report.shape_to_run, report.proposals) == (None, ())
    report = swept(perceptron, tmp_path, batch=(1, 2), rounds=4)
    assert "W-DISTURBED-ROUNDS" not in {one.code for one in report.notices}
    assert (report.rounds, report.measured_rounds) == (3, 4)


def test_a_named_dimension_and_whole_shapes_are_swept_and_a_fixed_one_refused(tmp_path) -> None:
    model = in_thirds(tmp_path / "thirds.onnx", ["n", "seq"])
    fixed = Workload(dims=(DimSize(name="n", size=3),))
    report = swept(model, tmp_path, sweep="seq=2:6:2", workload=fixed)
    assert report.dimension == "seq"
    assert [level.inputs[0].dims for level in report.levels] == [(3, 2), (3, 4), (3, 6)]
    report = swept(model, tmp_path, sweep="x=3x9,3x1")
    assert [level.label for level in report.levels] == ["3x1", "3x9"]
    assert "same number of items" in str(report.knee.why)
    model = in_thirds(tmp_path / "fixed.onnx", [3, 2])
    with pytest.raises(es.UsageError, match="input x has a fixed first dimension of 3"):
        swept(model, tmp_path)
    with pytest.raises(es.UsageError, match="fixes it to 3x2"):
        swept(model, tmp_path, sweep="x=3x2,3x4")
    with pytest.raises(es.UsageError, match="does not name a dynamic dimension"):
        swept(model, tmp_path, sweep="seq=1,2")


def test_weights_and_a_trace(perceptron, tmp_path) -> None:
    report = swept(perceptron, tmp_path, batch=(1, 4), weights={"4": 1})
    assert report.weights == "given"
    assert (report.profiles[0].low, report.profiles[0].high) == ("4", "4")
    trace = tmp_path / "sizes.txt"
    trace.write_text("# sizes\n1\n3\n\n1\n9\n")
    report = swept(perceptron, tmp_path, batch=(1, 4), trace=trace)
    assert (report.trace.padded, report.trace.beyond, report.trace.changes) == (1, 1, 2)
    assert [level.weight for level in report.levels] == pytest.approx([2 / 3, 1 / 3])


@pytest.mark.parametrize("version", loading.VERSIONS[::2])
def test_tensorrt_switches_profiles_and_captures_graphs(perceptron, tmp_path, version) -> None:
    with loading.loaded(version):
        report = swept(perceptron, tmp_path, on=TWO_PROFILES, batch=(1, 2, 4, 16), profiles=2)
    assert [level.profile for level in report.levels] == [0, 0, 1, None]
    outside = "outside every optimization profile (x 1x4 … 2x4; x 4x4 … 8x4)"
    assert outside in str(report.levels[-1].why)
    assert {cost.kind for cost in report.costs} == {"new", "again", "profile", "bind", "graph"}
    assert report.profiles[-1].high == "4"


def test_tensorrts_engine_spans_the_sweep_and_a_missing_graph_is_said(perceptron, tmp_path) -> None:
    eager = Workload(mode=Mode(cuda_graph=False))
    with loading.loaded("10.16.1"):
        report = swept(perceptron, tmp_path, on="trt", batch=(2, 4, 8), workload=eager)
    assert len(report.measured) == 3
    assert {cost.kind for cost in report.costs} == {"new", "again", "bind"}
    with loading.loaded("10.16.1", "graph_refused"):
        report = swept(perceptron, tmp_path, on="trt", batch=(1, 2))
    (notice,) = [one for one in report.notices if one.code == "I-NO-CUDA-GRAPH"]
    assert "cudaErrorStreamCaptureInvalidated" in notice.message
    assert len(report.measured) == 2


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"batch": (1,)}, "1 shape of batch"),
        ({"batch": (1, 2), "sweep": "n=1,2"}, "one dimension changes at a time"),
        ({"batch": (1, 2), "weights": {"3": 1}}, "weight of shape 3: the sweep has 1, 2"),
        ({"batch": (1, 2), "weights": {"1": 0}}, "none is above 0"),
        ({"batch": (1, 2), "rounds": 2}, "`rounds` 2"),
        ({"batch": (1, 2), "gain_pct": 0}, "`gain_pct` 0"),
        ({"batch": (1, 2), "on": "fake"}, "fake cannot change shapes"),
        ({"sweep": "x=1x4,2x4", "trace": __file__}, "its lines are sizes"),
        ({"batch": (1, 2), "trace": __file__}, "test_shapes.py at line 1: "),
        ({"batch": (1, 2), "trace": "gone.txt"}, "`trace` gone.txt"),
    ],
)
def test_mistakes_are_named(perceptron, tmp_path, asked, words) -> None:
    with pytest.raises(es.EnginescopeError) as caught:
        swept(perceptron, tmp_path, **asked)
    assert words in str(caught.value)


def test_sizes_are_read_and_others_refused() -> None:
    assert parse_sizes("8,1,2") == (1, 2, 8)
    assert parse_sizes("1:4") == (1, 2, 3, 4)
    assert parse_sizes("16:64:16,1") == (1, 16, 32, 48, 64)
    assert parse_sweep("a=b=1:3").name == "a=b"
    assert parse_weight("1x3x8x8=0.5") == ("1x3x8x8", 0.5)
    for text in ("", "0", "4:1", "1:9:0", "1:100", "-1", "a", "1;2", "1,"):
        with pytest.raises(es.UsageError):
            parse_sizes(text)
