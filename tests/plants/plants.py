"""76 faults in models of six families, and the node that `validate --bisect` names for each."""

import shutil
from pathlib import Path

import enginescope as es
from enginescope.core.record import Record
from enginescope.render.bisection.bisect_answer import why_text
from tests.plants import faults
from tests.plants.families import FAMILIES, Family
from tests.plants.faults import Fault, planted
from tests.plants.reasons import false_reasons

FP16 = "ort-cpu:fp16"


class Plant(Record, frozen=True, kw_only=True):
    """A fault in a model of a family.

    Attributes:
        fault: ``None``: the model as it was published.
        names: Nodes of which one must be named, of a model that is as it was published.
        runs_in: ``"FP16"`` and ``"FP32"``: precision of the run; ``"Q/DQ"``: the quantized model
            runs.
    """

    family: str
    kind: str
    fault: Fault | None
    names: tuple[str, ...] = ()
    runs_in: str = "FP16"

    @property
    def is_quantized(self) -> bool:
        """Whether the fault is in the quantized model."""
        return self.runs_in == "Q/DQ"

    @property
    def is_right_in_fp32(self) -> bool:
        return self.kind in _FP16_ONLY


_FP16_ONLY = frozenset(
    {"weight overflows", "variance overflows", "activation overflows", "small denominator",
     "squares underflow", "as published"}
)  # fmt: skip


class Named(Record, frozen=True, kw_only=True):
    """What was named for a plant, why, and what is false in that."""

    plant: Plant
    expected: tuple[str, ...]
    node: str | None
    cause: str
    why: str = ""
    false: tuple[str, ...] = ()

    @property
    def is_right(self) -> bool:
        return self.node in self.expected


def half(family: str, kind: str, fault: Fault) -> Plant:
    return Plant(family=family, kind=kind, fault=fault)


def int8(family: str, kind: str, fault: Fault) -> Plant:
    return Plant(family=family, kind=kind, fault=fault, runs_in="Q/DQ")


def single(family: str, kind: str, fault: Fault) -> Plant:
    return Plant(family=family, kind=kind, fault=fault, runs_in="FP32")


_NORM = "p2o.BatchNormalization.1"


def _ready(fault: Fault) -> Fault:
    """The published detection overflows in FP16 by itself: a larger fault than those planted."""
    return faults.with_small_variance(_NORM, fault)


_SILERO = "If_0_then_branch__Inline_0__"

PLANTS: tuple[Plant, ...] = (
    half("convolutional", "damaged weight", faults.damaged_weight("stage1/block1/conv1")),
    half("convolutional", "wrong scale", faults.scaled_weight("stage2/block0/conv2", 1.5)),
    half("convolutional", "weight overflows", faults.overflowing_weight("stage1/block0/conv2")),
    half("convolutional", "variance overflows", faults.large_variance("stage0/block1/conv1")),
    half("convolutional", "activation overflows", faults.large_activation("stage2/block0/conv1")),
    half("MobileNet", "damaged weight", faults.damaged_weight("%Conv:12")),
    half("MobileNet", "wrong scale", faults.scaled_weight("%Conv:25", 1.5)),
    half("MobileNet", "weight overflows", faults.overflowing_weight("%Conv:31")),
    half("MobileNet", "activation overflows", faults.large_activation("%Conv:20")),
    half("transformer", "damaged weight", faults.damaged_weight("MatMul_349")),
    half("transformer", "wrong constant", faults.wrong_constant("Add_241", 1, 3.0)),
    half("transformer", "weight overflows", faults.overflowing_weight("MatMul_244")),
    half("transformer", "activation overflows", faults.large_activation("MatMul_465")),
    half("transformer", "small denominator", faults.small_denominator("Add_347")),
    half("transformer", "squares underflow", faults.lost_variance("MatMul_260")),
    Plant(family="OCR detection", kind="as published", fault=None,
          names=(_NORM,)),
    half("OCR detection", "damaged weight", _ready(faults.damaged_weight("p2o.Conv.16"))),
    half("OCR detection", "wrong scale", _ready(faults.scaled_weight("p2o.Conv.28", 3.0))),
    half("OCR detection", "weight overflows", _ready(faults.overflowing_weight("p2o.Conv.12"))),
    half("OCR detection", "small denominator", _ready(faults.small_denominator("p2o.Conv.61"))),
    half("speech with If", "damaged weight",
          faults.damaged_weight(f"{_SILERO}/encoder/1/reparam_conv/Conv")),
    half("speech with If", "wrong scale",
          faults.scaled_weight(f"{_SILERO}/encoder/2/reparam_conv/Conv", 1.7)),
    half("speech with If", "weight overflows",
          faults.overflowing_weight(f"{_SILERO}/encoder/3/reparam_conv/Conv")),
    half("speech with If", "squares underflow",
          faults.lost_variance(f"{_SILERO}/encoder/0/reparam_conv/Conv")),
    half("U-shaped", "damaged weight", faults.damaged_weight("up1")),
    half("U-shaped", "variance overflows", faults.large_variance("down1")),
    half("U-shaped", "activation overflows", faults.large_activation("middle")),
    half("U-shaped", "small denominator", faults.small_denominator("up2")),
    int8("convolutional", "saturating scale", faults.activation_scale(0.4, 1 / 40)),
    int8("convolutional", "coarse scale", faults.activation_scale(0.2, 400.0)),
    int8("convolutional", "zero point", faults.zero_point(0.5, 40)),
    int8("convolutional", "swapped scales", faults.swapped_scales(0.05)),
    int8("MobileNet", "saturating scale", faults.activation_scale(0.5, 1 / 20)),
    int8("MobileNet", "wrong scale", faults.dequantizer_scale(0.3, 2.5)),
    int8("MobileNet", "zero point", faults.zero_point(0.7, 50)),
    int8("MobileNet", "weight scale", faults.weight_scale(0.3, 2.0)),
    int8("U-shaped", "saturating scale", faults.activation_scale(0.5, 1 / 16)),
    int8("U-shaped", "wrong scale", faults.dequantizer_scale(0.6, 3.0)),
    int8("U-shaped", "zero point", faults.zero_point(0.3, 60)),
    int8("U-shaped", "swapped scales", faults.swapped_scales(0.9)),
)  # fmt: skip


