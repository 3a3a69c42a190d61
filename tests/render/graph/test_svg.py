import re
import struct
from pathlib import Path
from xml.etree import ElementTree

import pytest

from enginescope.analysis.graph.folding.fold import fold, folded
from enginescope.analysis.graph.plan_graph import plan_graph
from enginescope.analysis.graph.plan_graph_part import named, neighbourhood
from enginescope.analysis.layers.layer_table import attribute
from enginescope.core.errors import UsageError
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.formats.trtexec.exported_profile import parse_profile
from enginescope.records.plan.plan import Attribution, Plan
from enginescope.render.base.data_table import printable
from enginescope.render.base.palette import GREEN, ORANGE, PRECISIONS
from enginescope.render.graph.node_labels import text_width
from enginescope.render.graph.write.picture import DrawingOptions, Picture, graph_png
from enginescope.render.graph.write.svg import draw, svg
from tests.analysis.graph.test_fold import transformer
from tests.analysis.graph.test_plan_graph import made
from tests.formats import plans

SVG = "{http://www.w3.org/2000/svg}"
EVIL = "</title><script>window.evil = 1</script>\x1e&\ud800"


def small() -> Plan:
    return plans.parsed(plans.tensorrt_8_4(), "small")


def timed(plan: Plan, *means: float) -> Attribution:
    times = zip((one.name for one in plan.layers), means, strict=True)
    return attribute(plan, plans.profile(*times))


def picture(plan: Plan, attribution: Attribution | None = None, **look: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg(draw(plan_graph(plan), attribution), **look))


def texts(root: ElementTree.Element) -> list[str]:
    return [one.text or "" for one in root.iter(f"{SVG}text")]


