import numpy as np
import pytest
from onnx import numpy_helper

from enginescope.backends.base import InputSpec
from enginescope.core.errors import UnsupportedError, UsageError
from enginescope.records.run.job import InputFile, InputRange, InputShape, Workload
from enginescope.records.tensor import DataType
from enginescope.runner.inputs.inputs import make_feeds, random_array

IMAGE = InputSpec(
    name="image", dtype=DataType.FP32, shape=("batch", 3, 8, 8), type_text="tensor(float)"
)
ZEROS = np.zeros((1, 3, 8, 8), np.float32)
IDS = InputSpec(name="ids", dtype=DataType.INT64, shape=("batch", "n"), type_text="tensor(int64)")


def spec(dtype: DataType | None, *shape: int, name: str = "x") -> InputSpec:
    return InputSpec(name=name, dtype=dtype, shape=shape, type_text=str(dtype))


@pytest.mark.parametrize(
    ("names", "low", "high"),
    [("FP32 FP16 FP64", -1, 1), ("INT64 INT32 INT8", -128, 127), ("UINT8", 0, 255), ("BOOL", 0, 1)],
)
def test_random_values_fill_trtexecs_ranges(names, low, high) -> None:
    margin = 0.02 * (high - low)
    for name in names.split():
        values = random_array(spec(DataType[name], 20_000), (20_000,), 0, None).astype(np.float64)
        assert low <= values.min() <= low + margin
        assert high - margin <= values.max() <= high


def test_the_seed_and_the_name_decide_random_values() -> None:
    first = make_feeds((IMAGE, IDS), Workload(seed=7)).arrays
    again = make_feeds((IDS, IMAGE), Workload(seed=7)).arrays
    other = make_feeds((IMAGE, IDS), Workload(seed=8)).arrays
    np.testing.assert_array_equal(first["image"], again["image"])
    assert not np.array_equal(first["image"], other["image"])
    twin = InputSpec(name="twin", dtype=IMAGE.dtype, shape=IMAGE.shape, type_text=IMAGE.type_text)
    arrays = make_feeds((IMAGE, twin), Workload()).arrays
    assert not np.array_equal(arrays["image"], arrays["twin"])
    bits = random_array(spec(DataType.BF16, 1000), (1000,), 0, None)
    assert bits.dtype == np.uint16
    values = (bits.astype(np.uint32) << 16).view(np.float32)
    assert -1 <= values.min() < -0.9
    assert 0.9 < values.max() <= 1
    assert random_array(spec(DataType.STRING, 2), (2,), 0, None).tolist() == ["enginescope"] * 2


def test_ranges_hold_their_bounds_and_unbounded_integers_are_named() -> None:
    workload = Workload(
        shapes=(InputShape(name="ids", dims=(1, 5000)),),
        ranges=(InputRange(name="ids", low=3, high=9),),
    )
    feeds = make_feeds((IDS,), workload)
    assert set(np.unique(feeds.arrays["ids"])) == set(range(3, 10))
    assert feeds.random_integers == ()
    bounds = InputRange(name="x", low=5, high=6)
    values = random_array(spec(DataType.FP32, 100), (100,), 0, bounds)
    assert values.dtype == np.float32
    assert 5 <= values.min() <= values.max() <= 6
    assert make_feeds((IMAGE, IDS), Workload()).random_integers == ("ids",)


