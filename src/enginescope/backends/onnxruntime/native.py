"""A session of ONNX Runtime's C API, whose requests the loop in C makes.

The wheel has the runtime a second time, as a library for C. Its session reads and writes the memory
that the Python session's request is bound to, so that outputs are where they would be.
"""

import ctypes
import math
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from enginescope.backends.loop import ThreadsRecorder
from enginescope.backends.native_loop import Kind, Program, Turn, library
from enginescope.backends.onnxruntime.options import (
    SESSION_OPTIONS,
    dtype_of,
    is_config_entry,
    session_options,
)
from enginescope.core.errors import BackendError, UnsupportedError
from enginescope.formats.onnx.onnx_precision import external_files
from enginescope.records.run.job import Job

#: A larger model is timed from Python: its weights would be in memory twice, and a request takes so
#: long that the interpreter's microsecond is nothing beside it.
LARGEST_BYTES = 256 << 20
#: What the loop in C saves, which `benchmarks/ort_loop.py` measures.
COST = "a request takes about 1 µs longer than from C"


#: The session options that the loop in C sets, in the order of its struct.
_SET_IN_C = (
    *("intra_op_num_threads", "inter_op_num_threads", "graph_optimization_level"),
    *("execution_mode", "enable_mem_pattern", "enable_cpu_mem_arena"),
)


class _Options(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int64) for name in _SET_IN_C),
        ("keys", ctypes.POINTER(ctypes.c_char_p)),
        ("values", ctypes.POINTER(ctypes.c_char_p)),
        ("entries", ctypes.c_int64),
    )


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_int64),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        *((name, ctypes.c_int64) for name in ("rank", "type", "is_input")),
    )


class NativeSession:
    """A session on the CPU provider.

    Args:
        model: The file.
    """

    def __init__(self, ort: Any, job: Job, model: str) -> None:
        self._library = library()
        for name in ("loop_open", "loop_bind"):
            getattr(self._library, name).restype = ctypes.c_void_p
        runtime = runtime_library(ort)
        size = _bytes_of(model)
        if size > LARGEST_BYTES:
            raise UnsupportedError("no native loop", why=f"the model has {size >> 20:,} MiB")
        options = _options(ort, job)
        why = ctypes.c_void_p()
        opened = self._library.loop_open(
            str(runtime).encode(), model.encode(), ctypes.byref(options), ctypes.byref(why)
        )
        self._handle = ctypes.c_void_p(opened)
        self._check(why)
        self._requests: list[ctypes.c_void_p] = []
        self._kept: list[Any] = []

    def program(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> Program:
        """Return a program of one request over the memory of these values."""
        values = {**inputs, **outputs}
        tensors = (_Tensor * len(values))(
            *(_tensor(name, value, is_input=name in inputs) for name, value in values.items())
        )
        why = ctypes.c_void_p()
        bound = self._library.loop_bind(self._handle, tensors, len(tensors), ctypes.byref(why))
        self._check(why)
        self._requests.append(ctypes.c_void_p(bound))
        self._kept.append(values)
        calls = [(Kind.CLOCK, 0), (Kind.ANSWER, bound), (Kind.CLOCK, 1)]
        return Program([[Turn(calls)]], columns=2)

    def close(self) -> None:
        """Release the requests and the session; no program may run any more."""
        while self._requests:
            self._library.loop_unbind(self._requests.pop())
        self._library.loop_close(self._handle)
        self._handle = ctypes.c_void_p()

    def _check(self, why: ctypes.c_void_p) -> None:
        if why.value is None:
            return
        text = ctypes.string_at(why.value).decode(errors="replace")
        self._library.loop_free(why)
        raise UnsupportedError("no native loop", why=f"ONNX Runtime's C API: {text}")


def runtime_library(ort: Any) -> Path:
    """Return the library with the C API that this wheel has."""
    folder = Path(ort.__file__).parent / "capi"
    for pattern in ("libonnxruntime.so.*", "libonnxruntime.*.dylib"):
        for found in sorted(folder.glob(pattern)):
            return found
    why = f"onnxruntime {ort.__version__} has no library for C"
    raise UnsupportedError("no native loop", why=why, hint="pip install 'onnxruntime>=1.19'")


def _bytes_of(model: str) -> int:
    path = Path(model)
    size = path.stat().st_size
    if size <= LARGEST_BYTES:
        try:
            size += sum((path.parent / name).stat().st_size for name in external_files(model))
        except BackendError as error:  # it is loaded all the same, in another format
            raise UnsupportedError("no native loop", why=str(error)) from error
    return size


def _options(ort: Any, job: Job) -> _Options:
    settings = session_options(ort, job.backend.options, job.conditions.pinned_cores)
    for name in SESSION_OPTIONS:
        if name in job.backend.options and name not in _SET_IN_C:
            raise UnsupportedError("no native loop", why=f"it does not set {name}")
    entries = {key: text for key, text in job.backend.options.items() if is_config_entry(key)}
    texts = ctypes.c_char_p * len(entries)
    return _Options(
        *(int(getattr(settings, name)) for name in _SET_IN_C),
        texts(*(key.encode() for key in entries)),
        texts(*(text.encode() for text in entries.values())),
        len(entries),
    )


def _tensor(name: str, value: Any, *, is_input: bool) -> _Tensor:
    shape, dtype = value.shape(), dtype_of(value.data_type())
    if dtype is None or dtype.bits is None or dtype.bits % 8:
        raise UnsupportedError("no native loop", why=f"{name} is a {value.data_type()}")
    dims = (ctypes.c_int64 * len(shape))(*shape)
    size = math.prod(shape) * dtype.bits // 8
    return _Tensor(
        name.encode(), value.data_ptr(), size, dims, len(shape), value.element_type(), is_input
    )


class NativeThreads(ThreadsRecorder):
    """Takes requests with as many in flight as there are programs, each in a thread of its own."""

    def __init__(self, programs: Sequence[Program]) -> None:
        super().__init__([lambda: None] * len(programs))
        self._programs = tuple(programs)

    def run(self, count: int, untimed: int = 0) -> None:
        self.issued += count + untimed * len(self._programs)
        rows, taken = np.zeros((count, 2), np.int64), np.zeros(1, np.int64)
        errors: list[BackendError] = []

        def take(program: Program) -> None:
            try:
                program.share(rows, taken, count, untimed)
            except BackendError as error:
                errors.append(error)

        threads = [threading.Thread(target=take, args=(one,)) for one in self._programs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for error in errors:
            raise error
        self._extend(rows[np.argsort(rows[:, 0], kind="stable")])
