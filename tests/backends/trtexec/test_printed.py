from enginescope.backends.trtexec.process import (
    bindings,
    capture_failed,
    mode_notices,
    printed_mode,
    warm_up_report,
)
from enginescope.formats.trtexec.trtexec_log import parse_trtexec_log
from enginescope.records.plan.build import LogMessage, ToolReport
from enginescope.records.run.job import Mode
from enginescope.records.tensor import DataType

REFUSED = LogMessage(level="warning", text="The CUDA graph capture on the stream has failed.")
REFUSED_11 = LogMessage(
    level="warning",
    text="CUDA graph capture failed. The inference will be launched without using CUDA graph.",
)


def report(*messages: LogMessage, **options: str) -> ToolReport:
    return ToolReport(tool="trtexec", options={"Inference Options": options}, messages=messages)


def test_a_recorded_log(data) -> None:
    raw = (data / "trt86-h200" / "resnet18.engine.profile.log").read_bytes()
    log, _ = parse_trtexec_log(raw, "resnet18.log")
    assert printed_mode(log.report) == Mode(
        kind="throughput",
        in_flight=2,
        transfers=True,
        cuda_graph=False,
        spin_wait=False,
        streams=1,
        idle_ms=0.0,
    )
    inputs, outputs = bindings(raw.decode())
    assert [(t.name, t.shape, t.dtype) for t in inputs] == [("input", (1, 3, 224, 224), None)]
    assert [(one.name, one.shape) for one in outputs] == [("output", (1, 1000))]
    warm_up = warm_up_report(raw.decode())
    assert (warm_up.iterations, warm_up.duration_ms, warm_up.ended_by) == (2694, 500.0, "fixed")


def test_a_log_without_them() -> None:
    assert bindings("Starting inference\n") == ((), ())
    assert warm_up_report("Starting inference\n") is None


def test_bindings_of_later_versions() -> None:
    inputs, outputs = bindings(
        "Input binding for a:0 with dimensions 1x3 and type fp16 is created.\n"
        "Input binding for n with dimensions  and type int64 is created.\n"
        "Input binding for a:0 with dimensions 1x3 and type fp16 is created.\n"
        "Output binding for y is dynamic and will be created during execution using "
        "OutputAllocator.\n"
        "Output binding for z with dimensions 2 and type fp9 is created.\n"
    )
    assert [(one.name, one.shape, one.dtype) for one in inputs] == [
        ("a:0", (1, 3), DataType.FP16),
        ("n", (), DataType.INT64),
    ]
    assert [(one.name, one.shape, one.dtype) for one in outputs] == [
        ("y", None, None),
        ("z", (2,), None),
    ]


def test_bindings_of_the_first_release_with_these_lines() -> None:
    inputs, outputs = bindings(
        "[11/29/2026-14:20:43] [I] Using random values for input x\n"
        "[11/29/2026-14:20:43] [I] Created input binding for x with dimensions 1x64\n"
        "[11/29/2026-14:20:43] [I] Using random values for output y\n"
        "[11/29/2026-14:20:43] [I] Created output binding for y with dimensions 1x64\n"
        "[11/29/2026-14:20:43] [I] Created output binding for found with dimensions -1x4\n"
    )
    assert [(one.name, one.shape, one.dtype) for one in inputs] == [("x", (1, 64), None)]
    assert [(one.name, one.shape) for one in outputs] == [("y", (1, 64)), ("found", None)]


def test_what_is_not_printed_is_not_known() -> None:
    assert printed_mode(report()) == Mode(kind="throughput", in_flight=None)


def test_one_slot() -> None:
    assert printed_mode(report(ExposeDMA="Enabled")).in_flight == 1


def test_a_graph_that_was_refused_is_none() -> None:
    for message in (REFUSED, REFUSED_11):
        refused = report(message, **{"CUDA Graph": "Enabled"})
        assert capture_failed(refused)
        assert printed_mode(refused).cuda_graph is False
        assert [one.code for one in mode_notices(refused, Mode(cuda_graph=True))] == [
            "W-NO-CUDA-GRAPH"
        ]
        assert [one.code for one in mode_notices(refused, None)] == ["W-NO-CUDA-GRAPH"]


def test_a_mode_that_is_not_the_one_asked_for() -> None:
    asked = Mode(kind="throughput", in_flight=2, spin_wait=True, transfers=True)
    printed = report(**{"Spin-wait": "Disabled", "Data transfers": "Enabled"})
    (notice,) = mode_notices(printed, asked)
    assert notice.code == "W-MODE"
    assert notice.evidence == {"field": "spin_wait", "asked": True, "printed": False}
    assert mode_notices(printed, None) == []
