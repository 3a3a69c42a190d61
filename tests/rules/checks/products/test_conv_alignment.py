from __future__ import annotations

import pytest

from tests.rules.made import findings, layer, severities


@pytest.mark.parametrize(
    ("dtype", "multiple"), [("FP32", 4), ("FP16", 8), ("BF16", 8), ("INT8", 16), ("FP8", 16)]
)
def test_found(dtype: str, multiple: int) -> None:
    odd, even = multiple * 3 + 1, multiple * 3
    found = findings(
        "PLAN102",
        layer("Convolution", f"x {dtype} 1x{odd}x8x8", f"a {dtype} 1x{even}x8x8"),
        layer("Convolution", f"a {dtype} 1x{even}x8x8", f"b {dtype} 1x{odd}x8x8"),
        layer("Convolution", f"b {dtype} 1x{odd}x8", f"y {dtype} 1x{odd}x8"),
    )
    assert [one.message for one in found] == [
        f"has input channels {odd}, not a multiple of {multiple}",
        f"has output channels {odd}, not a multiple of {multiple}",
        f"has input channels {odd} and output channels {odd}, not a multiple of {multiple}",
    ]
    assert severities(found) == ["warning"] * 3


def test_found_by_group() -> None:
    (one,) = findings(
        "PLAN102", layer("Convolution", "x FP16 1x64x8x8", "y FP16 1x64x8x8", Groups=16)
    )
    assert one.message.startswith("has input channels 4 and output channels 4 per group, not")


def test_with_the_gpu_known_what_is_beyond_its_limit_is_at_stake() -> None:
    # 3,211,264 × 10 + 6,422,528 bytes: 0.0080 ms at H200's 4,800 GB/s
    conv = layer(
        "Convolution", "x FP16 1x10x1120x1434", "y FP16 1x2x1120x1434", tactic_name="x_simt"
    )
    limit_ms = (10 + 2) * 1120 * 1434 * 2 / 4.8e9
    conv.attributes["Kernel"] = [1, 1]
    (whole,) = findings("PLAN102", conv, times=(0.02,))
    (near,) = findings("PLAN102", conv, times=(0.02,), gpu="NVIDIA H200")
    (unknown,) = findings("PLAN102", conv, times=(0.02,), gpu="some GPU")
    assert whole.saving.bound_ms == unknown.saving.bound_ms == 0.02
    assert near.saving.bound_ms == pytest.approx(0.02 - limit_ms)
    (faster,) = findings("PLAN102", conv, times=(limit_ms / 2,), gpu="NVIDIA H200")
    assert (faster.saving.bound_ms, faster.saving.share_pct(faster.saving.bound_ms)) == (0.0, 0.0)


def test_padding_is_at_stake() -> None:
    conv = layer("Convolution", "x FP16 1x12x8x8", "y FP16 1x4x8x8")
    (one,) = findings("PLAN102", conv, times=(1.0,))
    assert one.saving.bound_ms == pytest.approx(1 - 12 / 16 * 4 / 8)


def test_the_model_s_interface_is_not_to_be_changed() -> None:
    """An image's channels and a head's classes were the first advice of a ResNet and of a ViT."""
    assert not findings(
        "PLAN102",
        layer("Reformat", "in FP32 1x3x8x8", "a FP16 1x3x8x8"),
        layer("Convolution", "a FP16 1x3x8x8", "b FP16 1x64x8x8"),
        layer("Convolution", "b FP16 1x64x8x8", "c FP16 1x1x8x8"),
        layer("Resize", "c FP16 1x1x8x8", "d FP16 1x1x16x16"),
        layer("Reformat", "d FP16 1x1x16x16", "out FP32 1x1x16x16"),
    )


def test_of_a_layer_at_the_interface_the_other_side_is_found() -> None:
    conv = layer("Convolution", "in FP16 1x3x8x8", "a FP16 1x20x8x8")
    (one,) = findings("PLAN102", conv, layer("Convolution", "a FP16 1x20x8x8", "out FP16 1x1x8x8"))[
        :1
    ]
    assert one.message == "has output channels 20, not a multiple of 8"


def test_an_inner_layer_of_as_many_channels_as_the_image_is_found() -> None:
    found = findings(
        "PLAN102",
        layer("Convolution", "in FP16 1x3x8x8", "a FP16 1x64x8x8"),
        layer("Convolution", "a FP16 1x64x8x8", "b FP16 1x3x8x8"),
        layer("Convolution", "b FP16 1x3x8x8", "c FP16 1x64x8x8"),
        layer("Convolution", "c FP16 1x64x8x8", "out FP16 1x64x8x8"),
    )
    assert [one.layers for one in found] == [(1,), (2,)]


def test_not_found() -> None:
    assert (
        findings(
            "PLAN102",
            layer("Convolution", "in FP16 1x64x8x8", "a FP16 1x64x8x8"),
            layer("Convolution", "a FP16 1x100x8x8", "b FP16 1x100x8x8", Groups=100),
            layer("Convolution", "b FP16 1x?x8x8", "c FP16"),
            layer("Convolution", "c INT32 1x3x8x8", "d INT32 1x3x8x8"),
            layer("Convolution", "", "out FP16 1x3x8x8"),
            layer("Pooling", "in FP16 1x3x8x8", "e FP16 1x3x8x8"),
        )
        == ()
    )
    conv = layer("Convolution", "x FP16 1x3x8x8", "y FP16 1x64x8x8")
    assert findings("PLAN102", conv, capability="6.1") == ()
