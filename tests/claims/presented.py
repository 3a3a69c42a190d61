import csv
import io
import json
import re
from collections.abc import Iterator
from html import unescape
from typing import Any
from xml.etree import ElementTree

from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.suites.suite_row import pooled_figures, run_figures
from enginescope.analysis.verdicts.measured_sides import MeasuredComparison
from enginescope.notebook import html_fragments
from enginescope.records.run.run import Run
from enginescope.records.suite.suite import SuiteResult
from enginescope.records.verdict.gate import GateReport
from enginescope.records.verdict.history import JobHistory
from enginescope.records.verdict.load import LoadReport
from enginescope.render.base.answer_tables import AnswerTables, answer_markdown
from enginescope.render.base.answer_tables import answer_markdown as written_markdown
from enginescope.render.base.text import runs_table, stacked
from enginescope.render.base.text_table import as_text
from enginescope.render.charts.distribution import latency_distribution, percentiles
from enginescope.render.compare.compare_answer import compare_json
from enginescope.render.compare.compare_page import compare_page
from enginescope.render.contend.contend_answer import contend_answer
from enginescope.render.html.answer_page import written_page
from enginescope.render.html.images import Chart
from enginescope.render.ladder.ladder_answer import ladder_answer, waterfall
from enginescope.render.load.load_answer import load_answer
from enginescope.render.page import export
from enginescope.render.page.markdown import report_markdown
from enginescope.render.page.page import report_page
from enginescope.render.plan_comparison.compare_tables import Chosen
from enginescope.render.plans.findings import Linted, findings_json, findings_sarif
from enginescope.render.shapes.shapes_answer import shapes_answer
from enginescope.render.suites.suite_answer import counts_sentence, suite_answer, suite_tables
from enginescope.render.suites.suite_page import suite_page
from enginescope.render.tune.tune_answer import tune_answer
from enginescope.render.verdicts.gate_answer import gate_answer, gate_json, gate_junit, gate_sarif
from enginescope.render.verdicts.history_page import history_chart, history_page
from enginescope.render.verdicts.history_text import history_json, history_rows, title_text
from enginescope.render.verdicts.lottery_answer import lottery_answer
from enginescope.render.verdicts.upgrade_answer import upgrade_answer
from enginescope.render.verdicts.verdict_answer import verdict_answer, verdict_csv
from tests.render.load.load_reports import load_screen
from tests.render.outputs import outputs
from tests.render.runs import measured_run
from tests.render.screen import summary_text

WIDE = 220


def of_run(run: Run) -> Iterator[tuple[str, Any]]:
    view = RunView(run)
    both = (view, RunView(measured_run()))
    yield "terminal", flat(summary_text(view, width=80))
    yield "list", as_text(runs_table(both, width=WIDE), width=WIDE)
    yield "Markdown", report_markdown([view]).decode()
    yield "Markdown of two", report_markdown(both).decode()
    yield "page", words(report_page([view]).decode())
    yield "page of two", words(report_page(both).decode())
    yield "JSON", json.loads(export.report_json([view]))
    yield "JSON of figures", json.loads(export.summary_json([view]))
    yield "CSV", rows(export.summary_csv([view]))
    yield "CSV of percentiles", rows(export.latency_percentiles_csv([view]))
    yield "notebook", words(html_fragments.run_html(view))
    yield "suite row", [figures(run_figures(run))]
    yield "suite row of three", [figures(pooled_figures([run_figures(run)] * 3))]
    for chart in (percentiles(view), latency_distribution(view)):
        if chart is not None:
            yield f"chart {chart.key}", chart_text(chart)


def of_load(report: LoadReport) -> Iterator[tuple[str, Any]]:
    answered, (as_json, markdown, page, _) = load_answer(report), outputs(load_answer)
    yield "terminal", f"{answered.answer}\n{load_screen(report, WIDE)}"
    yield "Markdown", markdown(report).decode()
    yield "page", words(page(report).decode())
    yield "JSON", json.loads(as_json(report))
    yield "notebook", words(html_fragments.answer_html(answered))
    (chart,) = answered.charts
    if chart is not None and not report.is_search:
        yield "chart", chart_text(chart)


def of_comparison(found: MeasuredComparison) -> Iterator[tuple[str, Any]]:
    yield "terminal", screen(verdict_answer(found))
    yield "Markdown", answer_markdown(verdict_answer(found)).decode()
    yield "page", words(compare_page(None, Chosen(), measured=found).decode())
    yield "notebook", words(html_fragments.answer_html(verdict_answer(found)))
    yield "JSON", json.loads(compare_json(None, Chosen(), measured=found))
    yield "CSV", rows(verdict_csv(found))


