from hypothesis import example, given
from hypothesis import strategies as st

from enginescope.render.base.short_names import jobs_apart, shorten_apart, told_apart

LONG = "tactic_sources=-CUDNN,-CUBLAS,-CUBLAS_LT&builder_optimization_level=2"
SAID = "tactic_sources=-CUDNN,-CUBLAS,-CUBLAS_LT & builder_optimization_level=2"


def test_options_of_all_or_of_one_backend_are_said_once_and_others_in_their_order() -> None:
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
    found = told_apart(["net.onnx · trt?a=1&b=2&c=3", "net.onnx · trt:fp16?a=1&b=4&c=3"])
    assert found.labels == ("net.onnx · trt?b=2", "net.onnx · trt:fp16?b=4")
    assert found.shared == "options of all: a=1 & c=3"
    found = told_apart(["trt?a=1&b=2 (0f5f34d1)", "trt?a=1&b=2 (e3b2b1)", "trt?a=1&b=3 (ef884e)"])
    assert found.labels == ("trt?b=2 (0f5f34d1)", "trt?b=2 (e3b2b1)", "trt?b=3 (ef884e)")
    assert found.shared == "options of all: a=1"


def test_where_nothing_can_be_left_out_nothing_is() -> None:
    for labels in (
        (),
        ("trt?a=1",),
        ("ort-cpu?a=1", "trt?b=2"),
        ("ort-cpu", "ort-cpu?a=1"),
        ("what?.onnx · trt", "what?.onnx · trt:fp16"),
        ("trt?a=1&b=2", "trt?b=2&a=1"),
    ):
        found = told_apart(labels)
        assert (found.labels, found.shared) == (labels, None)


def test_a_long_label_is_told_apart_by_its_name() -> None:
    found = told_apart(["ort-cuda", f"trt:fp16@old?{LONG}", "trt:fp16", "trt:fp16@new?a=1"], 34)
    assert found.labels == ("ort-cuda", "trt:fp16@old + 2 options", "trt:fp16", "trt:fp16@new?a=1")
    assert found.shared == f"options of trt:fp16@old: {SAID}"
    assert told_apart((f"trt?{LONG}&a=1", f"trt?{LONG}&a=2", f"ort-trt?{LONG}"), 3).labels == (
        "trt?a=1",
        "trt?a=2",
        "ort-trt",
    )  # the name alone would not tell the first two


def test_jobs_are_named_by_the_options_that_differ() -> None:
    found = jobs_apart([f"net.onnx · trt?{LONG}&tf32={at} · batch {at}" for at in (0, 1)])
    assert found.labels == ("net.onnx · trt?tf32=0 · batch 0", "net.onnx · trt?tf32=1 · batch 1")
    assert found.shared == f"options of all: {SAID}"
    found = jobs_apart([f"net.onnx · trt?{LONG} · batch 1"])
    assert found.labels == ("net.onnx · trt + 2 options · batch 1",)
    assert found.shared == f"options of trt: {SAID}"
    assert jobs_apart(["net.onnx · ort-cpu", "net"]).labels == ("net.onnx · ort-cpu", "net")


LIMIT = 24
NAMES = st.lists(st.text("ab/.…# +12", max_size=60), max_size=12)


@given(NAMES)
# Its cut looks like the whole of another.
@example(["aaaaaaaaaaaa…bbbbbbbbbbb", "aaaaaaaaaaaaXXXbbbbbbbbbbb"])
def test_names_that_differ_look_different(names) -> None:
    short = dict(zip(names, shorten_apart(names, LIMIT), strict=True))
    assert len(set(short.values())) == len(set(names))
    assert all(len(one) <= LIMIT for one in short.values())
    assert all(one == name for name, one in short.items() if len(name) <= LIMIT)


def test_a_fused_layer_and_its_siblings_have_their_path_once() -> None:
    """A convolution looked like a slow Relu: ``/layer4/layer…/relu_1/Relu``."""
    names = [f"/model/encoder/layers.{at}/attention/self/query/MatMul" for at in range(3)]
    assert shorten_apart(names, LIMIT) == [f"/model/encoder/layers.{at}…" for at in range(3)]
    names = [
        " + ".join(f"/layer{at}/layer{at}.1/{one}" for one in ("conv2/Conv", "Add", "relu_1/Relu"))
        for at in (3, 4)
    ]
    names += [f"/blocks.{at}/attn/MatMul + /blocks.{at}/attn/Add" for at in (3, 4)]
    assert shorten_apart(names, 40) == [
        "layer3.1: conv2/Conv + Add + relu_1/Relu",
        "layer4.1: conv2/Conv + Add + relu_1/Relu",
        "blocks.3/attn: MatMul + Add",
        "blocks.4/attn: MatMul + Add",
    ]
    assert shorten_apart(names[1:2], 26) == ["layer4.1: conv2/Conv + Ad…"]
    # What is fused behind it may be all that differs.
    alike = [f"/a/a.1/conv/Conv + /a/a.1/{'x' * 30}/Add + /a/a.1/{one}" for one in ("Relu", "Tanh")]
    assert [one[-5:] for one in shorten_apart(alike, 30)] == [" Relu", " Tanh"]
    assert shorten_apart(["/conv1/Conv + /relu/Relu"], 26) == ["/conv1/Conv + /relu/Relu"]
