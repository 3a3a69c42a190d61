import pytest

from enginescope.analysis.graph.plan_graph import plan_graph
from enginescope.analysis.graph.plan_graph_part import named, neighbourhood
from enginescope.analysis.layers.layer_table import attribute
from enginescope.core.errors import UsageError
from enginescope.records.plan.plan import Attribution, LayerTiming, Plan, Profile
from enginescope.render.base.palette import AMOUNT_STOPS
from enginescope.render.graph.node_labels import Wording
from enginescope.render.graph.paint import GraphScene, Paint, findings_by_layer, paint, sketch
from enginescope.rules.base import Finding, Severity
from tests.analysis.graph.test_plan_graph import made

PLAN = made(("a", "x", "t"), ("b", "t", "u"), ("c", "u", "v"), ("d", "v", "y"), io="x > y")


def joined(*means: float | None, plan: Plan = PLAN) -> Attribution:
    layers = tuple(
        LayerTiming(index=index, name=plan.layers[index].name, mean_ms=mean)
        for index, mean in enumerate(means)
    )
    return attribute(plan, Profile(source="trtexec", layers=layers))


def timed(*means: float | None, plan: Plan = PLAN, **wording) -> GraphScene:
    return sketch(plan_graph(plan), joined(*means, plan=plan), Wording(**wording))


def finding(code: str, severity: Severity, *layers: int) -> Finding:
    return Finding(
        code=code,
        rule=code,
        severity=severity,
        subject="s",
        layers=layers,
        message=f"is {code}",
        advice="try",
    )


def colors(given: GraphScene, found: Paint) -> dict[str, str | None]:
    return {
        node.name: None if color is None else found.categories[color].color
        for node, color in zip(given.graph.nodes, found.nodes, strict=True)
        if node.kind == "layer"
    }


def test_each_step_of_heat_is_twice_the_one_before_in_a_wide_plan() -> None:
    given = timed(0.8, 0.3, 0.001, None)
    found = paint(given, "time")
    assert colors(given, found) == {
        "a": AMOUNT_STOPS[-1],
        "b": AMOUNT_STOPS[-2],
        "c": AMOUNT_STOPS[0],
        "d": "#7A869A",
    }
    assert [one.text for one in found.categories] == [
        "0.400 … 0.800 ms: 1 layer · 72.7 %",
        "0.200 … 0.400 ms: 1 layer · 27.2 %",
        "0 … 0.00313 ms: 1 layer · 0.0908 %",
        "no time: 1 layer",
    ]
    assert found.words == "time of a layer"


def test_layers_that_are_nearly_alike_are_told_apart() -> None:
    given = timed(1.0, 0.9, 0.8, 0.7)
    assert len(set(colors(given, paint(given, "time")).values())) == 4


def test_one_very_short_layer_does_not_make_the_others_look_alike() -> None:
    layers = ((f"l{index}", f"t{index}", f"t{index + 1}") for index in range(11))
    means = (*(1.0 - 0.05 * index for index in range(10)), 1e-6)
    given = timed(*means, plan=made(*layers, io="t0 > t11"))
    found = colors(given, paint(given, "time"))
    assert len({found[f"l{index}"] for index in range(10)}) >= 5


def test_a_part_has_the_colours_of_the_whole() -> None:
    means = (8.0, 0.02, 0.04, 0.01)
    given = timed(*means)
    whole = colors(given, paint(given, "time"))
    part = neighbourhood(given.graph, named(given.graph, "c"), 1)
    small = sketch(part.graph, joined(*means))
    assert colors(small, paint(small, "time")) == {name: whole[name] for name in ("b", "c", "d")}


def test_the_coldest_step_holds_all_the_rest() -> None:
    given = timed(1.0, 1e-9, 0.0, 0.5)
    found = colors(given, paint(given, "time"))
    assert (found["b"], found["c"]) == (AMOUNT_STOPS[0], AMOUNT_STOPS[0])
    still = timed(0.0, 0.0, 0.0, 0.0)
    assert set(colors(still, paint(still, "time")).values()) == {AMOUNT_STOPS[0]}


def test_text_can_be_read_on_every_step() -> None:
    def light(color: str) -> float:
        parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    plan = made(*((f"l{index}", f"t{index}", f"t{index + 1}") for index in range(9)), io="t0 > t9")
    found = paint(timed(*(2.0**-index for index in range(9)), plan=plan), "time").categories
    assert len(found) == len(AMOUNT_STOPS)
    for one in found:
        assert one.ink is not None
        dark, bright = sorted((light(one.color), light(one.ink)))
        assert (bright + 0.05) / (dark + 0.05) >= 4.5, one.color


def test_heat_needs_times() -> None:
    with pytest.raises(UsageError, match="layer times"):
        paint(sketch(plan_graph(PLAN)), "time")


def test_the_worst_finding_of_a_layer_colours_it() -> None:
    found = findings_by_layer(
        [
            finding("PLAN1", Severity.INFO, 0, 1),
            finding("PLAN2", Severity.ERROR, 0),
            finding("PLAN3", Severity.WARNING, 2),
        ]
    )
    given = timed(1.0, 1.0, 1.0, 1.0, findings=found)
    painted = paint(given, "lint")
    assert [one.text for one in painted.categories] == [
        "error 1 · 25.0 %",
        "warning 1 · 25.0 %",
        "info 1 · 25.0 %",
        "nothing found 1 · 25.0 %",
    ]
    assert len(set(colors(given, painted).values())) == 4
    face = next(one for one in given.faces if one.title.startswith("a\n"))
    assert "PLAN2 PLAN1" in face.lines
    assert "PLAN2 error: is PLAN2\nPLAN1 info: is PLAN1" in face.title


def test_inputs_and_outputs_have_no_colour() -> None:
    given = timed(1.0, 1.0, 1.0, 1.0)
    for coloring in ("type", "time", "lint"):
        found = paint(given, coloring)
        kinds = [node.kind for node in given.graph.nodes]
        assert [c is None for c in found.nodes] == [kind != "layer" for kind in kinds]


def test_edges_have_colours_where_precisions_are_shown() -> None:
    given = timed(1.0, 1.0, 1.0, 1.0)
    assert set(paint(given, "precision").edges) == {0}
    assert set(paint(given, "time").edges) == {None}


def test_no_such_colouring() -> None:
    with pytest.raises(UsageError, match="no such coloring: 'heat'"):
        paint(timed(1.0), "heat")
