from __future__ import annotations

from tests.rules.made import findings, layer

LAYERS = tuple(layer("PointWise", "in FP16", f"t{i} FP16") for i in range(3))


def test_found() -> None:
    (one,) = findings(
        "TIME201", *LAYERS, layer("gemm", "in FP16", "out FP16"), times=(0.2, 0.2, 0.2, 0.4)
    )
    assert one.layers == (3,)
    assert one.share_pct is not None
    assert round(one.share_pct) == 40
    assert one.advice == "begin with this layer"


def test_a_myelin_layer_is_a_whole_part() -> None:
    whole = layer("Myelin", "in FP16", "out FP16", name="{ForeignNode[a...b]}")
    (one,) = findings("TIME201", *LAYERS, whole, times=(0.2, 0.2, 0.2, 0.4))
    assert "part of the network" in one.message
    assert "newer TensorRT" in one.advice


def test_not_found() -> None:
    even = layer("gemm", "in FP16", "out FP16")
    assert findings("TIME201", *LAYERS, even, LAYERS[0], times=(0.2,) * 5) == ()
    assert findings("TIME201", *LAYERS, times=(0.1, 0.1, 0.8)) == ()
    assert findings("TIME201", *LAYERS, even) == ()
