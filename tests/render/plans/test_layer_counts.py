"""Layers that launch no kernel, in words."""

from __future__ import annotations

from enginescope.analysis.layers.layer_table import LayerRow
from enginescope.render.plans.plan_headline import others_text, timed_at_rest


def test_layers_at_rest_that_took_time_are_counted() -> None:
    rows = [
        LayerRow(index=0, name="conv", mean_ms=1.0),
        LayerRow(index=1, name="shapes", mean_ms=0.1, is_inert=True),
        LayerRow(index=2, name="constant", is_inert=True),
        LayerRow(index=3, name="no-op", mean_ms=0.0, is_inert=True),
    ]
    assert timed_at_rest(rows) == 1


def test_nothing_is_launched_only_where_nothing_took_time() -> None:
    assert others_text(1, 0) == "1 that launches nothing"
    assert others_text(1_200, 0) == "1,200 that launch nothing"
    assert others_text(1, 1) == "1 that launches no kernel, 1 of which took time"
    assert others_text(5, 3) == "5 that launch no kernel, 3 of which took time"
