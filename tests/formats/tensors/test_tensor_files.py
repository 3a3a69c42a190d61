import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from enginescope.compat.trtexec.log.outputs import output_json
from enginescope.core.errors import FormatError
from enginescope.formats.tensors import tensor_files
from enginescope.formats.tensors.tensor_files import load_data_set, load_tensor, tensor_of
from enginescope.records.run.run import TensorValues
from enginescope.records.run.sample_set import Sample
from enginescope.records.tensor import DataType

VALUES = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_npy_and_onnx(tmp_path) -> None:
    np.save(tmp_path / "a.npy", VALUES)
    np.testing.assert_array_equal(load_tensor(tmp_path / "a.npy"), VALUES)
    (tmp_path / "a.pb").write_bytes(numpy_helper.from_array(VALUES, "x").SerializeToString())
    np.testing.assert_array_equal(load_tensor(tmp_path / "a.pb"), VALUES)


def test_npz_by_name_or_alone(tmp_path) -> None:
    np.savez(tmp_path / "one.npz", x=VALUES)
    np.savez(tmp_path / "two.npz", x=VALUES, y=VALUES + 1)
    np.testing.assert_array_equal(load_tensor(tmp_path / "one.npz", name="other"), VALUES)
    np.testing.assert_array_equal(load_tensor(tmp_path / "two.npz", name="y"), VALUES + 1)
    with pytest.raises(FormatError, match="it holds x, y") as caught:
        load_tensor(tmp_path / "two.npz", name="z")
    assert caught.value.hint == "expected an array named z"


def test_an_npz_of_many_is_read_once(tmp_path) -> None:
    path, opened = tmp_path / "two.npz", {}
    np.savez(path, x=VALUES, y=VALUES + 1)
    np.testing.assert_array_equal(load_tensor(path, name="x", opened=opened), VALUES)
    path.unlink()
    np.testing.assert_array_equal(load_tensor(path, name="y", opened=opened), VALUES + 1)
    with pytest.raises(FormatError, match="it holds x, y"):
        load_tensor(path, name="z", opened=opened)


def test_raw_files_need_type_shape_and_size(tmp_path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(VALUES.tobytes())
    found = load_tensor(path, dtype=np.float32, shape=(3, 2))
    np.testing.assert_array_equal(found, VALUES.reshape(3, 2))
    assert found.flags.writeable
    path.write_bytes(b"12345")
    with pytest.raises(FormatError, match="it has 5 bytes") as caught:
        load_tensor(path, dtype=np.float16, shape=(3, 2))
    assert caught.value.hint == "expected 12 bytes: float16 in 3x2"
    path.write_bytes(b"1234")
    with pytest.raises(FormatError, match="neither type nor shape"):
        load_tensor(path, shape=(1,))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.npy", b"\x93NUMPY\x01\x00garbage"),
        ("a.npz", b"PK\x03\x04 no archive"),
        ("a.pb", b"\xff\xff\xff\xff"),
        ("a.pb", b""),
    ],
)
def test_damaged_files(tmp_path, name, content) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FormatError, match=name):
        load_tensor(tmp_path / name)


