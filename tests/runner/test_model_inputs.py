"""Sizes of named dimensions and of indexed tables, from a model's file into a workload."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from enginescope.backends.base import InputSpec
from enginescope.core.errors import UsageError
from enginescope.records.run import job
from enginescope.records.tensor import DataType
from enginescope.runner.inputs.inputs import make_feeds
from enginescope.runner.model_inputs import settled_workload
from tests.fakes.models import save, value

INT64 = TensorProto.INT64


def encoder(path: Path, table: tuple[int, int] = (50, 4), axis: int = 0) -> Path:
    """Two inputs of ids, `ids` through a cast and a reshape, and a mask; dimensions have names."""
    nodes = [
        helper.make_node("Cast", ["ids"], ["wide"], to=INT64),
        helper.make_node("Unsqueeze", ["wide", "axes"], ["wider"]),
        helper.make_node("Gather", ["words", "wider"], ["a"], axis=axis),
        helper.make_node("Identity", ["kinds"], ["kinds_too"]),
        helper.make_node("Gather", ["kinds_too", "types"], ["b"]),
        helper.make_node("Gather", ["words", "types"], ["c"], axis=axis),
    ]
    inputs = [
        value("ids", ["batch", "seq"], TensorProto.INT32),
        value("types", ["batch", "seq"], INT64),
        value("mask", ["batch", "seq"]),
    ]
    outputs = [value(name, None, TensorProto.FLOAT) for name in "abc"]
    weights = {
        "words": np.zeros(table, np.float32),
        "kinds": np.zeros((2, 4), np.float32),
        "axes": np.array([0], np.int64),
    }
    return save(path, nodes, inputs, outputs, **weights)


def dims(**sizes: int) -> tuple[job.DimSize, ...]:
    return tuple(job.DimSize(name=name, size=size) for name, size in sizes.items())


def spec(name: str, dtype: DataType, *shape: Any) -> InputSpec:
    return InputSpec(name=name, dtype=dtype, shape=shape, type_text="tensor")


SPECS = (
    spec("ids", DataType.INT32, "batch", "seq"),
    spec("types", DataType.INT64, "batch", "seq"),
    spec("mask", DataType.FP32, "batch", "seq"),
)


def test_a_named_dimension_is_set_once_and_one_notice_names_all(tmp_path) -> None:
    found = settled_workload(
        [encoder(tmp_path / "net.onnx")], job.Workload(dims=dims(batch=2, seq=7))
    )
    assert {one.name: one.dims for one in found.shapes} == dict.fromkeys(
        ("ids", "types", "mask"), (2, 7)
    )
    feeds = make_feeds(SPECS, found)
    assert {one.shape for one in feeds.arrays.values()} == {(2, 7)}
    assert not any("SHAPE" in one.code for one in feeds.notices)
    (notice,) = make_feeds((*SPECS, spec("x", DataType.FP32, 1, None)), job.Workload()).notices
    assert notice.code == "W-DYNAMIC-SHAPE"
    assert "batch, seq, axis 1 (`ids` 1x1, `types` 1x1, `mask` 1x1, `x` 1x1)" in notice.message
    assert "--dim batch=SIZE --dim seq=SIZE --shape x:DIMS" in notice.message


def test_a_dimension_that_is_left_open_is_one_and_is_said_once(tmp_path) -> None:
    model = encoder(tmp_path / "net.onnx")
    found = settled_workload([model], job.Workload(dims=dims(seq=7)))
    assert found.open_dims[0] == job.OpenDims(input="ids", names=("batch",), axes=(0,))
    (notice,) = (one for one in make_feeds(SPECS, found).notices if "SHAPE" in one.code)
    assert notice.code == "I-DYNAMIC-SHAPE"
    assert notice.message == (
        "using size 1 for the dynamic dimension batch (`ids` 1x7, `types` 1x7, `mask` 1x7); "
        "to set a size: --dim batch=SIZE"
    )
    with_batch = settled_workload([model], job.Workload(dims=dims(seq=7), batch=3))
    assert {one.dims for one in with_batch.shapes} == {(3, 7)}
    assert with_batch.open_dims == ()


def test_a_shape_counts_more_than_a_dimension_and_an_unknown_one_is_refused(tmp_path) -> None:
    model = encoder(tmp_path / "net.onnx")
    asked = job.Workload(
        dims=dims(batch=1, seq=7), shapes=(job.InputShape(name="ids", dims=(4, 9)),)
    )
    assert {one.name: one.dims for one in settled_workload([model], asked).shapes}["ids"] == (4, 9)
    with pytest.raises(UsageError) as caught:
        settled_workload([model], job.Workload(dims=dims(sequ=7)))
    assert "dimension sequ=7" in str(caught.value)
    assert "batch, seq" in str(caught.value)
    assert "seq" in (caught.value.hint or "")
    engine = tmp_path / "net.engine"
    engine.write_bytes(b"")
    with pytest.raises(UsageError, match="does not name a dynamic dimension"):
        settled_workload([engine], job.Workload(dims=dims(seq=7)))


def test_ids_stay_within_the_smallest_table_that_they_index(tmp_path) -> None:
    found = settled_workload(
        [encoder(tmp_path / "net.onnx")], job.Workload(dims=dims(batch=64, seq=64))
    )
    feeds = make_feeds(SPECS, found)
    assert set(np.unique(feeds.arrays["ids"])) == set(range(50))
    assert set(np.unique(feeds.arrays["types"])) == {0, 1}
    assert feeds.random_integers == ()
    (notice,) = (one for one in feeds.notices if one.code == "I-INDEX-RANGE")
    assert "ids 0 … 49, types 0 … 1" in notice.message
    found = settled_workload([encoder(tmp_path / "net.onnx", (4, 30), axis=1)], job.Workload())
    assert {one.name: one.high for one in found.ranges} == {"ids": 29, "types": 1}


def test_a_range_or_a_file_of_the_user_counts_more(tmp_path) -> None:
    model = encoder(tmp_path / "net.onnx")
    asked = job.Workload(
        ranges=(job.InputRange(name="ids", low=3, high=5),),
        files=(job.InputFile(name="types", path="types.npy"),),
    )
    found = settled_workload([model], asked)
    assert found.ranges == asked.ranges
    assert found.index_inputs == ()
    assert settled_workload([model], settled_workload([model], job.Workload())).index_inputs == (
        "ids",
        "types",
    )
