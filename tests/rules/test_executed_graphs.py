"""Rules on graphs that another runtime executed: ONNX Runtime's and OpenVINO's words for layers."""

from __future__ import annotations

import pytest

from enginescope.core.record import replace
from enginescope.records.plan.plan import EXECUTED
from enginescope.rules.base import LintInput
from enginescope.rules.catalogue import RULES
from enginescope.rules.engine import LintReport, lint
from tests.rules.made import layer, plan

GENERAL = {one.code for one in RULES if one.is_general}


def executed(*layers) -> LintReport:
    return lint(LintInput(plan=replace(plan(*layers), source_schema=EXECUTED)))


def codes(*layers) -> list[str]:
    return [one.code for one in executed(*layers).findings]


def test_only_general_rules_run() -> None:
    product = layer("Conv", "in FP16 1x3x8x8", "out FP16 1x3x8x8", tactic_name="simt")
    assert set(executed(product).rules) == GENERAL


@pytest.mark.parametrize("kind", ["Reorder", "Convert", "ReorderInput"])
def test_a_conversion_between_types(kind) -> None:
    before = layer("Convolution", "in FP32 1x8x4x4", "a FP32 1x8x4x4")
    after = layer("Convolution", "b INT8 1x8x4x4", "out INT8 1x8x4x4")
    found = executed(before, layer(kind, "a FP32 1x8x4x4", "b INT8 1x8x4x4"), after).findings
    assert [one.message for one in found if one.code == "PLAN104"] == ["converts FP32 to INT8"]


def test_reorders_that_undo_each_other() -> None:
    layers = (
        layer("Convolution", "in FP32 1x8x4x4 NHWC8", "a FP32 1x8x4x4 NHWC8"),
        layer("Reorder", "a FP32 1x8x4x4 NHWC8", "b FP32 1x8x4x4 NCHW"),
        layer("MVN", "b FP32 1x8x4x4 NCHW", "c FP32 1x8x4x4 NCHW"),
        layer("Reorder", "c FP32 1x8x4x4 NCHW", "d FP32 1x8x4x4 NHWC8"),
        layer("Convolution", "d FP32 1x8x4x4 NHWC8", "out FP32 1x8x4x4 NHWC8"),
    )
    assert codes(*layers) == ["PLAN109"]


def test_attention_that_onnx_runtime_did_not_fuse() -> None:
    layers = (
        layer("FusedMatMul", "q FP32 1x8x64, k FP32 1x64x8", "s FP32 1x8x8"),
        layer("Add", "s FP32 1x8x8, m FP32 1x8x8", "t FP32 1x8x8"),
        layer("Softmax", "t FP32 1x8x8", "p FP32 1x8x8"),
        layer("MatMul", "p FP32 1x8x8, v FP32 1x8x64", "out FP32 1x8x64"),
    )
    assert codes(*layers) == ["PLAN113"]


def test_a_float_island_in_an_int8_graph() -> None:
    layers = (
        layer("Convolution", "in INT8 1x8x4x4", "a INT8 1x8x4x4"),
        layer("Reorder", "a INT8 1x8x4x4", "b FP32 1x8x4x4"),
        layer("MVN", "b FP32 1x8x4x4", "c FP32 1x8x4x4"),
        layer("Reorder", "c FP32 1x8x4x4", "d INT8 1x8x4x4"),
        layer("Convolution", "d INT8 1x8x4x4", "e INT8 1x8x4x4"),
    )
    assert "PLAN117" in codes(*layers)
