"""A model that overflows in FP16 at a known place, and is right again behind it."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from enginescope.records.run.job import StopRule

CHANNELS = 64
#: Exact in FP16.
GAIN = 32_768.0
#: The node whose values FP16 cannot hold, and what it gives.
LOUD, TENSOR = "loud", "loud_out"
#: For the trials of what to keep in FP32, where a latency is needed and not a precise one.
SHORT_STOP = StopRule(precision_pct=5.0, max_time_ms=200.0, min_time_ms=20.0)


def overflowing(path: Path, *, size: int = 32, by_constant: bool = False) -> Path:
    """Write convolutions of which the second gives up to some 100,000, and the rest scales down.

    The pooling between keeps a runtime from merging the scale into the convolution.

    Parameters
    ----------
    by_constant : bool
        Multiply by a number that FP16 cannot hold in place of the loud convolution: ONNX Runtime's
        CPU provider computes an FP16 model in FP32, and only constants are rounded for good.
    """
    net = _Net()
    net.conv("first", "x", 8)
    net.add("Relu", ["first_out"], "first_relu", name="relu")
    if by_constant:
        net.conv("second", "first_relu", CHANNELS)
        net.add("Mul", ["second_out", net.weight("much", np.float32(8 * GAIN))], TENSOR, name=LOUD)
    else:
        net.conv(LOUD, "first_relu", CHANNELS, gain=2 * GAIN)
    net.add("MaxPool", [TENSOR], "pooled", name="pool", kernel_shape=[2, 2], strides=[2, 2])
    net.add("Div", ["pooled", net.weight("gain", np.float32(GAIN))], "quiet", name="scale")
    net.conv("third", "quiet", CHANNELS)
    net.add("Relu", ["third_out"], "third_relu", name="relu3")
    net.conv("last", "third_relu", CHANNELS)
    net.add("GlobalAveragePool", ["last_out"], "y", name="mean")
    return net.save(path, size)


class _Net:
    """Nodes and weights of a graph under construction."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._weights: list[Any] = []
        self._draw = np.random.default_rng(5)

    def weight(self, name: str, values: Any) -> str:
        self._weights.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def add(self, kind: str, inputs: list[str], output: str, **more: Any) -> None:
        self._nodes.append(helper.make_node(kind, inputs, [output], **more))

    def conv(self, name: str, x: str, inputs: int, gain: float = 1.0) -> None:
        values = self._draw.standard_normal((CHANNELS, inputs, 3, 3)) * gain
        weight = self.weight(f"{name}_w", (values * (inputs * 9) ** -0.5).astype(np.float32))
        self.add("Conv", [x, weight], f"{name}_out", name=name, pads=[1, 1, 1, 1])

    def save(self, path: Path, size: int) -> Path:
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            self._nodes,
            "overflowing",
            [value("x", TensorProto.FLOAT, ["n", 8, size, size])],
            [value("y", TensorProto.FLOAT, ["n", CHANNELS, 1, 1])],
            self._weights,
        )
        opsets = [helper.make_opsetid("", 17)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="tests")
        onnx.checker.check_model(model)
        onnx.save(model, path)
        return path
