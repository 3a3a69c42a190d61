import numpy as np
import pytest
from onnx import numpy_helper

from enginescope.compat.trtexec.log.outputs import output_json
from enginescope.core.errors import FormatError
from enginescope.formats.tensors.tensor_files import (
    answer_file,
    read_answers,
    stored_answers,
    tensor_of,
    write_answers,
)
from enginescope.records.run.run import TensorValues
from enginescope.records.run.sample_set import Sample
from enginescope.records.tensor import DataType


def test_tensors_come_back_in_order_with_what_numpy_has_no_type_for(tmp_path) -> None:
    bits = TensorValues(
        name="z/out:0", dtype=DataType.BF16, shape=(2,), data=np.array([1, 2], np.uint16)
    )
    texts = tensor_of("labels", np.array(["cat", "größe"], dtype=object))
    given = (bits, texts, tensor_of("a", np.float32(3)), tensor_of("../b", np.zeros((0, 2))))
    path = answer_file(tmp_path, 7)
    write_answers(path, given)
    assert path.name == "000007.npz"
    for before, after in zip(given, read_answers(path), strict=True):
        assert (before.name, before.dtype, before.shape) == (after.name, after.dtype, after.shape)
        np.testing.assert_array_equal(before.data, after.data)
    with np.load(path) as plain:  # by anybody
        assert plain["a"] == 3


def test_a_foreign_npz_is_read_by_numpys_types(tmp_path) -> None:
    np.savez(tmp_path / "x.npz", y=np.ones(2, np.float16))
    (found,) = read_answers(tmp_path / "x.npz")
    assert (found.name, found.dtype) == ("y", DataType.FP16)


def test_damaged_and_missing_files_are_named(tmp_path) -> None:
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04junk")
    for name in ("bad.npz", "gone.npz"):
        with pytest.raises(FormatError, match=name):
            read_answers(tmp_path / name)


def test_stored_outputs_are_found_by_name_then_by_number(tmp_path) -> None:
    sample = Sample(name="cat.jpg")
    with pytest.raises(FormatError, match=r"sample 3 \(cat.jpg\)"):
        stored_answers(tmp_path, 3, sample, ["y"])
    write_answers(answer_file(tmp_path, 3), [tensor_of("y", np.float32(3))])
    assert stored_answers(tmp_path, 3, sample, ["y"])[0].data == 3
    np.save(tmp_path / "cat.npy", np.float32(5))
    assert stored_answers(tmp_path, 3, sample, ["y"])[0].data == 5


def proto(path, name, values) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(numpy_helper.from_array(np.asarray(values), name).SerializeToString())


def test_stored_outputs_may_have_any_of_the_usual_forms(tmp_path) -> None:
    proto(tmp_path / "a.pb", "", np.float32(1))
    (one,) = stored_answers(tmp_path, 9, Sample(name="a"), ["y"])
    assert (one.name, one.data) == ("y", 1)
    proto(tmp_path / "set_1" / "output_0.pb", "z", np.float32(2))
    proto(tmp_path / "set_1" / "output_1.pb", "y", np.float32(3))
    found = stored_answers(tmp_path, 9, Sample(name="set_1"), ["y", "z"])
    assert {each.name: float(each.data) for each in found} == {"z": 2, "y": 3}
    (tmp_path / "b").mkdir()
    np.save(tmp_path / "b" / "z.npy", np.float32(4))
    proto(tmp_path / "b" / "y.pb", "anything", np.float32(5))
    found = stored_answers(tmp_path, 9, Sample(name="b.jpg"), ["y", "z"])
    assert [float(each.data) for each in found] == [5, 4]
    (tmp_path / "c.json").write_bytes(output_json([tensor_of("y", np.float32([6, 7]))]))
    assert stored_answers(tmp_path, 9, Sample(name="c"), ["y"])[0].data.tolist() == [6, 7]
    (tmp_path / "d.json").write_text('{"ms": 3}')
    with pytest.raises(FormatError, match="no outputs"):
        stored_answers(tmp_path, 9, Sample(name="d"), ["y"])
    only = tmp_path / "set_1"
    assert len(stored_answers(only, 0, Sample(name="random 0"), ["y", "z"])) == 2
    with pytest.raises(FormatError, match="sample 1"):
        stored_answers(only, 1, Sample(name="random 1"), ["y", "z"])
