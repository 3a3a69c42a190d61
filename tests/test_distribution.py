"""What `make dist` builds and checks: the wheel's contents, its bill of materials, its metadata."""

import importlib.util
import json
import os
import re
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


def faults(wheel: Path) -> str:
    return "\n".join(script("check_dist").faults_of_wheel(wheel))


@pytest.mark.slow
def test_the_wheel_has_no_fault_and_each_fault_is_found(wheel: Path, tmp_path: Path) -> None:
    assert faults(wheel) == ""
    for without, said in (
        ("sboms/", "bills of materials"),
        ("py.typed", "lacks enginescope/py.typed"),
        ("licenses/", "no license"),
        ("htmx.min.js", "bill of materials differs"),
    ):
        poorer = tmp_path / wheel.name
        with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(poorer, "w") as out:
            for name in whole.namelist():
                if without not in name:
                    out.writestr(name, whole.read(name))
        assert said in faults(poorer)
    for added, data, said in (
        ("tests/conftest.py", b"", "installs tests"),
        (script("check_dist").LOOP, b"", "a loop in a pure wheel"),
    ):
        richer = Path(shutil.copy(wheel, tmp_path))
        with zipfile.ZipFile(richer, "a") as out:
            out.writestr(added, data)
        assert said in faults(richer)
    named = wheel.name.replace("-any.whl", "-manylinux_2_17_x86_64.whl")
    empty = Path(shutil.copy(wheel, tmp_path / named))
    assert "no loop inside" in faults(empty)
    with zipfile.ZipFile(empty, "a") as out:
        out.writestr(script("check_dist").LOOP, b"GLIBC_2.34")
    assert "its loop needs glibc 2.34" in faults(empty)
    assert "its loop does not run" in faults(empty)


@pytest.mark.slow
def test_a_release_without_a_compiler_fails(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", tmp_path]
    settings = {**os.environ, "ENGINESCOPE_NATIVE": "require", "CC": "false"}
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, env=settings)
    assert done.returncode != 0
    assert "CompileError" in done.stdout + done.stderr
    assert not list(tmp_path.glob("*.whl"))


def test_citation_and_changelog_name_the_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    keys = set(re.findall(r"^([a-z-]+): ", citation, re.MULTILINE))
    assert {"title", "message", "license"} <= keys
    assert "\ncff-version: 1.2.0\n" in f"\n{citation}"
    assert "\nauthors:\n" in citation
    assert f"\nversion: {__version__}\n" in citation
    released = citation.partition("date-released: ")[2].split()[0]
    assert f"\n## {__version__} - {released}\n" in changelog
