"""A file that an option names is looked for before a process or a library is."""

import pytest

from enginescope.backends.base import Demanding, check_named_files
from enginescope.backends.registry import load_backend, parse_backend
from enginescope.cli.main import main
from enginescope.core.errors import MissingDependencyError, UsageError
from tests.backends.onnxruntime import models


@pytest.mark.parametrize(
    "option",
    [
        *("trt?plugins=", "trt?serialize_plugins=", "trt?calibration_cache=", "trt?refit_from="),
        *("trtexec?plugins=", "trtexec?refit_from=", "ort-trt-rtx?plugin="),
    ],
)
def test_a_file_that_is_not_there_is_a_user_error(option, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("ENGINESCOPE_HOME", str(tmp_path))
    model, absent = models.relu(tmp_path / "m.onnx"), tmp_path / "absent.so"
    assert main(["bench", str(model), "--on", f"{option}{absent}"]) == 2
    said = capsys.readouterr().err
    assert f"{option.partition('?')[2]}{absent}" in said
    assert "no such file" in said


def test_the_one_of_a_list_that_is_a_folder(tmp_path) -> None:
    there = tmp_path / "a.so"
    there.write_bytes(b"x")
    spec = parse_backend(f"trt?plugins={there},{tmp_path}")
    with pytest.raises(UsageError, match="it is a folder") as caught:
        check_named_files(spec, several=("plugins",))
    assert str(there) not in caught.value.what
    check_named_files(parse_backend(f"trt?plugins={there}"), several=("plugins",))


def test_files_that_are_there_leave_the_question_of_the_library(tmp_path, monkeypatch) -> None:
    def nothing(_runtime: str | None) -> None:
        raise MissingDependencyError("TensorRT is not installed")

    there = tmp_path / "a.so"
    there.write_bytes(b"x")
    monkeypatch.setattr("enginescope.backends.tensorrt.backend.load", nothing)
    backend = load_backend("trt")
    assert isinstance(backend, Demanding)
    with pytest.raises(MissingDependencyError):
        backend.require(parse_backend(f"trt?plugins={there}"))
