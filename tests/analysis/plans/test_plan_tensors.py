from __future__ import annotations

from enginescope.analysis.plans.plan_view import plan_tensors
from enginescope.formats.plan.plan_json import parse_plan
from tests.analysis.plans.test_plan_totals import layer, plan_of, tensor
from tests.formats import plans


def test_a_chain() -> None:
    plan, _ = parse_plan(plans.encoded(plans.tensorrt_8_4()), "a")
    found = [(one.tensor.name, one.written_by, one.read_by) for one in plan_tensors(plan)]
    assert found == [
        ("image", (), (0,)),
        ("packed", (0,), (1,)),
        ("features", (1,), (2,)),
        ("flat", (2,), ()),
    ]


def test_memory_used_again_and_tensors_of_no_layer() -> None:
    x, narrow, wide, spare = tensor("x", 1), tensor("r", 2), tensor("r", 4), tensor("spare", 1)
    plan = plan_of(layer(0, [x], [narrow]), layer(1, [narrow, narrow], [wide]), inputs=(x, spare))
    found = {one.tensor.name: one for one in plan_tensors(plan)}
    assert found["r"].tensor == narrow
    assert (found["r"].written_by, found["r"].read_by) == ((0, 1), (1,))
    assert (found["spare"].written_by, found["spare"].read_by) == ((), ())
