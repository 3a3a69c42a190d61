"""A model's precision, models that no runtime would load, and lists of links to models."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper
from onnx.helper import make_node

from enginescope.core.errors import BackendError, FormatError
from enginescope.formats.onnx.onnx_copies import read_links
from enginescope.formats.onnx.onnx_graph import read_onnx_flow
from enginescope.formats.onnx.onnx_inputs import read_onnx_inputs
from enginescope.formats.onnx.onnx_precision import digest_of, large_weights, onnx_precision
from tests.backends.onnxruntime.models import branch, info, write
from tests.fakes.models import perceptron

HALF = np.ones(4, np.float16)
ENDS = [info("x", 4)], [info("y", 4)]


def test_a_net_of_fp32_holds_fp32(tmp_path) -> None:
    assert onnx_precision(perceptron(tmp_path / "net.onnx")) == "fp32"


@pytest.mark.parametrize("where", ["weight", "constant", "cast", "branch"])
def test_fp16_is_seen_wherever_it_is(tmp_path, where) -> None:
    down = make_node("Cast", ["x"], ["h"], to=TensorProto.FLOAT16)
    back = make_node("Cast", ["s"], ["y"], to=TensorProto.FLOAT)
    constant = make_node("Constant", [], ["w"], value=numpy_helper.from_array(HALF))
    widened = make_node("Cast", ["w"], ["c"], to=TensorProto.FLOAT)
    nodes = [widened, make_node("Add", ["x", "c"], ["y"])]
    if where == "cast":
        nodes = [down, make_node("Relu", ["h"], ["s"]), back]
    elif where != "weight":
        nodes = [constant, *nodes]
    if where == "branch":
        inner = branch("inner", nodes, info("y", 4))
        condition = numpy_helper.from_array(np.array(True))
        nodes = [make_node("Constant", [], ["yes"], value=condition)]
        nodes.append(make_node("If", ["yes"], ["y"], then_branch=inner, else_branch=inner))
    weights = {"w": HALF} if where == "weight" else {}
    assert onnx_precision(write(tmp_path / "net.onnx", nodes, *ENDS, **weights)) == "fp16"


def test_quantisers_make_int8(tmp_path) -> None:
    nodes = [
        make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        make_node("DequantizeLinear", ["q", "s", "z"], ["y"]),
    ]
    path = write(tmp_path / "net.onnx", nodes, *ENDS, s=np.float32(0.1), z=np.int8(0))
    assert onnx_precision(path) == "int8"


def test_what_is_no_model_is_said(tmp_path) -> None:
    (tmp_path / "x.onnx").write_bytes(b"\xff\xfe nothing")
    with pytest.raises(FormatError, match="not an ONNX model"):
        onnx_precision(tmp_path / "x.onnx")


def odd(folder, *nodes, dtype: int = 1, location: str | None = None):
    """Write a model of any type of tensor, its weight w in another file or not."""
    x = info("x", "n")
    x.type.tensor_type.elem_type = dtype
    w = TensorProto(name="w", dims=[3, 3], data_type=dtype)
    if location is None:
        w.float_data.extend([0.5] * 9)
    else:
        w.data_location = TensorProto.EXTERNAL
        w.external_data.add(key="location", value=location)
    return write(folder / "net.onnx", list(nodes), [x], [], weights=[w])


@pytest.mark.parametrize("number", [-1, 255, 1 << 20])
def test_a_type_that_onnx_does_not_know_is_unknown(tmp_path, number) -> None:
    path = odd(tmp_path, make_node("Cast", ["x"], ["y"], to=number), dtype=number)
    assert read_onnx_flow(path).tensor("x").dtype is None
    assert onnx_precision(path) == "fp32"


def test_nodes_without_what_they_need_or_that_wait_for_themselves(tmp_path) -> None:
    path = odd(
        tmp_path,
        make_node("Constant", [], [], value=onnx.helper.make_tensor("v", 1, [1], [1e30])),
        make_node("Gather", ["w"], ["a"]),
        make_node("Gather", ["w", "b"], ["c"]),
        make_node("Cast", [], ["b"], to=7),
    )
    assert (read_onnx_inputs(path).tables, large_weights(path, 1.0)) == ({}, ())
    casts = [make_node("Cast", [one], [two], to=7) for one, two in ("ab", "ba")]
    path = odd(tmp_path, *casts, make_node("Gather", ["w", "a"], ["c"]))
    assert read_onnx_inputs(path).tables == {}


@pytest.mark.parametrize("name", ["net.bin", "x" * 5000, "\0", "../net.bin"])
def test_weights_in_a_file_that_is_not_there(tmp_path, name) -> None:
    path = odd(tmp_path, location=name)
    with pytest.raises(BackendError, match=r"net\.onnx"):
        large_weights(path, 1.0)
    with pytest.raises(BackendError, match=r"net\.onnx"):
        digest_of(str(path))


SHA = "a" * 64


def links(tmp_path, text: str):
    (tmp_path / "links.txt").write_text(text)
    return read_links(tmp_path / "links.txt")


def test_link_checksum_and_name(tmp_path) -> None:
    first, second, third = links(
        tmp_path,
        f"# zoo\nhttps://x.org/a/resnet50-v1.tar.gz\n\n"
        f"http://x.org/model.onnx {SHA.upper()} tiny  # small\nhttps://x.org/b.onnx sha256:{SHA}\n",
    )
    assert (first.name, first.file) == ("resnet50-v1", "resnet50-v1.tar.gz")
    assert (first.sha256, first.is_archive) == (None, True)
    assert (second.name, second.sha256, second.line) == ("tiny", SHA, 4)
    assert (third.name, third.sha256, third.is_archive) == ("b", SHA, False)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ftp://x.org/a.onnx", "line 1"),
        ("file:///etc/passwd", "not an http or https"),
        ("https://x.org/", "file's name"),
        ("https://x.org/..%2f..%2fa.onnx/..", "file's name"),
        ("https://x.org/a.onnx ../up", "neither"),
        ("https://x.org/a.onnx\nhttps://y.org/a.onnx", "another line"),
        ("# nothing yet\n", "it lists no model"),
    ],
)
def test_what_is_no_link_is_refused_with_its_line(tmp_path, text, said) -> None:
    with pytest.raises(FormatError) as caught:
        links(tmp_path, text)
    assert said in str(caught.value)
