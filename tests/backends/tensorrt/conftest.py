"""The stand-in for TensorRT and CUDA, in this process or in the workers it starts."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

from enginescope.probe import nvml
from tests.fakes import loading, models

#: A small cache, so that flushing it takes the host no time.
L2_BYTES = 64 << 10
Use = Callable[..., SimpleNamespace]


class Clock:
    """The host's clock, which goes on when it is read and when somebody sleeps.

    The stand-in's device lives on it too, so that nothing in a test depends on a machine's speed.
    """

    READING_NS = 100

    def __init__(self) -> None:
        self.ns = 1_000_000_000

    def perf_counter_ns(self) -> int:
        self.ns += self.READING_NS
        return self.ns

    def sleep(self, seconds: float) -> None:
        self.ns += max(int(seconds * 1e9), 1_000)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    for name in ("request_loops", "inference_stream"):
        module = import_module(f"enginescope.backends.tensorrt.run.{name}")
        for function in ("perf_counter_ns", "sleep"):
            if hasattr(module, function):
                monkeypatch.setattr(module, function, getattr(made, function))
    return made


@pytest.fixture
def use(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Use]:
    """Put the stand-in on the path, of a version, with faults; gone at the end of the test."""
    with ExitStack() as stack:

        def loaded(version: str = "10.16.1", fault: str = "", **variables: str) -> SimpleNamespace:
            for name, text in variables.items():
                monkeypatch.setenv(name, text)
            fake = stack.enter_context(loading.loaded(version, fault))
            sys.modules["fake_device.timeline"].time = clock
            properties = sys.modules["fake_device.handles"].PROPERTIES
            monkeypatch.setitem(properties, "l2CacheSize", L2_BYTES)
            return fake

        # a real GPU of this machine is none of the stand-in's
        monkeypatch.setattr(nvml, "probe_devices", tuple)
        monkeypatch.setattr(nvml, "cuda_uuid", lambda _: None)
        yield loaded


@pytest.fixture(params=loading.VERSIONS)
def each(request: pytest.FixtureRequest, use: Use) -> SimpleNamespace:
    return use(request.param)


@pytest.fixture
def perceptron(tmp_path: Path) -> Path:
    return models.perceptron(tmp_path / "perceptron.onnx")


@pytest.fixture
def engines(tmp_path: Path) -> Path:
    return tmp_path / "engines"
