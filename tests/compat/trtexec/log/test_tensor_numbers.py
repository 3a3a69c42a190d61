import numpy as np
import pytest

from enginescope.compat.trtexec.log.outputs import numbers_of
from enginescope.records.run.run import TensorValues
from enginescope.records.tensor import DataType

ml_dtypes = pytest.importorskip("ml_dtypes")


def of(raw, dtype: DataType, count: int) -> np.ndarray:
    data = np.asarray(raw, dtype=np.uint8)
    return numbers_of(TensorValues(name="y", dtype=dtype, shape=(count,), data=data))


@pytest.mark.parametrize(
    ("dtype", "oracle"), [(DataType.FP8, "float8_e4m3fn"), (DataType.E8M0, "float8_e8m0fnu")]
)
def test_every_byte_means_what_the_reference_says(dtype, oracle) -> None:
    codes = np.arange(256, dtype=np.uint8)
    if not hasattr(ml_dtypes, oracle):
        pytest.skip(f"this ml_dtypes has no {oracle}")
    wanted = codes.view(getattr(ml_dtypes, oracle)).astype(np.float64)
    np.testing.assert_array_equal(of(codes, dtype, 256).astype(np.float64), wanted)


def test_bf16_is_the_upper_half_of_a_float() -> None:
    values = np.array([1.5, -2.0, 0.1], dtype=ml_dtypes.bfloat16)
    raw = values.view(np.uint8)
    np.testing.assert_array_equal(of(raw, DataType.BF16, 3), values.astype(np.float32))


def test_two_int4_lie_in_a_byte_low_half_first() -> None:
    assert of([0x81, 0x07], DataType.INT4, 3).tolist() == [1, -8, 7]


def test_fp4_has_eight_magnitudes() -> None:
    found = of([0x10, 0x32, 0x54, 0x76, 0x98], DataType.FP4, 10).tolist()
    assert found == [0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5]
