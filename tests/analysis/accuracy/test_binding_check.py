"""Differences of two models' inputs and outputs, and which of them stop a comparison."""

from __future__ import annotations

import pytest

from enginescope.analysis.accuracy.binding_check import Bindings, binding_differences
from enginescope.records.tensor import DataType, Tensor


def bindings(given: DataType | None, returned: DataType | None = DataType.FP32) -> Bindings:
    return Bindings(
        inputs=(Tensor(name="x", dtype=given, shape=(1, 3)),),
        outputs=(Tensor(name="y", dtype=returned, shape=(1, 3)),),
    )


@pytest.mark.parametrize(
    ("reference", "side", "blocks"),
    [
        (DataType.FP32, DataType.FP16, False),  # the same values, rounded
        (DataType.INT64, DataType.INT32, False),
        (DataType.FP32, DataType.INT64, True),
        (DataType.FP32, None, True),
    ],
)
def test_an_input_of_another_type_blocks_only_if_it_is_of_another_kind(
    reference, side, blocks
) -> None:
    (found,) = binding_differences(bindings(reference), bindings(side))
    assert (found.role, found.name, found.what) == ("input", "x", "type")
    assert found.blocks is blocks


def test_an_output_of_another_type_does_not_block() -> None:
    reference, side = (bindings(DataType.FP32, one) for one in (DataType.FP32, DataType.INT64))
    (found,) = binding_differences(reference, side)
    assert (found.role, found.what, found.blocks) == ("output", "type", False)


def test_equal_bindings_have_no_differences() -> None:
    assert binding_differences(bindings(DataType.FP32), bindings(DataType.FP32)) == ()
