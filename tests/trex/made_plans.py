"""Small plans for the defects: a layer in a line, as TensorRT writes it."""

import json
from typing import Any

from enginescope.analysis.plans.plan_view import Exploration, explore
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.records.plan.plan import Plan, Profile
from tests.formats.plans import tensor

LINEAR = "Row major linear FP32"


def layer(
    name: str, kind: str, reads: list[dict] | None = None, writes: list[dict] | None = None, **own
) -> dict[str, Any]:
    ends = {"Inputs": reads or [], "Outputs": writes or []}
    return {"Name": name, "LayerType": kind, **ends, **own}


def convolution(
    name: str, kernel: list[int], shapes: tuple[list[int], list[int]], text: str = LINEAR, **own
) -> dict:
    """A convolution from ``x`` to ``y`` of these shapes."""
    ends = ([tensor(one, dims, text)] for one, dims in zip("xy", shapes, strict=True))
    parameters = {"ParameterType": "Convolution", "Kernel": kernel, "Groups": 1, **own}
    return layer(name, "CaskConvolution", *ends, **parameters)


def chain(*steps: tuple[str, str, str, str]) -> list[dict]:
    """Layers as ``(name, type, reads, writes)``, names of tensors apart by spaces."""

    def tensors(names: str) -> list[dict]:
        return [tensor(one, [1, 4, 8, 8], LINEAR) for one in names.split()]

    return [layer(name, kind, tensors(a), tensors(b)) for name, kind, a, b in steps]


def plan_of(layers: list[Any], *bindings: str, **root: Any) -> Plan:
    """The plan of these layers; without `bindings` the file does not list any."""
    document = {"Layers": layers, **({"Bindings": list(bindings)} if bindings else {}), **root}
    return parse_plan(json.dumps(document).encode(), "made.graph.json")[0]


def explored(plan: Plan, profile: Profile | None = None, **more: Any) -> Exploration:
    return explore(plan.name, plan, profile, **more)
