"""Files of an engine recorded on an H200, of which several tests are."""

import gzip
from pathlib import Path

import pytest

ENGINE = "trt86-h200-process/small_convnet.onnx.engine"


@pytest.fixture
def plan(data: Path) -> str:
    """The plan, with layer times beside it."""
    return str(data / f"{ENGINE}.graph.json")


@pytest.fixture
def log(data: Path, tmp_path: Path) -> Path:
    """The verbose log of its build."""
    path = tmp_path / "build.log"
    path.write_bytes(gzip.decompress((data / f"{ENGINE}.build.log.gz").read_bytes()))
    return path
