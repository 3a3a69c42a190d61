"""What the library's functions return is shown in notebooks, as plain HTML."""

from pathlib import Path

import pytest

import enginescope as es
from enginescope.core.errors import UsageError
from tests.notebook.html.pages import checked, checked_live

NAME = "small_convnet.onnx.engine"


def test_plans_are_shown_and_compared(plan: Path, data: Path) -> None:
    text = checked(es.open_plan(data / "trt86-h200-process" / plan.name)._repr_html_()).text
    assert "21 layers: 19 launch work" in text
    assert "GPU compute time 0.08120 ms" in text  # of the files beside the plan
    checked_live(es.open_plan(plan).chart("latency-per-type")._repr_html_())
    (run,) = es.import_artifacts(plan, plan.with_name(f"{NAME}.profile.json"))
    assert isinstance(run, es.RunView)
    assert "small_convnet · trtexec" in checked(run._repr_html_()).text
    found = es.compare_plans(plan, data / "trt86-h200" / "resnet18.graph.json", names=["a", "b"])
    assert "layers of B take 123 % more time" in checked(found._repr_html_()).text
    assert len(found.columns()["relation"]) == len(found.pairs.layers)


def test_a_graph(plan: Path, tmp_path: Path) -> None:
    view = es.open_plan(plan)
    whole = view.graph(color="precision")
    found = checked_live(whole._repr_html_())
    assert found.elements == ["div", "img"]
    assert dict(found.attributes)["alt"].startswith("Layers of small_convnet")
    assert whole.save(tmp_path / "g.svg").read_text().startswith("<svg")
    assert len(view.graph(only=["type:Pooling"])._repr_html_()) < len(whole._repr_html_())
    with pytest.raises(UsageError, match="cannot save"):
        whole.save(tmp_path / "g.gif")
    for color in ("type", "time", "lint"):
        checked_live(view.graph(color=color)._repr_html_())
    for wish in ({"color": "taste"}, {"beam": "nowhere,1"}, {"only": ["type:X"]}):
        with pytest.raises(UsageError):
            view.graph(**wish)


def test_findings_are_shown_framed_and_read_with_their_profile(plan: Path, tmp_path: Path) -> None:
    found = es.lint(plan)
    assert found.findings
    assert "findings" in checked(found._repr_html_()).text
    columns = found.columns()
    assert columns["code"] == [one.code for one in found.findings]
    assert {len(values) for values in columns.values()} == {len(found.findings)}
    one = found.findings[0].code
    assert {it.code for it in es.lint(plan, select=[one]).findings} == {one}
    assert one not in {it.code for it in es.lint(plan, ignore=[one]).findings}
    alone = tmp_path / "alone.graph.json"
    alone.write_bytes(plan.read_bytes())
    assert es.lint(alone).sum_ms is None
    assert es.lint(alone, profile=plan.with_name(f"{NAME}.profile.json")).sum_ms
    pandas = pytest.importorskip("pandas")
    frame = es.lint(es.open_plan(plan, gpu="H200")).to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["severity"].unique())
    for more in ({"gpu": "H201"}, {"select": ["NONE1"]}, {"ignore": ["x"]}):
        with pytest.raises(UsageError):
            es.lint(plan, **more)
