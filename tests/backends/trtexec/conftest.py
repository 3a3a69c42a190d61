"""A trtexec for tests: a script on $TRTEXEC, and the models that go to it."""

import json
import sys
from pathlib import Path

import pytest

FAKE = Path(__file__).with_name("fake_trtexec.py")


class FakeTool:
    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.binary = folder / "trtexec"
        self.binary.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{FAKE}" "$@"\n')
        self.binary.chmod(0o755)
        self.kept = folder / "kept"
        self.kept.mkdir()
        self._patch = patch
        patch.setenv("TRTEXEC", str(self.binary))
        patch.setenv("FAKE_TRTEXEC_KEEP", str(self.kept))
        patch.delenv("FAKE_TRTEXEC_FAULT", raising=False)
        self.version("8.6.1")

    def version(self, text: str) -> None:
        self._patch.setenv("FAKE_TRTEXEC_VERSION", text)

    def fault(self, name: str) -> None:
        self._patch.setenv("FAKE_TRTEXEC_FAULT", name)

    @property
    def arguments(self) -> list[str]:
        """What it was started with last, to measure."""
        return json.loads((self.kept / "arguments.json").read_text())

    def value(self, flag: str) -> str | None:
        found = [one for one in self.arguments if one.partition("=")[0] == f"--{flag}"]
        assert len(found) <= 1, found
        return found[0].partition("=")[2] if found else None

    def has(self, flag: str) -> bool:
        return self.value(flag) is not None


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeTool:
    folder = tmp_path / "tool"
    folder.mkdir()
    return FakeTool(folder, monkeypatch)


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    """A file with an engine's name."""
    path = tmp_path / "net.engine"
    path.write_bytes(b"ptrt, for all that the fake looks at")
    return path
