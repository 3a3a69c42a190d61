"""GPUs with clocks that tests and the processes they start share; see ``clocks_site/pynvml.py``."""

import fcntl
import json
import sys
from pathlib import Path
from typing import Any

from tests.fakes.loading import python_path

SITE = Path(__file__).resolve().parent / "clocks_site"
GPU = "GPU-0000"
#: Like an H200: its default clock is its highest, its base clock has no figure.
DATA_CENTRE: dict[str, Any] = {
    "max_sm": 1980,
    "max_memory": 3201,
    "default_sm": 1980,
    "memory_clocks": [3201],
    "sm_clocks": list(range(1980, 344, -15)),
    "reasons": 0,
    "persistence": 1,
    "temperatures": [40],
}


class FakeGpus:
    """The GPUs of this machine, in a file."""

    def __init__(self, folder: Path, gpus: dict[str, dict[str, Any]]) -> None:
        self.file = folder / "gpus.json"
        self.file.write_text(json.dumps({"gpus": gpus, "calls": []}))

    def put_in(self, monkeypatch: Any, temporary: Path) -> None:
        """Let this process and those it starts see them, with a register of their own."""
        monkeypatch.setenv("PYTHONPATH", python_path(SITE))
        monkeypatch.setenv("FAKE_GPUS", str(self.file))
        monkeypatch.setenv("TMPDIR", str(temporary))
        monkeypatch.setattr("tempfile.tempdir", None)
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        monkeypatch.syspath_prepend(str(SITE))
        monkeypatch.delitem(sys.modules, "pynvml", raising=False)

    def gpu(self, uuid: str = GPU) -> dict[str, Any]:
        return self._state()["gpus"][uuid]

    def calls(self) -> list[tuple[str, str]]:
        """Return what was changed, in order: the call and the GPU."""
        return [(call, gpu) for _, call, gpu, _ in self._state()["calls"]]

    def pids(self) -> set[int]:
        return {pid for pid, *_ in self._state()["calls"]}

    def is_free(self, uuid: str = GPU) -> bool:
        now = self.gpu(uuid)
        return now.get("locked_sm") is None and now.get("locked_memory") is None

    def _state(self) -> dict[str, Any]:
        with self.file.open() as file:
            fcntl.flock(file, fcntl.LOCK_SH)  # not while one of the processes writes
            return json.load(file)
