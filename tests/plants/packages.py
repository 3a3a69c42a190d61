"""Packages outside the tree, as an installer leaves them: modules, and entry points."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from enginescope.core import plugins
from enginescope.rules import catalogue
from enginescope.services import explain

CACHES = (plugins._every_entry_point, catalogue._outside, explain.explanations, explain._rule_codes)


def write_package(
    folder: Path,
    modules: Mapping[str, str],
    points: Mapping[str, Mapping[str, str]],
    name: str = "outside",
) -> Path:
    """Write a package of version 1.5 into a folder.

    Args:
        points: Kind of part -> name -> ``"module:object"``.
    """
    folder.mkdir(exist_ok=True)
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(text, encoding="utf-8")
    facts = folder / f"{name}-1.5.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n")
    lines = []
    for kind, values in points.items():
        lines.append(f"[enginescope.{kind}s]")
        lines += [f"{key} = {value}" for key, value in values.items()]
    (facts / "entry_points.txt").write_text("\n".join(lines))
    return folder


@contextmanager
def installed(folder: Path, *, further_processes: bool = False) -> Iterator[None]:
    """Put a folder of packages on the path of this process, or also of those that it starts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        if further_processes:
            patch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
        _forget(folder)
        try:
            yield
        finally:
            patch.undo()
            _forget(folder)


def _forget(folder: Path) -> None:
    for each in CACHES:
        each.cache_clear()
    for module in [one.stem for one in folder.glob("*.py")]:
        sys.modules.pop(module, None)
