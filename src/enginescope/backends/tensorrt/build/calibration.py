"""INT8 ranges for a model that carries none: from a cache file, or from one random batch.

Only TensorRT 8 to 10 calibrate; from 11 on a model carries Q/DQ nodes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from enginescope.backends.tensorrt.build.network import dtype_of
from enginescope.backends.tensorrt.build.profiles import Span
from enginescope.backends.tensorrt.cuda import Cuda
from enginescope.core.errors import UnsupportedError, UsageError
from enginescope.judge.notice import Notice
from enginescope.records.tensor import NUMPY


def set_calibrator(
    trt: Any, cuda: Cuda, config: Any, network: Any, cache: str | None, spans: dict[str, Span]
) -> tuple[Any, tuple[Notice, ...]]:
    """Give the build INT8 ranges, unless the model has its own.

    Returns:
        calibrator: To be kept alive until the build is over.
    """
    if cache is None and _has_quantisation(trt, network):
        return None, ()
    base = getattr(trt, "IInt8EntropyCalibrator2", None)
    if base is None:
        raise UnsupportedError("calibration", why=f"TensorRT {trt.__version__} does not calibrate")
    data = _read(cache) if cache else None
    batches = [] if data else [_random_inputs(cuda, network, spans)]
    made = _calibrator(base, data, batches)
    config.int8_calibrator = made
    return made, () if data else (_random_notice(),)


def _has_quantisation(trt: Any, network: Any) -> bool:
    kind = trt.LayerType.QUANTIZE
    return any(network.get_layer(index).type == kind for index in range(network.num_layers))


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"calibration cache {path}", why=error.strerror or str(error)) from error


def _random_inputs(cuda: Cuda, network: Any, spans: dict[str, Span]) -> dict[str, int]:
    """Return addresses of one random batch, −1…1 or whatever the type holds."""
    generator = np.random.default_rng(0)
    addresses = {}
    for index in range(network.num_inputs):
        tensor = network.get_input(index)
        values = _random_values(tensor, spans.get(tensor.name), generator)
        address = cuda.device_buffer(values.nbytes)
        rt = cuda.runtime
        copied = rt.cudaMemcpy(
            address, values.ctypes.data, values.nbytes, rt.cudaMemcpyKind.cudaMemcpyHostToDevice
        )
        cuda.check(copied, "copying a calibration batch")
        addresses[tensor.name] = address
    return addresses


def _random_values(tensor: Any, span: Span | None, generator: np.random.Generator) -> Any:
    known = dtype_of(tensor.dtype)
    if known not in NUMPY:
        raise UnsupportedError(
            f"calibration with input {tensor.name} of type {tensor.dtype.name}",
            why="it cannot be filled at random",
            hint="calibration_cache=FILE, or a model with Q/DQ nodes",
        )
    kind = np.dtype(NUMPY[known])
    if span is not None and tensor.is_shape_tensor:
        return np.array(span.opt, kind)
    shape = span.opt if span is not None else tuple(tensor.shape)
    return generator.uniform(-1, 1, shape).astype(kind)


def _calibrator(base: Any, cache: bytes | None, batches: list[dict[str, int]]) -> Any:
    class Calibrator(base):  # type: ignore[misc]  # the class is found at run time
        def __init__(self) -> None:
            base.__init__(self)

        def get_batch_size(self) -> int:
            return 1

        def get_batch(self, names: list[str]) -> list[int] | None:
            if not batches:
                return None
            batch = batches.pop()
            return [batch[name] for name in names]

        def read_calibration_cache(self) -> bytes | None:
            return cache

        def write_calibration_cache(self, cache: bytes) -> None:
            """Ranges of random inputs are not worth keeping."""

    return Calibrator()


def _random_notice() -> Notice:
    return Notice(
        "W-RANDOM-CALIBRATION",
        "INT8 ranges come from one random batch: times are valid, "
        "outputs are not; give calibration_cache=FILE or a model with Q/DQ nodes",
    )
