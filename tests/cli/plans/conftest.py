"""Files of an engine recorded on an H200, of which several tests are."""

import shutil
import sys
from pathlib import Path

import pytest

from enginescope.cli.main import main
from tests.conftest import DATA
from tests.formats.plans import shortened

ENGINE = "small_convnet.onnx.engine"


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All files that ``process`` left, with few of 12,935 requests."""
    folder = tmp_path_factory.mktemp("recorded")
    shortened((DATA / "trt86-h200-process").iterdir(), folder)
    return folder


@pytest.fixture
def plan(recorded: Path) -> str:
    """The plan, with layer times beside it."""
    return str(recorded / f"{ENGINE}.graph.json")


@pytest.fixture
def log(recorded: Path) -> Path:
    """The verbose log of its build."""
    return recorded / f"{ENGINE}.build.log"


@pytest.fixture
def explore(plan: str, capsys):
    """Run ``explore`` on the plan; give what it printed."""

    def run(*options: object, status: int = 0):
        assert main(["explore", plan, *map(str, options)]) == status
        return capsys.readouterr()

    return run


@pytest.fixture
def without_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let reports draw no PNG, where no test looks at one."""
    monkeypatch.setitem(sys.modules, "vl_convert", None)


@pytest.fixture
def bare(recorded: Path, without_plots, tmp_path) -> Path:
    """The plan and its layer times, without what tells TensorRT's version."""
    for role in ("graph", "profile"):
        shutil.copy(recorded / f"{ENGINE}.{role}.json", tmp_path / f"net.{role}.json")
    return tmp_path / "net.graph.json"
