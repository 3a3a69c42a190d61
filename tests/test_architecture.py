"""The house rules of docs/architecture.md, held against the code's syntax trees."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1] / "src" / "enginescope"
FILES = sorted(ROOT.rglob("*.py"))
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60

# folder -> the folders of ours it may import (its own is always allowed)
BASE = {"core", "model"}
MAY_IMPORT = {
    "core": set(),
    "model": {"core"},
    "stats": BASE,
    "formats": BASE,
    "store": BASE,
    "trtexec": BASE | {"stats", "formats"},
    "analysis": BASE | {"stats", "formats", "store"},
    "rules": BASE | {"stats", "formats", "store", "analysis"},
    "render": BASE | {"stats", "formats", "analysis", "rules"},
    "serve": BASE | {"stats", "formats", "store", "analysis", "rules", "render"},
    "probe": BASE,
    "backends": BASE | {"stats", "formats", "probe"},
    "runner": BASE | {"stats", "formats", "probe", "backends"},
}

# heavy package -> the places (file or folder, relative to the package) that may import it
HEAVY = {
    "onnx": {
        "backends/onnxruntime",
        "formats/onnx_files.py",
        "backends/trtexec/onnx_inputs.py",
        "runner/sample_models.py",
        "formats/onnx_graph.py",
        "formats/onnx_precision.py",
        "formats/tensor_files.py",
    },
    "onnxruntime": {"backends/onnxruntime"},
    "pandas": {"analysis/frames.py"},
    "polars": {"analysis/frames.py"},
    "pyarrow": {"analysis/frames.py"},
    "sqlalchemy": {
        "store/database.py",
        "store/database_shelf.py",
        "store/index.py",
        "store/kept_suites.py",
        "store/migrations",
        "store/row_tables.py",
        "store/run_files.py",
        "store/schema.py",
    },
    "alembic": {"store/migrations"},
    "starlette": {"serve"},
    "uvicorn": {"cli/serve.py"},
    "fsspec": {"store/artifact_root.py"},
    "xlsxwriter": {"render/workbook.py"},
    "vl_convert": {"render/images.py"},
    "pygraphviz": {"render/graph/graphviz_child.py"},
    "jinja2": {"render/page_frame.py"},
    "rich": {
        "render/text.py",
        "render/text_table.py",
        "render/compare_text.py",
        "render/bisect_text.py",
        "render/build_text.py",
        "render/explore_text.py",
        "render/hint_text.py",
        "render/verdict_text.py",
        "render/noise_text.py",
        "render/precision_text.py",
        "render/validate_text.py",
        "render/depth_text.py",
        "render/task_text.py",
        "cli",
    },
    "click": {"cli"},
    "platformdirs": {"store/location.py"},
    "psutil": {"probe", "runner/isolate.py"},
    "pynvml": {"probe/nvml.py"},
    "tensorrt": {"backends/tensorrt"},
    "PIL": {"runner/images.py", "formats/target_maps.py"},
    "ray": {"runner/fleet"},
    "submitit": {"runner/fleet"},
    "scipy": set(),
    "matplotlib": set(),
}


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def folder_of(path: Path) -> str | None:
    """The floor a file belongs to; None for the facade files at the top."""
    parts = path.relative_to(ROOT).parts
    return parts[0] if len(parts) > 1 else None


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("enginescope", *(part for part in parts if part != "__init__")))


def imports_of(path: Path) -> list[tuple[str, bool]]:
    """(dotted module, whether it happens on import) for every import of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nested = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        for node in ast.walk(function)
    }
    found: list[tuple[str, bool]] = []
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{relative(path)}:{node.lineno}: relative import"
            names = [node.module or ""]
            names += [f"{node.module}.{alias.name}" for alias in node.names]
        found += [(name, id(node) not in nested) for name in names]
    return found


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_imports_go_downward(path: Path) -> None:
    folder = folder_of(path)
    if folder is None or folder == "cli":
        return
    allowed = MAY_IMPORT[folder] | {folder}
    for name, _ in imports_of(path):
        parts = name.split(".")
        if parts[0] != "enginescope" or parts[1:] in ([], ["_version"]):
            continue
        if parts[1] in ("_version", "__version__"):
            continue
        assert parts[1] in allowed, f"{relative(path)} imports {name}: {folder} may not"


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_backends_do_not_import_each_other(path: Path) -> None:
    parts = path.relative_to(ROOT).parts
    if parts[0] != "backends" or len(parts) < 3:
        return
    siblings = {one.name for one in (ROOT / "backends").iterdir() if one.is_dir()} - {parts[1]}
    for name, _ in imports_of(path):
        target = name.split(".")
        if target[:2] == ["enginescope", "backends"] and len(target) > 2:
            assert target[2] not in siblings, f"{relative(path)} imports {name}"


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_heavy_packages_only_where_allowed(path: Path) -> None:
    place = relative(path)
    for name, _ in imports_of(path):
        top = name.split(".")[0]
        if top in HEAVY:
            fits = any(place == one or place.startswith(one + "/") for one in HEAVY[top])
            assert fits, f"{place} imports {top}; allowed in {sorted(HEAVY[top])}"


def test_no_import_cycles() -> None:
    known = {module_of(path): path for path in FILES}
    edges = {
        name: {target for target, at_import in imports_of(path) if at_import and target in known}
        - {name}
        for name, path in known.items()
    }
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join((*trail[trail.index(name) :], name))
        if name in done:
            return
        for target in sorted(edges[name]):
            visit(target, (*trail, name))
        done.add(name)

    for name in sorted(edges):
        visit(name, ())


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_sizes(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    lines = len(text.splitlines())
    assert lines <= MAX_FILE_LINES, f"{relative(path)} has {lines} lines"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if ast.get_docstring(node, clean=False):  # documentation has no limit
                docstring = node.body[0]
                length -= (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1
            assert length <= MAX_FUNCTION_LINES, f"{relative(path)}: {node.name} has {length} lines"


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_print_only_at_the_edge(path: Path) -> None:
    place = relative(path)
    if place.startswith("cli/") or place == "render/text.py":
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        is_print = isinstance(node, ast.Call) and getattr(node.func, "id", None) == "print"
        assert not is_print, f"{place}:{getattr(node, 'lineno', 0)} prints"


def test_names_say_something() -> None:
    empty = {"utils.py", "misc.py", "helpers.py", "common.py", "util.py"}
    assert not [relative(path) for path in FILES if path.name in empty]
