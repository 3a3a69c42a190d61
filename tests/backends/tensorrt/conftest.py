"""The stand-in for TensorRT and CUDA, in this process or in the workers it starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

from enginescope.probe import nvml
from tests.fakes import loading, models

Use = Callable[..., SimpleNamespace]


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Iterator[Use]:
    """Put the stand-in on the path, of a version, with faults; gone at the end of the test."""
    with ExitStack() as stack:

        def loaded(version: str = "10.16.1", fault: str = "", **variables: str) -> SimpleNamespace:
            for name, text in variables.items():
                monkeypatch.setenv(name, text)
            return stack.enter_context(loading.loaded(version, fault))

        # a real GPU of this machine is none of the stand-in's
        monkeypatch.setattr(nvml, "probe_devices", tuple)
        yield loaded


@pytest.fixture(params=loading.VERSIONS)
def each(request: pytest.FixtureRequest, use: Use) -> SimpleNamespace:
    """The stand-in, of each version."""
    return use(request.param)


@pytest.fixture
def perceptron(tmp_path: Path) -> Path:
    return models.perceptron(tmp_path / "perceptron.onnx")


@pytest.fixture
def engines(tmp_path: Path) -> Path:
    return tmp_path / "engines"