def of_gate(report: GateReport) -> Iterator[tuple[str, Any]]:
    """Yield what each presenter makes of a gate: the action shows the Markdown as its summary."""
    yield "terminal", screen(gate_answer(report, everything=True))
    yield "Markdown", written_markdown(gate_answer(report)).decode()
    yield "page", words(written_page(gate_answer(report)).decode())
    yield "JUnit", "\n".join(xml_texts(gate_junit(report)))
    sarif = json.loads(gate_sarif(report))
    yield "SARIF", "\n".join(sarif_texts(sarif))
    yield "SARIF's figures", sarif
    yield "JSON", json.loads(gate_json(report))
    yield "notebook", words(html_fragments.answer_html(gate_answer(report)))


def of_history(found: JobHistory) -> Iterator[tuple[str, Any]]:
    rows_of = "\n".join(f"{name} | {text}" for name, text in history_rows(found))
    yield "terminal", f"{title_text(found)}\n{rows_of}"
    yield "page", words(history_page([found], model="net.onnx").decode())
    yield "chart", json.dumps(history_chart([found]).spec, ensure_ascii=False)
    yield "notebook", words(html_fragments.history_html(found))
    yield "JSON", json.loads(history_json([found]))


def _written(answer: Any, *, has_csv: bool = False) -> tuple[Any, ...]:
    as_json, markdown, page, as_csv = outputs(answer)
    return (answer, markdown, page, as_json, *([as_csv] if has_csv else []))


#: Verb -> its answer, and its writers of Markdown, a page, JSON and CSV.
_WRITERS: dict[str, tuple[Any, ...]] = {
    "upgrade": _written(upgrade_answer),
    "lottery": _written(lottery_answer),
    "ladder": _written(ladder_answer),
    "shapes": _written(shapes_answer, has_csv=True),
    "contend": _written(contend_answer, has_csv=True),
    "tune": _written(tune_answer, has_csv=True),
}


def of_answer(verb: str, report: Any) -> Iterator[tuple[str, Any]]:
    answer, markdown, page, as_json, *as_csv = _WRITERS[verb]
    yield "terminal", screen(answer(report))
    yield "Markdown", markdown(report).decode()
    yield "page", words(page(report).decode())
    yield "JSON", json.loads(as_json(report))
    yield "notebook", words(html_fragments.answer_html(answer(report)))
    for writer in as_csv:
        yield "CSV", rows(writer(report))
    if verb == "ladder":
        yield "waterfall", "\n".join(waterfall(report, width=80))


def of_suite(result: SuiteResult) -> Iterator[tuple[str, Any]]:
    made = suite_answer(result)
    tables = [as_text(table, width=WIDE) for table in stacked(suite_tables(result))]
    said = [counts_sentence(result), made.fastest, made.failed or ""]
    yield "terminal", "\n".join((*said, *tables))
    yield "page", words(suite_page(result).decode())
    yield "notebook", words(html_fragments.suite_html(result))


def of_findings(linted: Linted) -> Iterator[tuple[str, Any]]:
    yield "SARIF", "\n".join(sarif_texts(json.loads(findings_sarif([linted]))))
    yield "notebook", words(html_fragments.findings_html(linted.report))
    yield "JSON", json.loads(findings_json([linted]))


def screen(answered: AnswerTables) -> str:
    """Return an answer as a wide terminal shows it."""
    tables = [as_text(one, width=WIDE) for one in stacked(answered.screen or answered.tables, WIDE)]
    facts = [f"{name} | {text}" for name, text in (*answered.facts, *answered.more_facts)]
    notices = [notice.message for notice in answered.notices]
    return "\n".join((answered.answer, *facts, *tables, *notices))


def xml_texts(data: bytes) -> Iterator[str]:
    """Yield every attribute and text of an XML document."""
    for element in ElementTree.fromstring(data).iter():
        yield from element.attrib.values()
        yield element.text or ""


def sarif_texts(document: Any) -> Iterator[str]:
    """Yield what SARIF has for people: rules, results and messages."""
    if isinstance(document, dict):
        for name, value in document.items():
            if name in ("text", "markdown") and isinstance(value, str):
                yield value
            yield from sarif_texts(value)
    elif isinstance(document, list):
        for one in document:
            yield from sarif_texts(one)


def figures(cells: Any) -> dict[str, Any]:
    """Return the figures of a suite's cell as a row of its CSV."""
    return {cell.metric: cell.value for cell in cells}


def rows(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode(), newline="")))


def chart_text(chart: Chart) -> str:
    """Return a chart's words and its table."""
    table = (chart.table.headers, *chart.table.rows)
    return "\n".join((chart.title, *chart.subtitle, *(" | ".join(row) for row in table)))


def flat(text: str) -> str:
    """Return text with the line breaks of a narrow terminal taken out."""
    return " ".join(text.split())


def words(page: str) -> str:
    """Return the words of a page; a row of a table is a line."""
    text = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r"</t[hd]>", " | ", text)
    text = re.sub(r"</(tr|p|h\d|li|dd|div|figcaption|caption)>", "\n", text)
    return unescape(re.sub(r"<[^>]+>", "", text))
