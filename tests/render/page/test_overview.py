"""Several runs over each other, before they are listed."""

import re

import numpy as np
import pytest

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.record import replace
from enginescope.judge.samples import frozen
from enginescope.records.plan.build import ToolReport
from enginescope.records.run.job import BackendSpec, Mode
from enginescope.records.samples import ReportedSummary
from enginescope.render.page.markdown import escaped, report_markdown
from enginescope.render.page.overview import overview_chart, overview_rows, overview_sentence
from enginescope.render.page.page import report_page
from enginescope.render.page.tabs import tabs_of
from enginescope.render.plans.plan_headline import PageSubject
from tests.render.runs import EVIL, failed_run, imported_run, measured_run


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


def text_of(*runs) -> str:
    return report_markdown([RunView(run) for run in runs]).decode()


def test_one_run_has_the_sections_of_the_page_in_their_order() -> None:
    text = text_of(measured_run())
    tabs = tabs_of(PageSubject(RunView(measured_run())), has_graph=False)
    assert len(tabs) > 2
    headings = re.findall(r"^#+ .*$", text, re.MULTILINE)
    assert headings == [
        "# squeezenet.onnx · ort-cpu fp32 · batch 1 · 1×3×227×227",
        "## Notices",
        *(f"## {section.title}" for tab in tabs for section in tab.sections),
    ]
    assert re.search(r"\*\*Latency: median 4\.\d+ ms\*\*, 95 % CI 4\.\d+ … 4\.\d+ ms; n 600", text)
    assert "The layers add up to 4.508 ms" in text


def test_tables_have_as_many_cells_as_headings_and_names_are_escaped() -> None:
    text = text_of(imported_run())
    tables = re.findall(r"(?:^\|.*\|$\n?)+", text, re.MULTILINE)
    assert tables
    for table in tables:
        rows = [re.split(r"(?<!\\)\|", line) for line in table.strip().splitlines()]
        assert len({len(row) for row in rows}) == 1
    assert EVIL not in text
    assert "\\<script\\>alert(1)" in text
    assert "Reformat \\| copy" in text
    assert escaped("a\n# b * c") == "a \\# b \\* c"


def test_a_failed_run_says_why() -> None:
    text = text_of(failed_run())
    assert "**crashed (signal 11)**: the worker died while loading the model." in text
    assert "Next step: run it with --verbose." in text
    assert "No samples, so no latency to report." in text
    assert "No layer profile: layers cannot be timed." in text


def test_an_overview_has_printed_figures_and_what_other_runs_have() -> None:
    printed = imported_run(samples=())
    built = replace(printed, plan=None, profile=None, tool=ToolReport(tool="trtexec", build_s=2.0))
    cases = {
        "| 0.8050 ms | printed | 0.8100 ms \\* | — | ok": printed,
        "| — | mean 2.600 ms, printed | — | — | ok": replace(
            printed,
            tool=ToolReport(
                tool="t", summaries=(ReportedSummary(metric="trtexec_latency", mean_ms=2.6),)
            ),
        ),
        "| — | layer times | — | — | ok": replace(printed, tool=None),
        "| — | operator times | — | — | ok": replace(
            printed, tool=None, profile=replace(printed.profile, part="operator")
        ),
        f"| — | {len(printed.plan.layers)} layers | — | — | ok": replace(
            printed, tool=None, profile=None
        ),
        "| — | a build | — | — | ok": built,
        "| — | no samples | — | — | ok": replace(built, tool=None),
    }
    runs = [*cases.values(), measured_run()]
    text, table = text_of(*runs), overview_rows([RunView(run) for run in runs])
    for words, row in zip(cases, table.rows[:-1], strict=True):
        assert words in text
        assert list(row[4:9]) == words.replace("\\", "").removeprefix("| ").split(" | ")


def test_several_runs_begin_with_an_overview_of_what_differs() -> None:
    text = text_of(measured_run(), failed_run())
    assert text.startswith("# 2 runs\n")
    assert "| deadbeef | squeezenet.onnx | ort-cpu fp32 | 1 | — | — | — | — | crashed" in text
    assert len(re.findall(r"^## squeezenet", text, re.MULTILINE)) == 2
    first = measured_run()
    runs = [
        replace(first, job=replace(first.job, workload=replace(first.job.workload, mode=mode)))
        for mode in [Mode(transfers=True, cuda_graph=on) for on in (True, False)]
    ]
    header, _, *rows = text_of(*runs).splitlines()[4:8]
    assert header.endswith("| Outcome | CUDA graph |")
    assert [row.split(" | ")[-1] for row in rows] == ["on |", "off |"]
    assert text_of(first, first).splitlines()[4].endswith("| Outcome |")
