"""What must work with next to nothing installed, and imports of scripts that no test runs."""

import ast
import json
import os
import subprocess
import sys
import venv
from importlib import import_module
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


HELP = """
import json, sys
import enginescope
light = ['numpy', 'sqlalchemy', 'jinja2', 'msgspec']
def loaded(*names):
    print(json.dumps([name for name in names if name in sys.modules]), file=sys.stderr)
loaded(*light)
from enginescope.cli.main import main
main(['--help'])  # the list of verbs imports none of them
loaded(*light, *sys.argv[1:])
for verb in ('bench', 'import', 'report', 'runs', 'doctor'):
    main([verb, '--help'])
loaded(*sys.argv[1:])
"""


def test_a_bare_import_and_help_need_nothing_heavy() -> None:
    ended = run(HELP, *HEAVY)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("Usage: enginescope") == 6
    assert ended.stderr.splitlines() == ["[]"] * 3


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


SCRIPTS = sorted(
    path
    for folder in ("benchmarks", "examples")
    for path in (ROOT / folder).rglob("*.py")
    if not path.name.startswith("test_")  # `make test-plugins` runs those
)


def test_what_benchmarks_and_examples_import_exists() -> None:
    """Most of them run nowhere in CI."""
    for script in SCRIPTS:
        for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("enginescope"):
                module = import_module(node.module or "")
                for name in node.names:
                    if not hasattr(module, name.name):
                        import_module(f"{node.module}.{name.name}")
