"""What benchmarks and examples import from the package exists: most of them run nowhere in CI."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted(
    path
    for folder in ("benchmarks", "examples")
    for path in (ROOT / folder).rglob("*.py")
    if not path.name.startswith("test_")  # `make test-plugins` runs those
)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_what_it_imports_exists(script: Path) -> None:
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("enginescope"):
            module = import_module(node.module or "")
            for name in node.names:
                if not hasattr(module, name.name):
                    import_module(f"{node.module}.{name.name}")
