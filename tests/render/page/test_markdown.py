import re

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.record import replace
from enginescope.records.plan.build import ToolReport
from enginescope.records.run.job import Mode
from enginescope.records.samples import ReportedSummary
from enginescope.render.page.markdown import escaped, report_markdown
from enginescope.render.page.overview import overview_rows
from enginescope.render.page.tabs import tabs_of
from enginescope.render.plans.plan_headline import PageSubject
from tests.render.runs import EVIL, failed_run, imported_run, measured_run


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
