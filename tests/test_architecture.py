"""The house rules of docs/contributing/architecture.md, checked against all syntax trees."""

import ast
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

from enginescope.core.process_control import gc_paused

ROOT = Path(__file__).resolve().parents[1] / "src" / "enginescope"
FILES = sorted(ROOT.rglob("*.py"))
#: Lines and files of each package; the file says when a number may rise.
CEILINGS = Path(__file__).with_name("ceilings.json")
MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 60
MAX_FOLDER_FILES = 20

BASE = {"judge", "core", "records", "_version", "_lazy_names"}
READING = BASE | {"formats", "store"}
DEVICE = BASE | {"formats", "probe"}
#: Layer -> the layers that it may import, beside itself. No folder is exempt.
MAY_IMPORT = {
    "_version": set(),
    "_lazy_names": set(),
    "judge": {"_lazy_names"},
    "core": {"judge", "_version"},
    "records": {"judge", "core"},
    "formats": BASE,
    "store": BASE,
    "analysis": READING,
    "rules": READING | {"analysis"},
    "render": (READING - {"store"}) | {"analysis", "rules"},
    "probe": BASE,
    "backends": DEVICE,
    "runner": DEVICE | {"backends"},
    "compat": BASE | {"formats"},
    "services": READING | DEVICE | {"analysis", "rules", "render", "backends", "runner", "compat"},
    "notebook": READING | {"analysis", "rules", "render", "services"},
    "serve": READING | {"analysis", "rules", "render", "services"},
    "cli": READING | {"analysis", "rules", "render", "services", "serve", "compat"},
    "__init__": BASE | {"analysis", "rules", "render", "services", "notebook"},
    "__main__": {"cli"},
}
#: Folders of each layer in their order: an import goes to its own folder or to an earlier one.
#: A folder and the folders inside it are one room: its registry lists them, they share its base.
_ROOMS = {
    "records": ". plan run verdict suite",
    "formats": (
        ". plan onnx tensors onnxruntime trtexec polygraphy torch build_log trex benchmarks "
        "importing archive suites"
    ),
    "analysis": (
        ". claims build_log layers roofline onnx plans memory report_card graph/layout graph "
        "graph/folding runs plan_comparison verdicts gate errors accuracy tasks bisection "
        "validation upgrade load ladder contend lottery tune sensitivity shapes suites"
    ),
    "render": (
        "base html charts charts/card graph graph/write graph/view plans memory load sections "
        "sections/card plan_comparison verdicts reproduction ladder tune self_test shapes contend "
        "compare accuracy bisection validation sensitivity depth page suites"
    ),
    "backends": (
        ". oip trtexec onnxruntime/providers onnxruntime/convert onnxruntime tensorrt/build "
        "tensorrt/run tensorrt"
    ),
    "runner": "inputs machine . fleet suites",
    "compat": "trtexec/log trtexec",
    "store": "sql sql/migrations .",
    "judge": ". stats comparison",
    "probe": "telemetry .",
    "rules": "checks .",
    "services": (
        ". plans verdicts store measurement accuracy bisection validation upgrade load ladder "
        "contend lottery tune sensitivity shapes memory suites"
    ),
    "cli": ". measure plans verdicts accuracy suites store",
}
ORDER = tuple(
    tuple(f"{layer}/{room}".removesuffix("/.") for room in rooms.split())
    for layer, rooms in _ROOMS.items()
)

#: Heavy package -> the places (file or folder, relative to the package) that may import it
HEAVY = {
    package: set(places.split())
    for package, places in {
        "onnx": (
            "backends/onnxruntime formats/onnx/onnx_precision.py backends/trtexec/inputs.py "
            "runner/inputs/sample_models.py formats/onnx/onnx_graph.py "
            "formats/tensors/tensor_files.py"
        ),
        "onnxruntime": "backends/onnxruntime",
        "pandas": "analysis/frames.py",
        "polars": "analysis/frames.py",
        "pyarrow": "analysis/frames.py",
        "sqlalchemy": (
            "store/sql/database.py store/sql/database_store.py store/sql/migrations "
            "store/sql/run_files.py"
        ),
        "alembic": "store/sql/migrations",
        "starlette": "serve",
        "itsdangerous": "serve/access.py",
        "urllib3": (
            "backends/oip/connection.py core/http_pool.py serve/webhooks.py "
            "services/suites/models.py store/remote.py"
        ),
        "uvicorn": "serve/connections.py",
        "fsspec": "store/sql/run_files.py",
        "xlsxwriter": "render/plans/explore_workbook.py",
        "vl_convert": "render/html/images.py",
        "jinja2": "render/html/page_frame.py",
        "rich": (
            "render/base/text.py render/base/text_table.py render/plans/build_text.py "
            "render/plans/passport_text.py render/plans/explore_text.py "
            "render/depth/depth_answer.py render/memory/memory_text.py cli"
        ),
        "click": "cli",
        "platformdirs": "store/location.py",
        "psutil": "probe runner/isolate.py",
        "pynvml": "probe/nvml.py",
        "tensorrt": "backends/tensorrt",
        "PIL": "runner/inputs/images.py formats/tensors/target_files.py",
        "grpc": "backends/oip/grpc_connection.py",
        "ray": "runner/fleet",
        "scipy": "",
        "matplotlib": "",
    }.items()
}


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def folder_of(path: Path) -> str:
    return path.parent.relative_to(ROOT).as_posix()


