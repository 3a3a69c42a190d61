"""The loop in C, compiled for these tests, and a CUDA driver without a GPU."""

import ctypes
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from enginescope.backends import native_loop

ROOT = Path(__file__).resolve().parents[2]


def compiled(source: Path, output: Path) -> Path:
    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        pytest.skip("no C compiler")
    subprocess.run([sys.executable, ROOT / "native" / "compile.py", source, output], check=True)
    return output


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("native")
    compiled(Path(__file__).with_name("fake_cuda.c"), folder / "libcuda.so.1")
    return compiled(ROOT / "native" / "loop.c", folder / "libloop.so.1")


@pytest.fixture
def loop(built: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(native_loop, "LIBRARY", built)
    native_loop.library.cache_clear()
    yield native_loop.library()
    native_loop.library.cache_clear()


class FakeDriver:
    """The stand-in, as a driver to be found and as a CUDA runtime of the loops in Python."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self._library = ctypes.CDLL(self.path)
        self._library.fake_calls.restype = ctypes.c_void_p
        self._handles = iter(range(1, 1_000_000))

    def reset(self, graph_us: float = 50, copy_us: float = 2, fail_at: int = -1) -> None:
        numbers = int(graph_us * 1e3), int(copy_us * 1e3), fail_at
        self._library.fake_reset(*map(ctypes.c_int64, numbers))

    def calls(self) -> str:
        count = ctypes.c_int64()
        text = self._library.fake_calls(ctypes.byref(count))
        return ctypes.string_at(text, count.value).decode()

    def handle(self) -> int:
        return next(self._handles)

    def runtime(self) -> SimpleNamespace:
        names = ("EventRecord", "EventSynchronize", "StreamWaitEvent", "GraphLaunch")
        return SimpleNamespace(
            **{f"cuda{one}": partial(self._call, f"cu{one}") for one in names},
            cudaStreamSynchronize=partial(self._call, "cuStreamSynchronize"),
            cudaEventElapsedTime=self._elapsed,
            cudaMemcpyAsync=self._copy,
            cudaError_t=int,
        )

    def _call(self, name: str, *numbers: int) -> tuple[int]:
        return (getattr(self._library, name)(*map(ctypes.c_uint64, numbers)),)

    def _elapsed(self, begin: int, end: int) -> tuple[int, float]:
        ms = ctypes.c_float()
        ends = ctypes.c_uint64(begin), ctypes.c_uint64(end)
        return self._library.cuEventElapsedTime(ctypes.byref(ms), *ends), ms.value

    def _copy(self, to: int, source: int, nbytes: int, kind: str, stream: int) -> tuple[int]:
        name = "cuMemcpyHtoDAsync_v2" if kind == "in" else "cuMemcpyDtoHAsync_v2"
        return self._call(name, to, source, nbytes, stream)


@pytest.fixture
def driver(loop: Any, built: Path) -> FakeDriver:
    made = FakeDriver(built.with_name("libcuda.so.1"))
    made.reset()
    native_loop.cuda_context(made.path)
    return made
