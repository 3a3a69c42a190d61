"""Classes for the user to derive from."""

import sys
from typing import Any

from tensorrt._bound import Subclassable


class IProfiler(Subclassable):
    def report_layer_time(self, layer_name: str, ms: float) -> None:
        sys.stderr.write('Tried to call pure virtual function "IProfiler::report_layer_time"\n')


class Profiler(IProfiler):
    def report_layer_time(self, layer_name: str, ms: float) -> None:
        print(f"{layer_name}: {ms}ms")


class IOutputAllocator(Subclassable):
    """Asked for memory when an output's size is known."""

    def reallocate_output(
        self, tensor_name: str, memory: int | None, size: int, alignment: int
    ) -> int | None:
        sys.stderr.write("Method: reallocate_output was not overriden.\n")
        return None

    def reallocate_output_async(
        self, tensor_name: str, memory: int | None, size: int, alignment: int, stream: int
    ) -> int | None:
        return self.reallocate_output(tensor_name, memory, size, alignment)

    def notify_shape(self, tensor_name: str, shape: Any) -> None:
        sys.stderr.write("Method: notify_shape was not overriden.\n")


class IProgressMonitor(Subclassable):
    def phase_start(self, phase_name: str, parent_phase: str | None, num_steps: int) -> None:
        return None

    def step_complete(self, phase_name: str, step: int) -> bool:
        return True

    def phase_finish(self, phase_name: str) -> None:
        return None


class IInt8EntropyCalibrator2(Subclassable):
    def get_batch_size(self) -> int:
        raise NotImplementedError("get_batch_size")

    def get_batch(self, names: list[str]) -> list[int] | None:
        raise NotImplementedError("get_batch")

    def read_calibration_cache(self) -> Any:
        return None

    def write_calibration_cache(self, cache: Any) -> None:
        return None
