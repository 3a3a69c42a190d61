"""Importing ONNX Runtime leaves nothing behind."""

import os
import subprocess
import sys


def test_neither_home_nor_temporary_folder_is_written_to(tmp_path) -> None:
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    home.mkdir()
    temporary.mkdir()
    environment = {**os.environ, "HOME": str(home), "TMPDIR": str(temporary)}
    environment.pop("ORT_DISABLE_TELEMETRY", None)
    environment.pop("XDG_CACHE_HOME", None)
    code = "import enginescope.backends.onnxruntime.backend, onnxruntime"
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert [one for one in tmp_path.rglob("*") if one.is_file()] == []
