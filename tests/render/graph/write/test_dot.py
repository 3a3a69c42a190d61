from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from enginescope.analysis.graph.plan_graph import plan_graph
from enginescope.analysis.graph.plan_graph_part import named, neighbourhood
from enginescope.core.errors import UsageError
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.records.plan.plan import Plan
from enginescope.render.base.data_table import printable
from enginescope.render.base.palette import GREEN
from enginescope.render.graph.node_labels import Wording
from enginescope.render.graph.paint import sketch
from enginescope.render.graph.write.picture import dot, dot_string
from tests.analysis.graph.test_plan_graph import made
from tests.formats import plans

NASTY = [
    "</TITLE><script>alert(1)</script>",
    'quote " and \\" and back\\slash \\N \\G \\',
    "a &amp; b &lt; c & d",
    "control \x00\x1e\x1f\x07 line\ntwo\r\nthree",
    "שלום \u202e evil \ud800 中文",
    "{a|b}<c> [d] // # ; /* e */",
]


def text_of(plan: Plan, coloring: str = "type", **wording: str) -> str:
    return dot(sketch(plan_graph(plan), wording=Wording(**wording)), coloring)


def titles(text: str) -> list[str]:
    """What Graphviz makes of the tooltips."""
    graphviz = pytest.importorskip("pygraphviz")
    picture = graphviz.AGraph(string=text).draw(format="svg", prog="dot")
    root = ElementTree.fromstring(picture)
    return [one.attrib["{http://www.w3.org/1999/xlink}title"] for one in root.iter() if _has(one)]


def _has(element: ElementTree.Element) -> bool:
    return "{http://www.w3.org/1999/xlink}title" in element.attrib


@pytest.mark.parametrize("name", NASTY)
def test_graphviz_shows_names_as_they_are(name: str) -> None:
    found = titles(text_of(made((name, "x", "y"), io="x > y")))
    # An XML attribute has spaces for line breaks.
    wanted = " ".join(printable(name).replace("\r", "").split())
    assert any(" ".join(one.split()).startswith(f"{wanted} #0") for one in found)


def test_names_longer_than_graphviz_reads_at_once() -> None:
    name = "{ForeignNode[" + "é&\\" * 10_000 + "]}"
    text = text_of(made((name, "x", "y"), io="x > y"))
    longest = max(len(one.encode()) for one in re.findall(r'"(?:[^"\\]|\\.)*"', text))
    assert longest < 16_384
    assert any(one.startswith(name) for one in titles(text))


def test_a_string_is_closed_whatever_is_in_it() -> None:
    for text in ("", "\\", '"', "\\" * 2_001, 'x" + "y'):
        for piece in dot_string(text).split(" + ") if " + " not in text else [dot_string(text)]:
            assert re.fullmatch(r'"(?:[^"\\]|\\.)*"', piece), text


def test_nodes_and_edges_have_words_colours_and_shapes() -> None:
    plan, _ = parse_plan(plans.encoded(plans.tensorrt_8_4()), "small")
    text = text_of(plan, "precision")
    assert text.startswith('digraph "small" {')
    assert f'fillcolor="{GREEN}33"' not in text  # no layer computes in INT8; a tensor is
    assert f'color="{GREEN}"' in text
    assert 'label="1×3×8×8 FP16 NHWC8"' in text
    assert "INT8 (tensors)" in text
    (reformat,) = (one for one in text.splitlines() if 'label="Reformat' in one)
    assert 'style="rounded,filled,dashed"' in reformat
    assert 'label="1×3×8×8 FP16 NHWC8"' not in text_of(plan, details="few")


def test_edges_that_are_no_flow_are_told_apart() -> None:
    text = text_of(
        made(
            ("w1", "x state", "t"),
            ("r1", "t", "u"),
            ("w2", "x", "t"),
            ("station", "", ""),
            ("keep", "t u", "state"),
            io="x >",
        )
    )
    edges = [one for one in text.splitlines() if " -> " in one and "[" in one]
    assert any('style="dashed,bold"' in one and "constraint=false" in one for one in edges)
    assert any('style="dashed"' in one for one in edges)
    assert any('style="dotted"' in one for one in edges)


def test_centres_of_a_part_are_framed() -> None:
    graph = plan_graph(made(("a", "x", "t"), ("b", "t", "y"), io="x > y"))
    part = neighbourhood(graph, named(graph, "b"), 1)
    text = dot(sketch(part.graph), part=part)
    assert next(one for one in text.splitlines() if "penwidth=4" in one).count("kgen\\nb") == 1


def test_no_such_coloring() -> None:
    with pytest.raises(UsageError, match="coloring"):
        text_of(made(), "heat")
