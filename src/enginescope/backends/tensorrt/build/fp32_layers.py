"""Layers that stay in FP32 where a build may use less."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

from enginescope.core.errors import UnsupportedError, UsageError


def keep_in_fp32(trt: Any, network: Any, config: Any, names: Sequence[str]) -> None:
    """Let layers compute in FP32 and hand it on, whatever the build is allowed.

    Args:
        names: Names of layers, which are those of the model's nodes, or patterns. Those that became
            no layer of floating numbers are passed over: the parser folds some.

    Raises:
        UnsupportedError: This TensorRT takes precisions from the model alone.
        UsageError: None of the names is a layer's.
    """
    flag = getattr(trt.BuilderFlag, "OBEY_PRECISION_CONSTRAINTS", None)
    layers = [network.get_layer(index) for index in range(network.num_layers)]
    if flag is None or (layers and not hasattr(layers[0], "precision")):
        raise UnsupportedError(
            "trt: keep_fp32",
            why=f"TensorRT {trt.__version__} builds strongly typed networks only",
            hint="convert the model, and leave these nodes in FP32 there",
        )
    exact = frozenset(names)
    found = False
    for layer in layers:
        if layer.name not in exact and not any(fnmatchcase(layer.name, one) for one in names):
            continue
        found = True
        _keep(trt, layer)
    if not found:
        raise UsageError(f"trt: keep_fp32={names[0]}", why="the network has no layer of that name")
    config.set_flag(flag)


def _keep(trt: Any, layer: Any) -> None:
    floats = (trt.DataType.FLOAT, trt.DataType.HALF)
    slots = range(layer.num_outputs)
    floating = [index for index in slots if layer.get_output(index).dtype in floats]
    if not floating:
        return
    if hasattr(layer, "precision"):
        layer.precision = trt.DataType.FLOAT
    if hasattr(layer, "set_output_type"):
        for index in floating:
            layer.set_output_type(index, trt.DataType.FLOAT)
