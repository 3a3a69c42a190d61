import json

import pytest

from enginescope.compat.trtexec.log.log import on_one_line
from enginescope.compat.trtexec.log.report import layer_info_lines, profile_lines, shape_lines
from enginescope.records.plan.plan import IOTensor, Plan, ProfileShapes
from enginescope.records.tensor import Tensor
from tests.compat.trtexec.runs import PROFILE, measured, settings


def test_the_table_has_trtexecs_widths() -> None:
    assert [one.text for one in profile_lines(PROFILE)] == [
        "",
        "=== Profile (120 iterations ) ===",
        "   Time(ms)     Avg.(ms)   Median(ms)   Time(%)   Layer",
        "      60.00       0.5000       0.4900      75.0   conv1",
        '      20.00       0.1667       0.1600      25.0   fc "x"\\y\\x0az',
        "      80.00       0.6667       0.6500     100.0   Total",
        "",
    ]


def test_detailed_layers_read_as_the_inspectors_own_lines(shared) -> None:
    folder = shared / "trt86-h200"
    inspector = json.loads((folder / "resnet18.graph.json").read_text(), strict=False)
    log = (folder / "resnet18.engine.profile.log").read_text(errors="replace")
    _, text = layer_info_lines(inspector)
    theirs = log.partition("[I] Layers:\n")[2].partition("\n\nBindings:")[0].split("\n")
    ours = text.text.partition("Layers:\n")[2].partition("\n\nBindings:")[0].split("\n")
    assert len(ours) == 58
    assert ours == [on_one_line(one) for one in theirs]


def test_the_shapes_of_profiles_come_from_the_plan_where_it_has_them() -> None:
    asked = settings("--loadEngine=e.plan")
    shapes = ProfileShapes(index=1, min_shape=(1, 3), opt_shape=(4, 3))
    tensor = IOTensor(tensor=Tensor(name="x"), mode="input", profiles=(shapes,))
    run = measured(asked, plan=Plan(name="e", layers=(), io=(tensor,)))
    assert [one.text for one in shape_lines(run, asked)] == [
        "Optimization Profile Information:",
        "Model input x (profile 1): min=1x3, opt=4x3, max=not known",
    ]


@pytest.mark.parametrize("value", [None, [], {}, {"Layers": []}])
def test_an_empty_plan_has_no_layers(value) -> None:
    assert [one.text for one in layer_info_lines(value)] == [
        "Layer Information:",
        "Layers:\n\nBindings:",
    ]
