"""What `make dist` builds and checks: the wheel's contents, its bill of materials, its metadata."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from enginescope._version import __version__

ROOT = Path(__file__).resolve().parents[1]


def script(name: str) -> ModuleType:
    """Import a script of .ci/."""
    spec = importlib.util.spec_from_file_location(name, ROOT / ".ci" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_bill_of_materials_is_up_to_date_and_has_every_vendored_script() -> None:
    sbom = script("sbom")
    assert sbom.SBOM.read_text() == sbom.text(), "run python .ci/sbom.py"
    parts = json.loads((ROOT / "enginescope.cdx.json").read_text())["components"]
    listed = {part["properties"][0]["value"] for part in parts}
    found = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*.min.js")}
    assert listed == found


@pytest.mark.slow
def test_the_wheel_has_no_fault(wheel: Path) -> None:
    assert list(script("check_dist").faults_of_wheel(wheel)) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("without", "said"),
    [
        ("sboms/", "bills of materials"),
        ("py.typed", "lacks enginescope/py.typed"),
        ("licenses/", "no license"),
        ("htmx.min.js", "bill of materials differs"),
    ],
)
def test_a_fault_is_found(wheel: Path, tmp_path: Path, without: str, said: str) -> None:
    poorer = tmp_path / wheel.name
    with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(poorer, "w") as out:
        for name in whole.namelist():
            if without not in name:
                out.writestr(name, whole.read(name))
    assert said in "\n".join(script("check_dist").faults_of_wheel(poorer))


@pytest.mark.slow
def test_what_installs_beside_the_package_is_found(wheel: Path, tmp_path: Path) -> None:
    richer = Path(shutil.copy(wheel, tmp_path))
    with zipfile.ZipFile(richer, "a") as out:
        out.writestr("tests/conftest.py", "")
    assert "installs tests" in "\n".join(script("check_dist").faults_of_wheel(richer))


@pytest.mark.slow
def test_a_platform_without_its_loop_is_found(wheel: Path, tmp_path: Path) -> None:
    check = script("check_dist")
    named = wheel.name.replace("-any.whl", "-manylinux_2_17_x86_64.whl")
    empty = Path(shutil.copy(wheel, tmp_path / named))
    assert "no loop inside" in "\n".join(check.faults_of_wheel(empty))
    pure = Path(shutil.copy(wheel, tmp_path / wheel.name))
    with zipfile.ZipFile(pure, "a") as out:
        out.writestr(check.LOOP, b"")
    assert "a loop in a pure wheel" in "\n".join(check.faults_of_wheel(pure))
    with zipfile.ZipFile(empty, "a") as out:
        out.writestr(check.LOOP, b"GLIBC_2.34")
    faults = "\n".join(check.faults_of_wheel(empty))
    assert "its loop needs glibc 2.34" in faults
    assert "its loop does not run" in faults


@pytest.mark.slow
def test_a_release_without_a_compiler_fails(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", tmp_path]
    settings = {**os.environ, "ENGINESCOPE_NATIVE": "require", "CC": "false"}
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, env=settings)
    assert done.returncode != 0
    assert "CompileError" in done.stdout + done.stderr
    assert not list(tmp_path.glob("*.whl"))


def test_citation_and_changelog_name_the_version() -> None:
    root = Path(__file__).resolve().parents[1]
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\nversion: {__version__}\n" in citation
    released = citation.partition("date-released: ")[2].split()[0]
    assert f"\n## {__version__} - {released}\n" in changelog
