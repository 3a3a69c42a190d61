"""The loop people write by hand: one ONNX Runtime session, IO binding, perf_counter_ns.

python benchmarks/hand_written_loop.py MODEL ITERATIONS WARMUP   prints the median in milliseconds.
Static or single-dynamic-batch float inputs only.
"""

import sys
import time

import numpy as np
import onnxruntime as ort


def main(path: str, iterations: int, warmup: int) -> None:
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    generator = np.random.default_rng(0)
    for one in session.get_inputs():
        shape = [dim if isinstance(dim, int) else 1 for dim in one.shape]
        values = generator.uniform(-1, 1, shape).astype(np.float32)
        binding.bind_ortvalue_input(one.name, ort.OrtValue.ortvalue_from_numpy(values))
    for one in session.get_outputs():
        binding.bind_output(one.name, "cpu")
    session.run_with_iobinding(binding)
    for one, value in zip(session.get_outputs(), binding.get_outputs(), strict=True):
        binding.bind_ortvalue_output(one.name, value)
    for _ in range(warmup):
        session.run_with_iobinding(binding)
    times = []
    for _ in range(iterations):
        begin = time.perf_counter_ns()
        session.run_with_iobinding(binding)
        times.append(time.perf_counter_ns() - begin)
    print(np.median(times) / 1e6)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