def test_pickles_are_not_read(tmp_path) -> None:
    np.save(tmp_path / "a.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(FormatError, match="NumPy cannot read it"):
        load_tensor(tmp_path / "a.npy")
    with pytest.raises(FormatError, match="No such file"):
        load_tensor(tmp_path / "b.npy")


def test_values_outside_the_file_are_not_followed(tmp_path) -> None:
    proto = helper.make_tensor("x", TensorProto.FLOAT, [1], [1.0])
    proto.ClearField("float_data")
    proto.data_location = TensorProto.EXTERNAL
    proto.external_data.add(key="location", value="/etc/hostname")
    (tmp_path / "a.pb").write_bytes(proto.SerializeToString())
    with pytest.raises(FormatError, match="another file"):
        load_tensor(tmp_path / "a.pb")


def proto(path, values, name: str = "") -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(numpy_helper.from_array(np.asarray(values), name).SerializeToString())


def test_data_sets_by_number_or_by_name(tmp_path) -> None:
    for number in range(11):
        proto(tmp_path / f"input_{number}.pb", np.float32(number))
    proto(tmp_path / "output_0.pb", np.float32(99))
    (tmp_path / "notes.txt").write_text("x")
    found = load_data_set(tmp_path, [f"in{number}" for number in range(11)])
    wanted = {f"in{number}": float(number) for number in range(11)}
    assert {name: float(value) for name, value in found.items()} == wanted
    assert load_data_set(tmp_path, ["y"], role="output")["y"] == 99


def test_names_in_the_files_go_first(tmp_path) -> None:
    proto(tmp_path / "input_0.pb", np.float32(1), "b")
    proto(tmp_path / "input_1.pb", np.float32(2), "a")
    found = load_data_set(tmp_path, ["a", "b"])
    assert (float(found["a"]), float(found["b"])) == (2.0, 1.0)


def test_a_data_set_of_too_many_files_or_none(tmp_path) -> None:
    for number in range(2):
        proto(tmp_path / f"input_{number}.pb", np.float32(1))
    with pytest.raises(FormatError, match="no further input"):
        load_data_set(tmp_path, ["a"])
    with pytest.raises(FormatError, match="No such file"):
        load_data_set(tmp_path / "nowhere", ["a"])


def test_shared_data_sets(shared) -> None:
    folder = shared / "models" / "mobilenet_v2_scores" / "test_data_set_0"
    (values,) = load_data_set(folder, ["whatever"]).values()
    assert values.dtype == np.float32


def test_tensors_come_back_in_order_with_what_numpy_has_no_type_for(tmp_path) -> None:
    bits = TensorValues(
        name="z/out:0", dtype=DataType.BF16, shape=(2,), data=np.array([1, 2], np.uint16)
    )
    texts = tensor_of("labels", np.array(["cat", "größe"], dtype=object))
    given = (bits, texts, tensor_of("a", np.float32(3)), tensor_of("../b", np.zeros((0, 2))))
    path = tensor_files.answer_file(tmp_path, 7)
    tensor_files.write_answers(path, given)
    assert path.name == "000007.npz"
    for before, after in zip(given, tensor_files.read_answers(path), strict=True):
        assert (before.name, before.dtype, before.shape) == (after.name, after.dtype, after.shape)
        np.testing.assert_array_equal(before.data, after.data)
    with np.load(path) as plain:  # by anybody
        assert plain["a"] == 3


def test_a_foreign_npz_is_read_by_numpys_types(tmp_path) -> None:
    np.savez(tmp_path / "x.npz", y=np.ones(2, np.float16))
    (found,) = tensor_files.read_answers(tmp_path / "x.npz")
    assert (found.name, found.dtype) == ("y", DataType.FP16)


def test_damaged_and_missing_files_are_named(tmp_path) -> None:
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04junk")
    for name in ("bad.npz", "gone.npz"):
        with pytest.raises(FormatError, match=name):
            tensor_files.read_answers(tmp_path / name)


def stored(folder, name: str, *outputs: str, index: int = 9):
    return tensor_files.stored_answers(folder, index, Sample(name=name), list(outputs))


def test_stored_outputs_are_found_by_name_then_by_number(tmp_path) -> None:
    with pytest.raises(FormatError, match=r"sample 3 \(cat.jpg\)"):
        stored(tmp_path, "cat.jpg", "y", index=3)
    path = tensor_files.answer_file(tmp_path, 3)
    tensor_files.write_answers(path, [tensor_of("y", np.float32(3))])
    assert stored(tmp_path, "cat.jpg", "y", index=3)[0].data == 3
    np.save(tmp_path / "cat.npy", np.float32(5))
    assert stored(tmp_path, "cat.jpg", "y", index=3)[0].data == 5


def test_stored_outputs_may_have_any_of_the_usual_forms(tmp_path) -> None:
    proto(tmp_path / "a.pb", np.float32(1))
    (one,) = stored(tmp_path, "a", "y")
    assert (one.name, one.data) == ("y", 1)
    proto(tmp_path / "set_1" / "output_0.pb", np.float32(2), "z")
    proto(tmp_path / "set_1" / "output_1.pb", np.float32(3), "y")
    found = stored(tmp_path, "set_1", "y", "z")
    assert {each.name: float(each.data) for each in found} == {"z": 2, "y": 3}
    proto(tmp_path / "b" / "y.pb", np.float32(5), "anything")
    np.save(tmp_path / "b" / "z.npy", np.float32(4))
    assert [float(each.data) for each in stored(tmp_path, "b.jpg", "y", "z")] == [5, 4]
    (tmp_path / "c.json").write_bytes(output_json([tensor_of("y", np.float32([6, 7]))]))
    assert stored(tmp_path, "c", "y")[0].data.tolist() == [6, 7]
    (tmp_path / "d.json").write_text('{"ms": 3}')
    with pytest.raises(FormatError, match="no outputs"):
        stored(tmp_path, "d", "y")
    assert len(stored(tmp_path / "set_1", "random 0", "y", "z", index=0)) == 2
    with pytest.raises(FormatError, match="sample 1"):
        stored(tmp_path / "set_1", "random 1", "y", "z", index=1)
