"""Rounded copies round as their type does, and nothing but weights and activations."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, load, save
from onnx.helper import make_node

from enginescope.core.errors import UnsupportedError
from enginescope.formats.onnx.onnx_rounding import LARGEST, rounded_onnx
from tests.backends.onnxruntime.models import branch, info, write

onnxruntime = pytest.importorskip("onnxruntime")
VALUES = np.array([0.1, 1 / 3, -2.7182817, 1e-9, 40000.3, 70000.0, -1e9, np.inf], np.float32)
LEVELS = ["ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL"]


def net(folder: Path, nodes: list[Any], shapes: tuple[list[int], ...], **more: Any) -> Path:
    """Write a model whose `x` and `y` have these shapes."""
    x, y = (info(name, *shape) for name, shape in zip("xy", shapes, strict=True))
    return write(folder / "m.onnx", nodes, [x], [y], **more)


def outputs(path: Path, values: Any, level: str = "ORT_DISABLE_ALL") -> dict[str, Any]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(None, {"x": values}), strict=True))


def negated(folder: Path, opset: int = 17) -> Path:
    return net(folder, [make_node("Neg", ["x"], ["y"])], ([8], [8]), opset=opset)


def to_bits(values: Any, bits: int) -> Any:
    """Round to so many explicit bits of the mantissa, by the definition of rounding."""
    fraction, exponent = np.frexp(values.astype(np.float64))
    return np.ldexp(np.rint(fraction * 2 ** (bits + 1)) / 2 ** (bits + 1), exponent)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("opset", [9, 13, 17, 21])
def test_fp16_rounds_and_saturates(tmp_path, opset, level) -> None:
    copy = rounded_onnx(negated(tmp_path, opset), "fp16", tmp_path / "copy")
    found = outputs(copy.path, VALUES, level)
    within = np.clip(VALUES, -65504, 65504).astype(np.float16).astype(np.float32)
    assert np.array_equal(found["y"], -within)
    assert copy.activations == ("y",)
    assert found[LARGEST].tolist() == [np.float32(65504)]


def test_the_largest_values_are_those_before_saturation(tmp_path) -> None:
    nodes = [make_node("Mul", ["x", "f"], ["a"]), make_node("Div", ["a", "f"], ["y"])]
    model = net(tmp_path, nodes, ([2], [2]), f=np.full(2, 1000, np.float32))
    copy = rounded_onnx(model, "fp16", tmp_path / "copy")
    found = outputs(copy.path, np.array([100, 1], np.float32))
    assert dict(zip(copy.activations, found[LARGEST].tolist(), strict=True))["a"] == 100_000
    assert found["y"][0] == pytest.approx(65.504, rel=1e-3)


@pytest.mark.parametrize("level", LEVELS)
def test_bf16_rounds_the_mantissa_alone(tmp_path, level) -> None:
    copy = rounded_onnx(negated(tmp_path), "bf16", tmp_path / "copy")
    found = outputs(copy.path, VALUES, level)["y"]
    assert np.array_equal(found[:-1], -to_bits(VALUES[:-1], 7).astype(np.float32))
    assert found[-1] == -np.inf


@pytest.mark.parametrize(("row", "bits"), [("tf32", 10), ("fp8", 3)])
def test_matrix_operators_read_rounded_values(tmp_path, row, bits) -> None:
    rng = np.random.default_rng(0)
    w = rng.standard_normal((4, 3)).astype(np.float32)
    nodes = [make_node("MatMul", ["x", "w"], ["m"]), make_node("Exp", ["m"], ["y"])]
    copy = rounded_onnx(net(tmp_path, nodes, ([2, 4], [2, 3]), w=w), row, tmp_path / "copy")
    values = rng.standard_normal((2, 4)).astype(np.float32)
    wanted = np.exp(to_bits(values, bits) @ to_bits(w, bits))
    assert outputs(copy.path, values)["y"] == pytest.approx(wanted, rel=1e-5)
    assert (copy.tensors, copy.activations) == (2, ())


@pytest.mark.parametrize("opset", [9, 13, 18])
def test_int8_has_a_scale_for_each_channel_of_the_weights(tmp_path, opset) -> None:
    rng = np.random.default_rng(0)
    scales = np.array([1, 100, 0.01], np.float32).reshape(3, 1, 1, 1)
    weights = rng.standard_normal((3, 2, 1, 1)).astype(np.float32) * scales
    shapes, node = ([1, 2, 4, 4], [1, 3, 4, 4]), make_node("Conv", ["x", "w"], ["y"])
    model = net(tmp_path, [node], shapes, w=weights, opset=opset)
    copy = rounded_onnx(model, "int8", tmp_path / "copy")
    values = rng.uniform(-1, 3, (1, 2, 4, 4)).astype(np.float32)
    step = np.abs(weights).max((1, 2, 3), keepdims=True) / 127
    coarse = np.rint(weights / step) * step
    low, span = values.min(), (values.max() - values.min()) / 255
    read = np.rint((values - low) / span) * span + low
    wanted = np.einsum("oi,bihw->bohw", coarse[:, :, 0, 0], read)
    assert outputs(copy.path, values)["y"] == pytest.approx(wanted, rel=1e-4, abs=1e-4)


def test_what_depends_on_shapes_alone_stays_exact(tmp_path) -> None:
    """A width of 2,049 is none that FP16 has."""
    nodes = [
        make_node("Shape", ["x"], ["shape"]),
        make_node("Cast", ["shape"], ["sizes"], to=TensorProto.FLOAT),
        make_node("Mul", ["sizes", "one"], ["same"]),
        make_node("Cast", ["same"], ["to"], to=TensorProto.INT64),
        make_node("Reshape", ["x", "to"], ["y"]),
    ]
    model = net(tmp_path, nodes, ([2049], [2049]), one=np.ones(1, np.float32))
    copy = rounded_onnx(model, "fp16", tmp_path / "copy")
    assert outputs(copy.path, np.ones(2049, np.float32))["y"].shape == (2049,)


def test_a_single_factor_stays(tmp_path) -> None:
    """FP16 would make an epsilon of 1e-9 a 0; converters keep such a constant above 0."""
    model = net(tmp_path, [make_node("Mul", ["x", "f"], ["y"])], ([1], [1]), f=np.float32(1e-9))
    copy = rounded_onnx(model, "fp16", tmp_path / "copy")
    assert outputs(copy.path, np.array([60000], np.float32))["y"] == pytest.approx([6e-5], rel=1e-3)


def test_branches_are_rounded_too(tmp_path) -> None:
    root, minus = (
        branch(operator, [make_node(operator, ["a"], [operator])], info(operator, 8))
        for operator in ("Sqrt", "Neg")
    )
    nodes = [
        make_node("Identity", ["x"], ["a"]),
        make_node("ReduceMax", ["x"], ["most"], keepdims=0),
        make_node("Greater", ["most", "zero"], ["positive"]),
        make_node("If", ["positive"], ["y"], then_branch=root, else_branch=minus),
    ]
    model = net(tmp_path, nodes, ([8], [8]), zero=np.float32(0))
    copy = rounded_onnx(model, "bf16", tmp_path / "copy")
    values = np.linspace(1, 3, 8, dtype=np.float32)
    wanted = to_bits(np.sqrt(to_bits(values, 7)), 7)
    assert outputs(copy.path, values)["y"] == pytest.approx(wanted, rel=1e-7)


def test_weights_in_other_files_are_linked_and_rounded(tmp_path) -> None:
    rng = np.random.default_rng(0)
    w = rng.standard_normal((64, 64)).astype(np.float32)
    whole = net(tmp_path, [make_node("MatMul", ["x", "w"], ["y"])], ([1, 64], [1, 64]), w=w)
    model, apart = load(whole), tmp_path / "apart.onnx"
    save(model, apart, save_as_external_data=True, location="w.bin", size_threshold=0)
    copy = rounded_onnx(apart, "bf16", tmp_path / "copy")
    assert copy.path.stat().st_size < 4096
    values = rng.standard_normal((1, 64)).astype(np.float32)
    wanted = to_bits(to_bits(values, 7) @ to_bits(w, 7), 7)
    assert outputs(copy.path, values)["y"] == pytest.approx(wanted, rel=1e-2, abs=1e-3)


def test_a_model_without_fp32_is_refused(tmp_path) -> None:
    node = make_node("Neg", ["x"], ["y"])
    x, y = (info(name, 2, kind=TensorProto.FLOAT16) for name in "xy")
    model = write(tmp_path / "m.onnx", [node], [x], [y])
    with pytest.raises(UnsupportedError, match="no FP32 tensor"):
        rounded_onnx(model, "fp16", tmp_path / "copy")
    with pytest.raises(UnsupportedError, match="opset is 8"):
        rounded_onnx(negated(tmp_path, 8), "fp16", tmp_path / "copy")


def product(folder: Path, rows: int, w: Any) -> Path:
    nodes = [make_node("MatMul", ["x", "w"], ["y"])]
    return net(folder, nodes, ([rows, w.shape[0]], [rows, w.shape[1]]), w=w)


def test_tf32_toward_zero_drops_the_lower_bits(tmp_path) -> None:
    values = np.random.default_rng(3).standard_normal((4, 64)).astype(np.float32)
    model = product(tmp_path, 4, np.eye(64, dtype=np.float32))
    found = outputs(rounded_onnx(model, "tf32", tmp_path / "copy", "toward zero").path, values)["y"]
    dropped = (values.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    np.testing.assert_array_equal(found, dropped)


def test_partial_sums_in_fp16_lose_half_a_bit_for_each_doubling(tmp_path) -> None:
    rng, errors = np.random.default_rng(3), {}
    for terms in (16, 4096):
        weight = (rng.standard_normal((terms, 8)) / np.sqrt(terms)).astype(np.float32)
        values = rng.standard_normal((256, terms)).astype(np.float32)
        model = product(tmp_path, 256, weight)
        exact = values @ weight
        for order in ("nearest", "partial sums"):
            copy = rounded_onnx(model, "fp16", tmp_path / f"{terms}{order}", order)
            found = outputs(copy.path, values)["y"]
            errors[terms, order] = float(np.sqrt(np.square(found - exact).mean()))
    assert errors[16, "partial sums"] == errors[16, "nearest"]
    lost = np.sqrt(errors[4096, "partial sums"] ** 2 - errors[4096, "nearest"] ** 2)
    one_rounding = 2.0**-11 / np.sqrt(3) * 0.7  # of values of size 1, in FP16
    assert lost == pytest.approx(np.sqrt(256 / 3) * one_rounding, rel=0.4)
