from pathlib import Path

import pytest

from enginescope.backends.trtexec import process
from enginescope.backends.trtexec.process import dotted, find_binary, version_of
from enginescope.core.errors import MissingDependencyError, UnsupportedError, UsageError


def executable(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def nowhere(monkeypatch, tmp_path) -> None:
    monkeypatch.delenv("TRTEXEC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setattr(process, "USUAL", tmp_path / "usual" / "trtexec")


def test_none_says_how_to_get_one(nowhere) -> None:
    with pytest.raises(MissingDependencyError) as caught:
        find_binary()
    assert caught.value.exit_code == 2
    assert "wheels lack it" in str(caught.value)
    assert "container" in (caught.value.hint or "")
    assert "libnvinfer-bin" in (caught.value.hint or "")


def test_the_order_of_places(nowhere, monkeypatch, tmp_path) -> None:
    for folder in ("usual", "path"):
        (tmp_path / folder).mkdir()
    usual = executable(tmp_path / "usual" / "trtexec")
    assert find_binary() == usual
    on_path = executable(tmp_path / "path" / "trtexec")
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    assert find_binary() == on_path
    named = executable(tmp_path / "mine")
    monkeypatch.setenv("TRTEXEC", str(named))
    assert find_binary() == named
    asked = executable(tmp_path / "path" / "trtexec-11")
    assert find_binary("trtexec-11") == asked  # a bare name is looked up on PATH
    assert find_binary(str(asked)) == asked


def test_a_path_from_the_home_folder_or_a_variable(nowhere, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    mine = executable(tmp_path / "mine")
    assert find_binary("~/mine") == mine
    monkeypatch.setenv("TRTEXEC", str(tmp_path / "absent"))
    with pytest.raises(UsageError) as caught:
        find_binary()
    assert "$TRTEXEC" in (caught.value.hint or "")


def test_what_is_asked_for_is_never_replaced(tool, tmp_path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("")
    plain.chmod(0o644)
    for asked, why in (
        (tmp_path / "absent", "no such file"),
        (tmp_path, "it is a folder"),
        (plain, "it cannot be executed"),
    ):
        with pytest.raises(UsageError, match=why):
            find_binary(str(asked))


@pytest.mark.parametrize("text", ["8.6.1", "10.16.0", "11.1.0"])
def test_the_version_it_says(tool, text) -> None:
    tool.version(text)
    assert dotted(version_of(tool.binary)) == text


def test_the_version_of_a_first_run_where_help_says_none(tool) -> None:
    tool.fault("help_without_version")
    assert version_of(tool.binary) == (8, 6, 1)


@pytest.mark.parametrize(
    ("version", "fault", "words"),
    [
        ("8.6.1", "no_version", "is not a known version of trtexec"),
        ("8.5.3", "", r"of TensorRT 8\.5\.3: older than 8\.6"),
        ("8.6.1", "loader", r"does not start.*libnvinfer\.so\.8"),
    ],
)
def test_a_version_that_is_missing_or_too_old(tool, version, fault, words) -> None:
    tool.version(version)
    tool.fault(fault)
    with pytest.raises(UnsupportedError, match=words) as caught:
        version_of(tool.binary)
    assert fault != "loader" or "LD_LIBRARY_PATH" in caught.value.hint


def test_one_that_says_nothing(tmp_path) -> None:
    with pytest.raises(UnsupportedError, match="says 'nothing'"):
        version_of(executable(tmp_path / "quiet"))


def test_one_that_does_not_answer(tool, monkeypatch) -> None:
    monkeypatch.setattr(process, "_TIMEOUT_S", 0.2)
    tool.fault("hang")
    with pytest.raises(UnsupportedError, match="did not respond"):
        version_of(tool.binary)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("#!/bin/sh\nkill -SEGV $$\n", "dies of signal 11"),
        ("\x7fELF and no more", "does not start: Exec format error"),
    ],
)
def test_one_that_cannot_run(tmp_path, content, words) -> None:
    with pytest.raises(UnsupportedError, match=words):
        version_of(executable(tmp_path / "trtexec", content))
