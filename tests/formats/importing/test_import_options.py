import pytest

from enginescope.formats.importing.import_options import (
    engine_path,
    precision_of,
    warmup_ms,
    workload_of,
)
from enginescope.records.plan.build import ToolReport
from enginescope.records.plan.plan import IOTensor, Layer, Plan
from enginescope.records.run.job import InputShape, Mode
from enginescope.records.tensor import DataType, Tensor


def inference(**options: str) -> ToolReport:
    named = {key.replace("_", " "): value for key, value in options.items()}
    return ToolReport(tool="trtexec", options={"Inference Options": named})


def build(**options: str) -> ToolReport:
    named = {key.replace("_", " "): value for key, value in options.items()}
    return ToolReport(tool="trtexec", options={"Build Options": named})


def test_a_workload() -> None:
    workload = workload_of(
        inference(
            Batch="8",
            Duration="3s (+ 200ms warm up)",
            Iterations="10",
            Inference_Streams="2",
            Data_transfers="Disabled",
            CUDA_Graph="Enabled",
        ),
        None,
    )
    assert (workload.batch, workload.warmup.time_ms) == (8, 200.0)
    assert (workload.stop.duration_ms, workload.stop.min_samples) == (3000.0, 10)
    assert workload.stop.precision_pct is None
    assert workload.mode == Mode(in_flight=None, transfers=False, cuda_graph=True, streams=2)
    workload = workload_of(None, None)
    assert (workload.batch, workload.stop.duration_ms) == (None, None)
    assert workload.mode == Mode(in_flight=None)


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("input.1=32x3x224x224", (InputShape(name="input.1", dims=(32, 3, 224, 224)),)),
        ("a:0=1x3; b=7", (InputShape(name="a:0", dims=(1, 3)), InputShape(name="b", dims=(7,)))),
        ("model", ()),
    ],
)
def test_shapes(text, shapes) -> None:
    assert workload_of(inference(Input_inference_shape=text), None).shapes == shapes


def plan(*shape: int | None) -> Plan:
    return Plan(
        name="x", layers=(), io=(IOTensor(tensor=Tensor(name="i", shape=shape), mode="input"),)
    )


@pytest.mark.parametrize(
    ("text", "of", "batch"),
    [
        ("1", None, 1),
        ("1", plan(1, 3), 1),
        ("1", plan(32, 3), None),  # what trtexec prints for every plan it loads
        ("1", plan(), None),
        ("4", plan(1, 3), 4),
        ("Explicit", plan(1, 3), None),
        ("many", None, None),
    ],
)
def test_batch(text, of, batch) -> None:
    assert workload_of(inference(Batch=text), of).batch == batch


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("3s (+ 200ms warm up)", 200.0),
        ("-1s (+ 500ms warm up)", 500.0),
        ("3s", None),
        ("", None),
        ("x (+ y warm up)", None),
    ],
)
def test_warm_up(text, ms) -> None:
    assert warmup_ms(inference(Duration=text)) == ms


@pytest.mark.parametrize(
    ("stated", "precision"),
    [
        ("FP32", "fp32"),
        ("FP32+FP16", "fp16"),
        ("FP32+FP16+INT8", "int8"),
        ("FP32+FP16+BF16+FP8", "fp8"),
        ("Strongly Typed", "strongly-typed"),
        ("", None),
    ],
)
def test_precision(stated, precision) -> None:
    assert precision_of(build(Precision=stated)) == precision


def test_a_precision_that_the_options_do_not_state() -> None:
    assert precision_of(build(Precision="FP32", Load_engine="a.plan")) is None
    assert precision_of(inference()) is None
    assert precision_of(None) is None
    plan = Plan(
        name="net",
        layers=tuple(
            Layer(index=at, name=str(at), inputs=(Tensor(name="x", dtype=dtype),))
            for at, dtype in enumerate((DataType.FP32, DataType.FP16, DataType.INT32, None))
        ),
    )
    assert precision_of(None, plan) == "fp16"
    assert precision_of(build(Precision="FP32+INT8"), plan) == "int8"


def test_engine_path() -> None:
    assert engine_path(build(Save_engine="s.plan", Load_engine="")) == "s.plan"
    assert engine_path(build(Save_engine="", Load_engine="l.plan")) == "l.plan"
    assert engine_path(None) is None
