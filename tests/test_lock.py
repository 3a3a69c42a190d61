"""requirements.lock covers everything that pyproject.toml may install."""

import re
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
#: cu12 and cu13 contradict each other; the lock file has cu13.
EXTRAS = {
    name: list_
    for name, list_ in PROJECT["project"]["optional-dependencies"].items()
    if name != "cu12"
}
REQUIRED = [
    Requirement(text)
    for list_ in (
        PROJECT["project"]["dependencies"],
        *EXTRAS.values(),
        *PROJECT["dependency-groups"].values(),
    )
    for text in list_
]
LINES = [
    line
    for line in (ROOT / "requirements.lock").read_text().splitlines()
    if line.strip() and not line.lstrip().startswith("#")
]
PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]


@pytest.mark.parametrize("python", PYTHONS)
def test_every_requirement_is_locked_to_a_version_that_it_allows(python: str) -> None:
    target = {"python_version": python, "python_full_version": f"{python}.0"}
    target |= {"sys_platform": "linux", "platform_machine": "x86_64"}
    locked = [Requirement(line) for line in LINES]
    locked = [line for line in locked if line.marker is None or line.marker.evaluate(target)]
    versions = {line.name: str(line.specifier).removeprefix("==") for line in locked}
    assert len(versions) == len(locked), "a package has two versions for one Python"
    for required in REQUIRED:
        if required.marker is None or required.marker.evaluate(target):
            assert required.name in versions, f"run make lock: {required.name} is not locked"
            assert versions[required.name] in required.specifier, f"run make lock: {required}"


def test_the_lock_file_has_exact_versions_and_no_address() -> None:
    for line in LINES:
        assert re.match(r"[a-z0-9._-]+==[^=<>~ ]+( ; |$)", line), line
    assert "://" not in (ROOT / "requirements.lock").read_text()
