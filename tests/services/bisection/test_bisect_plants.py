"""What is named for planted faults, and that what was not compared is said."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import enginescope as es
from enginescope.analysis.bisection.error_growth import Bisected
from enginescope.backends.onnxruntime.convert.fp16 import Fp16Options, fp16_model
from enginescope.services.bisection import fp32_fallback
from tests.overflowing import SHORT_STOP
from tests.plants.families import transformer
from tests.plants.in_process import workers_in_process
from tests.plants.plants import FP32_PLANTS, OPERATOR_PLANTS, PLANTS, Plant, named

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_process")]

#: Plants that run in seconds: one of each sort; faults in FP32 of five families; one replaced
#: operator of each kind, in FP32 or FP16.
QUICK = [
    *(PLANTS[at] for at in (1, 2, 3, 4, 9, 15, 20, 24, 26, 27, 28, 30, 31, 36, 37, 38, 39)),
    *(FP32_PLANTS[at] for at in (3, 4, *range(13, 18), *range(24, 29), *range(30, 36))),
    *(OPERATOR_PLANTS[at] for at in (10, 13, 18, 21, 22, 25, 26, 30, 39)),
]


@pytest.mark.parametrize(
    "plant", QUICK, ids=lambda plant: f"{plant.family}-{plant.runs_in}-{plant.kind}"
)
@pytest.mark.filterwarnings("ignore")
def test_the_node_of_a_planted_fault_is_named(plant: Plant, tmp_path: Path) -> None:
    with workers_in_process():
        found = named(plant, tmp_path)
    assert found.node in found.expected
    assert found.false == ()


def inside(model: Path, on: str, **more: object) -> Bisected:
    with workers_in_process():
        found = es.validate(model, on=on, bisect=True, **more)  # type: ignore[arg-type]
    assert found.sides[0].inside is not None
    return found.sides[0].inside


@pytest.mark.filterwarnings("ignore")
def test_tensors_of_unknown_shape_are_compared(tmp_path: Path) -> None:
    """275 of the 303 of this model have a shape that ONNX cannot infer."""
    family = transformer(tmp_path)
    found = inside(family.plain, "ort-cpu:fp16", data=family.sample)
    assert found.tensors > 290
    assert len(found.steps) == found.tensors
    assert all(step.error.elements for step in found.steps)
    assert found.not_compared == ()


def _save(path: Path, nodes: list, weights: dict, shape: list) -> Path:
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "g", [value("x", TensorProto.FLOAT, shape)],
        [value("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(one), name) for name, one in weights.items()],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


def _pair(folder: Path, nodes: list, right: dict, wrong: dict, shape: list, on: str = "ort-cpu"):
    """Compare two models of the same nodes, with right and with some wrong weights."""
    reference = _save(folder / "right.onnx", nodes, right, shape)
    side = _save(folder / "wrong.onnx", nodes, right | wrong, shape)
    return inside(side, on, reference=reference, samples=1)


def _looping(path: Path, factor: float) -> Path:
    value = helper.make_tensor_value_info
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["on"], ["on_out"]),
            helper.make_node("MatMul", ["state", "w"], ["mixed"], name="mix"),
            helper.make_node("Tanh", ["mixed"], ["state_out"], name="squash"),
            helper.make_node("Mul", ["state_out", "c"], ["scanned"], name="scale"),
        ],
        "body",
        [value("at", TensorProto.INT64, []), value("on", TensorProto.BOOL, []),
         value("state", TensorProto.FLOAT, [4, 8])],
        [value("on_out", TensorProto.BOOL, []), value("state_out", TensorProto.FLOAT, [4, 8]),
         value("scanned", TensorProto.FLOAT, [4, 8])],
    )  # fmt: skip
    nodes = [
        helper.make_node("Loop", ["rounds", "", "x"], ["last", "all"], name="loop", body=body),
        helper.make_node("ReduceSum", ["all", "axes"], ["y"], name="sum"),
    ]
    draw = np.random.default_rng(0)
    weights = {
        "w": draw.standard_normal((8, 8)).astype(np.float32) / 3,
        "c": np.float32(factor),
        "rounds": np.int64(3),
        "axes": np.array([0]),
    }
    return _save(path, nodes, weights, [4, 8])


def test_a_loop_is_entered_round_by_round(tmp_path: Path) -> None:
    right = _looping(tmp_path / "right.onnx", 1.0)
    found = inside(_looping(tmp_path / "wrong.onnx", 1.3), "ort-cpu", reference=right, samples=1)
    assert found.first_step.pair.node.startswith("scale")
    assert "loop was compared round by round: 3" in [one.message for one in found.notices]


def test_a_padding_of_minus_infinity_or_a_large_mask_does_not_cut_the_trail(tmp_path) -> None:
    """The scale of the padded tensor is that of its values, and not of the padding."""
    draw = np.random.default_rng(1)
    weight = draw.standard_normal((4, 2, 3, 3)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("Pad", ["a", "pads", "low"], ["b"], name="pad"),
        helper.make_node("MaxPool", ["b"], ["y"], name="pool", kernel_shape=[3, 3]),
    ]
    weights = {"pads": np.array([0, 0, 1, 1, 0, 0, 1, 1]), "low": np.float32(-3.4e38)}
    found = _pair(tmp_path, nodes, weights | {"w": weight}, {"w": weight[::-1]}, [1, 2, 8, 8])
    assert found.first_step.pair.node == "conv"
    assert found.first_step.reaches_output
    # The mask is the scale of the sum, and the error is far below the limits there.
    draw = np.random.default_rng(1)
    weight = draw.standard_normal((8, 8)).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["scores"], name="product"),
        helper.make_node("Add", ["scores", "mask"], ["masked"], name="mask"),
        helper.make_node("Softmax", ["masked"], ["y"], name="softmax"),
    ]
    weights = {"w": weight, "mask": -1e7 * np.eye(8, dtype=np.float32)}
    found = _pair(tmp_path, nodes, weights, {"w": weight.T}, [2, 8, 8])
    assert (found.first_step.pair.node, found.cause) == ("product", "departs")
    assert found.first_step.reaches_output


@pytest.mark.parametrize("damaged", ["before", "behind"])
def test_an_overflow_that_the_converted_reference_has_too_stays_beside(tmp_path, damaged) -> None:
    """A variance beyond FP16 in both models, and a damaged weight before it or behind it."""
    draw = np.random.default_rng(3)
    variance = np.full(4, 9.8e7, np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "before"], ["a"], name="conv_before"),
        helper.make_node("BatchNormalization", ["a", "s", "z", "z", "v"], ["b"], name="norm"),
        helper.make_node("Add", ["b", "a"], ["c"], name="add"),
        helper.make_node("Conv", ["c", "behind"], ["y"], name="conv_behind"),
    ]
    weights = {
        "before": draw.standard_normal((4, 2, 1, 1)).astype(np.float32),
        "behind": draw.standard_normal((4, 4, 1, 1)).astype(np.float32),
        "s": np.sqrt(variance), "z": np.zeros(4, np.float32), "v": variance,
    }  # fmt: skip
    wrong = {damaged: weights[damaged][::-1]}
    found = _pair(tmp_path, nodes, weights, wrong, [1, 2, 8, 8], "ort-cpu:fp16")
    assert (found.first_step.pair.node, found.cause) == (f"conv_{damaged}", "departs")
    assert found.overflowing == "v"
    assert found.step(found.beside).pair.node == "norm"  # type: ignore[union-attr]
    right = tmp_path / "right.onnx"
    alone = inside(right, "ort-cpu:fp16", reference=right, samples=1)
    assert (alone.first_step.pair.node, alone.beside) == ("norm", None)


def test_what_fp16_cannot_hold_is_named_from_the_reference_alone(tmp_path: Path) -> None:
    variance = np.full(4, 9.8e7, np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], name="conv"),
        helper.make_node("BatchNormalization", ["a", "s", "z", "z", "v"], ["y"], name="norm"),
    ]
    weights = {
        "w": np.random.default_rng(2).standard_normal((4, 2, 1, 1)).astype(np.float32),
        "s": np.sqrt(variance), "z": np.zeros(4, np.float32), "v": variance,
    }  # fmt: skip
    model = _save(tmp_path / "net.onnx", nodes, weights, [1, 2, 8, 8])
    found = inside(model, "ort-cpu:fp16", samples=1)
    (beyond,) = found.beyond
    assert (beyond.tensor, beyond.kind, beyond.node) == ("v", "weight", "norm")
    assert beyond.peak == pytest.approx(9.8e7)
    assert (found.first_step.pair.node, found.cause, found.overflowing) == ("norm", "overflow", "v")


def test_a_node_kept_in_fp32_keeps_the_weights_of_constant_nodes(tmp_path: Path) -> None:
    """A variance of 9.8e7 in a Constant node was rounded to 65,504 although its reader stayed."""
    large = numpy_helper.from_array(np.full(8, 9.8e7, np.float32))
    nodes = [
        helper.make_node("Constant", [], ["v"], name="const", value=large),
        helper.make_node("Div", ["x", "v"], ["d"], name="divide"),
        helper.make_node("MatMul", ["d", "w"], ["y"], name="product"),
    ]
    model = _save(tmp_path / "net.onnx", nodes, {"w": np.eye(8, dtype=np.float32)}, [2, 8])
    options = Fp16Options(node_block_list=("divide",))
    made = onnx.load(fp16_model(model, tmp_path / "cache", options).path)
    (held,) = (one for one in made.graph.initializer if one.name == "v")
    assert numpy_helper.to_array(held).max() == np.float32(9.8e7)


def test_a_node_in_a_loop_is_kept_in_fp32(tmp_path: Path, monkeypatch) -> None:
    """The copy calls it scale::round0, and the model that is converted does not."""
    monkeypatch.setattr(fp32_fallback, "_STOP", SHORT_STOP)
    model = _looping(tmp_path / "net.onnx", 2e5)  # FP16 ends at 65,504
    side = es.validate(model, on="ort-cpu:fp16", samples=1, suggest_precision=True).sides[0]
    assert side.inside.first_step.pair.node.startswith("scale::round")
    trials = side.precision.trials
    assert [one.failure for one in trials] == [None] * len(trials)
    (first,) = (one for one in trials if one.kind == "first")
    assert first.proposal.nodes == ("scale",)


@pytest.mark.parametrize("kind", ["sequence", "map"])
def test_the_trail_starts_at_an_output_that_is_a_sequence_or_a_map(tmp_path: Path, kind) -> None:
    """Such an output has no counterpart tensor: what it is computed from ends the model."""
    weight = np.random.default_rng(5).standard_normal((8, 8)).astype(np.float32)
    product = helper.make_node("MatMul", ["x", "w"], ["m"], name="product")
    if kind == "sequence":
        output = helper.make_tensor_sequence_value_info("y", TensorProto.FLOAT, None)
        squash = helper.make_node("Tanh", ["m"], ["t"], name="squash")
        last = helper.make_node("SplitToSequence", ["t"], ["y"], name="split", axis=0)
    else:
        output = onnx.ValueInfoProto(name="y")
        element = output.type.sequence_type.elem_type.map_type
        element.key_type = TensorProto.INT64
        element.value_type.tensor_type.elem_type = TensorProto.FLOAT
        squash = helper.make_node("Softmax", ["m"], ["t"], name="squash")
        labels = {"domain": "ai.onnx.ml", "classlabels_int64s": list(range(8))}
        last = helper.make_node("ZipMap", ["t"], ["y"], name="zip", **labels)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    paths = tmp_path / "right.onnx", tmp_path / "wrong.onnx"
    for path, values in zip(paths, (weight, weight[::-1].copy()), strict=True):
        weights = [numpy_helper.from_array(values, "w")]
        graph = helper.make_graph([product, squash, last], "g", [x], [output], weights)
        onnx.save(helper.make_model(graph, ir_version=8, opset_imports=opsets), path)
    found = inside(paths[1], "ort-cpu", reference=paths[0], samples=1)
    ends = [step for step in found.steps if step.pair.is_end]
    assert [(step.pair.node, step.pair.is_output) for step in ends] == [("squash", False)]
    assert found.first_step.pair.node == "product"
    assert found.first_step.reaches_output