#: Faults in FP32: the candidate differs from the reference at one node, and nothing is rounded.
FP32_PLANTS: tuple[Plant, ...] = (
    single("convolutional", "damaged weight", faults.damaged_weight("stage0/block1/conv2")),
    single("convolutional", "wrong scale", faults.scaled_weight("stage1/down", 1.5)),
    single("convolutional", "dropped bias", faults.dropped_bias("stage1/block0/conv1")),
    single("convolutional", "transposed weight",
            faults.transposed_weight("stage2/block1/conv1", 0, 1)),
    single("convolutional", "wrong padding",
            faults.wrong_attribute("stage0/block0/conv1", "pads", [2, 2, 0, 0])),
    single("convolutional", "missing activation",
            faults.wrong_input("stage1/block1/add", 0, "stage1/block0/add")),
    single("MobileNet", "damaged weight", faults.damaged_weight("%Conv:5")),
    single("MobileNet", "wrong scale", faults.scaled_weight("%Conv:40", 1.5)),
    single("MobileNet", "dropped bias", faults.dropped_bias("%Conv:18")),
    single("MobileNet", "transposed weight", faults.transposed_weight("Conv_352", 2, 3)),
    single("MobileNet", "wrong padding",
            faults.wrong_attribute("Conv_470", "pads", [0, 0, 2, 2])),
    single("MobileNet", "wrong factor", faults.wrong_attribute("Gemm_720", "alpha", 0.5)),
    single("transformer", "damaged weight", faults.damaged_weight("MatMul_128")),
    single("transformer", "transposed weight", faults.transposed_weight("MatMul_144", 0, 1)),
    single("transformer", "missing activation", faults.wrong_input("MatMul_592", 0, "679")),
    single("transformer", "wrong epsilon", faults.wrong_constant("Add_629", 1, 1e-5)),
    single("transformer", "wrong axis", faults.wrong_attribute("Softmax_201", "axis", 2)),
    single("transformer", "wrong axis of a mean",
            faults.wrong_attribute("ReduceMean_452", "axes", [1])),
    single("OCR detection", "damaged weight", faults.damaged_weight("p2o.Conv.10")),
    single("OCR detection", "wrong scale", faults.scaled_weight("p2o.Conv.20", 1.5)),
    single("OCR detection", "dropped bias", faults.dropped_bias("p2o.Conv.29")),
    single("OCR detection", "transposed weight",
            faults.transposed_weight("p2o.Conv.15", 2, 3)),
    single("OCR detection", "wrong epsilon",
            faults.wrong_attribute("p2o.BatchNormalization.0", "epsilon", 1e-2)),
    single("OCR detection", "wrong slope",
            faults.wrong_attribute("p2o.HardSigmoid.2", "alpha", 1 / 6)),
    single("speech with If", "damaged weight",
            faults.damaged_weight(f"{_SILERO}/encoder/0/reparam_conv/Conv")),
    single("speech with If", "wrong scale",
            faults.scaled_weight(f"{_SILERO}/encoder/1/reparam_conv/Conv", 1.5)),
    single("speech with If", "dropped bias",
            faults.dropped_bias(f"{_SILERO}/decoder/decoder/2/Conv")),
    single("speech with If", "wrong padding",
            faults.wrong_attribute(f"{_SILERO}/encoder/2/reparam_conv/Conv", "pads", [2, 0])),
    single("speech with If", "wrong exponent",
            faults.wrong_constant(f"{_SILERO}/stft/Pow_1", 1, 1.0)),
    single("speech with If", "swapped gates",
            faults.swapped_inputs(f"{_SILERO}/decoder/rnn/Concat")),
    single("U-shaped", "damaged weight", faults.damaged_weight("middle")),
    single("U-shaped", "wrong scale", faults.scaled_weight("up1", 1.5)),
    single("U-shaped", "transposed weight", faults.transposed_weight("down2", 2, 3)),
    single("U-shaped", "wrong padding", faults.wrong_attribute("up0", "pads", [2, 2, 0, 0])),
    single("U-shaped", "wrong interpolation",
            faults.wrong_attribute("up1/resize", "mode", "linear")),
    single("U-shaped", "swapped inputs", faults.swapped_inputs("up2/concat")),
)  # fmt: skip


