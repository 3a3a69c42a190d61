from enginescope.analysis.layers.layer_table import LayerRow
from enginescope.analysis.runs.run_view import layer_columns, sample_columns
from enginescope.judge.samples import Samples, frozen
from tests.render.runs import measured_run


def test_samples_are_tidy_and_warm_up_comes_first() -> None:
    samples = (
        Samples(
            metric="latency",
            values_ms=frozen([2.0, 3.0]),
            start_ms=frozen([0.0, 2.5]),
            warmup_ms=frozen([9.0]),
        ),
        Samples(metric="enqueue", values_ms=frozen([0.1])),
    )
    columns = sample_columns(measured_run(samples=samples))
    assert list(zip(*columns.values(), strict=True)) == [
        ("latency", 0, None, 9.0, "warm_up"),
        ("latency", 0, 0.0, 2.0, "steady_state"),
        ("latency", 1, 2.5, 3.0, "steady_state"),
        ("enqueue", 0, None, 0.1, "steady_state"),
    ]


def test_layers_join_their_nodes() -> None:
    columns = layer_columns((LayerRow(index=3, name="a", onnx_nodes=("x", "y")),))
    assert columns["onnx_nodes"] == ["x;y"]
    assert columns["time_ms"] == [None]
    assert {len(column) for column in columns.values()} == {1}
