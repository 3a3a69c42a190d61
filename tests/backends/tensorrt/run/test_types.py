"""Element types and layouts that NumPy has not, as raw bytes."""

import numpy as np
import pytest

from enginescope.backends.base import InputSpec
from enginescope.backends.tensorrt.build.network import dtype_of
from enginescope.backends.tensorrt.cuda import Cuda
from enginescope.backends.tensorrt.run import engine
from enginescope.core.errors import UnsupportedError, UsageError
from enginescope.core.record import replace
from enginescope.records.run.job import InputFile, InputRange, Workload
from enginescope.records.tensor import DataType
from enginescope.runner.inputs.inputs import make_feeds
from tests.backends.tensorrt.driving import codes, expected, job, measure, opened, with_engine
from tests.fakes import models


def spec(dtype: DataType, shape: tuple[int | None, ...] = (2, 3)) -> InputSpec:
    return InputSpec(name="x", dtype=dtype, shape=shape, type_text=dtype.value)


def fed(one: InputSpec, **more):
    return make_feeds((one,), Workload(**more))


def file(tmp_path, array) -> tuple[InputFile, ...]:
    path = tmp_path / "x.npy"
    np.save(path, array)
    return (InputFile(name="x", path=str(path)),)


def test_int64_is_int64_where_the_version_has_it(each, tmp_path, engines) -> None:
    path = models.integers(tmp_path / "integers.onnx")
    one = with_engine(job(path), engines)
    found = measure(one)
    has = each.trt.__version__ >= "10" and not each.trt.__version__.startswith("8")
    assert found.inputs[0].dtype is (DataType.INT64 if has else DataType.INT32)
    (answer,) = found.answers
    assert answer.data.dtype == (np.int64 if has else np.int32)
    np.testing.assert_array_equal(answer.data, expected(path, one)[0])


@pytest.mark.parametrize(
    ("dtype", "raw"),
    [
        (DataType.BF16, np.array([[0x3F80, 0x4000, 0xC040], [0, 0x3E80, 0x42C8]], np.uint16)),
        (DataType.FP8, np.array([[0x38, 0xB8, 0x40], [0, 0x30, 0x7E]], np.uint8)),
        (DataType.INT4, np.array([0x21, 0x43, 0x65], np.uint8)),
    ],
)
def test_raw_bytes_go_to_the_device_and_come_back(use, dtype, raw) -> None:
    fake = use()
    cuda = Cuda(fake.cuda)
    made = engine.EngineTensor(name="x", is_input=True, dtype=dtype, shape=(2, 3), type_text="")
    buffer = engine.Buffer(cuda, made, (2, 3))
    assert buffer.nbytes == raw.nbytes
    buffer.fill(raw)
    stream = cuda.stream()
    cuda.check(buffer.copy(stream)(), "copying")
    cuda.wait(stream, "copying")
    back = replace(made, is_input=False)
    held = engine.Buffer(cuda, back, (2, 3), address=buffer.device)
    cuda.check(held.copy(stream)(), "copying")
    cuda.wait(stream, "copying")
    values = engine.values_of(back, (2, 3), held.host)
    assert values.dtype is dtype
    assert values.shape == (2, 3)
    assert values.data.dtype == np.uint8
    assert values.data.tobytes() == raw.tobytes()
    cuda.close()
    assert fake.device.memory.live() == ()


def test_random_bf16_and_fp8_lie_within_one() -> None:
    found = fed(spec(DataType.BF16, (50, 20)))
    assert found.arrays["x"].dtype == np.uint16
    values = (found.arrays["x"].astype(np.uint32) << 16).view(np.float32)  # its upper half
    assert (np.abs(values) <= 1).all()
    assert values.std() > 0.5
    raw = fed(spec(DataType.FP8, (50, 20))).arrays["x"]
    assert raw.dtype == np.uint8
    assert ((raw & 0x7F) <= 0x38).all()
    assert len(np.unique(raw)) > 50
    with pytest.raises((UnsupportedError, UsageError)):  # a range needs a type with numbers
        fed(spec(DataType.FP8), ranges=(InputRange(name="x", low=0, high=1),))


def test_four_bits_are_packed_two_to_a_byte() -> None:
    found = fed(spec(DataType.INT4, (5, 3)))
    assert found.arrays["x"].shape == (8,)
    assert found.arrays["x"].dtype == np.uint8
    assert found.shapes["x"] == (5, 3)
    assert found.batch == 5
    tensor = engine.EngineTensor(
        name="x", is_input=True, dtype=DataType.INT4, shape=(5, 3), type_text=""
    )
    assert tensor.nbytes((5, 3)) == 8
    found = fed(spec(DataType.INT4, (None, 3)), batch=4)
    assert found.shapes["x"] == (4, 3)
    assert found.batch == 4


