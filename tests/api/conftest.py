import shutil
from pathlib import Path

import pytest


@pytest.fixture
def plan(data: Path, tmp_path: Path) -> Path:
    """A recorded plan without its logs and samples, which take long to read."""
    source, copy = data / "trt86-h200-process", tmp_path / "recorded"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("*.gz"))
    return copy / "small_convnet.onnx.engine.graph.json"