def test_dimensions_are_given_filled_by_the_batch_or_become_one() -> None:
    feeds = make_feeds((IMAGE,), Workload())
    assert feeds.arrays["image"].shape == (1, 3, 8, 8)
    (notice,) = feeds.notices
    assert (notice.code, notice.level) == ("I-DYNAMIC-SHAPE", "info")
    assert notice.evidence == {"dimensions": ["batch"], "shapes": {"image": [1, 3, 8, 8]}}
    (notice,) = make_feeds((IDS,), Workload()).notices
    assert (notice.code, notice.level) == ("W-DYNAMIC-SHAPE", "warning")
    assert notice.evidence["dimensions"] == ["batch", "n"]
    feeds = make_feeds((IMAGE,), Workload(batch=4))
    assert feeds.arrays["image"].shape == (4, 3, 8, 8)
    assert feeds.batch == 4
    assert feeds.notices == ()
    assert make_feeds((spec(DataType.FP32, 32, 3),), Workload()).batch == 32
    assert make_feeds((spec(DataType.FP32, 6),), Workload()).batch == 1
    workload = Workload(shapes=(InputShape(name="image", dims=(2, 3, 8, 8)),))
    assert make_feeds((IMAGE,), workload).arrays["image"].shape == (2, 3, 8, 8)


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        (Workload(shapes=(InputShape(name="imag", dims=(1,)),)), "no input called 'imag'"),
        (Workload(shapes=(InputShape(name="image", dims=(1, 3)),)), "the model expects batch"),
        (Workload(ranges=(InputRange(name="x", low=0, high=1),)), "no input called 'x'"),
        (Workload(files=(InputFile(name="y", path="y.npy"),)), "no input called 'y'"),
    ],
)
def test_what_does_not_fit_is_refused(workload, message) -> None:
    with pytest.raises(UsageError, match=message):
        make_feeds((IMAGE,), workload)


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        (Workload(batch=4), "a fixed batch of 2 .input `image`"),
        (Workload(shapes=(InputShape(name="image", dims=(2, 5)),)), "fixed dimensions: 2x3"),
    ],
)
def test_a_model_with_fixed_dimensions_does_not_support_others(workload, message) -> None:
    with pytest.raises(UnsupportedError, match=message) as refused:
        make_feeds((spec(DataType.FP32, 2, 3, name="image"),), workload)
    assert "dynamic" in (refused.value.hint or "")


def test_types_and_files_that_do_not_fit_are_refused(tmp_path) -> None:
    with pytest.raises(UnsupportedError, match="cannot be filled at random"):
        make_feeds((spec(None, 1),), Workload())
    files = image_file(tmp_path, np.zeros((1, 3, 8, 8)))
    with pytest.raises(UsageError, match="float64, the model expects float32"):
        make_feeds((IMAGE,), Workload(files=files))
    shapes = (InputShape(name="image", dims=(2, 3, 8, 8)),)
    with pytest.raises(UsageError, match="its file holds 1x3x8x8"):
        make_feeds((IMAGE,), Workload(shapes=shapes, files=image_file(tmp_path)))
    ranges = (InputRange(name="image", low=0, high=1),)
    with pytest.raises(UsageError, match="a range and a file"):
        make_feeds((IMAGE,), Workload(ranges=ranges, files=image_file(tmp_path)))


def test_files_and_data_sets_are_used_and_said(tmp_path) -> None:
    values = np.arange(192, dtype=np.float32).reshape(1, 3, 8, 8)
    feeds = make_feeds((IMAGE,), Workload(files=image_file(tmp_path, values)))
    np.testing.assert_array_equal(feeds.arrays["image"], values)
    assert feeds.notices == ()
    values = np.full((1, 3, 8, 8), 0.25, np.float32)
    write_data_set(tmp_path / "test_data_set_0", values)
    feeds = make_feeds((IMAGE,), Workload(data_set=str(tmp_path / "test_data_set_0")))
    np.testing.assert_array_equal(feeds.arrays["image"], values)
    assert [one.code for one in feeds.notices] == ["I-DATA-SET"]
    write_data_set(tmp_path / "test_data_set_1", ZEROS)
    workload = Workload(data_set=str(tmp_path / "test_data_set_1"), batch=5)
    assert make_feeds((IMAGE,), workload).arrays["image"].shape == (5, 3, 8, 8)


def write_data_set(folder, values) -> None:
    folder.mkdir()
    tensor = numpy_helper.from_array(values, "image")
    (folder / "input_0.pb").write_bytes(tensor.SerializeToString())


