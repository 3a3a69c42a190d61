from __future__ import annotations

from tests.rules.made import findings, layer

LAYERS = tuple(layer("PointWise", "in FP16", f"t{i} FP16") for i in range(3))


def test_found() -> None:
    (one,) = findings(
        "TIME201", *LAYERS, layer("gemm", "in FP16", "out FP16"), times=(0.2, 0.2, 0.2, 0.4)
    )
    assert one.layers == (3,)
    assert one.evidence["share_pct"] == 40
    assert one.stake_ms is None
    assert one.advice == "begin with this layer"


def test_not_found() -> None:
    even = layer("gemm", "in FP16", "out FP16")
    assert findings("TIME201", *LAYERS, even, LAYERS[0], times=(0.2,) * 5) == ()
    assert findings("TIME201", *LAYERS, times=(0.1, 0.1, 0.8)) == ()
    assert findings("TIME201", *LAYERS, even) == ()