def of_class(root: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [one for one in root.findall(f"{SVG}g")[-1] if name in one.attrib["class"].split()]


def test_layers_have_times_and_shares_or_say_why_not() -> None:
    root = picture(small(), timed(small(), 0.01, 0.03, 0.0))
    shown = texts(root)
    assert "0.0300 ms · 75 %" in shown
    assert any("0.04000 ms over all layers" in one for one in shown)
    classes = [one.attrib.get("class", "").split() for one in root.iter(f"{SVG}rect")]
    assert sum("bar" in names for names in classes) == 2
    titles = [one.text or "" for one in root.iter(f"{SVG}title")]
    about = next(one for one in titles if one.startswith("conv + relu\n#1"))
    assert "tactic sm80_xmma_fprop" in about
    assert "in   packed  1×3×8×8 FP16 NHWC8" in about
    assert any("no profile: layers have no times" in one for one in texts(picture(small())))


def test_reformats_and_edges_say_what_they_change() -> None:
    root = picture(small())
    (reformat,) = of_class(root, "r")
    assert "FP32 NCHW → FP16 NHWC8" in texts(reformat)
    assert "reformat: changes type or layout only" in texts(root)
    names = [one.findtext(f"{SVG}title") or "" for one in of_class(root, "e")]
    (name,) = (one for one in names if one.startswith("packed"))
    assert name == "packed\n1×3×8×8 FP16 NHWC8\ncopy for conv → conv + relu"


def test_colours_are_those_of_every_chart_in_the_theme_of_the_viewer() -> None:
    root = picture(small(), coloring="precision")
    style = root.findtext(f"{SVG}style") or ""
    for name in ("FP32", "FP16", "INT8"):
        assert PRECISIONS[name] in style
    assert "INT8 (tensors)" in texts(root)
    assert (PRECISIONS["FP16"], PRECISIONS["INT8"]) == (ORANGE, GREEN)
    auto = picture(small()).findtext(f"{SVG}style") or ""
    light = picture(small(), is_light=True).findtext(f"{SVG}style") or ""
    assert "prefers-color-scheme: dark" in auto
    assert "prefers-color-scheme" not in light


def test_every_kind_of_edge_is_told_apart() -> None:
    writes = ("w1", "x state", "t"), ("r1", "t", "u"), ("w2", "x", "t")
    root = picture(made(*writes, ("station", "", ""), ("keep", "t u", "state"), io="x >"))
    for name in ("reuse", "order", "back"):
        assert of_class(root, name), name
    assert {"same memory, written again", "order only"} <= set(texts(root))
    assert "back, for the next iteration" in texts(root)
    assert {"region, use 1", "region, use 2"} <= set(texts(root))


def test_a_part_frames_its_centres_and_says_what_is_cut() -> None:
    part = neighbourhood(plan_graph(small()), named(plan_graph(small()), "conv + relu"), 0)
    root = ElementTree.fromstring(svg(draw(part.graph), part=part))
    assert len(of_class(root, "c")) == 1
    assert any("1 of 4 nodes · 2 edges lead out" in one for one in texts(root))


def test_names_alone_are_drawn_and_long_ones_shortened_but_in_the_title() -> None:
    assert "head" in texts(picture(plans.parsed(plans.names_only())))
    assert texts(picture(made())) != []
    name = "first " + "x" * 80 + " last"
    root = picture(made((name, "x", "y"), io="x > y"))
    assert name not in texts(root)
    assert any(re.fullmatch(r"first x+…x+ last", one) for one in texts(root))
    assert any((one.text or "").startswith(name) for one in root.iter(f"{SVG}title"))


def test_nothing_in_a_name_is_markup() -> None:
    text = svg(draw(plan_graph(made((EVIL, "x", "y"), io="x > y"))))
    assert "<script" not in text
    text.encode()  # no lone surrogates
    titles = [one.text or "" for one in ElementTree.fromstring(text).iter(f"{SVG}title")]
    assert any(EVIL.replace("\x1e", "␞").replace("\ud800", "�") in one for one in titles)


def test_real_plans(shared: Path) -> None:
    for path in sorted(shared.glob("*/*.graph.json")):
        plan, _ = parse_plan(path.read_bytes(), path.name)
        other = path.with_name(path.name.replace(".graph.", ".profile."))
        profile, _ = parse_profile(other.read_bytes(), other.name)
        drawing = draw(plan_graph(plan), attribute(plan, profile))
        root = ElementTree.fromstring(svg(drawing))
        assert len(of_class(root, "n")) == len(drawing.scene.graph.nodes)
        assert len(of_class(root, "e")) == len(drawing.scene.graph.edges)
        assert drawing.laid_out.crossings <= 1


@pytest.mark.browser
def test_a_browser_shows_it_and_runs_nothing(tab, tmp_path: Path) -> None:
    path = tmp_path / "plan.svg"
    path.write_text(svg(draw(plan_graph(made((EVIL, "x", "y"), io="x > y")))), encoding="utf-8")
    tab.visit(path.as_uri())
    tab.until("document.querySelectorAll('svg > g:last-of-type > g.n').length === 3")
    assert tab.evaluate("window.evil === undefined") is True
    for wish, color in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(20, 23, 28)")):
        features = [{"name": "prefers-color-scheme", "value": wish}]
        tab.send("Emulation.setEmulatedMedia", features=features)
        assert tab.evaluate("getComputedStyle(document.querySelector('.paper')).fill") == color
    assert tab.requests() == [path.as_uri()]


def test_a_group_is_one_box_with_the_sum_of_its_layers() -> None:
    plan = transformer(32)
    tree = fold(plan_graph(plan), "module")
    assert tree is not None
    graph = folded(plan_graph(plan), tree)
    joined = timed(plan, *[0.5] * len(plan.layers))
    for coloring in ("type", "precision", "time", "lint"):
        shown = texts(ElementTree.fromstring(svg(draw(graph, joined), coloring=coloring)))
        assert "layers.0 … layers.31, 32 blocks" in shown
        assert "160 layers" in shown
        assert "80.0 ms · 99 %" in shown
        assert "162 layers" in next(one for one in shown if "colored by" in one)


NASTY = [
    "{ForeignNode[" + "/model/layers.0/attn/MatMul + " * 340 + "...]}",
    "<script>alert(1)</script>\"'&amp;]]>",
    "שלום עולם \u202etxt.exe",
    "名前のとても長い層の名前のとても長い層の名前のとても長い層",
    "\x00\x01\x1e\x1f\x7f\ufffe\ud800 tab\there\nline\r\nline",
    "",
]


@pytest.mark.parametrize("name", NASTY)
def test_names_are_whole_in_titles_and_text_everywhere(name: str) -> None:
    root = picture(made((name, "x", "y"), io="x > y"))
    (layer,) = [one for one in of_class(root, "n") if "io" not in one.attrib["class"].split()]
    title = layer.findtext(f"{SVG}title") or ""
    # XML makes one line break of each.
    assert title.startswith(printable(name).replace("\r\n", "\n") + "\n#0")
    assert {one.tag for one in layer} == {f"{SVG}title", f"{SVG}rect", f"{SVG}text"}


@pytest.mark.browser
def test_words_fit_their_boxes_in_a_browser(tab, data: Path, tmp_path: Path) -> None:
    plan = plans.recorded(data / "trt86-h200-process", "small_convnet.onnx.engine")
    nasty = made(*((name, f"t{at}", f"t{at + 1}") for at, name in enumerate(NASTY)), io="t0 > t6")
    for number, one in enumerate((plan, nasty)):
        path = tmp_path / f"{number}.svg"
        path.write_text(svg(draw(plan_graph(one))), encoding="utf-8")
        tab.visit(path.as_uri())
        tab.until(f"document.URL.endsWith('/{number}.svg') && document.readyState=='complete'")
        assert tab.evaluate(_SPILLING) == []


#: Text that reaches beyond its box, by more than a pixel.
_SPILLING = """[...document.querySelectorAll('svg > g:last-of-type > g.n')].flatMap((node) => {
  const box = node.querySelector('.box').getBBox();
  return [...node.querySelectorAll('text')].filter((text) => {
    const words = text.getBBox();
    return words.x < box.x - 1 || words.x + words.width > box.x + box.width + 1;
  }).map((text) => text.textContent);
})"""


CHAIN = made(*((f"l{one}", f"t{one}", f"t{one + 1}") for one in range(6)), io="t0 > t6")


def shown(**wish: object) -> list[str]:
    """Names of what is drawn, those that are framed with a star."""
    text = Picture(CHAIN, options=DrawingOptions(**wish)).svg()
    return [
        (one.findtext(f"{SVG}title") or "").partition("\n")[0]
        + ("*" if "c" in one.attrib["class"].split() else "")
        for one in of_class(ElementTree.fromstring(text), "n")
    ]


def test_what_is_drawn_and_framed() -> None:
    assert shown() == ["t0", "l0", "l1", "l2", "l3", "l4", "l5", "t6"]
    assert shown(beam="l2,1") == ["l1", "l2*", "l3"]
    assert shown(filter=("l[04]",)) == ["t0", "l0", "left out", "l4", "left out", "t6"]
    assert shown(filter=("l4",), beam="l2,1") == ["left out", "l2*", "left out"]
    assert shown(highlight=("l3",))[3:6] == ["l2", "l3*", "l4"]
    assert shown(beam="l2,1", highlight=("l3",)) == ["l1", "l2", "l3*"]
    assert shown(regions="all")[:4] == ["t0", "l0", "t1", "l1"]
    for wrong in ({"regions": "none"}, {"color": "heat"}):
        with pytest.raises(UsageError, match="no such"):
            shown(**wrong)


def test_png_has_the_size_of_the_svg() -> None:
    pytest.importorskip("vl_convert")
    picture = Picture(CHAIN)
    root = ElementTree.fromstring(picture.svg())
    for scale, given in ((2, None), (1, 1.0), (0.5, 0.5)):
        png = picture.png(given)
        size = struct.unpack(">II", png[16:24])
        assert size == tuple(round(float(root.attrib[one]) * scale) for one in ("width", "height"))
        assert png.endswith(b"IEND\xaeB`\x82")


def test_a_png_is_sharp_where_there_is_room_and_too_large_ones_are_refused(monkeypatch) -> None:
    def of(width: int, height: int) -> str:
        return f'<svg xmlns="" width="{width}" height="{height}">'

    for text, scale in ((of(500, 40_000), None), (of(20_000, 20_000), 1.0), (of(500, 20_000), 2.0)):
        with pytest.raises(UsageError) as caught:
            graph_png(text, scale)
        assert "is too large" in str(caught.value)
        assert "32,767" in str(caught.value)
        assert "--beam" in (caught.value.hint or "")
    scales = []
    draws = lambda _, scale: scales.append(scale) or b""  # noqa: E731
    monkeypatch.setattr("enginescope.render.graph.write.picture.svg_png", draws)
    for height in (1_000, 30_000):
        graph_png(of(500, height))
    assert scales == [2.0, 1.0]


def test_width_of_text() -> None:
    assert text_width("abc", 2.0) == 6.0
    assert text_width("ab中", 2.0) == 8.0
    assert text_width("e\u0301\u202e", 2.0) == 2.0
