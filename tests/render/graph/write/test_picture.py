import struct
from xml.etree import ElementTree

import pytest

from enginescope.core.errors import UsageError
from enginescope.render.graph.node_labels import text_width
from enginescope.render.graph.write.picture import DrawingOptions, Picture, graph_png
from tests.analysis.graph.test_plan_graph import made

SVG = "{http://www.w3.org/2000/svg}"
CHAIN = made(*((f"l{one}", f"t{one}", f"t{one + 1}") for one in range(6)), io="t0 > t6")


def shown(**wish: object) -> list[str]:
    """Names of what is drawn, those that are framed with a star."""
    text = Picture(CHAIN, options=DrawingOptions(**wish)).svg()
    inside = ElementTree.fromstring(text).findall(f"{SVG}g")[-1]
    nodes = [one for one in inside if "n" in one.get("class", "").split()]
    return [
        (one.findtext(f"{SVG}title") or "").partition("\n")[0]
        + ("*" if "c" in one.attrib["class"].split() else "")
        for one in nodes
    ]


def test_what_is_drawn_and_framed() -> None:
    assert shown() == ["t0", "l0", "l1", "l2", "l3", "l4", "l5", "t6"]
    assert shown(beam="l2,1") == ["l1", "l2*", "l3"]
    assert shown(filter=("l[04]",)) == ["t0", "l0", "left out", "l4", "left out", "t6"]
    assert shown(filter=("l4",), beam="l2,1") == ["left out", "l2*", "left out"]
    assert shown(highlight=("l3",))[3:6] == ["l2", "l3*", "l4"]
    assert shown(beam="l2,1", highlight=("l3",)) == ["l1", "l2", "l3*"]
    assert shown(regions="all")[:4] == ["t0", "l0", "t1", "l1"]


@pytest.mark.parametrize("wish", [{"regions": "none"}, {"color": "heat"}])
def test_wrong_wishes_are_told(wish) -> None:
    with pytest.raises(UsageError, match="no such"):
        Picture(CHAIN, options=DrawingOptions(**wish)).svg()


def test_png_has_the_size_of_the_svg() -> None:
    pytest.importorskip("vl_convert")
    picture = Picture(CHAIN)
    root = ElementTree.fromstring(picture.svg())
    for scale, given in ((2, None), (1, 1.0), (0.5, 0.5)):
        png = picture.png(given)
        size = struct.unpack(">II", png[16:24])
        assert size == tuple(round(float(root.attrib[one]) * scale) for one in ("width", "height"))
        assert png.endswith(b"IEND\xaeB`\x82")


def test_a_png_that_would_be_too_large_says_so() -> None:
    def of(width: int, height: int) -> str:
        return f'<svg xmlns="" width="{width}" height="{height}">'

    for text, scale in ((of(500, 40_000), None), (of(20_000, 20_000), 1.0), (of(500, 20_000), 2.0)):
        with pytest.raises(UsageError) as caught:
            graph_png(text, scale)
        assert "is too large" in str(caught.value)
        assert "32,767" in str(caught.value)
        assert "--beam" in (caught.value.hint or "")


def test_a_png_is_sharp_where_there_is_room(monkeypatch) -> None:
    scales = []
    monkeypatch.setattr(
        "enginescope.render.graph.write.picture.svg_png",
        lambda _, scale: scales.append(scale) or b"",
    )
    for height in (1_000, 30_000):
        graph_png(f'<svg xmlns="" width="500" height="{height}">')
    assert scales == [2.0, 1.0]


def test_width_of_text() -> None:
    assert text_width("abc", 2.0) == 6.0
    assert text_width("ab中", 2.0) == 8.0
    assert text_width("e\u0301\u202e", 2.0) == 2.0
