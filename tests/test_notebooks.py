"""The notebooks run on the sample plans, without network, and show plain HTML."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import click
import pytest

from enginescope.cli.main import cli
from tests.conftest import missing
from tests.notebook.html.pages import ACTIVE, Fragment

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
TYPES = {"text/plain", "text/html", "image/png"}
#: Where the kernel's own code may not get a connection from; run before the first cell.
NO_NETWORK = """
import socket as _socket

def _refused(*_):
    raise OSError("no network here")

_socket.create_connection = _socket.getaddrinfo = _socket.socket.connect = _refused
"""
DEAD_PROXY = "http://127.0.0.1:9"


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def test_all_are_there() -> None:
    assert [one.stem for one in NOTEBOOKS] == ["api", "comparison", "report_card", "tutorial"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda one: one.stem)
def test_outputs_are_not_kept(path: Path) -> None:
    document = read(path)
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    assert set(document["metadata"]) == {"kernelspec", "language_info"}
    for cell in document["cells"]:
        assert cell["metadata"] == {}
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda one: one.stem)
def test_links_and_data_are_there(path: Path) -> None:
    cells = read(path)["cells"]
    words = "\n".join(source(one) for one in cells if one["cell_type"] == "markdown")
    for link in re.findall(r"\]\(([^)#]+)\)", words):
        assert (FOLDER / link).is_file(), link
    code = "\n".join(source(one) for one in cells if one["cell_type"] == "code")
    assert "shared" not in code
    assert not re.search(r"https?://", code)


def test_commands_are_there() -> None:
    words = [
        source(cell)
        for path in NOTEBOOKS
        for cell in read(path)["cells"]
        if cell["cell_type"] == "markdown"
    ]
    words.append((ROOT / "docs" / "how-to" / "notebooks.md").read_text(encoding="utf-8"))
    found = re.findall(r"`enginescope ([a-z]+)([^`]*)`", "\n".join(words))
    assert {"explore", "compare", "process"} <= {verb for verb, _ in found}
    for verb, rest in found:
        command = cli.get_command(click.Context(cli), verb)
        assert command is not None, verb
        known = {option for one in command.params for option in one.opts}
        assert set(re.findall(r"--[a-z-]+", rest)) <= known, (verb, rest)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda one: one.stem)
def test_it_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, DEAD_PROXY)
        monkeypatch.setenv(name.lower(), DEAD_PROXY)
    with tempfile.TemporaryDirectory() as sockets:  # a name that is short enough for a socket
        cells = executed(path, sockets)
    code = [one for one in cells if one["cell_type"] == "code"]
    assert [one["execution_count"] for one in code] == list(range(2, len(code) + 2))
    outputs = [one for cell in code for one in cell["outputs"]]
    assert {one["output_type"] for one in outputs} <= {"stream", "display_data", "execute_result"}
    assert not [one for one in outputs if one.get("name") == "stderr"]
    shown = [one["data"] for one in outputs if "data" in one]
    assert {kind for one in shown for kind in one} <= TYPES
    pages = [one["text/html"] for one in shown if "text/html" in one]
    assert len(pages) >= 5
    assert sum("data:image/svg+xml" in one for one in pages) >= 1
    for page in pages:
        check_plain(page)


def check_plain(html: str) -> None:
    """Nothing that runs, and nothing from elsewhere; pandas brings a style of its own."""
    found = Fragment(html)
    assert not (ACTIVE - {"style"}) & set(found.elements)
    for name, value in found.attributes:
        assert not name.startswith("on")
        if name in ("src", "href"):
            assert (value or "").startswith("data:")


def executed(path: Path, sockets: str) -> list[dict[str, Any]]:
    """Run a notebook in a kernel that talks through files, and return its cells."""
    try:
        import ipykernel  # noqa: F401 - started by name
        import nbclient
        import nbformat
        from traitlets.config import Config
    except ImportError:
        missing("nbclient is not installed")
    document = nbformat.read(path, as_version=4)
    document.cells.insert(0, nbformat.v4.new_code_cell(NO_NETWORK))
    client = nbclient.NotebookClient(
        document,
        timeout=120,
        startup_timeout=60,
        kernel_name="python3",
        resources={"metadata": {"path": str(FOLDER)}},
        config=Config(KernelManager={"transport": "ipc", "ip": f"{sockets}/kernel"}),
    )
    client.create_kernel_manager()
    # the Python of these tests, whatever kernels are registered beside it
    spec = client.km.kernel_spec
    spec.argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    client.execute()
    return document.cells[1:]
