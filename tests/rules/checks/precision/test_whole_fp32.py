from __future__ import annotations

from tests.rules.made import findings, layer

SINGLE = layer("Convolution", "in FP32", "a FP32")
PRODUCT = layer("gemm", "a FP32", "b FP32")


def test_found() -> None:
    pool = layer("Pooling", "b FP32", "c FP32")
    (found,) = findings("PLAN120", SINGLE, PRODUCT, pool, times=(1.0, 0.5, 0.5))
    assert found.layers == (0, 1)
    assert found.saving.bound_ms == 0.75
    assert found.severity.value == "info"


def test_found_without_times() -> None:
    (found,) = findings("PLAN120", SINGLE, PRODUCT)
    assert found.saving.bound_ms is None


def test_not_where_one_layer_is_reduced() -> None:
    assert findings("PLAN120", SINGLE, layer("gemm", "a FP16", "b FP16")) == ()


def test_not_where_nothing_is_computed() -> None:
    assert findings("PLAN120", layer("Pooling", "in FP32", "a FP32")) == ()


def test_not_where_it_hardly_takes_time() -> None:
    pool = layer("Pooling", "a FP32", "c FP32")
    assert findings("PLAN120", SINGLE, pool, times=(0.04, 0.96)) == ()
