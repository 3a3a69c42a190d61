from typing import Any

import numpy as np
import pytest

from enginescope.analysis.bisection.error_growth import CARRIED
from enginescope.analysis.bisection.tensor_pairs import TensorError, TensorErrors, paired_tensors
from enginescope.analysis.errors.output_tolerance import TOLERANCES
from enginescope.formats.onnx.onnx_graph import FlowNode, FlowTensor, OnnxFlow
from enginescope.formats.tensors.tensor_files import tensor_of
from enginescope.records.tensor import DataType

R = np.random.default_rng(0).standard_normal((3, 70, 1000)).astype(np.float32)


def compared(a: Any, b: Any, row: str = "fp16") -> TensorError:
    sums = TensorErrors("t", TOLERANCES[row])
    sums.add(tensor_of("t", np.asarray(a)), tensor_of("t", np.asarray(b)))
    return sums.result()


def test_the_figures_are_those_of_numpy_on_whole_arrays_and_several_samples_are_one() -> None:
    b = R + 0.02 * np.sin(np.arange(R.size, dtype=np.float32)).reshape(R.shape)
    found = compared(R, b)
    wide, error = R.astype(np.float64), b.astype(np.float64) - R
    assert found.error == pytest.approx(np.sqrt((error**2).mean()) / wide.std(), rel=1e-12)
    assert found.max_abs_error == np.abs(error).max()
    assert found.reference_peak == np.abs(wide).max()
    assert (found.over, found.share > 1) == ("error", True)
    b = R + np.float32(0.001)
    sums = TensorErrors("t", TOLERANCES["fp16"])
    for one in range(3):
        sums.add(tensor_of("t", R[one]), tensor_of("t", b[one]))
    assert sums.result().error == pytest.approx(compared(R, b).error, rel=1e-12)
    assert sums.result().elements == R.size


def test_rounding_is_within_and_near_the_limit_an_error_is_handed_on() -> None:
    rounded = compared(R, R.astype(np.float16).astype(np.float32))
    assert (rounded.over, rounded.share < CARRIED) == (None, True)
    near = compared(R, R + np.float32(0.005))
    assert (near.over, CARRIED < near.share < 1) == (None, True)
    b = R.copy()
    b[1, 2, 3] += 0.5
    assert compared(R, b).over == "peak"
    a, b = R.copy(), R.copy()
    a[0, 0, 0], b[0, 0, 0] = 4096.0, 4098.0  # FP16's next number
    assert compared(a, b).over is None


def test_what_cannot_be_compared_has_a_reason() -> None:
    b = R.copy()
    b[0, 0, :3] = np.inf
    b[0, 1, 0] = np.nan
    found = compared(R, b)
    assert (found.over, found.infinite, found.nan, found.odd) == ("not-finite", 3, 1, 4)
    assert found.error is not None
    both = compared(b, b)
    assert (both.over, both.odd) == (None, 0)
    assert compared(b, R).finite_only_here == 4
    assert compared(np.full((4,), 1e5, np.float32), np.full((4,), np.inf)).reference_peak == 1e5
    found = compared(np.zeros((9,), np.float32), np.full((9,), 1e-9, np.float32))
    assert (found.error, found.over) == (None, None)
    assert compared(R, R[:2]).over == "shape"
    sums = TensorErrors("t", TOLERANCES["fp16"])
    sums.add(tensor_of("t", np.arange(3)), tensor_of("t", np.arange(3)))
    assert not sums.is_compared


def flow(*made: tuple[str, str, tuple[str, ...], str]) -> OnnxFlow:
    nodes = tuple(
        FlowNode(
            name=name, own_name=name, operator=operator, inputs=inputs, outputs=(out,), varies=True
        )
        for name, operator, inputs, out in made
    )
    tensors = {one.outputs[0]: FlowTensor(dtype=DataType.FP32) for one in nodes}
    return OnnxFlow(nodes=nodes, inputs=("x",), outputs=(made[-1][3],), tensors=tensors)


PLAIN = flow(("n0", "Conv", ("x",), "a"), ("n1", "Relu", ("a",), "b"), ("n2", "Conv", ("b",), "y"))


def test_names_come_first_and_conversions_between_are_passed_over() -> None:
    half = flow(
        ("in", "Cast", ("x",), "x16"),
        ("n0", "Conv", ("x16",), "a"),
        ("n1", "Relu", ("a",), "b"),
        ("n2", "Conv", ("b",), "y16"),
        ("out", "Cast", ("y16",), "y"),
    )
    found = paired_tensors(PLAIN, half)
    assert [(one.reference, one.how) for one in found.pairs] == [
        ("a", "name"),
        ("b", "name"),
        ("y", "node"),
        ("y", "name"),
    ]
    last = found.pairs[-1]
    assert (last.operator, last.reference_node, last.parents) == ("Cast", "n2", ("y16",))
    assert (last.is_output, found.candidate_alone, found.reference_alone) == (True, 1, 0)