def layer_of(module: str) -> str:
    """Return the layer of a module of ours; the package itself is ``__init__``."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in FILES}


@pytest.fixture(scope="module", autouse=True)
def trees_without_garbage() -> Iterator[None]:
    """Most of the time of parsing would go into passes over the trees."""
    with gc_paused():
        yield


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree_of(path)))


@cache
def imports_of(path: Path) -> tuple[tuple[str, int], ...]:
    """(dotted module, line) of every import of a file, also of those inside functions."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[tuple[str, int]]:
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{relative(path)}:{node.lineno}: relative import"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield (full if full in MODULES else node.module or ""), node.lineno


def own_imports(path: Path) -> list[tuple[str, int]]:
    return [(name, line) for name, line in imports_of(path) if name.split(".")[0] == "enginescope"]


def test_imports_go_downward() -> None:
    """Layers import only what the table allows: the two wings never meet below the services."""
    wrong = []
    for path in FILES:
        layer = layer_of(module_of(path))
        for name, line in own_imports(path):
            target = layer_of(name)
            if target not in MAY_IMPORT[layer] | {layer}:
                wrong.append(f"{relative(path)}:{line} imports {name}: {layer} may not")
    assert not wrong, "\n".join(wrong)


def test_folders_of_a_layer_have_an_order_and_every_one_a_place() -> None:
    wrong = []
    for order in ORDER:
        place = {folder: at for at, folder in enumerate(order)}
        for path in FILES:
            own = folder_of(path)
            for name, line in own_imports(path):
                target = folder_of(MODULES[name]) if name in MODULES else ""
                is_one_room = own.startswith(f"{target}/") or target.startswith(f"{own}/")
                is_upward = place.get(target, -1) > place.get(own, len(order))
                if is_upward and not is_one_room:
                    wrong.append(f"{relative(path)}:{line} imports {name}")
    assert not wrong, "\n".join(wrong)
    ordered = {folder for order in ORDER for folder in order}
    nested = {
        folder_of(path)
        for path in FILES
        if path.name != "__init__.py" and "/" in folder_of(path) and "versions" not in path.parts
    }
    assert nested - ordered == set()


def test_backends_do_not_import_each_other() -> None:
    backends = {path.name for path in (ROOT / "backends").iterdir() if path.is_dir()}
    wrong = []
    for path in FILES:
        own = path.relative_to(ROOT).parts[:2]
        if own[0] == "backends" and own[1] in backends:
            siblings = {f"enginescope.backends.{name}" for name in backends - {own[1]}}
            wrong += [
                f"{relative(path)}:{line} imports {name}"
                for name, line in own_imports(path)
                if any(name == sibling or name.startswith(f"{sibling}.") for sibling in siblings)
            ]
    assert not wrong, "\n".join(wrong)


def test_heavy_packages_only_where_allowed() -> None:
    wrong = []
    for path in FILES:
        place = relative(path)
        for name, line in imports_of(path):
            allowed = HEAVY.get(name.split(".")[0])
            if allowed is not None and not any(
                place == entry or place.startswith(f"{entry}/") for entry in allowed
            ):
                wrong.append(f"{place}:{line} imports {name}")
    assert not wrong, "\n".join(wrong)
    places = {place for allowed in HEAVY.values() for place in allowed}
    assert [place for place in sorted(places) if not (ROOT / place).exists()] == []


