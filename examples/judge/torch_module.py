"""A PyTorch module beside its exported engine: sides of ``enginescope judge --jsonl``.

``python torch_module.py export net.onnx`` writes the model. The sides are then ``python
torch_module.py module`` and ``python torch_module.py engine net.onnx``, with the same input and
the same number of threads. Needs torch, onnxscript (for the export) and onnxruntime. Replace
`module` and `SHAPE` by your own.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

SHAPE = (1, 3, 64, 64)
THREADS = 1
WARM_UP = 5
INPUT = np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32)


def module() -> Any:
    """Return the module that is measured and exported."""
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(THREADS)
    layers = torch.nn.Conv2d(3, 16, 3), torch.nn.ReLU(), torch.nn.Conv2d(16, 16, 3)
    return torch.nn.Sequential(*layers).eval()


def module_call() -> Callable[[], Any]:
    """Return a function that runs the module once."""
    import torch

    net, values = module(), torch.from_numpy(INPUT)

    def call() -> None:
        with torch.inference_mode():
            net(values)

    return call


def engine_call(path: str) -> Callable[[], Any]:
    """Return a function that runs the exported model once, with ONNX Runtime."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feeds = {session.get_inputs()[0].name: INPUT}
    return lambda: session.run(None, feeds)


def measure(call: Callable[[], Any]) -> list[float]:
    """Answer one message of `judge`: warm up, measure for as long as it asks, in ms."""
    seconds = json.loads(sys.stdin.readline())["seconds"]
    for _ in range(WARM_UP):
        call()
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter_ns()
        call()
        times.append((time.perf_counter_ns() - begin) / 1e6)
    return times


def main(kind: str, path: str = "") -> None:
    """Export the module, or measure a side; an error becomes a message too."""
    if kind == "export":
        import torch

        torch.onnx.export(module(), (torch.from_numpy(INPUT),), path)
        return
    try:
        times = measure(module_call() if kind == "module" else engine_call(path))
    except Exception as error:  # noqa: BLE001 - `judge` shows the reason
        print(json.dumps({"type": "error", "message": f"{type(error).__name__}: {error}"}))
    else:
        print(json.dumps({"type": "samples", "values": times, "unit": "ms"}))


if __name__ == "__main__":
    main(*sys.argv[1:])
