"""Numbers of layers, in words."""

from enginescope.analysis.layers.layer_table import LayerRow
from enginescope.analysis.plans.plan_columns import plan_totals
from enginescope.analysis.runs.run_view import RunView
from enginescope.core.record import replace
from enginescope.render.plans.findings import headline
from enginescope.render.plans.plan_headline import PageSubject, layers_text, timed_at_rest
from enginescope.render.sections.layers import layers
from enginescope.rules.engine import lint
from enginescope.rules.view import LintInput
from tests.render.runs import imported_run
from tests.rules.made import layer, plan

PLAN = plan(
    layer("Convolution", "in FP16", "a FP16"),
    layer("NoOp", "a FP16", "b FP16"),
    layer("PointWise", "b FP16", "out FP16"),
)


def test_layers_at_rest_that_took_time_are_counted() -> None:
    rows = [
        LayerRow(index=0, name="conv", time_ms=1.0),
        LayerRow(index=1, name="shapes", time_ms=0.1, is_inert=True),
        LayerRow(index=2, name="constant", is_inert=True),
        LayerRow(index=3, name="no-op", time_ms=0.0, is_inert=True),
    ]
    assert timed_at_rest(rows) == 1


def test_layers_that_launch_nothing_are_counted_alike_everywhere() -> None:
    """`lint` counted every layer of a plan, `explore` those that launch work, both as layers."""
    totals = plan_totals(PLAN)
    assert layers_text(totals, 0) == "3 layers: 2 launch work, 1 launches nothing"
    took = "3 layers: 2 launch work, 1 launches no kernel, 1 of which took time"
    assert layers_text(totals, 1) == took
    assert layers_text(replace(totals, active_layers=3), 0) == "3 layers"
    said = headline(lint(LintInput(plan=PLAN)))
    assert said.startswith("made (3 layers, 2 launch work)")
    section = layers(PageSubject(RunView(replace(imported_run(), plan=PLAN, profile=None))))
    assert section.answer == "3 layers: 2 launch work, 1 launches nothing"
