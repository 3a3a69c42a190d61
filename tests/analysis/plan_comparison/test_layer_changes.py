import pytest

from enginescope.analysis.plan_comparison.layer_changes import changes_between, layers_side
from enginescope.records.plan.plan import Layer
from enginescope.records.tensor import Tensor
from tests.analysis.compared_plans import FP16, INT8, tensor


def one_layer(
    reads: Tensor | tuple[Tensor, ...] = tensor("x", 4, 3, 8, 8),  # noqa: B008 - frozen
    write: Tensor = tensor("y", 4, 16, 8, 8),  # noqa: B008 - frozen
    **more,
) -> Layer:
    inputs = reads if isinstance(reads, tuple) else (reads,)
    return Layer(
        **{
            "index": 0,
            "name": "n",
            "type": "Convolution",
            "inputs": inputs,
            "outputs": (write,),
            **more,
        }
    )


def changes(a: Layer, b: Layer) -> dict[str, tuple[str, str]]:
    found = changes_between(layers_side([a], None), layers_side([b], None))
    return {one.what: (one.a, one.b) for one in found}


def test_what_is_no_difference_between_layers() -> None:
    assert changes(one_layer(), one_layer()) == {}
    blank = Tensor(name="x")
    known = one_layer(tactic_name=None)
    unknown = one_layer(blank, blank)
    assert (changes(known, unknown), changes(unknown, known)) == ({}, {})
    assert changes(one_layer(), one_layer(tensor("x", None, 3, None, 8))) == {}
    linear = one_layer(tensor("x", 4, 3, 8, 8, layout="kLINEAR"))
    packed = one_layer(tensor("x", 4, 3, 8, 8, layout="kHWC8"))
    assert changes(one_layer(), linear) == {}
    assert "format" in changes(linear, packed)
    first, second = (one_layer(tactic_name=f"__myl_Res_0x{one}") for one in ("63adb2", "ffff00"))
    assert changes(first, second) == {}
    assert changes(first, one_layer(tactic_name="__myl_Mul_0x63adb2")) == {
        "tactic": ("__myl_Res_0x63adb2", "__myl_Mul_0x63adb2")
    }
    extra = (tensor("x", 4, 3, 8, 8), tensor("shortcut", 4, 16, 8, 8, layout="kHWC8"))
    assert changes(one_layer(), one_layer(extra)) == {}
    side = layers_side([Layer(index=0, name="TrainStation1", type="TrainStation")], None)
    assert (side.precision, side.precision_in, side.tactic) == (None, None, None)
    assert changes_between(side, side) == ()


@pytest.mark.parametrize(
    ("b", "expected"),
    [
        (
            one_layer(tensor("x", 4, 3, 8, 8, dtype=FP16), tensor("y", 4, 16, 8, 8, dtype=FP16)),
            {"precision": ("FP32", "FP16")},
        ),
        (one_layer(tensor("x", 4, 3, 8, 8, dtype=INT8)), {"precision": ("FP32", "INT8 → FP32")}),
        (
            one_layer(write=tensor("y", 4, 16, 8, 8, layout="kHWC8")),
            {"format": ("NCHW, NCHW", "NCHW, NHWC8")},
        ),
        (one_layer(type="Deconvolution"), {"kind": ("Convolution", "Deconvolution")}),
        (one_layer(tensor("x", 1, 3, 8, 8), tensor("y", 1, 16, 8, 8)), {"batch": ("4", "1")}),
        (
            one_layer(write=tensor("y", 4, 16, 4, 4)),
            {"shapes": ("3×8×8 → 16×8×8", "3×8×8 → 16×4×4")},
        ),
        (one_layer(tactic_name="k"), {"tactic": ("none named", "k")}),
    ],
)
def test_one_property_differs(b: Layer, expected) -> None:
    assert changes(one_layer(), b) == expected


def test_a_group_is_seen_from_outside() -> None:
    inside = tensor("inside", 4, 16, 8, 8, dtype=FP16)
    conv = one_layer(write=inside, onnx_nodes=("c",), tactic_name="t")
    pool = one_layer(
        inside, tensor("out", 4, 16, 4, 4, dtype=INT8), index=1, name="p", type="Pooling"
    )
    more = [
        one_layer(tensor("out", 4, 16, 4, 4, dtype=INT8), tensor(f"o{at}", 4, 8), index=at)
        for at in (2, 3)
    ]
    side = layers_side([conv, pool], 1.5)
    assert [one.name for one in side.inputs] == ["x"]
    assert [one.name for one in side.outputs] == ["out"]
    assert (side.precision, side.type, side.name) == (
        "FP32 → INT8",
        "Convolution + Pooling",
        "n + p",
    )
    assert (side.tactic, side.onnx_nodes, side.time_ms) == ("t + ?", ("c",), 1.5)
    assert layers_side([conv, pool, *more], None).type == "3 Convolution + Pooling"
