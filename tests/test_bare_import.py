"""What must work with next to nothing installed: the base, the reading wing, every --help."""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "enginescope"
WINGS = ("judge", "core", "model", "formats", "store", "analysis", "render")

#: Packages that no import of the base or the reading wing may pull in.
HEAVY = (
    "onnx",
    "onnxruntime",
    "pandas",
    "polars",
    "pyarrow",
    "vl_convert",
    "pynvml",
    "tensorrt",
    "scipy",
    "psutil",
)


def modules(*folders: str) -> list[str]:
    found = []
    for folder in folders:
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
            if "versions" not in parts and path.name != "env.py":  # scripts of the migrations
                found.append(".".join(part for part in parts if part != "__init__"))
    return found


def run(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        env=os.environ | environment,
        check=False,
    )


BLOCK_AND_IMPORT = """
import importlib, json, sys
blocked, names = json.loads(sys.argv[1])
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in blocked:
            raise ModuleNotFoundError(f'{name} is blocked here', name=name)
sys.meta_path.insert(0, Block())
for name in names:
    importlib.import_module(name)
print(len(names))
"""


def test_base_and_reading_wing_import_without_heavy_packages() -> None:
    names = modules(*WINGS)
    assert len(names) > 40
    ended = run(BLOCK_AND_IMPORT, json.dumps([HEAVY, names]))
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) == len(names)


@pytest.mark.parametrize("verb", [[], ["bench"], ["import"], ["report"], ["runs"], ["doctor"]])
def test_help_needs_nothing_heavy(verb: list[str]) -> None:
    code = (
        "import json, sys\n"
        "blocked = json.loads(sys.argv[1]) + ['numpy', 'sqlalchemy', 'jinja2', 'msgspec']\n"
        "from enginescope.cli.main import main\n"
        "status = main(json.loads(sys.argv[2]))\n"
        "print([one for one in blocked if one in sys.modules], file=sys.stderr)\n"
        "sys.exit(status)"
    )
    ended = run(code, json.dumps(HEAVY), json.dumps([*verb, "--help"]))
    assert ended.returncode == 0, ended.stderr
    assert "Usage: enginescope" in ended.stdout
    if not verb:  # listing the verbs imports none of them
        assert ended.stderr.strip() == "[]"
    for name in HEAVY:
        assert f"'{name}'" not in ended.stderr


def test_import_of_the_package_is_cheap() -> None:
    code = "import sys, enginescope; print([m for m in ('numpy', 'msgspec') if m in sys.modules])"
    assert run(code).stdout.strip() == "[]"


@pytest.mark.slow
def test_the_wheel_in_a_bare_environment(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    # only what the base and the reading wing need; no onnx, no onnxruntime, no extras
    needs = ["msgspec", "numpy", "click", "rich", "jinja2", "platformdirs", "sqlalchemy", "alembic"]
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    pip += ["--no-compile", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-deps", str(wheel)], check=True, timeout=120)
    subprocess.run([*pip, *needs], check=True, timeout=250)
    code = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)"
    subprocess.run([str(python), "-c", code, *modules(*WINGS)], check=True, cwd=tmp_path)
    shown = subprocess.run(
        [str(python), "-m", "enginescope", "--version"],
        check=True,
        capture_output=True,
        cwd=tmp_path,
    )
    assert shown.stdout.startswith(b"enginescope ")
    assert (tmp_path / "venv/bin/enginescope").exists()