def test_without_names_the_nth_of_an_operator_is_the_same_if_there_are_as_many() -> None:
    other = flow(
        ("1", "Conv", ("x",), "10"), ("2", "Relu", ("10",), "11"), ("3", "Conv", ("11",), "y")
    )
    found = paired_tensors(PLAIN, other)
    assert [(one.candidate, one.reference, one.how) for one in found.pairs] == [
        ("10", "a", "order"),
        ("11", "b", "order"),
        ("y", "y", "name"),
    ]
    more = flow(
        ("1", "Conv", ("x",), "10"),
        ("2", "Relu", ("10",), "11"),
        ("2b", "Relu", ("11",), "12"),
        ("3", "Conv", ("12",), "y"),
    )
    found = paired_tensors(PLAIN, more).pairs
    assert [(one.candidate, one.reference, one.how) for one in found] == [
        ("10", "a", "order"),
        ("12", "b", "reader"),
        ("y", "y", "name"),
    ]
    assert [one.unpaired for one in found] == [(), ("11",), ()]


def test_operators_without_names_are_paired_by_their_place_and_kind() -> None:
    other = flow(("0", "Tanh", ("x",), "a"), ("1", "Conv", ("a",), "y"))
    found = paired_tensors(PLAIN, other)
    assert [(one.reference, one.candidate) for one in found.pairs] == [("b", "a"), ("y", "y")]
    assert found.reference_alone == 1
    # Counts of both operators differ, so the order of one kind does not pair any of them.
    plain = flow(
        ("", "Conv", ("x",), "a"), ("", "Relu", ("a",), "b"), ("", "Conv", ("b",), "c"),
        ("", "Relu", ("c",), "d"), ("", "Conv", ("d",), "y"),
    )  # fmt: skip
    other = flow(
        ("", "Conv", ("x",), "1"), ("", "Sigmoid", ("1",), "2"), ("", "Conv", ("2",), "3"),
        ("", "Relu", ("3",), "4"), ("", "Conv", ("4",), "5"),
    )  # fmt: skip
    pairs = {one.candidate: one.reference for one in paired_tensors(plain, other).pairs}
    assert pairs == {"1": "a", "2": "b", "3": "c", "4": "d", "5": "y"}
    plain = flow(("n0", "MatMul", ("x",), "a"), ("n1", "Softmax", ("a",), "y"))
    other = flow(("m0", "MatMul", ("x",), "1"), ("m1", "LogSoftmax", ("1",), "scores"))
    last = paired_tensors(plain, other).pairs[-1]
    assert (last.reference, last.candidate, last.is_replaced) == ("y", "scores", True)
    # It has the name of the first one, and its output is that of the last one.
    fused = flow(("n0", "FusedConv", ("x",), "b"), ("n2", "Conv", ("b",), "y"))
    found = paired_tensors(PLAIN, fused)
    assert [(one.reference, one.candidate) for one in found.pairs] == [("b", "b"), ("y", "y")]


@pytest.mark.parametrize("names", [("n1", "b"), ("n1", "other"), ("other", "b"), ("other", "new")])
def test_a_replaced_operator_is_a_pair_by_its_name_or_its_place(names) -> None:
    node, tensor = names
    other = flow(
        ("n0", "Conv", ("x",), "a"),
        (node, "LeakyRelu", ("a",), tensor),
        ("n2", "Conv", (tensor,), "y"),
    )
    found = paired_tensors(PLAIN, other)
    (_, middle, _) = found.pairs
    assert (middle.candidate, middle.reference) == (tensor, "b")
    assert (middle.reference_operator, middle.operator) == ("Relu", "LeakyRelu")
    assert [one.is_replaced for one in found.pairs] == [False, True, False]
    assert (found.candidate_alone, found.reference_alone) == (0, 0)


def test_what_has_no_counterpart_is_told_and_what_depends_on_shapes_alone_is_not() -> None:
    other = flow(
        ("n0", "Conv", ("x",), "a"),
        ("s", "Shape", ("a",), "shape"),
        ("e", "Custom", ("a",), "extra"),
        ("n1", "Relu", ("extra", "shape"), "b"),
        ("n2", "Conv", ("b",), "y"),
    )
    found = {one.candidate: one.unpaired for one in paired_tensors(PLAIN, other).pairs}
    assert found == {"a": (), "b": ("extra",), "y": ()}