@pytest.mark.parametrize(
    ("dtype", "raw"),
    [
        (DataType.INT4, np.arange(3, dtype=np.uint8)),
        (DataType.FP8, np.arange(6, dtype=np.uint8).reshape(2, 3)),
        (DataType.BF16, np.arange(6, dtype=np.uint16).reshape(2, 3)),
    ],
)
def test_raw_values_come_from_files(tmp_path, dtype, raw) -> None:
    found = fed(spec(dtype), files=file(tmp_path, raw))
    np.testing.assert_array_equal(found.arrays["x"], raw)
    assert found.shapes["x"] == (2, 3)
    plain = tmp_path / "x.bin"
    plain.write_bytes(raw.tobytes())
    again = fed(spec(dtype), files=(InputFile(name="x", path=str(plain)),))
    np.testing.assert_array_equal(again.arrays["x"], raw)


@pytest.mark.parametrize(
    ("dtype", "array", "words"),
    [
        (DataType.BF16, np.zeros((2, 3), np.float32), "float32.*uint16"),
        (DataType.FP8, np.zeros((2, 3), np.float16), "float16.*uint8"),
        (DataType.INT4, np.zeros((2, 3), np.int8), "int8.*uint8"),
        (DataType.INT4, np.zeros(4, np.uint8), "4 bytes.*3"),
        (DataType.BF16, np.zeros((3, 2), np.uint16), "2x3"),
    ],
)
def test_values_of_another_form_are_refused(tmp_path, dtype, array, words) -> None:
    with pytest.raises((UnsupportedError, UsageError), match=words):
        fed(spec(dtype), files=file(tmp_path, array))


def test_every_type_of_the_version_is_known(each) -> None:
    for name, member in each.trt.DataType.__members__.items():
        found = dtype_of(member)
        assert found is not None, name
        assert found.bits == 8 * member.itemsize, name


def test_a_layout_that_is_only_the_dlas_is_noticed(use, tmp_path, engines, monkeypatch) -> None:
    use()
    one = with_engine(job(models.image(tmp_path / "image.onnx")), engines)
    with opened(one) as session:
        session._tensors = tuple([replace(one, layout="DLA_HWC4") for one in session._tensors])
        (notice,) = session.notices()
        assert notice.code == "W-RAW-LAYOUT"
        assert set(notice.evidence) == {"x", "y"}


def test_values_are_put_into_the_layout_of_the_engine(use, tmp_path, engines) -> None:
    use()
    path = models.image(tmp_path / "image.onnx")
    for layout in ("chw2", "chw4", "chw16", "chw32", "hwc", "hwc8", "hwc16"):
        formats = {"input_formats": f"fp32:{layout}", "output_formats": f"fp32:{layout}"}
        one = with_engine(job(path, **formats), engines)
        found = measure(one)
        assert found.inputs[0].shape == (1, 5, 2, 3)
        np.testing.assert_allclose(found.answers[0].data, expected(path, one)[0], rtol=1e-6)
        assert "W-RAW-LAYOUT" not in codes(found), layout


# memory layouts against their definition, element by element

SHAPE = (2, 5, 3, 4)
VALUES = np.arange(np.prod(SHAPE), dtype=np.float32).reshape(SHAPE) + 1
DEEP = np.arange(2 * 5 * 2 * 3 * 2, dtype=np.float32).reshape(2, 5, 2, 3, 2) + 1


def test_channels_last_and_in_vectors() -> None:
    for layout, width in (("HWC", 5), ("HWC8", 8), ("HWC16", 16)):
        memory = engine.to_memory(VALUES, layout).ravel()
        assert memory.size == 2 * 3 * 4 * width
        for n, c, h, w in np.ndindex(SHAPE):
            assert memory[((n * 3 + h) * 4 + w) * width + c] == VALUES[n, c, h, w], layout
        assert memory.sum() == VALUES.sum()  # padding is zero
    for width in (2, 4, 16, 32):
        memory = engine.to_memory(VALUES, f"CHW{width}").ravel()
        groups = -(-5 // width)
        assert memory.size == 2 * groups * 3 * 4 * width
        for n, c, h, w in np.ndindex(SHAPE):
            group, place = divmod(c, width)
            at = (((n * groups + group) * 3 + h) * 4 + w) * width + place
            assert memory[at] == VALUES[n, c, h, w], width
        assert memory.sum() == VALUES.sum()


def test_a_volume_has_its_channels_before_the_depth() -> None:
    memory = engine.to_memory(DEEP, "DHWC8").ravel()
    vectors = engine.to_memory(DEEP, "CDHW32").ravel()
    for n, c, d, h, w in np.ndindex(DEEP.shape):
        place = ((n * 2 + d) * 3 + h) * 2 + w
        assert memory[place * 8 + c] == DEEP[n, c, d, h, w]
        assert vectors[place * 32 + c] == DEEP[n, c, d, h, w]


def test_layouts_there_and_back() -> None:
    for layout in ("LINEAR", "HWC", "HWC8", "HWC16", "CHW2", "CHW4", "CHW16", "CHW32"):
        assert engine.is_known(layout)
        again = engine.from_memory(engine.to_memory(VALUES, layout).ravel(), SHAPE, layout)
        np.testing.assert_array_equal(again, VALUES)
    for layout in ("DHWC", "DHWC8", "CDHW32"):
        again = engine.from_memory(engine.to_memory(DEEP, layout).ravel(), DEEP.shape, layout)
        np.testing.assert_array_equal(again, DEEP)
    assert not engine.is_known("DLA_HWC4")
    assert engine.to_memory(VALUES, "DLA_HWC4") is VALUES
