"""The stand-in has no name that nvidia-ml-py has not."""

import ast

import pytest

from tests.fakes.nvml_scenarios import FOLDER


def test_every_name_is_nvmls() -> None:
    real = pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed")
    tree = ast.parse((FOLDER / "pynvml.py").read_text(encoding="utf-8"))
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    names |= {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    ours = {one for one in names if one.startswith(("nvml", "NVML"))}
    assert len(ours) > 30
    assert [one for one in sorted(ours) if not hasattr(real, one)] == []
