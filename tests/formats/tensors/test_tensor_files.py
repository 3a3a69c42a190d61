import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from enginescope.core.errors import FormatError
from enginescope.formats.tensors.tensor_files import load_data_set, load_tensor

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


def test_missing_file(tmp_path) -> None:
    with pytest.raises(FormatError, match="No such file"):
        load_tensor(tmp_path / "a.npy")


def test_values_outside_the_file_are_not_followed(tmp_path) -> None:
    proto = helper.make_tensor("x", TensorProto.FLOAT, [1], [1.0])
    proto.ClearField("float_data")
    proto.data_location = TensorProto.EXTERNAL
    proto.external_data.add(key="location", value="/etc/hostname")
    (tmp_path / "a.pb").write_bytes(proto.SerializeToString())
    with pytest.raises(FormatError, match="another file"):
        load_tensor(tmp_path / "a.pb")


def write(folder, file: str, values, name: str = "") -> None:
    (folder / file).write_bytes(numpy_helper.from_array(values, name).SerializeToString())


def test_data_sets_by_number_or_by_name(tmp_path) -> None:
    for number in range(11):
        write(tmp_path, f"input_{number}.pb", np.float32(number))
    write(tmp_path, "output_0.pb", np.float32(99))
    (tmp_path / "notes.txt").write_text("x")
    found = load_data_set(tmp_path, [f"in{number}" for number in range(11)])
    assert {name: float(value) for name, value in found.items()} == {
        f"in{number}": float(number) for number in range(11)
    }
    assert load_data_set(tmp_path, ["y"], role="output")["y"] == 99


def test_names_in_the_files_go_first(tmp_path) -> None:
    write(tmp_path, "input_0.pb", np.float32(1), "b")
    write(tmp_path, "input_1.pb", np.float32(2), "a")
    found = load_data_set(tmp_path, ["a", "b"])
    assert (float(found["a"]), float(found["b"])) == (2.0, 1.0)


def test_a_file_too_many(tmp_path) -> None:
    for number in range(2):
        write(tmp_path, f"input_{number}.pb", np.float32(1))
    with pytest.raises(FormatError, match="no further input"):
        load_data_set(tmp_path, ["a"])


def test_no_such_data_set(tmp_path) -> None:
    with pytest.raises(FormatError, match="No such file"):
        load_data_set(tmp_path / "nowhere", ["a"])


def test_shared_data_sets(shared) -> None:
    folder = shared / "models" / "mobilenet_v2_scores" / "test_data_set_0"
    (values,) = load_data_set(folder, ["whatever"]).values()
    assert values.dtype == np.float32
