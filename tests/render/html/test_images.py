import pytest

from enginescope.analysis.runs.run_view import RunView
from enginescope.core import optional
from enginescope.core.errors import EnginescopeError, MissingDependencyError
from enginescope.render.base.palette import PICTURE_FONT
from enginescope.render.charts.distribution import latency_distribution
from enginescope.render.html.images import Chart, png_bytes, svg_text
from tests.render.runs import measured_run


def test_png() -> None:
    pytest.importorskip("vl_convert")
    assert png_bytes(latency_distribution(RunView(measured_run()))).startswith(b"\x89PNG\r\n")


def test_text_of_a_picture_keeps_the_width_it_was_measured_with() -> None:
    pytest.importorskip("vl_convert")
    chart = Chart(
        key="one",
        title="t",
        subtitle=("short", " ".join(["words"] * 50)),
        spec={
            "data": {"values": [{"a": 1}]},
            "mark": "bar",
            "encoding": {"x": {"field": "a", "type": "quantitative"}},
        },
    )
    text = svg_text(chart)
    assert f'font-family="{PICTURE_FONT}"' in text
    assert "system-ui" not in text
    lines = chart.complete(width=760)["title"]["subtitle"]
    assert lines[0] == "short"
    assert " ".join(lines[1:]) == chart.subtitle[1]
    assert all(len(one) <= 120 for one in lines)


def test_without_the_extra_it_says_what_to_install(monkeypatch) -> None:
    def absent(name: str) -> None:
        raise ModuleNotFoundError(name, name=name)

    monkeypatch.setattr(optional.importlib, "import_module", absent)
    with pytest.raises(MissingDependencyError) as caught:
        png_bytes(latency_distribution(RunView(measured_run())))
    assert caught.value.hint == "pip install 'enginescope[plots]'"


def test_a_refused_specification_names_the_chart() -> None:
    pytest.importorskip("vl_convert")
    with pytest.raises(EnginescopeError, match="cannot draw broken"):
        png_bytes(Chart(key="broken", title="t", spec={"mark": {"type": "no such mark"}}))
