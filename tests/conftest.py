import gc
import math
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

import enginescope
from enginescope.core.process_control import gc_paused
from enginescope.judge.comparison import steady_rounds
from enginescope.runner.inputs.sample_models import sample_models
from tests.plants.in_process import workers_in_process

# What was started in the background, or under nohup, ignores these, and so would every process that
# the tests interrupt.
for one, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(one) is signal.SIG_IGN:
        signal.signal(one, usual)

# The tests start hundreds of processes: without bytecode each of them compiles the package anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

#: Under this variable a missing browser, database or wheel is a failure, not a skip.
STRICT = bool(os.environ.get("ENGINESCOPE_TEST_STRICT"))

# A slow machine is no failure. Under the variable, examples are the same on any day.
settings.register_profile("enginescope", deadline=None, derandomize=STRICT)
settings.load_profile("enginescope")

DATA = Path(__file__).parent / "data"
#: Real artifacts that are not ours to ship; tests that use them skip where they are not.
SHARED = Path(
    os.environ.get("ENGINESCOPE_SHARED_DATA", Path(__file__).parents[2] / "shared" / "data")
)

#: Every random generator that a module of the tests holds, and its state before the first test.
_GENERATORS: list[tuple[np.random.BitGenerator, Any]] = []
#: The environment before the first test.
_VARIABLES: dict[str, str] = {}


def missing(reason: str) -> None:
    """Skip, or fail where everything is meant to be there."""
    if STRICT:
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pure wheel of this working tree, built as `make dist` builds it."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(folder)]
    settings = {**os.environ, "ENGINESCOPE_NATIVE": "skip"}
    root = Path(__file__).parents[1]
    subprocess.run(build, cwd=root, check=True, capture_output=True, env=settings)
    return next(folder.glob("*.whl"))


@pytest.hookimpl(trylast=True)  # after tests were deselected
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin every worker's part with its share of the slow tests, so that none ends with one.

    A module that needs a browser stays whole: its pages and its browser are made once.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    long: dict[object, list[pytest.Item]] = {}
    short: list[pytest.Item] = []
    for item in items:
        if item.get_closest_marker("browser"):
            long.setdefault(item.path, []).append(item)
        elif item.get_closest_marker("slow"):
            long[item] = [item]
        else:
            short.append(item)
    parts: list[list[pytest.Item]] = [[] for _ in range(workers)]
    for part in long.values():
        min(parts, key=len).extend(part)
    for at, part in enumerate(parts):
        left = len(short) + sum(map(len, parts[at:]))
        share = max(0, left // (workers - at) - len(part))
        part.extend(short[:share])
        del short[:share]
    items[:] = [item for part in parts for item in part]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect no garbage meanwhile: a fifth of the time would go into passes over all modules."""
    with gc_paused():
        return (yield)


def pytest_collection_finish() -> None:
    """Note the random generators' state, the environment, and what stays until the end.

    A collection of garbage then passes over all modules and tests.
    """
    gc.collect()
    gc.freeze()
    _VARIABLES.update(_variables())
    for name, module in list(sys.modules.items()):
        if name.startswith("tests."):
            for value in vars(module).values():
                if isinstance(value, np.random.Generator):
                    _GENERATORS.append((value.bit_generator, value.bit_generator.state))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Set the random generators back: what a test draws depends on no other test."""
    for generator, state in _GENERATORS:
        generator.state = state


def _variables() -> dict[str, str]:
    """Return the environment without what imports and pytest set."""
    return {
        name: text
        for name, text in os.environ.items()
        if not name.startswith(("_", "PYTEST_CURRENT_", "ORT_DISABLE_"))
    }


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Fail the last test of a module that leaves other variables to the processes of later tests.

    What the module's tests imported and keep stays until the end: every measurement in this process
    collects garbage, which would pass over all of it.

    Yields
    ------
    None
    """
    yield
    if nextitem is not None and nextitem.path == item.path:
        return
    gc.collect()
    gc.freeze()
    left = _variables()
    if left != _VARIABLES:
        changed = sorted({name for name, _ in left.items() ^ _VARIABLES.items()})
        for name in changed:
            os.environ.pop(name, None)
        os.environ.update(_VARIABLES)
        raise AssertionError(f"{item.path.name} leaves other environment variables: {changed}")


@pytest.fixture(scope="session")
def all_imported() -> None:
    """Import what tests may patch: `from module import name` would keep a patched name forever.

    `serve` needs optional packages, and migrations run only inside Alembic.
    """
    package = Path(enginescope.__file__).parent
    with gc_paused():
        for path in sorted(package.rglob("*.py")):
            parts = path.relative_to(package.parent).with_suffix("").parts
            if not {"__main__", "serve", "migrations"} & {*parts}:
                import_module(".".join(part for part in parts if part != "__init__"))
    gc.freeze()


@pytest.fixture
def monkeypatch(all_imported: None, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Patch after all imports, so that no test sees what an earlier one patched."""
    return monkeypatch


@pytest.fixture
def in_process() -> Iterator[None]:
    """Run workers in this process, for what is not about processes: each would take 0.3 s more."""
    with workers_in_process():
        yield


@pytest.fixture
def undisturbed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all rounds count, however busy this machine is: each of three may be the one left."""
    monkeypatch.setattr(steady_rounds, "WIDE_PCT", math.inf)


@pytest.fixture
def data() -> Path:
    """The folder of recorded and generated artifacts in this repository."""
    return DATA


@pytest.fixture
def shared() -> Path:
    """The folder of other projects' artifacts; skips where it is missing."""
    if not SHARED.is_dir():
        pytest.skip(f"shared artifacts are not at {SHARED}")
    return SHARED


@pytest.fixture(scope="session")
def convnet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled convolutional net."""
    return sample_models(tmp_path_factory.mktemp("samples"))[0]


@pytest.fixture(scope="session")
def transformer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled transformer block."""
    return sample_models(tmp_path_factory.mktemp("samples"))[1]
