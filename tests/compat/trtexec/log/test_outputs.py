import json

import numpy as np
import pytest

from enginescope.compat.trtexec.arguments import Version, read_arguments
from enginescope.compat.trtexec.files import raw_files
from enginescope.compat.trtexec.log.outputs import output_json, output_lines, raw_file_name
from enginescope.compat.trtexec.settings import settings_of
from enginescope.core.errors import UnsupportedError
from enginescope.records.run.run import TensorValues
from enginescope.records.tensor import DataType


def of(data, dtype: DataType, shape: tuple[int, ...], name: str = "y") -> TensorValues:
    return TensorValues(name=name, dtype=dtype, shape=shape, data=np.asarray(data))


def test_values_that_json_cannot_hold_are_null_with_their_places_beside() -> None:
    values = np.array([1.5, np.nan, np.inf, -np.inf, np.nan], dtype=np.float32)
    (record,) = json.loads(output_json([of(values, DataType.FP32, (1, 5))]))
    assert record == {
        "name": "y",
        "dimensions": "1x5",
        "type": "fp32",
        "values": [1.5, None, None, None, None],
        "nonFinite": {"nan": [1, 4], "inf": [2], "-inf": [3]},
    }


def test_scalars_booleans_and_halves() -> None:
    found = json.loads(
        output_json(
            [
                of(np.float32(2.5), DataType.FP32, ()),
                of([True, False], DataType.BOOL, (2,)),
                of(np.array([0.1], dtype=np.float16), DataType.FP16, (1,)),
            ]
        )
    )
    assert (found[0]["dimensions"], found[0]["values"], found[1]["values"]) == ("", [2.5], [1, 0])
    assert found[2]["values"] == [float(np.float16(0.1))]
    assert all("nonFinite" not in one for one in found)


def test_no_outputs_no_file() -> None:
    with pytest.raises(UnsupportedError, match="no outputs"):
        output_json([])


def test_integers_are_printed_whole() -> None:
    lines = output_lines([of(np.array([1234567, -1]), DataType.INT64, (2,))])
    assert [one.text for one in lines] == ["Output Tensors:", "y: (2)\n1234567 -1"]


def test_raw_files_are_named_as_trtexec_names_them() -> None:
    x = of(np.zeros((1, 2), np.float32), DataType.FP32, (1, 2), name="in/put:0")
    assert raw_file_name(x, "input") == "in_put_0.input.1.2.fp32.raw"
    y = of(np.array([3], np.int64), DataType.INT64, (1,))
    arguments = read_arguments(
        ["--onnx=m.onnx", "--dumpRawBindingsToFile"], Version(major=10, minor=0)
    )
    assert dict(raw_files(settings_of(arguments), lambda: (x,), (y,))) == {
        "in_put_0.input.1.2.fp32.raw": bytes(8),
        "y.output.1.int64.raw": (3).to_bytes(8, "little"),
    }
