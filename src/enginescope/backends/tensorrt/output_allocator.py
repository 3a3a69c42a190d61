"""Outputs whose shape only their values decide."""

from __future__ import annotations

from typing import Any

from enginescope.backends.tensorrt.cuda import Cuda


class Grown:
    """Device memory that grows on demand, and the shape it was last used for.

    Attributes
    ----------
    address : int
    nbytes : int
    shape : tuple of int or None
        ``None`` until TensorRT has said it.
    """

    def __init__(self, cuda: Cuda) -> None:
        self._cuda = cuda
        self.address = 0
        self.nbytes = 0
        self.shape: tuple[int, ...] | None = None

    def take(self, nbytes: int) -> int:
        """Return an address with at least so many bytes behind it; 0 if there are none left."""
        if nbytes > self.nbytes or self.address == 0:
            try:
                self.address = self._cuda.device_buffer(nbytes)
            except MemoryError:  # TensorRT is told by the null address, and reports it
                return 0
            self.nbytes = nbytes
        return self.address


def make_allocator(trt: Any, memory: dict[str, Grown]) -> Any:
    """Return a ``trt.IOutputAllocator`` over `memory`, by tensor name."""

    class Allocator(trt.IOutputAllocator):  # type: ignore[misc]  # found at run time
        def __init__(self) -> None:
            trt.IOutputAllocator.__init__(self)

        def reallocate_output(
            self, tensor_name: str, memory_address: int, size: int, alignment: int
        ) -> int:
            del memory_address, alignment  # cudaMalloc aligns to 256 bytes
            return memory[tensor_name].take(size)

        def reallocate_output_async(
            self, tensor_name: str, memory_address: int, size: int, alignment: int, stream: int
        ) -> int:
            del stream
            return self.reallocate_output(tensor_name, memory_address, size, alignment)

        def notify_shape(self, tensor_name: str, shape: Any) -> None:
            memory[tensor_name].shape = tuple(shape)

    return Allocator()