def test_bounds_that_the_type_cannot_hold_or_just_holds() -> None:
    for name, high in (
        ("UINT8", 300),
        ("INT64", 2**63),
        ("FP16", 70_000),
        ("FP32", 10**400),
        ("BF16", 10**39),
        ("BOOL", 2),
        ("STRING", 1),
    ):
        bounds = InputRange(name="x", low=0, high=high)
        with pytest.raises(UsageError, match="for input x"):
            random_array(spec(DataType[name], 4), (4,), 0, bounds)
    bounds = InputRange(name="x", low=1, high=1)
    for dtype in (DataType.UINT8, DataType.INT64, DataType.FP64, DataType.BOOL):
        assert set(random_array(spec(dtype, 4), (4,), 0, bounds).tolist()) == {1}


#: The largest finite value, as bits 0x7F7F.
LARGEST_BF16 = (2**8 - 1) << 120


def test_bfloat16_takes_bounds_up_to_its_largest_value() -> None:
    bounds = InputRange(name="x", low=-LARGEST_BF16, high=LARGEST_BF16)
    bits = random_array(spec(DataType.BF16, 100), (100,), 0, bounds)
    assert np.isfinite((bits.astype(np.uint32) << 16).view(np.float32)).all()
    for low, high in ((0, LARGEST_BF16 + 1), (-LARGEST_BF16 - 1, 0)):
        with pytest.raises(UsageError, match="holds no such values"):
            random_array(spec(DataType.BF16, 4), (4,), 0, InputRange(name="x", low=low, high=high))
    bounds = InputRange(name="x", low=5, high=6)
    bits = random_array(spec(DataType.BF16, 100), (100,), 0, bounds)
    values = (bits.astype(np.uint32) << 16).view(np.float32)
    assert 5 <= values.min() <= values.max() <= 6


def image_file(tmp_path, values=ZEROS) -> tuple[InputFile, ...]:
    np.save(tmp_path / "image.npy", values)
    return (InputFile(name="image", path=str(tmp_path / "image.npy")),)


def test_a_batch_that_is_not_fed_is_refused_and_one_that_is_fed_may_be_named(tmp_path) -> None:
    workload = Workload(batch=8, files=image_file(tmp_path))
    with pytest.raises(UsageError, match="batch 8: input image is fed 1x3x8x8"):
        make_feeds((IMAGE,), workload)
    workload = Workload(batch=8, shapes=(InputShape(name="image", dims=(2, 3, 8, 8)),))
    with pytest.raises(UsageError, match="batch 8: input image is fed 2x3x8x8"):
        make_feeds((IMAGE,), workload)
    scale = spec(DataType.FP32, 2, name="scale")
    files = image_file(tmp_path, np.repeat(ZEROS, 8, axis=0))
    workload = Workload(batch=8, files=files, shapes=(InputShape(name="scale", dims=(2,)),))
    assert make_feeds((IMAGE, scale), workload).batch == 8


def test_a_data_set_is_fed_in_the_type_of_the_input_or_refused(tmp_path) -> None:
    folder = tmp_path / "test_data_set_0"
    write_data_set(folder, np.arange(6).reshape(2, 3))
    feeds = make_feeds((spec(DataType.INT32, 2, 3, name="image"),), Workload(data_set=str(folder)))
    assert feeds.arrays["image"].dtype == np.int32
    np.testing.assert_array_equal(feeds.arrays["image"], np.arange(6).reshape(2, 3))
    single = spec(DataType.FP16, 2, 3, name="image")
    with pytest.raises(UsageError, match="another kind"):
        make_feeds((single,), Workload(data_set=str(folder)))
    folder = tmp_path / "test_data_set_1"
    write_data_set(folder, np.full((2, 3), 2**40))
    with pytest.raises(UsageError, match="do not fit"):
        make_feeds((spec(DataType.INT32, 2, 3, name="image"),), Workload(data_set=str(folder)))