_REPLACED = (
    ("U-shaped", "Relu → LeakyRelu", faults.replaced("down1/relu", "LeakyRelu", alpha=0.1)),
    ("MobileNet", "Relu → LeakyRelu",
     faults.replaced("%Relu:20", "LeakyRelu", renamed=True, alpha=0.2)),
    ("digits", "Relu → LeakyRelu", faults.replaced("%Relu:2", "LeakyRelu", alpha=0.2)),
    ("convolutional", "Relu → LeakyRelu",
     faults.replaced("stage1/block0/conv1/relu", "LeakyRelu", renamed=True, alpha=0.2)),
    ("gated", "Sigmoid → HardSigmoid", faults.replaced("%Sigmoid:1", "HardSigmoid")),
    ("gated", "Sigmoid → HardSigmoid", faults.replaced("%Sigmoid:2", "HardSigmoid", renamed=True)),
    ("U-shaped", "MaxPool → AveragePool", faults.replaced("pool1", "AveragePool")),
    ("digits", "MaxPool → AveragePool", faults.replaced("%MaxPool:1", "AveragePool", renamed=True)),
    ("gated", "Tanh → Softsign", faults.replaced("%Tanh:1", "Softsign")),
    ("transformer", "Erf → Tanh", faults.replaced("%Erf:2", "Tanh", renamed=True)),
    ("gated", "Add → Sub", faults.replaced("%Add:1", "Sub")),
    ("convolutional", "Add → Sub", faults.replaced("stage1/block1/add", "Sub", renamed=True)),
    ("transformer", "Add → Max", faults.replaced("Add_347", "Max")),
    ("transformer", "ReduceMean → ReduceMax", faults.replaced("ReduceMean_363", "ReduceMax")),
    ("gated", "ReduceMean → ReduceMax", faults.replaced("mean_node", "ReduceMax", renamed=True)),
)  # fmt: skip

_WEIGHTS = (
    ("convolutional", "damaged weight", faults.damaged_weight("stage1/block1/conv1")),
    ("U-shaped", "wrong scale", faults.scaled_weight("up1", 1.5)),
    ("MobileNet", "damaged weight", faults.damaged_weight("%Conv:12")),
    ("transformer", "transposed weight", faults.transposed_weight("MatMul_144", 0, 1)),
    ("digits", "wrong scale", faults.scaled_weight("%Gemm:0", 1.5)),
)

#: 20 faults in FP32, and the same in FP16: weights, and replaced operators of six kinds.
OPERATOR_PLANTS: tuple[Plant, ...] = tuple(
    make(*plant) for plant in (*_WEIGHTS, *_REPLACED) for make in (single, half)
)


def named(plant: Plant, folder: Path) -> Named:
    """Plant the fault, look for it, and return what is named."""
    folder.mkdir(parents=True, exist_ok=True)
    family: Family = FAMILIES[plant.family](folder)
    source = family.quantized() if plant.is_quantized and family.quantized else family.plain
    side, expected = folder / "side.onnx", plant.names
    if plant.fault is None:
        shutil.copyfile(source, side)
    else:
        expected = planted(source, side, plant.fault)
    reference = side if plant.is_right_in_fp32 else family.plain
    found = es.validate(
        side,
        reference=reference,
        on=FP16 if plant.runs_in == "FP16" else "ort-cpu",
        data=family.sample,
        tolerance="int8" if plant.is_quantized else None,
        bisect=True,
    )
    inside = found.sides[0].inside
    if inside is None:
        return Named(plant=plant, expected=expected, node=None, cause="not looked into")
    first = inside.first_step
    is_judged = plant.fault is not None and not plant.is_quantized and "If" not in plant.family
    return Named(
        plant=plant,
        expected=expected,
        cause=inside.cause,
        node=first.pair.node if first else None,
        why=why_text(inside) or "",
        false=false_reasons(inside, reference, side, family.sample) if is_judged else (),
    )
