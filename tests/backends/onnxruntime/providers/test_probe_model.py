import sys

from enginescope.backends.onnxruntime.providers import placement


def test_what_a_library_writes_need_not_be_utf8(tmp_path, monkeypatch) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nprintf 'caf\\351: no device\\n' >&2\nexit 3\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    assert placement.probe_failure("CUDAExecutionProvider") == "caf\ufffd: no device"
