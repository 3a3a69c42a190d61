"""Using the fakes: in this process through a fixture's context, in others through PYTHONPATH.

Every load is a new device, and modules as they were before a test changed them.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parent
SITE = FOLDER / "site"
VERSIONS = ("8.6.0", "10.16.1", "11.4.0")
_OURS = ("tensorrt", "cuda", "fake_device", "recorded_symbols")
#: Version -> its modules, and what each of them held when it was imported.
_MODULES: dict[str, dict[str, tuple[ModuleType, dict[str, Any]]]] = {}


def paths(version: str) -> tuple[str, ...]:
    """Return what has to be on the path: the modules, and the metadata of a distribution."""
    return str(SITE), str(FOLDER / "distributions" / version)


def python_path(*folders: object) -> str:
    """Return PYTHONPATH with folders before what it has."""
    inherited = os.environ.get("PYTHONPATH", "")
    return os.pathsep.join((*map(str, folders), *([inherited] if inherited else [])))


def environment(version: str, fault: str = "") -> dict[str, str]:
    """Return variables under which another process finds the fakes."""
    variables = {"FAKE_TENSORRT": version, "FAKE_TENSORRT_FAULT": fault}
    return {**variables, "PYTHONPATH": python_path(*paths(version))}


@contextmanager
def loaded(version: str = "10.16.1", fault: str = "") -> Iterator[Any]:
    """Import the fakes, ``trt``, ``cuda`` and ``device``; forget them at the end."""
    kept = {name: one for name, one in sys.modules.items() if _is_ours(name)}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment(version, fault).items():
            patch.setenv(name, value)
        for path in paths(version):
            patch.syspath_prepend(path)
        _forget()
        try:
            for name, (module, before) in _MODULES.get(version, {}).items():
                vars(module).clear()
                vars(module).update(before)
                sys.modules[name] = module
            found = SimpleNamespace(
                trt=import_module("tensorrt"),
                cuda=import_module("cuda.bindings.runtime"),
                driver=import_module("cuda.bindings.driver"),
                device=import_module("fake_device.device").DEVICE,
            )
            ours = {name: one for name, one in sys.modules.items() if _is_ours(name)}
            _MODULES.setdefault(version, {name: (one, {**vars(one)}) for name, one in ours.items()})
            found.device.reset()
            yield found
        finally:
            _forget()
            sys.modules.update(kept)


def _is_ours(name: str) -> bool:
    return name.split(".")[0] in _OURS


def _forget() -> None:
    for name in [one for one in sys.modules if _is_ours(one)]:
        del sys.modules[name]
