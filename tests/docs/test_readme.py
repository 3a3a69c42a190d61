"""The README is short, its links are absolute, and its output is what the commands print."""

import re
import struct
from pathlib import Path

import pytest

from tests.docs.recipe_inputs import recorded
from tests.docs.recipes import ROOT, Command, Folder, commands_of

README = (ROOT / "README.md").read_text(encoding="utf-8")
REPOSITORY = "https://github.com/enginescope/enginescope/blob/main/"
RAW = "https://raw.githubusercontent.com/enginescope/enginescope/main/"


def test_it_is_short() -> None:
    assert len(README.split()) < 600


def test_links_are_absolute_and_files_exist() -> None:
    links = re.findall(r"\]\(([^)]+)\)|(?:src|srcset)=\"([^\"]+)\"", README)
    assert len(links) >= 6
    for link, source in links:
        address = link or source
        assert address.startswith("https://")
        for prefix in (REPOSITORY, RAW):
            if address.startswith(prefix):
                path = address.removeprefix(prefix)
                assert (ROOT / path).exists(), path


def test_it_installs_tensorrt_as_the_refusals_do() -> None:
    """It named ``enginescope[cu13]``, and every message ``enginescope[trt]``."""
    source = ROOT / "src" / "enginescope"
    refusals = [
        source / "backends" / "tensorrt" / "libraries.py",
        source / "cli" / "measure" / "trtexec.py",
        source / "services" / "plans" / "process.py",
    ]
    for text in (README, *(path.read_text(encoding="utf-8") for path in refusals)):
        named = re.findall(r"enginescope\[(trt|cu\d+)\]", text)
        assert named[0] == "trt"
        assert set(named) <= {"trt", "cu12"}  # the other major version of CUDA


@pytest.mark.parametrize("theme", ["side-by-side", "side-by-side-dark"])
def test_the_picture_is_a_png_of_the_size_of_a_page(theme: str) -> None:
    assert f"docs/images/{theme}.png" in README
    data = (ROOT / "docs" / "images" / f"{theme}.png").read_bytes()
    assert data.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", data[16:24])
    assert 1000 < width < 2400
    assert 300 < height < 1200


def test_recorded_output_is_real(tmp_path: Path) -> None:
    """Lint prints this; the comparison and the run are the recorded ones of those commands."""
    shown = [one for body in re.findall(r"```\n(\$ .*?)```", README, re.DOTALL)
             for one in commands_of(body, "")]  # fmt: skip
    lint, compare, bench = (command.output for command in shown[1:])
    assert shown[1].line.startswith("enginescope lint")
    recorded(tmp_path)
    folder = Folder(tmp_path, {})
    folder.run(shown[0])
    for line, lines in (
        (shown[1].line, lint),
        ("enginescope compare cmp-c0dd8fe7 --store h200", compare),
        ("enginescope runs show 0f5f34d1 --store h200", bench),
    ):
        folder.run(Command(line, 0, (), ""))
        assert lines[-1] == "…"
        assert folder.shown.splitlines()[: len(lines) - 1] == [*lines[:-1]]
