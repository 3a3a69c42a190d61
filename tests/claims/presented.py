import csv
import io
import json
import re
from collections.abc import Iterator
from html import unescape
from itertools import chain
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
from enginescope.render.base.text import runs_table, stacked
from enginescope.render.base.text_table import as_text
from enginescope.render.charts.distribution import latency_distribution, percentiles
from enginescope.render.compare.compare_answer import compare_json
from enginescope.render.compare.compare_page import compare_page
from enginescope.render.contend.contend_answer import contend_answer
from enginescope.render.html.answer_page import written_csv, written_json, written_page
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
from tests.render.runs import measured_run
from tests.render.screen import summary_text

WIDE = 220


def of_run(run: Run) -> Iterator[tuple[str, Any]]:
    view = RunView(run)
    both = (view, RunView(measured_run()))
    yield "terminal", " ".join(summary_text(view, width=80).split())
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


def shown(answer: Any, page: bytes, as_json: bytes) -> Iterator[tuple[str, Any]]:
    """Yield an answer as every verb shows it."""
    yield "terminal", screen(answer)
    yield "Markdown", answer_markdown(answer).decode()
    yield "page", words(page.decode())
    yield "JSON", json.loads(as_json)
    yield "notebook", words(html_fragments.answer_html(answer))


def of_load(report: LoadReport) -> Iterator[tuple[str, Any]]:
    answer = load_answer(report)
    yield from shown(answer, written_page(answer), written_json(answer))
    (chart,) = answer.charts
    if chart is not None and not report.is_search:
        yield "chart", chart_text(chart)


def of_comparison(found: MeasuredComparison) -> Iterator[tuple[str, Any]]:
    page = compare_page(None, Chosen(), measured=found)
    yield from shown(verdict_answer(found), page, compare_json(None, Chosen(), measured=found))
    yield "CSV", rows(verdict_csv(found))


def of_gate(report: GateReport) -> Iterator[tuple[str, Any]]:
    """Yield what each presenter makes of a gate: the action shows the Markdown as its summary."""
    yield from shown(gate_answer(report), written_page(gate_answer(report)), gate_json(report))
    yield "terminal with everything", screen(gate_answer(report, everything=True))
    elements = ElementTree.fromstring(gate_junit(report)).iter()
    texts = ((*element.attrib.values(), element.text or "") for element in elements)
    yield "JUnit", "\n".join(chain.from_iterable(texts))
    sarif = json.loads(gate_sarif(report))
    yield "SARIF", "\n".join(sarif_texts(sarif))
    yield "SARIF's figures", sarif


def of_history(found: JobHistory) -> Iterator[tuple[str, Any]]:
    rows_of = "\n".join(f"{name} | {text}" for name, text in history_rows(found))
    yield "terminal", f"{title_text(found)}\n{rows_of}"
    yield "page", words(history_page([found], model="net.onnx").decode())
    yield "chart", json.dumps(history_chart([found]).spec, ensure_ascii=False)
    yield "notebook", words(html_fragments.history_html(found))
    yield "JSON", json.loads(history_json([found]))


_ANSWERS: dict[str, Any] = {
    "upgrade": upgrade_answer,
    "lottery": lottery_answer,
    "ladder": ladder_answer,
    "shapes": shapes_answer,
    "contend": contend_answer,
    "tune": tune_answer,
}


def of_answer(verb: str, report: Any) -> Iterator[tuple[str, Any]]:
    answer = _ANSWERS[verb](report)
    yield from shown(answer, written_page(answer), written_json(answer))
    if verb in ("shapes", "contend", "tune"):
        yield "CSV", rows(written_csv(answer))
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


def words(page: str) -> str:
    """Return the words of a page; a row of a table is a line."""
    text = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r"</t[hd]>", " | ", text)
    text = re.sub(r"</(tr|p|h\d|li|dd|div|figcaption|caption)>", "\n", text)
    return unescape(re.sub(r"<[^>]+>", "", text))
