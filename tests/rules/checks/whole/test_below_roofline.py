from __future__ import annotations

from tests.rules.made import findings, layer

# 3,200,000 bytes each way: 0.00133 ms at H200's 4,800 GB/s
COPY = layer("Reformat", "in FP16 100x16000", "out FP16 100x16000")


def test_found() -> None:
    (one,) = findings("TIME204", COPY, times=(0.0266666667,), gpu="NVIDIA H200")
    assert one.message == "takes 20.0 × its limit by memory on H200"
    assert one.saving.bound_ms is not None
    assert round(one.saving.bound_ms, 6) == round(0.0266666667 * 0.95, 6)


def test_not_found() -> None:
    assert findings("TIME204", COPY, times=(0.0266666667,)) == ()
    assert findings("TIME204", COPY, gpu="NVIDIA H200") == ()
    assert findings("TIME204", COPY, times=(0.005,), gpu="NVIDIA H200") == ()
    assert findings("TIME204", COPY, times=(0.0266666667,), gpu="T4") == ()
    kernel = layer("kgen", "in FP16 100x16000", "out FP16 100x16000")
    assert findings("TIME204", kernel, times=(0.5,), gpu="NVIDIA H200") == ()
    long = layer("PluginV2", "out FP16", "out2 FP16")
    assert findings("TIME204", COPY, long, times=(0.0266666667, 9.0), gpu="NVIDIA H200") == ()


def test_what_loses_less_than_a_hundredth_is_left_out() -> None:
    long = layer("PluginV2", "out FP16", "out2 FP16")
    times = (0.0266666667, 2.513)  # 1.05 % of the time, of which it loses 0.95
    assert findings("TIME204", COPY, long, times=times, gpu="NVIDIA H200") == ()
    assert len(findings("TIME204", COPY, long, times=(0.03, 2.513), gpu="NVIDIA H200")) == 1
