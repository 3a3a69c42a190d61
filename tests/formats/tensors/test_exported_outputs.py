"""``trtexec --exportOutput``: ours, and as trtexec prints it."""

import json
from typing import Any

import numpy as np
import pytest

from enginescope.compat.trtexec.log.outputs import output_json
from enginescope.core.errors import FormatError
from enginescope.formats.importing.artifact_kinds import ArtifactKind, kind_of
from enginescope.formats.lenient_json import read_json
from enginescope.formats.tensors.output_diff_file import foreign_differences, is_output_diff
from enginescope.formats.tensors.tensor_files import outputs_of
from enginescope.records.tensor import DataType
from tests.analysis.answers import tensor

TRTEXEC = b"""[
  { "name" : "scores"
  , "dimensions" : "1x3"
  , "values" : [ 0.5, nan, -2.25e-05 ]
  }
, { "name" : "best"
  , "dimensions" : ""
  , "values" : [ 7 ]
  }
]
"""


def read(data: bytes) -> Any:
    return outputs_of(read_json(data, "output.json"))


def test_what_trtexec_prints_is_read_by_name() -> None:
    assert kind_of(TRTEXEC, "x") is ArtifactKind.OUTPUTS
    (best, scores), notices = read(TRTEXEC)
    assert (best.name, best.dtype, best.shape, best.data.item()) == ("best", DataType.INT64, (), 7)
    assert (scores.dtype, scores.shape) == (DataType.FP32, (1, 3))
    assert scores.data[0, 0] == np.float32(0.5)
    assert np.isnan(scores.data[0, 1])
    assert {one.code for one in notices} == {"I-JSON-REPAIRED", "W-OUTPUTS-NOT-FINITE"}


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int64, np.int8, np.bool_])
def test_ours_comes_back_as_it_was(kind) -> None:
    values = np.array([[0, 1, 1], [0, 1, 0]]).astype(kind)
    dtype = {np.int8: DataType.INT8}.get(kind)
    (found,), notices = read(output_json([tensor(values, dtype=dtype)]))
    assert found.data.dtype == values.dtype
    np.testing.assert_array_equal(found.data, values)
    assert notices == ()


def test_ours_keeps_nan_and_infinities() -> None:
    values = np.array([1, np.nan, np.inf, -np.inf], np.float32)
    (found,), notices = read(output_json([tensor(values)]))
    np.testing.assert_array_equal(found.data, values)
    assert notices == ()


@pytest.mark.parametrize(
    ("record", "why"),
    [
        ({"dimensions": "2x2", "values": [1]}, "it has 1 values"),
        ({"dimensions": "ax2", "values": [1]}, "is not a shape"),
        ({"dimensions": "1", "values": ["a"]}, "not numbers"),
        ({"dimensions": "1", "values": [[1]]}, "not numbers"),
    ],
)
def test_what_contradicts_itself_is_refused(record, why) -> None:
    with pytest.raises(FormatError, match=why):
        read(json.dumps([{"name": "y", **record}]).encode())


@pytest.mark.parametrize(
    "value",
    [
        {"scores": {"mae": 0.1, "max_abs": 2}},
        {"num_samples": 10, "outputs": {"scores": {"mae": 0.1, "max_abs": 2, "dtype": "fp32"}}},
        {"aggregate": [{"name": "scores", "mae": 0.1, "max_abs": 2}]},
    ],
)
def test_other_tools_comparisons_are_known_by_their_figures(value) -> None:
    assert is_output_diff(value)
    (one,) = foreign_differences(value)
    assert one.output == "scores"
    assert dict(one.figures) == {"mae": 0.1, "max_abs": 2}


@pytest.mark.parametrize(
    "value", [{}, [], {"a": {"ms": 1.0}}, {"a": {"mae": "x"}}, 3, [{"mae": 1}]]
)
def test_other_json_is_no_comparison(value) -> None:
    assert not is_output_diff(value)
