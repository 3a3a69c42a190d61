from pathlib import Path

import pytest

from enginescope.analysis.claims.layer_claims import layer_times
from enginescope.analysis.plan_comparison.alignment import align
from enginescope.analysis.plan_comparison.comparison import active_times, compared_rows
from enginescope.analysis.plan_comparison.layer_changes import ComparedLayers
from enginescope.core.units import sum_known
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.formats.trtexec.exported_profile import parse_profile
from enginescope.records.plan.plan import (
    Alignment,
    Evidence,
    Layer,
    LayerPair,
    LayerTiming,
    Plan,
    Profile,
)


def plan(*names: str, inert: str | None = None) -> Plan:
    layers = tuple(
        Layer(index=index, name=name, type="NoOp" if name == inert else "kgen")
        for index, name in enumerate(names)
    )
    return Plan(name="p", layers=layers)


def profile(container: str | None = None, **times: float | None) -> Profile:
    rows = tuple(
        LayerTiming(index=index, name=name, mean_ms=mean, is_container=name == container)
        for index, (name, mean) in enumerate(times.items())
    )
    return Profile(source="trtexec", layers=rows)


def alignment() -> Alignment:
    group = LayerPair(a=(0, 1), b=(0,), evidence=Evidence.ONNX_NODES, score=1.0)
    pair = LayerPair(a=(2,), b=(1,), evidence=Evidence.NAME, score=1.0)
    return Alignment(
        plan_a=plan("conv", "relu", "last", "extra", "noop", inert="noop"),
        plan_b=plan("conv + relu", "last"),
        pairs=(group, pair),
        only_a=(3,),
    )


def paired(
    aligned: Alignment, a: Profile | None, b: Profile | None
) -> tuple[list[ComparedLayers], list[float | None], list[float | None]]:
    """Return the rows, each plan's time beyond them, and each plan's sum."""
    times_a, beyond_a = active_times(aligned.plan_a, a)
    times_b, beyond_b = active_times(aligned.plan_b, b)
    rows = compared_rows(aligned, times_a, times_b, 1.0)
    sums = [
        sum_known((*(row.a_ms for row in rows), beyond_a)),
        sum_known((*(row.b_ms for row in rows), beyond_b)),
    ]
    return list(rows), [beyond_a, beyond_b], sums


def test_times_of_groups_are_added_up_and_unknown_ones_stay_unknown() -> None:
    a = profile(conv=2.0, relu=1.0, last=0.5, extra=0.25, noop=0.125, stranger=4.0)
    b = profile(**{"conv + relu": 2.5, "last": 0.75})
    rows, beyond, sums = paired(alignment(), a, b)
    assert [(one.a_ms, one.b_ms, one.difference_ms) for one in rows] == [
        (3.0, 2.5, -0.5),
        (0.5, 0.75, 0.25),
        (0.25, None, -0.25),
    ]
    assert (beyond, sums) == ([4.125, None], [layer_times(a).sum_ms, layer_times(b).sum_ms])
    rows, _, sums = paired(alignment(), profile(relu=1.0, last=None), None)
    assert [(one.a_ms, one.b_ms) for one in rows] == [(1.0, None), (None, None), (None, None)]
    assert [one.difference_ms for one in rows[1:]] == [None, None]
    assert sums == [1.0, None]
    a = profile(container="extra", conv=2.0, extra=5.0)
    rows, _, sums = paired(alignment(), a, None)
    assert (rows[-1].name, rows[-1].a_ms) == ("extra", None)
    assert sums[0] == layer_times(a).sum_ms == 2.0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("trex-examples/resnet18-a100-fp16.engine", "trex-examples/resnet18-a100-fp32.engine"),
        ("trex-examples/resnet18-a100-fp16.engine", "trt10-rtx3060/resnet18_fp16"),
        ("trt10-rtx3060/alexnet_fp16", "trt86-h200/resnet18"),
    ],
)
def test_sums_of_real_plans_agree_with_their_profiles(shared: Path, one: str, other: str) -> None:
    plans, profiles = [], []
    for name in (one, other):
        plans.append(parse_plan((shared / f"{name}.graph.json").read_bytes(), name)[0])
        profiles.append(parse_profile((shared / f"{name}.profile.json").read_bytes(), name)[0])
    rows, _, sums = paired(align(*plans), *profiles)
    assert sums[0] == pytest.approx(layer_times(profiles[0]).sum_ms, rel=1e-12)
    assert sums[1] == pytest.approx(layer_times(profiles[1]).sum_ms, rel=1e-12)
    assert all(row.a_ms is not None and row.b_ms is not None for row in rows if row.a and row.b)
