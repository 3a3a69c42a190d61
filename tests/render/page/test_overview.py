"""Several runs over each other, before they are listed."""

import numpy as np
import pytest

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.record import replace
from enginescope.judge.samples import frozen
from enginescope.records.run.job import BackendSpec
from enginescope.render.page.overview import overview_chart, overview_sentence
from enginescope.render.page.page import report_page
from tests.render.runs import measured_run


def run(at: int, times: float, spec: str) -> RunView:
    made = measured_run(id=f"{at:02}3ac01944de")
    samples = tuple(
        replace(one, values_ms=frozen(np.asarray(one.values_ms) * times))
        if one.metric == "latency"
        else one
        for one in made.samples
    )
    return RunView(
        replace(made, samples=samples, job=replace(made.job, backend=BackendSpec(name=spec)))
    )


def bars(chart) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for row in chart.spec["layer"][0]["data"]["values"]:
        found.setdefault(row["run"], []).append(row["low"])
    return found


def test_runs_share_bins_and_scale_and_leave_out_the_gap() -> None:
    chart = overview_chart([run(1, 1.0, "ort-cpu"), run(2, 0.8, "ort-cuda")])
    found = bars(chart)
    assert list(found) == ["ort-cpu", "ort-cuda"]  # the model, which both have, is left out
    assert found["ort-cpu"] == found["ort-cuda"]
    assert np.allclose(np.diff(found["ort-cpu"], 2), 0, atol=1e-9)
    assert chart.spec["usermeta"]["zooms"]
    assert "scale: 1 of ort-cpu, 1 of ort-cuda" in chart.subtitle[1]
    chart = overview_chart([run(1, 1.0, "ort-cpu"), run(2, 0.02, "trt")])
    scale = chart.spec["layer"][0]["encoding"]["x"]["scale"]
    assert len(scale["domain"]) == len(scale["range"]) == 4
    assert scale["domain"] == sorted(scale["domain"])
    assert any("The axis leaves out" in line for line in chart.subtitle)


def test_runs_of_one_job_go_by_their_ids_and_many_are_medians() -> None:
    chart = overview_chart([run(1, 1.0, "trt"), run(2, 0.9, "trt")])
    assert chart is not None
    assert list(bars(chart)) == ["trt (013ac0)", "trt (023ac0)"]
    chart = overview_chart([run(at, 1 + at / 10, f"b{at}") for at in range(8)])
    assert chart.key == "all_runs"
    assert len(chart.spec["data"]["values"]) == 8


def test_only_runs_with_the_same_inputs_and_samples_have_a_fastest() -> None:
    said = overview_sentence([run(1, 1.0, "ort-cpu"), run(2, 0.8, "ort-cuda"), run(3, 0.6, "trt")])
    assert said.startswith("trt has the lowest median, 2.512 ms; the highest is 4.187 ms.")
    assert said.endswith("enginescope compare 013ac019 033ac019")
    small, large = run(1, 1.0, "trt"), run(2, 2.0, "trt")
    (tensor,) = small.run.inputs
    other = replace(tensor, shape=(*tensor.shape[:-1], 7))
    assert overview_sentence([small, large]) is not None
    assert overview_sentence([small, RunView(replace(large.run, inputs=(other,)))]) is None
    bare = RunView(replace(measured_run(), samples=()))
    assert overview_chart([bare, run(1, 1.0, "trt")]) is None
    assert overview_sentence([bare, run(1, 1.0, "trt")]) is None


@pytest.mark.browser
def test_the_picture_comes_before_the_list(tab, tmp_path) -> None:
    page = tmp_path / "report.html"
    page.write_bytes(report_page([run(1, 1.0, "ort-cpu"), run(2, 0.8, "trt")]))
    tab.open(page)
    top = "document.querySelector('{}').getBoundingClientRect().top"
    picture = tab.evaluate(top.format("#chart-all_runs svg"))
    assert 0 < picture < tab.evaluate(top.format("#overview > .scroll")) < 1000
    areas = "[...document.querySelectorAll('#chart-all_runs .mark-area path')]"
    opacity = f"{areas}.map((one) => Number(one.getAttribute('opacity') ?? 1))"
    assert tab.evaluate(opacity) == [1, 1]
    tab.evaluate(
        "document.querySelectorAll('#chart-all_runs .role-legend-symbol path')[1]"
        ".dispatchEvent(new MouseEvent('click', { bubbles: true }))"
    )
    tab.until(f"({opacity}).join() === '0.1,1'")
    assert tab.complaints() == []
