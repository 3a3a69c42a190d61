from typing import Any

from enginescope.core.record import replace
from enginescope.formats.plan.tensor_format import parse_dtype
from enginescope.records.environment import Device
from enginescope.records.plan.plan import IOTensor, Layer, Plan, Profile
from enginescope.records.tensor import Layout, Tensor
from enginescope.rules.base import Finding
from enginescope.rules.catalogue import LintConfig
from enginescope.rules.engine import lint
from enginescope.rules.view import LintInput
from tests.formats.plans import profile


def tensor(text: str) -> Tensor:
    """``name FP16 1x64x8x8 NHWC8``; layout and shape may be left out."""
    name, dtype, *rest = text.split()
    dims = tuple(None if one == "?" else int(one) for one in rest[0].split("x")) if rest else None
    layout = Layout(name=rest[1], text=rest[1]) if len(rest) > 1 else None
    return Tensor(name=name, dtype=parse_dtype(dtype), shape=dims, layout=layout)


def layer(kind: str, reads: str, writes: str, name: str | None = None, **more: Any) -> Layer:
    """A layer; tensors are separated by commas, unknown keywords become attributes."""
    return Layer(
        index=0,
        name=name or f"{kind} to {writes.split()[0] if writes else 'nothing'}",
        type=kind,
        inputs=tuple(tensor(one) for one in reads.split(",") if one.strip()),
        outputs=tuple(tensor(one) for one in writes.split(",") if one.strip()),
        attributes=more,
        **{key: more.pop(key) for key in list(more) if key in Layer.__struct_fields__},
    )


def plan(*layers: Layer, inputs: str = "in", outputs: str = "out", io: Any = None) -> Plan:
    """The layers in order; `inputs` and `outputs` are names of the engine's tensors."""
    numbered = tuple(replace(one, index=index) for index, one in enumerate(layers))
    named = [(one, "input") for one in inputs.split()]
    named += [(one, "output") for one in outputs.split()]
    found = tuple(IOTensor(tensor=Tensor(name=name), mode=mode) for name, mode in named)
    return Plan(name="made", layers=numbered, io=found if io is None else io)


def timed(made: Plan, *times: float) -> Profile:
    """A profile with the layers' names, in order."""
    return profile(*zip([one.name for one in made.layers], times, strict=True))


def findings(
    rule: str,
    *layers: Layer,
    times: tuple[float, ...] | None = None,
    gpu: str | None = None,
    capability: str | None = None,
    **more: Any,
) -> tuple[Finding, ...]:
    """What one rule finds in a plan of these layers."""
    made = plan(*layers, **more)
    device = Device(name=gpu or "some GPU", compute_capability=capability)
    given = LintInput(
        plan=made,
        profile=timed(made, *times) if times is not None else None,
        device=device if gpu or capability else None,
    )
    return lint(given, LintConfig(select=(rule,))).findings


def severities(found: tuple[Finding, ...]) -> list[str]:
    return [one.severity.value for one in found]
