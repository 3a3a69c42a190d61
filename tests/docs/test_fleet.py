"""The pages on fleets and containers name what there is."""

import re
from pathlib import Path

import enginescope as es
from enginescope.cli.suites.suite import command

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FLEETS, CONTAINERS = DOCS / "reference" / "fleets.md", DOCS / "how-to" / "containers.md"


def named(file: Path) -> set[str]:
    return set(re.findall(r"(?<![\w-])(--[a-z][a-z0-9-]+)", file.read_text()))


def test_every_option_is_explained_and_no_other() -> None:
    taken = {name for one in command.params for name in one.opts if name.startswith("--")}
    assert {"--on-ray", "--in-docker"} <= named(FLEETS)
    assert named(FLEETS) <= taken


def test_files_that_are_named_are_there() -> None:
    for file in (FLEETS, CONTAINERS):
        text = file.read_text()
        for path in re.findall(r"`((?:docker|\.github|src)/[\w./-]+)`", text):
            assert (ROOT / path).exists(), path


def test_what_the_docs_call_from_python_is_there() -> None:
    text = (DOCS / "reference" / "python.md").read_text()
    names = set(re.findall(r"\bes\.(\w+)\(", text))
    assert {"compare", "bench_interleaved", "noise_floor", "gate", "history"} <= names
    assert names <= set(es.__all__)
