"""Small plans for the defects: a layer in a line, as TensorRT writes it."""

import json
from typing import Any

from enginescope.analysis.plans.plan_view import Exploration, PlanView, explore
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.formats.trtexec.exported_profile import parse_profile
from enginescope.records.plan.plan import Plan, Profile
from tests.formats.plans import tensor

LINEAR = "Row major linear FP32"
#: In place of a value, a key that is to be left out.
ABSENT = object()


def layer(
    name: str, kind: str, reads: list[dict] | None = None, writes: list[dict] | None = None, **own
) -> dict[str, Any]:
    return {
        "Name": name,
        "LayerType": kind,
        "Inputs": reads or [],
        "Outputs": writes or [],
        **{key: value for key, value in own.items() if value is not ABSENT},
    }


def convolution(name: str, kernel: list[int], shapes: tuple[list[int], list[int]], **own) -> dict:
    """A convolution from ``x`` to ``y`` of these shapes."""
    parameters = {"ParameterType": "Convolution", "Kernel": kernel, "Groups": 1, **own}
    text = own.pop("text", LINEAR)
    parameters.pop("text", None)
    return layer(
        name,
        "CaskConvolution",
        [tensor("x", shapes[0], text)],
        [tensor("y", shapes[1], text)],
        **parameters,
    )


def chain(*steps: tuple[str, str, str, str]) -> list[dict]:
    """Layers as ``(name, type, reads, writes)``, names of tensors apart by spaces."""
    return [
        layer(
            name,
            kind,
            [tensor(one, [1, 4, 8, 8], LINEAR) for one in reads.split()],
            [tensor(one, [1, 4, 8, 8], LINEAR) for one in writes.split()],
        )
        for name, kind, reads, writes in steps
    ]


def plan_of(layers: list[Any], *bindings: str, **root: Any) -> Plan:
    """The plan of these layers; without `bindings` the file does not list any."""
    document = {"Layers": layers, **({"Bindings": list(bindings)} if bindings else {}), **root}
    return parse_plan(json.dumps(document).encode(), "made.graph.json")[0]


def profile_of(*times: tuple[str, float]) -> Profile:
    whole = sum(mean for _, mean in times)
    rows = [
        {
            "name": name,
            "timeMs": 10 * mean,
            "averageMs": mean,
            "medianMs": mean,
            "percentage": 100 * mean / whole if whole else 0,
        }
        for name, mean in times
    ]
    return parse_profile(json.dumps([{"count": 10}, *rows]).encode(), "made.profile.json")[0]


def explored(plan: Plan, profile: Profile | None = None, **more: Any) -> Exploration:
    return explore(plan.name, plan, profile, **more)


def times(plan: Plan, profile: Profile) -> dict[int, float | None]:
    view = PlanView(plan, profile)
    return {
        at: one.timing.time_ms if one.timing else None
        for at, one in enumerate(view.attribution.layers)
    }


def tensor_row(reads: str, writes: str) -> tuple[list[dict], list[dict]]:
    return [tensor(reads, [1, 4], LINEAR)], [tensor(writes, [1, 4], LINEAR)]
