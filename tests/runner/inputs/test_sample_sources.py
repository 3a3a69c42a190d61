import hashlib
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from enginescope.core.errors import FormatError, UsageError
from enginescope.records.run.job import InputShape
from enginescope.runner.inputs.sample_feeds import data_sets_beside, random_samples, samples_in
from enginescope.runner.inputs.sample_models import SAMPLES, sample_models


def test_a_folder_of_arrays_is_a_sample_a_file_and_files_name_inputs(tmp_path) -> None:
    for name in ("a10.npy", "a9.npy", "notes.txt", ".hidden"):
        np.save(tmp_path / "x.npy", np.zeros(1))
        (tmp_path / "x.npy").rename(tmp_path / name)
    found = samples_in([tmp_path])
    assert [one.name for one in found.samples] == ["a9.npy", "a10.npy"]
    assert found.samples[0].files[0].input is None
    assert found.skipped == ("notes.txt",)
    np.savez(tmp_path / "one.npz", ids=np.zeros(1), mask=np.ones(1))
    (sample,) = samples_in([tmp_path / "one.npz"]).samples
    assert [one.input for one in sample.files] == ["ids", "mask"]
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "cat.JPG").touch()
    (sample,) = samples_in([tmp_path / "pictures"], image_input="pixels").samples
    assert sample.images[0].input == "pixels"


def test_a_folder_a_sample_names_inputs_by_its_files(tmp_path) -> None:
    folder = tmp_path / "first"
    folder.mkdir()
    np.save(folder / "ids.npy", np.zeros(1))
    (tmp_path / "empty").mkdir()
    found = samples_in([tmp_path])
    assert found.samples[0].files[0].input == "ids"
    assert found.skipped == ("empty",)


def test_data_sets_and_folders_of_them_are_samples(tmp_path) -> None:
    for number in (0, 10, 2):
        folder = tmp_path / f"test_data_set_{number}"
        folder.mkdir()
        (folder / "input_0.pb").touch()
    names = ["test_data_set_0", "test_data_set_2", "test_data_set_10"]
    assert [one.name for one in samples_in([tmp_path]).samples] == names
    assert [one.name for one in data_sets_beside(tmp_path / "model.onnx")] == names
    (alone,) = samples_in([tmp_path / names[1]]).samples
    assert Path(alone.data_set or "").name == names[1]


def test_what_holds_no_sample_is_named(tmp_path) -> None:
    with pytest.raises(UsageError, match="nothing in it is a sample"):
        samples_in([tmp_path])
    with pytest.raises(UsageError, match="no such file"):
        samples_in([tmp_path / "gone"])
    (tmp_path / "bad.npz").write_bytes(b"PK junk")
    with pytest.raises(FormatError, match=r"bad\.npz"):
        samples_in([tmp_path])


def test_an_input_named_again_makes_another_set_of_shapes() -> None:
    shapes = [
        InputShape(name="ids", dims=(1, 8)),
        InputShape(name="mask", dims=(1, 8)),
        InputShape(name="ids", dims=(1, 16)),
        InputShape(name="mask", dims=(1, 16)),
        InputShape(name="fixed", dims=(3,)),
    ]
    samples, common = random_samples(2, 5, shapes)
    assert common == (shapes[4],)
    assert [[one.dims for one in sample.shapes] for sample in samples] == [
        [(1, 8), (1, 8)],
        [(1, 8), (1, 8)],
        [(1, 16), (1, 16)],
        [(1, 16), (1, 16)],
    ]
    assert [sample.seed for sample in samples] == [5, 6, 5, 6]
    with pytest.raises(UsageError, match="do not pair up"):
        random_samples(1, 0, [*shapes, InputShape(name="ids", dims=(1, 32))])


def test_bundled_models_are_deterministic_valid_and_written_once(tmp_path) -> None:
    first = sample_models(tmp_path / "one")
    second = sample_models(tmp_path / "two")
    for a, b in zip(first, second, strict=True):
        assert len({hashlib.sha256(path.read_bytes()).hexdigest() for path in (a, b)}) == 1
    (first, _) = sample_models(tmp_path)
    stamp = first.stat().st_mtime_ns
    sample_models(tmp_path)
    assert first.stat().st_mtime_ns == stamp
    for path in sample_models(tmp_path):
        onnx.checker.check_model(str(path), full_check=True)
        onnxruntime.InferenceSession(str(path))
    assert len(SAMPLES) == 2
