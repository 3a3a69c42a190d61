from __future__ import annotations

from tests.rules.made import findings, layer

LAYERS = tuple(layer("PointWise", "in FP16", f"t{i} FP16") for i in range(21))


def test_found() -> None:
    (one,) = findings("TIME202", *LAYERS, times=(*(0.004,) * 20, 0.01))
    assert one.subject == "20 layers"
    assert one.layers == tuple(range(20))
    assert one.saving.bound_ms is not None
    assert round(one.saving.bound_ms, 9) == 0.04


def test_not_found() -> None:
    assert findings("TIME202", *LAYERS, times=(*(0.004,) * 19, 0.01, 0.01)) == ()
    assert findings("TIME202", *LAYERS, times=(*(0.004,) * 20, 1.0)) == ()
    assert findings("TIME202", *LAYERS, times=(0.0,) * 21) == ()
    assert findings("TIME202", *LAYERS) == ()


def test_layers_that_launch_no_kernel_do_not_count() -> None:
    """A profile may give a constant some microseconds all the same."""
    constants = tuple(layer("Constant", "", f"c{i} FP16") for i in range(5))
    real = LAYERS[:19]
    assert findings("TIME202", *real, *constants, times=(0.004,) * 24) == ()
    (found,) = findings("TIME202", *LAYERS, *constants, times=(0.004,) * 26)
    assert found.layers == tuple(range(21))
