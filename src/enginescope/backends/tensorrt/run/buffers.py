"""Memory of an engine's inputs and outputs: page-locked on the host, plain on the device."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from enginescope.backends.tensorrt.build.dtypes import NUMPY
from enginescope.backends.tensorrt.cuda import Cuda, host_view
from enginescope.backends.tensorrt.run.io_tensors import EngineTensor
from enginescope.backends.tensorrt.run.layout import from_memory, is_known, to_memory
from enginescope.records.run.tensor_values import TensorValues
from enginescope.records.samples import Array
from enginescope.records.tensor import DataType


class Buffer:
    """One tensor's memory, allocated once.

    Args:
        managed: One memory for host and device, which needs no copies.
        address: Device memory that is there already.
    """

    def __init__(
        self,
        cuda: Cuda,
        tensor: EngineTensor,
        shape: tuple[int, ...],
        *,
        managed: bool = False,
        address: int | None = None,
    ) -> None:
        self._cuda = cuda
        self.tensor = tensor
        self.shape = shape
        self.nbytes = tensor.nbytes(shape)
        if managed and not tensor.on_host:
            self.device = cuda.device_buffer(self.nbytes, managed=True)
            self.host: Array = host_view(self.device, self.nbytes)
        else:
            self.host = cuda.host_buffer(self.nbytes)
            self.device = address or (0 if tensor.on_host else cuda.device_buffer(self.nbytes))
        self._copies = not (managed or tensor.on_host)

    @property
    def address(self) -> int:
        """What TensorRT is given."""
        return int(self.host.ctypes.data) if self.tensor.on_host else self.device

    def fill(self, array: Any) -> None:
        """Put values into the host's memory, in the order that the engine wants."""
        ordered = to_memory(np.asarray(array), self.tensor.layout)
        data = np.ascontiguousarray(ordered).reshape(-1).view(np.uint8)
        count = min(data.size, self.nbytes)
        self.host[:count] = data[:count]

    def copy(self, stream: int) -> Any | None:
        """Return a call that copies in this tensor's direction; ``None`` where none is needed."""
        if not self._copies or self.nbytes == 0:
            return None
        rt, host = self._cuda.runtime, int(self.host.ctypes.data)
        kinds = rt.cudaMemcpyKind
        if self.tensor.is_input:
            kind = kinds.cudaMemcpyHostToDevice
            return partial(rt.cudaMemcpyAsync, self.device, host, self.nbytes, kind, stream)
        kind = kinds.cudaMemcpyDeviceToHost
        return partial(rt.cudaMemcpyAsync, host, self.device, self.nbytes, kind, stream)


def values_of(tensor: EngineTensor, shape: tuple[int, ...], data: Array) -> TensorValues:
    """Return bytes as the values of a tensor, copied."""
    dtype = tensor.dtype or DataType.UINT8
    array = np.array(data)
    if dtype in NUMPY and is_known(tensor.layout):
        array = from_memory(array.view(NUMPY[dtype]), shape, tensor.layout)
    return TensorValues(name=tensor.name, dtype=dtype, shape=shape, data=array)
