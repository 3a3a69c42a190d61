"""What sides share is left out of their labels and said once; what differs stays."""

import pytest

from enginescope.render.base.short_names import jobs_apart, told_apart

LONG = "tactic_sources=-CUDNN,-CUBLAS,-CUBLAS_LT&builder_optimization_level=2"
SAID = "tactic_sources=-CUDNN,-CUBLAS,-CUBLAS_LT & builder_optimization_level=2"


def test_options_of_all_or_of_one_backend_are_said_once() -> None:
    found = told_apart([f"trt?{LONG}", f"trt:fp16?{LONG}"])
    assert found.labels == ("trt", "trt:fp16")
    assert found.shared == f"options of all: {SAID}"
    found = told_apart(["trt?a=1", "trt?a=1"])
    assert found.labels == ("trt", "trt")
    assert found.shared == "options of all: a=1"
    found = told_apart(["ort-cpu", f"trt?{LONG}", f"trt fp16?{LONG}&tf32=0"])
    assert found.labels == ("ort-cpu", "trt", "trt fp16?tf32=0")
    assert found.shared == f"options of all trt: {SAID}"
    found = told_apart(
        ["ort-cuda?device_id=1", "ort-trt@new?device_id=1&a=2", "ort-trt:fp16?a=2&device_id=1"]
    )
    assert found.labels == ("ort-cuda", "ort-trt@new", "ort-trt:fp16")
    assert found.shared == "options of all: device_id=1; options of all ort-trt: a=2"


def test_what_differs_stays_in_its_order() -> None:
    found = told_apart(["net.onnx · trt?a=1&b=2&c=3", "net.onnx · trt:fp16?a=1&b=4&c=3"])
    assert found.labels == ("net.onnx · trt?b=2", "net.onnx · trt:fp16?b=4")
    assert found.shared == "options of all: a=1 & c=3"
    found = told_apart(["trt?a=1&b=2 (0f5f34d1)", "trt?a=1&b=2 (e3b2b1)", "trt?a=1&b=3 (ef884e)"])
    assert found.labels == ("trt?b=2 (0f5f34d1)", "trt?b=2 (e3b2b1)", "trt?b=3 (ef884e)")
    assert found.shared == "options of all: a=1"


@pytest.mark.parametrize(
    "labels",
    [
        (),
        ("trt?a=1",),
        ("ort-cpu?a=1", "trt?b=2"),
        ("ort-cpu", "ort-cpu?a=1"),
        ("what?.onnx · trt", "what?.onnx · trt:fp16"),
        ("trt?a=1&b=2", "trt?b=2&a=1"),
    ],
)
def test_where_nothing_can_be_left_out_nothing_is(labels) -> None:
    found = told_apart(labels)
    assert (found.labels, found.shared) == (labels, None)


def test_a_long_label_is_told_apart_by_its_name() -> None:
    found = told_apart(["ort-cuda", f"trt:fp16@old?{LONG}", "trt:fp16", "trt:fp16@new?a=1"], 34)
    assert found.labels == ("ort-cuda", "trt:fp16@old?…", "trt:fp16", "trt:fp16@new?a=1")
    assert found.shared == f"options of trt:fp16@old: {SAID}"
    alike = (f"trt?{LONG}&a=1", f"trt?{LONG}&a=2", f"ort-trt?{LONG}")
    kept = told_apart(alike, 3).labels
    assert kept == (
        "trt?a=1",
        "trt?a=2",
        "ort-trt?…",
    )  # the name alone would not tell the first two


def test_jobs_are_named_by_the_options_that_differ() -> None:
    names = [f"net.onnx · trt?{LONG}&tf32={at} · batch {at}" for at in (0, 1)]
    found = jobs_apart(names)
    assert found.labels == ("net.onnx · trt?tf32=0 · batch 0", "net.onnx · trt?tf32=1 · batch 1")
    assert found.shared == f"options of all: {SAID}"
    found = jobs_apart([f"net.onnx · trt?{LONG} · batch 1"])
    assert found.labels == ("net.onnx · trt?… · batch 1",)
    assert found.shared == f"options of trt: {SAID}"
    assert jobs_apart(["net.onnx · ort-cpu", "net"]).labels == ("net.onnx · ort-cpu", "net")
