"""Small plans with times, for what the report card shows."""

from typing import Any

from enginescope.analysis.plans.plan_view import PlanView
from enginescope.records.plan.plan import IOTensor, Layer, Plan, Profile, Weights
from enginescope.records.tensor import DataType, Tensor
from tests.formats.plans import profile

INT8, FP16, FP32 = DataType.INT8, DataType.FP16, DataType.FP32


def tensor(name: str, *shape: int | None, dtype: DataType = FP32) -> Tensor:
    return Tensor(name=name, shape=shape, dtype=dtype)


def layer(
    index: int, name: str, kind: str, reads: list[Tensor], writes: list[Tensor], **more: Any
) -> Layer:
    return Layer(
        index=index, name=name, type=kind, inputs=tuple(reads), outputs=tuple(writes), **more
    )


def convolution(
    index: int, name: str, read: Tensor, write: Tensor, kernel: int = 3, groups: int = 1
) -> Layer:
    count = write.shape[1] * read.shape[1] * kernel**2 // groups
    own = {"Kernel": [kernel, kernel], "Stride": [1, 1], "Groups": groups}
    weights = (Weights(role="Weights", dtype=read.dtype, count=count),)
    return layer(index, name, "Convolution", [read], [write], weights=weights, attributes=own)


def small_layers() -> tuple[Layer, ...]:
    """A reformat to INT8, a convolution, a depthwise one that writes FP16, a no-op, a product."""
    x, a = tensor("x", 1, 4, 8, 8), tensor("a", 1, 4, 8, 8, dtype=INT8)
    b, c = tensor("b", 1, 8, 8, 8, dtype=INT8), tensor("c", 1, 8, 8, 8, dtype=FP16)
    d, w = tensor("d", 1, 512, dtype=FP16), tensor("w", 512, 10, dtype=FP16)
    return (
        layer(0, "quantise", "Reformat", [x], [a], attributes={"Origin": "QDQ"}),
        convolution(1, "conv", a, b),
        convolution(2, "depthwise", b, c, groups=8),
        layer(3, "flatten", "NoOp", [c], [d]),
        layer(4, "fc", "gemm", [d, w], [tensor("y", 1, 10, dtype=FP16)]),
    )


def small_plan() -> Plan:
    layers = small_layers()
    given, taken = layers[0].inputs[0], layers[-1].outputs[0]
    io = (IOTensor(tensor=given, mode="input"), IOTensor(tensor=taken, mode="output"))
    return Plan(name="small", layers=layers, io=io)


#: Mean times of the layers of `small_plan`; the no-op has none.
TIMES = {"quantise": 0.1, "conv": 0.5, "depthwise": 0.3, "fc": 0.1}


def profile_of(times: dict[str, float]) -> Profile:
    return profile(*times.items())


def small_view(*, timed: bool = True) -> PlanView:
    return PlanView(small_plan(), profile_of(TIMES) if timed else None)


def view_of(*layers: Layer, times: dict[str, float] | None = None) -> PlanView:
    return PlanView(Plan(name="p", layers=layers), profile_of(times) if times else None)
