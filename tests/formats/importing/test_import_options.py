import pytest

from enginescope.core.record import replace
from enginescope.formats.importing import import_options
from enginescope.formats.importing.import_options import merge_reports, precision_of, workload_of
from enginescope.records.plan.build import LogMessage, ToolReport
from enginescope.records.plan.plan import IOTensor, Layer, Plan
from enginescope.records.run.job import InputShape, Mode
from enginescope.records.samples import ReportedSummary
from enginescope.records.tensor import DataType, Tensor


def inference(section: str = "Inference Options", **options: str) -> ToolReport:
    named = {key.replace("_", " "): value for key, value in options.items()}
    return ToolReport(tool="trtexec", options={section: named})


def build(**options: str) -> ToolReport:
    return inference("Build Options", **options)


def test_a_workload() -> None:
    stated = {"Batch": "8", "Duration": "3s (+ 200ms warm up)", "Iterations": "10"}
    stated |= {"Inference_Streams": "2", "Data_transfers": "Disabled", "CUDA_Graph": "Enabled"}
    workload = workload_of(inference(**stated), None)
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
    io = (IOTensor(tensor=Tensor(name="i", shape=shape), mode="input"),)
    return Plan(name="x", layers=(), io=io)


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
        *(("3s (+ 200ms warm up)", 200.0), ("-1s (+ 500ms warm up)", 500.0)),
        *(("3s", None), ("", None), ("x (+ y warm up)", None)),
    ],
)
def test_warm_up(text, ms) -> None:
    assert import_options.warmup_ms(inference(Duration=text)) == ms


@pytest.mark.parametrize(
    ("stated", "precision"),
    [
        *(("FP32", "fp32"), ("FP32+FP16", "fp16"), ("FP32+FP16+INT8", "int8")),
        *(("FP32+FP16+BF16+FP8", "fp8"), ("Strongly Typed", "strongly-typed"), ("", None)),
    ],
)
def test_precision(stated, precision) -> None:
    assert precision_of(build(Precision=stated)) == precision


def test_a_precision_that_the_options_do_not_state() -> None:
    assert precision_of(build(Precision="FP32", Load_engine="a.plan")) is None
    assert precision_of(inference()) is None
    assert precision_of(None) is None
    layers = tuple(
        Layer(index=at, name=str(at), inputs=(Tensor(name="x", dtype=dtype),))
        for at, dtype in enumerate((DataType.FP32, DataType.FP16, DataType.INT32, None))
    )
    assert precision_of(None, Plan(name="net", layers=layers)) == "fp16"
    assert precision_of(build(Precision="FP32+INT8"), Plan(name="net", layers=layers)) == "int8"


def test_engine_path() -> None:
    paths = [build(Save_engine="s.plan", Load_engine=""), build(Save_engine="", Load_engine="l")]
    assert [import_options.engine_path(one) for one in (*paths, None)] == ["s.plan", "l", None]


BARE = ToolReport(tool="trtexec")
BUILD = replace(
    BARE,
    tool_version="8.6.0",
    command="trtexec --onnx=a",
    passed=True,
    options={
        "Build Options": {"Precision": "FP32+FP16", "Load engine": ""},
        "Inference Options": {"CUDA Graph": "Disabled"},
        "System Options": {"Device": "0"},
    },
    build_s=30.0,
    deserialize_s=1.0,
    memory={"Total Scratch Memory": 1},
    messages=(LogMessage(level="warning", text="b"),),
)
TIMING = replace(
    BARE,
    command="trtexec --loadEngine=a",
    passed=True,
    options={
        "Build Options": {"Precision": "FP32", "Load engine": "a"},
        "Inference Options": {"CUDA Graph": "Enabled"},
    },
    summaries=(ReportedSummary(metric="gpu_compute", min_ms=1.0),),
    deserialize_s=2.0,
    messages=(LogMessage(level="warning", text="t"), LogMessage(level="warning", text="b")),
)


def test_figures_of_the_timing_and_options_of_the_build() -> None:
    for order in ((BUILD, TIMING), (TIMING, BUILD)):
        merged = merge_reports(order)
        assert merged.summaries == TIMING.summaries
        assert merged.options["Build Options"]["Precision"] == "FP32+FP16"
        assert merged.options["Inference Options"]["CUDA Graph"] == "Enabled"
        assert merged.options["System Options"] == {"Device": "0"}
        assert (merged.build_s, merged.deserialize_s) == (30.0, 2.0)
        assert merged.command == "trtexec --onnx=a\ntrtexec --loadEngine=a"
        assert [one.text for one in merged.messages] == ["b", "t"]
        assert merged.memory == {"Total Scratch Memory": 1}


def test_one_report_stays_and_one_failure_fails() -> None:
    assert merge_reports([TIMING]) == TIMING
    assert merge_reports([]) is None
    assert merge_reports([BUILD, replace(BARE, passed=False)]).passed is False
    assert merge_reports([BARE, BARE]).passed is None


def test_whose_build_options_were_used() -> None:
    assert [import_options.is_of_build(one) for one in (BUILD, TIMING, BARE)] == [
        True,
        False,
        False,
    ]
