import pytest

from enginescope.formats.plan import tensor_format
from enginescope.formats.plan.tensor_format import parse_joined, parse_layout, parse_split
from enginescope.records.tensor import DataType, Tensor

STRIDE, SPATIAL = "column stride % 32 == 0", "with 3 spatial dimensions"
VECTORS = "Thirty-two wide channel vectorized row major Int8 format"


@pytest.mark.parametrize(
    ("text", "dtype", "name", "width"),
    [
        ("Row major linear FP32", "FP32", "NCHW", None),
        ("Row major linear FP16 format", "FP16", "NCHW", None),
        ("Row major linear BFloat16 format", "BF16", "NCHW", None),
        ("Row major linear BOOL", "BOOL", "NCHW", None),
        ("Row major linear Int32", "INT32", "NCHW", None),
        ("Row major linear INT8 format", "INT8", "NCHW", None),
        ("Row major linear FP8 format.", "FP8", "NCHW", None),
        ("Row major linear FP32 format (kLINEAR)", "FP32", "NCHW", None),
        ("Row major Int8 format", "INT8", "NCHW", None),
        ("Channel major FP32 format", "FP32", "NHWC", None),
        ("Channel major FP16 format where channel % 8 == 0", "FP16", "NHWC8", 8),
        ("Channel major FP16 format where channel % 16 == 0", "FP16", "NHWC16", 16),
        (f"Channel major INT8 format where channel == 4 and {STRIDE}", "INT8", "NHWC4", 4),
        (f"Channel major FP16 format where channel % 8 == 0 {SPATIAL}", "FP16", "NDHWC8", 8),
        ("Two wide channel vectorized row major FP16 format", "FP16", "NC/2HW2", 2),
        ("Four wide channel vectorized row major Int8 format", "INT8", "NC/4HW4", 4),
        ("Sixteen wide channel vectorized row major FP16 format", "FP16", "NC/16HW16", 16),
        (VECTORS, "INT8", "NC/32HW32", 32),
        (f"{VECTORS} {SPATIAL}", "INT8", "NC/32DHW32", 32),
    ],
)
def test_joined_texts(text, dtype, name, width) -> None:
    found, layout = parse_joined(text)
    assert found is DataType(dtype)
    assert (layout.name, layout.vector_width, layout.text) == (name, width, text)
    assert layout.vector_axis == (1 if width else None)


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        *(("Half", "FP16"), ("Float", "FP32"), ("BFloat16", "BF16"), ("FP8", "FP8")),
        *(("FP8E4M3", "FP8"), ("Int4", "INT4"), ("FP4", "FP4"), ("FP4E2M1", "FP4")),
        *(("E8M0", "E8M0"), ("UInt8", "UINT8"), ("Bool", "BOOL")),
    ],
)
def test_types_of_generated_kernels_have_no_layout(text, dtype) -> None:
    assert parse_joined(text) == (DataType(dtype), None)


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        *(("tensor(float)", "FP32"), ("tensor(double)", "FP64"), ("tensor(bfloat16)", "BF16")),
        *(("tensor(string)", "STRING"), ("FLOAT8E4M3FN", "FP8"), ("DataType.HALF", "FP16")),
        *(("kINT64", "INT64"), ("<f4", "FP32"), ("int64", "INT64"), ("bool", "BOOL")),
        ("fp16", "FP16"),
    ],
)
def test_spellings_elsewhere(text, dtype) -> None:
    assert tensor_format.parse_dtype(text) is DataType(dtype)


@pytest.mark.parametrize("text", [None, "", "  ", "Unknown format", "something new", "INT3"])
def test_unknown_is_none_and_never_zero_bytes(text) -> None:
    dtype, layout = parse_joined(text)
    assert (dtype, layout) == (None, None)
    assert Tensor(name="x", shape=(1, 2), dtype=dtype, layout=layout).nbytes is None


def test_a_known_type_in_an_unknown_layout() -> None:
    assert parse_joined("Spiral FP16 arrangement") == (DataType.FP16, None)


def test_split_texts() -> None:
    dtype, layout = parse_split("kCHW32", "Int8")
    assert dtype is DataType.INT8
    assert (layout.name, layout.vector_width) == ("NC/32HW32", 32)
    assert parse_split("Row major linear FP16 format", None)[0] is DataType.FP16
    assert parse_split(None, "Half") == (DataType.FP16, None)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        *(("kLINEAR", "linear"), ("TensorFormat.HWC8", "NHWC8")),
        *(("kDLA_HWC4", "NHWC4"), ("kCDHW32", "NC/32DHW32")),
    ],
)
def test_enum_members(text, name) -> None:
    assert parse_layout(text).name == name


@pytest.mark.parametrize(
    "text",
    [
        *("kXYZ9", "Channel major FP16 format where channel % 0 == 0"),
        *("Nine wide channel vectorized row major Int8 format", "  ", "", None),
    ],
)
def test_layouts_that_are_not_known(text) -> None:
    assert parse_layout(text) is None


def test_padding_follows_the_vector() -> None:
    _, layout = parse_joined("Channel major FP16 format where channel % 8 == 0")
    tensor = Tensor(name="x", shape=(1, 3, 2, 2), dtype=DataType.FP16, layout=layout)
    assert (tensor.nbytes, tensor.padded_nbytes) == (24, 64)
