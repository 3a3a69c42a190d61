"""The compiler of the loop: a broken one is named, whatever is asked of it."""

import subprocess
import sys

import pytest

from tests.native.conftest import ROOT, compiled

SCRIPT, SOURCE = ROOT / "native" / "compile.py", ROOT / "native" / "loop.c"


@pytest.mark.parametrize(("compiler", "said"), [("false", "ended with 1"), ("none/cc", "none/cc")])
def test_a_compiler_that_fails_is_named(tmp_path, monkeypatch, compiler, said) -> None:
    monkeypatch.setenv("CC", compiler)
    command = [sys.executable, SCRIPT, SOURCE, tmp_path / "loop"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0
    assert "CompileError" in done.stderr
    assert said in done.stderr


def test_the_library_names_no_other_library(tmp_path) -> None:
    library = compiled(SOURCE, tmp_path / "loop")
    assert b"libcuda" not in library.read_bytes()
    assert b"libonnxruntime" not in library.read_bytes()