def test_no_import_cycles() -> None:
    """Also not through imports inside functions, nor through those for type checkers."""
    edges = {
        name: {target for target, _ in own_imports(path) if target in MODULES} - {name}
        for name, path in MODULES.items()
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


def test_sizes() -> None:
    wrong = []
    for path in FILES:
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > MAX_FILE_LINES:
            wrong.append(f"{relative(path)} has {lines} lines")
        for node in nodes_of(path):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if ast.get_docstring(node, clean=False):  # documentation has no limit
                    text = node.body[0]
                    length -= (text.end_lineno or text.lineno) - text.lineno + 1
                if length > MAX_FUNCTION_LINES:
                    wrong.append(f"{relative(path)}: {node.name} has {length} lines")
    folders = Counter(folder_of(path) for path in FILES if path.name != "__init__.py")
    wrong += [f"{folder} has {n} files" for folder, n in folders.items() if n > MAX_FOLDER_FILES]
    assert not wrong, "\n".join(wrong)


def test_sizes_of_packages_only_fall() -> None:
    """Each package has at most the lines and files that ``ceilings.json`` allows."""
    ceilings = json.loads(CEILINGS.read_text(encoding="utf-8"))["ceilings"]
    sizes = {"all of src": _size(FILES)}
    for package in sorted({path.relative_to(ROOT).parts[0] for path in FILES}):
        if (ROOT / package).is_dir():
            sizes[package] = _size(path for path in FILES if path.is_relative_to(ROOT / package))
    sizes["investigations"] = _size(path for path in FILES if _is_of_an_investigation(path))
    sizes["tests"] = _size(Path(__file__).parent.rglob("*.py"))
    assert sizes.keys() == ceilings.keys()
    wrong = [
        f"{name} has {size[unit]:,} {unit}, its ceiling is {ceilings[name][unit]:,}"
        for name, size in sizes.items()
        for unit in size
        if size[unit] > ceilings[name][unit]
    ]
    assert not wrong, "\n".join(wrong)


def _is_of_an_investigation(path: Path) -> bool:
    room, *folders = path.relative_to(ROOT).with_suffix("").parts
    verbs = ["ladder", "contend", "tune", "lottery", "sensitivity", "shapes", "load", "upgrade"]
    rooms = ["services", "analysis", "records", "cli", "render"]
    return room in rooms and any(name.removesuffix("_answer") in verbs for name in folders)


def _size(paths: Iterable[Path]) -> dict[str, int]:
    texts = [path.read_text(encoding="utf-8") for path in paths]
    return {"lines": sum(len(text.splitlines()) for text in texts), "files": len(texts)}


def test_print_and_the_terminal_only_at_the_edge() -> None:
    wrong = [
        f"{relative(path)}:{node.lineno}"
        for path in FILES
        if not relative(path).startswith("cli/") and relative(path) != "render/base/text.py"
        for node in nodes_of(path)
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "print"
    ]
    assert not wrong
    # No click, no rich, and ``sys`` only for the command line that a Python caller records.
    wrong = [
        f"{relative(path)}:{line} imports {name}"
        for path in FILES
        if relative(path).startswith("services/")
        for name, line in imports_of(path)
        if name.split(".")[0] in {"click", "rich"}
    ]
    assert not wrong


def test_no_folder_of_tests_has_a_name_that_pytest_passes_over(pytestconfig: pytest.Config) -> None:
    left_out = pytestconfig.getini("norecursedirs")
    tests = Path(__file__).parent
    names = {part for path in tests.rglob("test_*.py") for part in path.relative_to(tests).parts}
    assert [name for name in names if any(fnmatch(name, one) for one in left_out)] == []


def test_an_init_file_has_code_or_data_and_names_say_something() -> None:
    """A folder of modules alone is a package without it."""
    wrong = [
        relative(path)
        for path in FILES
        if path.name == "__init__.py"
        and all(isinstance(node, ast.Expr) for node in tree_of(path).body)
        and not any(_is_data(beside) for beside in path.parent.iterdir())
    ]
    assert not wrong
    empty = {"utils.py", "misc.py", "helpers.py", "common.py", "util.py"}
    assert not [relative(path) for path in FILES if path.name in empty]


def _is_data(path: Path) -> bool:
    if path.is_dir():
        return path.name != "__pycache__" and not any(path.rglob("*.py"))
    return path.suffix != ".py"


def test_a_module_sets_a_constant_once() -> None:
    """A second value would take the place of the first, also in the code between the two."""
    twice = []
    for path in FILES:
        stores = (
            name.id
            for statement in tree_of(path).body
            if isinstance(statement, (ast.Assign, ast.AnnAssign))
            for name in ast.walk(statement)
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
        )
        counts = Counter(name for name in stores if name.isupper())
        twice += [f"{relative(path)}: {name}" for name, count in counts.items() if count > 1]
    assert not twice


#: Names that say nothing of what they hold, and in how many functions they live for more than three
#: lines. The count may only fall.
VAGUE = frozenset(
    {"one", "found", "made", "said", "told", "asked", "given", "kept", "held", "came"}
)
VAGUE_NAMES = 1126


def test_vague_names_only_become_fewer() -> None:
    count = 0
    for path in FILES:
        for function in nodes_of(path):
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                count += sum(last - first > 2 for first, last in _lives(function))
    assert count <= VAGUE_NAMES


def _lives(function: ast.AST) -> list[tuple[int, int]]:
    """(first line, last line) of every vague name of a function."""
    lines: dict[str, list[int]] = {}
    for node in ast.walk(function):
        name = getattr(node, "id", None) or getattr(node, "arg", None)
        if name in VAGUE and isinstance(node, (ast.Name, ast.arg)):
            lines.setdefault(name, []).append(node.lineno)
    return [(min(places), max(places)) for places in lines.values()]
