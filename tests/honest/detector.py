"""A detector with the output head of YOLOv8: boxes in pixels beside class scores, 22×2,100.

It finds squares of 18 colors in pictures of 320×320. The last layer is fitted, all others random.
"""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIZE, CLASSES, FEATURES = 320, 18, 48
STRIDES = (8, 16, 32)
ANCHORS = sum((SIZE // stride) ** 2 for stride in STRIDES)
_LOGITS = (-5.0, 2.5)


def palette() -> Any:
    """Return 18 colors: all of 0, ½, 1 in three channels but the nine most alike."""
    levels = np.stack(np.meshgrid([0, 0.5, 1], [0, 0.5, 1], [0, 0.5, 1]), -1).reshape(-1, 3)
    chosen = [0]
    while len(chosen) < CLASSES + 1:
        apart = np.min(np.linalg.norm(levels[:, None] - levels[chosen], axis=2), axis=1)
        chosen.append(int(apart.argmax()))
    return levels[chosen[1:]]


def picture(seed: int, *, objects: int = 5) -> Any:
    """Return a picture, 1×3×320×320 in 0…1, with squares on a dark ground."""
    rng = np.random.default_rng(seed)
    values = 0.03 * rng.random((3, SIZE, SIZE))
    for _ in range(objects):
        size = int(rng.integers(40, 100))
        x, y = rng.integers(0, SIZE - size, 2)
        color = palette()[rng.integers(CLASSES)]
        noise = 0.02 * rng.standard_normal((3, size, size))
        values[:, y : y + size, x : x + size] = color[:, None, None] + noise
    return np.clip(values, 0, 1).astype(np.float32)[None]


def _random_weights(rng: Any) -> dict[str, Any]:
    def weight(out: int, into: int, size: int) -> Any:
        return rng.standard_normal((out, into, size, size)) * np.sqrt(2 / (into * size * size))

    return {
        "w0": weight(24, 3, 1),
        "b0": 0.3 * rng.standard_normal(24),
        "w1": weight(FEATURES, 24, 1),
        "b1": 0.2 * rng.standard_normal(FEATURES),
        "wb": 0.3 * weight(4, FEATURES, 1),
        "bb": np.full(4, 1.5),
    }


def _features(colors: Any, weights: dict[str, Any]) -> Any:
    hidden = np.maximum(colors @ weights["w0"][:, :, 0, 0].T + weights["b0"], 0)
    return np.maximum(hidden @ weights["w1"][:, :, 0, 0].T + weights["b1"], 0)


def _fitted(weights: dict[str, Any], rng: Any) -> tuple[Any, Any]:
    """Return the weights of the class scores: a ridge regression on colors with noise."""
    ground = 0.03 * rng.random((3000, 3))
    labels = rng.integers(0, CLASSES, 9000)
    share = np.where(rng.random(9000) < 0.7, 1.0, rng.random(9000))[:, None]
    colors = share * palette()[labels] + 0.02 * rng.standard_normal((9000, 3))
    inside = np.vstack([ground, colors])
    wanted = np.full((12000, CLASSES), _LOGITS[0])
    span = _LOGITS[1] - _LOGITS[0]
    wanted[np.arange(3000, 12000), labels] += span * share[:, 0] ** 4
    known = np.hstack([_features(inside, weights), np.ones((12000, 1))])
    solved = np.linalg.solve(known.T @ known + (1e-3 * np.eye(FEATURES + 1)), known.T @ wanted)
    return solved[:-1].T[:, :, None, None], solved[-1]


def _grids() -> tuple[Any, Any]:
    centers, strides = [], []
    for stride in STRIDES:
        steps = np.arange(SIZE // stride) + 0.5
        y, x = np.meshgrid(steps, steps, indexing="ij")
        centers.append(np.stack([x.ravel(), y.ravel()]))
        strides.append(np.full(x.size, stride))
    return np.concatenate(centers, 1)[None], np.concatenate(strides)[None, None]


def _head(stride: int) -> list[Any]:
    """Return the nodes of one level: pooled features, boxes and class scores as columns."""
    at = str(stride)
    pool = {"kernel_shape": [stride] * 2, "strides": [stride] * 2}
    return [
        helper.make_node("AveragePool", ["image"], [f"p{at}"], **pool),
        helper.make_node("Conv", [f"p{at}", "w0", "b0"], [f"c{at}"]),
        helper.make_node("Relu", [f"c{at}"], [f"r{at}"]),
        helper.make_node("Conv", [f"r{at}", "w1", "b1"], [f"d{at}"]),
        helper.make_node("Relu", [f"d{at}"], [f"f{at}"]),
        helper.make_node("Conv", [f"f{at}", "wb", "bb"], [f"box{at}"]),
        helper.make_node("Conv", [f"f{at}", "wc", "bc"], [f"cls{at}"]),
        helper.make_node("Reshape", [f"box{at}", "to_boxes"], [f"boxes{at}"]),
        helper.make_node("Reshape", [f"cls{at}", "to_classes"], [f"classes{at}"]),
    ]


def detector(path: Path, seed: int = 1) -> Path:
    """Write the detector; its output is named ``output0``, as exported YOLOv8 models name it."""
    rng = np.random.default_rng(seed)
    weights = _random_weights(rng)
    weights["wc"], weights["bc"] = _fitted(weights, rng)
    weights["grid"], weights["stride"] = _grids()
    weights["two"] = np.array(2.0)
    held = [numpy_helper.from_array(one.astype(np.float32), n) for n, one in weights.items()]
    held.append(numpy_helper.from_array(np.array([0, 4, -1]), "to_boxes"))
    held.append(numpy_helper.from_array(np.array([0, CLASSES, -1]), "to_classes"))
    nodes = [node for stride in STRIDES for node in _head(stride)]
    nodes += [
        helper.make_node("Concat", [f"boxes{one}" for one in STRIDES], ["far"], axis=2),
        helper.make_node("Concat", [f"classes{one}" for one in STRIDES], ["logits"], axis=2),
        helper.make_node("Softplus", ["far"], ["sides"]),
        helper.make_node("Split", ["sides"], ["low", "high"], axis=1),
        helper.make_node("Sub", ["grid", "low"], ["corner1"]),
        helper.make_node("Add", ["grid", "high"], ["corner2"]),
        helper.make_node("Add", ["corner1", "corner2"], ["sum"]),
        helper.make_node("Div", ["sum", "two"], ["center"]),
        helper.make_node("Sub", ["corner2", "corner1"], ["extent"]),
        helper.make_node("Concat", ["center", "extent"], ["cells"], axis=1),
        helper.make_node("Mul", ["cells", "stride"], ["pixels"]),
        helper.make_node("Sigmoid", ["logits"], ["scores"]),
        helper.make_node("Concat", ["pixels", "scores"], ["output0"], axis=1),
    ]
    for number, node in enumerate(nodes):
        node.name = f"{node.op_type}_{number}"
    ends = (
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, SIZE, SIZE])],
        [helper.make_tensor_value_info("output0", TensorProto.FLOAT, [1, 4 + CLASSES, ANCHORS])],
    )
    graph = helper.make_graph(nodes, "detector", *ends, initializer=held)
    onnx.save(
        helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13)]), path
    )
    return path


