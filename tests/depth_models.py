"""A small network of depth with fixed random weights, pictures and known depth, all made here."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

SIZE = (24, 32)


def depth_model(
    path: Path, *, size: tuple[int | str, int | str] = SIZE, seed: int = 5, noise: float = 0.0
) -> Path:
    """Write three convolutions whose last output is above 0; `noise` moves their weights."""
    rng, other = np.random.default_rng(seed), np.random.default_rng(seed + 1)
    shapes = {"w1": (8, 3, 3, 3), "w2": (8, 8, 3, 3), "w3": (1, 8, 3, 3)}
    weights = {
        name: 0.3 * rng.standard_normal(shape) * (1 + noise * other.standard_normal(shape))
        for name, shape in shapes.items()
    }
    pads = {"pads": [1, 1, 1, 1]}
    nodes = [
        helper.make_node("Conv", ["image", "w1"], ["a"], **pads),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "w2"], ["c"], **pads),
        helper.make_node("Relu", ["c"], ["d"]),
        helper.make_node("Conv", ["d", "w3"], ["e"], **pads),
        helper.make_node("Softplus", ["e"], ["depth"]),
    ]
    ends = (
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, *size])],
        [helper.make_tensor_value_info("depth", TensorProto.FLOAT, [1, 1, *size])],
    )
    held = [numpy_helper.from_array(one.astype(np.float32), n) for n, one in weights.items()]
    graph = helper.make_graph(nodes, "depth", *ends, initializer=held)
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=opset), path)
    return path


def smooth(rng: np.random.Generator, size: tuple[int, int]) -> Any:
    """Return a map of hills between 0 and 1."""
    rows, columns = np.mgrid[0 : size[0], 0 : size[1]]
    found = np.zeros(size)
    for _ in range(5):
        phase, up, across = rng.uniform(0, 6.28), rng.uniform(1, 9), rng.uniform(1, 9)
        found += np.sin(up * rows / size[0] + across * columns / size[1] + phase)
    return (found - found.min()) / np.ptp(found)


def scene(
    images: Path, targets: Path, name: str, seed: int, size: tuple[int, int] = SIZE
) -> tuple[Any, Any]:
    """Write a picture and its known depth in metres, with holes; return both."""
    rng = np.random.default_rng(seed)
    images.mkdir(parents=True, exist_ok=True)
    targets.mkdir(parents=True, exist_ok=True)
    far = smooth(rng, size)
    planes = [0.7 * (1 - far) + 0.3 * smooth(rng, size) for _ in range(3)]
    pixels = (255 * np.stack(planes, axis=-1)).astype(np.uint8)
    Image.fromarray(pixels).save(images / f"{name}.png")
    known = 0.5 + 9 * far
    known[rng.random(size) < 0.1] = 0
    np.save(targets / f"{name}.npy", known.astype(np.float32))
    return pixels, known.astype(np.float32)
