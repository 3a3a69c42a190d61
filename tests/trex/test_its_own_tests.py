"""Counterparts of trex's tests, on its two test plans."""

from pathlib import Path

import pytest

from enginescope.analysis.plan_comparison.alignment import align
from enginescope.core.units import format_bytes
from enginescope.records.tensor import DataType
from tests.trex.examples import MOBILENET, RESIDUALS, Example, example, goldens


@pytest.fixture
def one(shared: Path) -> Example:
    return example(shared, MOBILENET)


def test_a_tensor(one) -> None:
    """TestActivation.test_initialization"""
    tensor = one.view.layers[0].inputs[0]
    assert (tensor.name, tensor.shape) == ("input1", (1, 3, 224, 224))
    assert (tensor.layout.name, tensor.dtype) == ("NCHW", DataType.FP32)
    assert (tensor.dtype.bits, tensor.nbytes) == (32, 602112)


def test_names_of_plans(shared) -> None:
    """test_compare: get_plans_names, which is the file's name; ours is without its role"""
    names = [example(shared, name).read.plan.name for name in (MOBILENET, RESIDUALS)]
    assert names == [MOBILENET, RESIDUALS]


def test_every_layer_is_paired_or_left_over(shared, one) -> None:
    """test_compare: match_layers, its list of 72 with 57 matched and 15 left over"""
    other = example(shared, RESIDUALS)
    golden = goldens(shared)["comparisons"][0]["exact=True"]
    found = align(one.read.plan, other.read.plan)
    matched = [pair for pair in golden["pairs"] if None not in pair]
    assert (len(golden["pairs"]), len(matched)) == (72, 57)
    rows = [layer.index for layer in one.view.layers], [layer.index for layer in other.view.layers]
    ours = {(pair.a[0], pair.b[0]) for pair in found.pairs if not pair.is_group}
    assert ours == {(rows[0][a], rows[1][b]) for a, b in matched}
    assert (len(found.only_a), len(found.only_b)) == (15, 0)


def test_columns(one) -> None:
    """test_df_preprocessing: change_col_order"""
    assert list(one.view.columns())[:7] == [
        "index",
        "Name",
        "type",
        "subtype",
        "precision",
        "output_precision",
        "tactic",
    ]
    # test_df_preprocessing: drop_columns
    assert "PoolingType" in one.view.columns()
    assert "PoolingType" not in one.view.columns("Convolution")
    assert "Kernel" in one.view.columns("Convolution")


def test_the_summary(one) -> None:
    """test_engine_plan: summary_dict"""
    found, totals = one.explored, one.view.totals
    (given,), (taken,) = found.inputs, found.outputs
    assert (given.name, given.shape, given.dtype) == ("input1", (1, 3, 224, 224), DataType.FP32)
    assert (taken.name, taken.shape, taken.dtype) == ("1179", (1, 1000), DataType.FP32)
    assert f"{one.view.total_ms:.3f} ms" == "0.470 ms"
    assert totals.active_layers == 72
    assert f"{totals.weights_bytes / 2**20:.1f}" == "3.3"
    assert f"{totals.activation_bytes / 2**20:.1f}" == "15.9"
    assert format_bytes(totals.weights_bytes).startswith("3.3")


def test_a_layer(one) -> None:
    """test_layer"""
    layer = one.view.find("QuantizeLinear_2")
    assert (layer.type, layer.subtype, layer.precision) == ("Reformat", "Reformat", DataType.FP32)
    assert [it.nbytes for it in (*layer.inputs, *layer.outputs)] == [602112, 150528]
    size = one.view.sizes[layer.index]
    assert (size.activation_bytes, size.weights_bytes, size.footprint_bytes) == (752640, 0, 752640)


def test_the_plan_as_it_is_read(one) -> None:
    """test_raw_preprocessing: unique names, deconvolutions apart, first layer, bindings"""
    plan = one.read.plan
    assert len({layer.index for layer in plan.layers}) == len(plan.layers)
    wrong = [it for it in plan.layers if it.type == "Convolution" and "Deconv" in str(it.subtype)]
    assert not wrong
    first = plan.layers[0]
    assert (first.attributes["Origin"], first.tactic_value) == ("QDQ", "0x0000000000000000")
    assert [it.tensor.name for it in plan.io] == ["input1", "1179"]