#: Nodes that mix pixels and scores: quantization that keeps the task's figures leaves them alone.
HEAD = ("Softplus", "Split", "Sub", "Add", "Div", "Mul", "Sigmoid", "Concat")


def same_detections(reference: Any, candidate: Any) -> bool:
    """Whether 95 of 100 anchors that detect an object on either side do so on both.

    Detect: a score from 0.25 on; the other side has the same class, from 0.15 on, and its box
    overlaps by 0.8.
    """
    return all(
        _agreement(a[0], b[0]) >= 0.95 for a, b in ((reference, candidate), (candidate, reference))
    )


def _agreement(one: Any, other: Any) -> float:
    seen = one[4:].max(0) >= 0.25
    if not seen.any():
        return 1.0
    a, b = one[:, seen], other[:, seen]
    same = (a[4:].argmax(0) == b[4:].argmax(0)) & (b[4:].max(0) >= 0.15)
    return float((same & (_overlap(a[:4], b[:4]) > 0.8)).mean())


def _overlap(a: Any, b: Any) -> Any:
    low = np.maximum(a[:2] - a[2:] / 2, b[:2] - b[2:] / 2)
    shared = np.clip(np.minimum(a[:2] + a[2:] / 2, b[:2] + b[2:] / 2) - low, 0, None).prod(0)
    return shared / (a[2:].prod(0) + b[2:].prod(0) - shared)
