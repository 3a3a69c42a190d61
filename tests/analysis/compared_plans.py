"""Two plans of one small network that differ in every way a comparison tells, and their times."""

from typing import Any

from enginescope.formats.importing.import_assembly import EngineFacts, run_of_engine
from enginescope.formats.plan.tensor_format import parse_layout
from enginescope.records.environment import Device
from enginescope.records.plan.build import ToolReport
from enginescope.records.plan.plan import IOTensor, Layer, Plan, Profile
from enginescope.records.run.run import Run
from enginescope.records.tensor import DataType, Tensor
from tests.analysis import card_plans
from tests.formats.plans import profile

FP32, FP16, INT8 = DataType.FP32, DataType.FP16, DataType.INT8
EVIL = "</script><script>alert(1)</script>"


def tensor(name: str, *shape: int | None, dtype: DataType = FP32, layout: str = "kCHW") -> Tensor:
    return Tensor(name=name, shape=shape, dtype=dtype, layout=parse_layout(layout))


class Network:
    """Layers one after the other; each reads what the one before wrote."""

    def __init__(self, batch: int = 4, dtype: DataType = FP32) -> None:
        self.image = tensor("image", batch, 3, 16, 16)
        self.flow = self.image
        self.batch, self.dtype = batch, dtype
        self.layers: list[Layer] = []
        self.times: list[float | None] = []

    def add(
        self,
        name: str,
        kind: str,
        channels: int,
        ms: float | None,
        *,
        side: int = 8,
        dtype: DataType | None = None,
        layout: str = "kCHW",
        **more: Any,
    ) -> None:
        shape = (self.batch, channels, side, side)
        at, wanted = len(self.layers), dtype or self.dtype
        wrote = tensor(f"t{at}", *shape, dtype=wanted, layout=layout)
        fields = {"tactic_name": f"{kind.lower()}_kernel", **more}
        self.layers.append(card_plans.layer(at, name, kind, [self.flow], [wrote], **fields))
        self.times.append(ms)
        self.flow = wrote

    def plan(self, name: str) -> Plan:
        io = (IOTensor(tensor=self.image, mode="input"), IOTensor(tensor=self.flow, mode="output"))
        return Plan(name=name, layers=tuple(self.layers), io=io)

    def profile(self, extra_ms: float | None = None) -> Profile:
        names = (*(layer.name for layer in self.layers), "not in the plan")
        pairs = zip(names, (*self.times, extra_ms), strict=True)
        return profile(*((name, ms) for name, ms in pairs if ms is not None), iterations=100)

    def run(self, name: str, *, timed: bool = True, extra_ms: float | None = None, **facts) -> Run:
        times = self.profile(extra_ms) if timed else None
        return run_of_engine(EngineFacts(name=name, plan=self.plan(name), profile=times, **facts))


def report(gpu: str = "NVIDIA A100", version: str = "8.6.1", **more: Any) -> ToolReport:
    return ToolReport(tool="trtexec", device=Device(name=gpu), tool_version=version, **more)


def network_a(batch: int = 4) -> Network:
    """FP32: a reformat that B lost, two layers that B fused, two of one name."""
    made = Network(batch)
    made.add("in/reformat", "Reformat", 3, 0.5, side=16, layout="kHWC")
    made.add("conv1/x", "Convolution", 16, 2.0, side=16)
    made.add("conv2/x", "Convolution", 24, 1.0, side=16)
    made.add("pool/x", "Pooling", 24, 0.25)
    made.add("same/x", "Convolution", 32, 0.75)
    made.add("same/x", "Convolution", 32, 0.75)
    made.add("still/x", "Convolution", 40, 0.125)
    made.add("head/x", "Convolution", 10, 0.5, side=1)
    return made


def network_b(batch: int = 4) -> Network:
    """conv1 in FP16, conv2 and pool fused, another tactic in the head, a reformat added."""
    made = Network(batch)
    made.flow = tensor("image", batch, 3, 16, 16, dtype=FP16)
    made.image = tensor("image", batch, 3, 16, 16)
    made.add("conv1/x", "Convolution", 16, 0.75, side=16, dtype=FP16, tactic_name="h884")
    made.add("conv1/out reformat", "Reformat", 16, 0.25, side=16, dtype=FP32)
    made.add("conv2/x + pool/x", "ConvActPool", 24, 0.875, tactic_name="fused")
    made.add("same/x", "Convolution", 32, 0.75)
    made.add("same/x", "Convolution", 32, 0.8125)
    made.add("still/x", "Convolution", 40, 0.125)
    made.add("head/x", "Convolution", 10, 0.625, side=1, tactic_name="other")
    return made


def run_a(**more: Any) -> Run:
    return network_a().run("net a", report=report(), **more)


def run_b(**more: Any) -> Run:
    return network_b().run("net b", report=report(), **more)
