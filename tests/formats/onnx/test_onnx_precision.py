import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from enginescope.core.errors import FormatError
from enginescope.formats.onnx.onnx_copies import read_links
from enginescope.formats.onnx.onnx_precision import onnx_precision
from tests.fakes.models import perceptron, save, value

HALF = np.ones(4, np.float16)


def test_a_net_of_fp32_holds_fp32(tmp_path) -> None:
    assert onnx_precision(perceptron(tmp_path / "net.onnx")) == "fp32"


@pytest.mark.parametrize("where", ["weight", "constant", "cast", "branch"])
def test_fp16_is_seen_wherever_it_is(tmp_path, where) -> None:
    ends = ([value("x", [4])], [value("y", [4])])
    weights = {}
    down = helper.make_node("Cast", ["x"], ["h"], to=TensorProto.FLOAT16)
    back = helper.make_node("Cast", ["s"], ["y"], to=TensorProto.FLOAT)
    if where == "cast":
        nodes = [down, helper.make_node("Relu", ["h"], ["s"]), back]
    elif where == "weight":
        weights = {"w": HALF}
        nodes = [helper.make_node("Cast", ["w"], ["c"], to=TensorProto.FLOAT)]
        nodes.append(helper.make_node("Add", ["x", "c"], ["y"]))
    else:
        constant = helper.make_node("Constant", [], ["w"], value=numpy_helper.from_array(HALF))
        widened = helper.make_node("Cast", ["w"], ["c"], to=TensorProto.FLOAT)
        nodes = [constant, widened, helper.make_node("Add", ["x", "c"], ["y"])]
    if where == "branch":
        inner = helper.make_graph(nodes, "inner", [], [value("y", [4])])
        condition = numpy_helper.from_array(np.array(True))
        nodes = [helper.make_node("Constant", [], ["yes"], value=condition)]
        nodes.append(helper.make_node("If", ["yes"], ["y"], then_branch=inner, else_branch=inner))
    assert onnx_precision(save(tmp_path / "net.onnx", nodes, *ends, **weights)) == "fp16"


def test_quantisers_make_int8(tmp_path) -> None:
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"]),
    ]
    weights = {"s": np.float32(0.1), "z": np.int8(0)}
    ends = ([value("x", [4])], [value("y", [4])])
    assert onnx_precision(save(tmp_path / "net.onnx", nodes, *ends, **weights)) == "int8"


def test_what_is_no_model_is_said(tmp_path) -> None:
    (tmp_path / "x.onnx").write_bytes(b"\xff\xfe nothing")
    with pytest.raises(FormatError, match="not an ONNX model"):
        onnx_precision(tmp_path / "x.onnx")


SHA = "a" * 64


def links(tmp_path, text: str):
    path = tmp_path / "links.txt"
    path.write_text(text)
    return read_links(path)


def test_link_checksum_and_name(tmp_path) -> None:
    first, second, third = links(
        tmp_path,
        f"# zoo\nhttps://x.org/a/resnet50-v1.tar.gz\n\n"
        f"http://x.org/model.onnx {SHA.upper()} tiny  # small\nhttps://x.org/b.onnx sha256:{SHA}\n",
    )
    assert (first.name, first.file, first.sha256, first.is_archive) == (
        "resnet50-v1",
        "resnet50-v1.tar.gz",
        None,
        True,
    )
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
