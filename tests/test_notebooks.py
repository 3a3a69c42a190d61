"""The notebooks run from the installed package, without network, and their outputs are kept."""

import json
import re
import zipfile
from pathlib import Path
from typing import Any

import click
import pytest

from enginescope.cli.main import cli
from tests.conftest import missing
from tests.notebook.execute import FOLDER, executed
from tests.notebook.html.pages import ACTIVE, Fragment, checked_live

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
TYPES = {"text/plain", "text/html", "image/png"}
DEAD_PROXY = "http://127.0.0.1:9"
#: Of one file; a code host shows none that is much larger.
MOST_BYTES = 5 << 20


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def test_all_notebooks_and_their_commands_are_there() -> None:
    names = ["api", "comparison", "precisions", "report_card", "tutorial"]
    assert [one.stem for one in NOTEBOOKS] == names
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


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda one: one.stem)
def test_outputs_are_kept_as_a_code_host_shows_them(path: Path) -> None:
    document = read(path)
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    assert set(document["metadata"]) == {"kernelspec", "language_info"}
    cells = document["cells"]
    assert all(cell["metadata"] == {} for cell in cells)
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    check_outputs([output for cell in code for output in cell["outputs"]])
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"/(?:tmp|root|home|work)/\w", text)
    assert len(text) <= MOST_BYTES


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda one: one.stem)
def test_links_and_data_are_there(path: Path) -> None:
    cells = read(path)["cells"]
    words = "\n".join(source(one) for one in cells if one["cell_type"] == "markdown")
    for link in re.findall(r"\]\(([^)#]+)\)", words):
        assert (FOLDER / link).is_file(), link
    code = "\n".join(source(one) for one in cells if one["cell_type"] == "code")
    assert not re.search(r"shared|tests/|\.\./", code)
    assert not re.search(r"https?://", code)


@pytest.fixture(scope="session")
def package(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What installing the wheel makes, where nothing of the source tree is."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as whole:
        whole.extractall(folder)
    return folder


@pytest.mark.slow
@pytest.mark.documentation
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda one: one.stem)
def test_it_runs_from_the_wheel(path: Path, package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        import ipykernel  # noqa: F401 - started by name
        import nbclient  # noqa: F401
    except ImportError:
        missing("nbclient is not installed")
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, DEAD_PROXY)
        monkeypatch.setenv(name.lower(), DEAD_PROXY)
    code = [one for one in executed(path, package).cells if one.cell_type == "code"]
    check_outputs([output for cell in code for output in cell.outputs])
    now, kept = ([shape(cell) for cell in cells] for cells in (code, code_of(path)))
    assert now == kept, "run python -m tests.notebook.execute"


def code_of(path: Path) -> list[Any]:
    return [cell for cell in read(path)["cells"] if cell["cell_type"] == "code"]


def shape(cell: Any) -> list[tuple[str, ...]]:
    """Return what kinds of outputs a cell has; figures of this machine differ."""
    return [tuple(sorted(one.get("data", {"stream": 0}))) for one in cell["outputs"]]


def check_outputs(outputs: list[Any]) -> None:
    """No failure, something to see, and charts that have a picture."""
    assert {one["output_type"] for one in outputs} <= {"stream", "display_data", "execute_result"}
    shown = [one["data"] for one in outputs if "data" in one]
    assert {kind for one in shown for kind in one} <= TYPES
    pages = ["".join(one["text/html"]) for one in shown if "text/html" in one]
    assert len(pages) >= 5
    brought = 0
    for page in pages:
        if "data-enginescope" in page:
            assert checked_live(page).elements.count("img") == 1
            brought += "enginescopeVega ??=" in page
        else:
            check_plain(page)
    with_chart = sum("data-enginescope" in page for page in pages)
    assert with_chart == sum("image/png" in one for one in shown)
    assert brought <= 1  # the library, once a notebook


def check_plain(html: str) -> None:
    """Nothing that runs, and nothing from elsewhere; pandas brings a style of its own."""
    found = Fragment(html)
    assert not (ACTIVE - {"style"}) & set(found.elements)
    for name, value in found.attributes:
        assert not name.startswith("on")
        if name in ("src", "href"):
            assert (value or "").startswith("data:")
