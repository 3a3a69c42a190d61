"""Results as HTML fragments. Every text is escaped here, and nowhere else."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from enginescope.analysis.claims.layer_claims import WholeRequest
from enginescope.analysis.onnx.onnx_map import onnx_match_notice
from enginescope.analysis.plans.plan_view import Exploration, PlanView, explore
from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.tasks.depth_agreement import DepthBenchmark
from enginescope.judge.notice import Notice
from enginescope.records.notice import weightiest
from enginescope.records.plan.build import BuildReport
from enginescope.records.run.run import OutcomeKind
from enginescope.records.suite.suite import SuiteResult
from enginescope.records.verdict.history import JobHistory
from enginescope.render.base.answer_tables import AnswerTables
from enginescope.render.base.data_table import UNKNOWN, number_column, xml_text
from enginescope.render.base.figures import TextTable, headline
from enginescope.render.base.phrases import layer_sum_sentence, outcome_text
from enginescope.render.depth.depth_answer import (
    SPEED_HEADERS,
    benchmark_notices,
    benchmark_title,
    speed_cells,
)
from enginescope.render.plans.build_text import build_facts
from enginescope.render.plans.explore_text import explore_tables, summary_rows
from enginescope.render.plans.findings import SHOWN_GROUPS, group_table, rule_table
from enginescope.render.plans.findings import headline as findings_headline
from enginescope.render.self_test.self_test_answer import recorded_line
from enginescope.render.suites.suite_answer import (
    counts_sentence,
    options_sentence,
    suite_answer,
    suite_tables,
)
from enginescope.render.verdicts.history_text import HEADERS, history_rows, span_text, title_text
from enginescope.render.verdicts.verdict_phrases import value_text
from enginescope.rules.engine import LintReport
from enginescope.services.explain import Explanation
from enginescope.services.measurement.doctor import Diagnosis

_CELL = "vertical-align:top;padding:0.1em 1em 0.1em 0"
_LEFT = f"text-align:left;{_CELL}"
_TABLE = "border-collapse:collapse;margin:0.6em 0"


def fragment(title: str, *parts: str) -> str:
    """Return a whole fragment: a title above its parts, of which empty ones are left out."""
    head = f"<p><strong>{xml_text(title)}</strong></p>"
    return f"<div class='enginescope'>{head}{''.join(parts)}</div>"


def paragraph(text: str | None) -> str:
    return f"<p>{xml_text(text)}</p>" if text else ""


def fact_list(rows: Iterable[tuple[str, str]]) -> str:
    """Return labels and what is known under each; nothing without rows."""
    cells = "".join(
        f"<tr><th scope='row' style='{_LEFT}'>{xml_text(label)}</th>"
        f"<td style='{_LEFT}'>{xml_text(text)}</td></tr>"
        for label, text in rows
    )
    return f"<table style='{_TABLE}'><tbody>{cells}</tbody></table>" if cells else ""


def data_table(
    title: str,
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numbers: Sequence[str] = (),
    note: str | None = None,
) -> str:
    """Return a table with its title; nothing without rows.

    Args:
        numbers: Headers of columns that are set flush right.
        note: A line below.
    """
    right = f"text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums;{_CELL}"
    styles = [right if header in numbers else _LEFT for header in headers]

    def line(element: str, cells: Sequence[str]) -> str:
        begins = (f"<{element} style='{style}'>" for style in styles)
        pairs = zip(begins, map(xml_text, cells), strict=True)
        ends = f"</{element[:2]}>"
        return f"<tr>{''.join(f'{begin}{cell}{ends}' for begin, cell in pairs)}</tr>"

    body = "".join(line("td", row) for row in rows)
    if not body:
        return ""
    head = line("th scope='col'", headers)
    caption = "text-align:left;font-weight:bold;padding:0.2em 0;white-space:nowrap"
    return (
        f"<table style='{_TABLE}'><caption style='{caption}'>{xml_text(title)}</caption>"
        f"<thead>{head}</thead><tbody>{body}</tbody></table>{paragraph(note)}"
    )


def text_table(part: TextTable | None) -> str:
    """Return a table with its title and note, and how many rows it leaves out."""
    if part is None:
        return ""
    left_out = f"and {part.left_out:,} more" if part.left_out else None
    note = "; ".join(filter(None, (part.note, left_out)))
    rows = (tuple(cell.replace("\n", "; ") for cell in row) for row in part.rows)
    return data_table(part.title, part.headers, rows, numbers=part.numbers, note=note)


def notice_list(notices: Sequence[Notice]) -> str:
    """Return notices, warnings first and with a mark; nothing without any."""
    items = "".join(
        f"<li>{'! ' if one.level == 'warning' else ''}{xml_text(one.message)} ({one.code})</li>"
        for one in weightiest(notices)
    )
    return f"<ul>{items}</ul>" if items else ""


def findings_html(report: LintReport) -> str:
    """Return the findings with the largest known savings, and what to do."""
    return fragment(
        findings_headline(report),
        paragraph("no profile: savings are not known" if report.sum_ms is None else None),
        text_table(rule_table(report)),
        text_table(group_table(report, SHOWN_GROUPS, name_width=80)),
    )


_TOP = 5


def plan_html(view: PlanView, whole: WholeRequest | None = None) -> str:
    """Return the summary and the tables that `explore` prints.

    Args:
        whole: Metric and mean in ms of whole requests, timed without a profiler.
    """
    found, notice = explore(view.plan.name, view.plan, view.profile, whole=whole), None
    if view.onnx is not None and view.onnx_map is not None:
        notice = onnx_match_notice(view.plan, view.onnx_map, view.onnx.name or "the model")
    return exploration_html(found, (notice,) if notice else ())


def exploration_html(found: Exploration, notices: Sequence[Notice] = ()) -> str:
    """Return the summary and the tables of an explored plan.

    Args:
        notices: Notices on the files, after those on the plan.
    """
    return fragment(
        found.name,
        fact_list(summary_rows(found)),
        *map(text_table, explore_tables(found, top=_TOP)),
        notice_list((*found.notices, *notices)),
    )


def answer_html(result: AnswerTables) -> str:
    """Return the answer, what it is about, and every table."""
    return fragment(
        result.heading,
        fact_list((*result.facts, *result.more_facts)),
        notice_list(result.notices),
        *map(text_table, result.tables),
        *map(answer_html, result.parts),
    )


def history_html(history: JobHistory) -> str:
    """Return the levels of a metric, and what changed between them."""
    levels = (
        (
            history.points[level.first].created[:10],
            history.points[level.last].created[:10],
            f"{level.last - level.first + 1:,}",
            value_text(history.metric, level.value),
        )
        for level in history.levels
    )
    headers = ("first", "last", "points", "value")
    changes = ((letter, text.replace("\n", "; ")) for letter, text in history_rows(history))
    return fragment(
        title_text(history),
        paragraph(span_text(history)),
        data_table("Levels", headers, levels, numbers=headers[2:]),
        data_table("Changes", HEADERS, changes),
    )


def suite_html(result: SuiteResult) -> str:
    """Return the count of cells by status, and the tables that `suite` prints."""
    answer = suite_answer(result)
    return fragment(
        f"{result.name}: {counts_sentence(result)}",
        paragraph(answer.fastest),
        paragraph(answer.failed),
        paragraph(options_sentence(result)),
        *map(text_table, suite_tables(result)),
        notice_list(result.notices),
    )


def build_html(report: BuildReport) -> str:
    return fragment(
        Path(report.engine).name, fact_list(build_facts(report)), notice_list(report.notices)
    )


def explanation_html(explanation: Explanation) -> str:
    """Return what a code means, with an example and the next step."""
    return fragment(
        explanation.code,
        paragraph(explanation.meaning),
        fact_list((("Example", explanation.example), ("What to do", explanation.action))),
    )


def diagnosis_html(diagnosis: Diagnosis) -> str:
    """Return the usable backends and extras, and hints on the machine."""
    parts = (("Backends", diagnosis.backends), ("Extras", diagnosis.extras))
    tables = (
        data_table(
            title,
            ("name", "usable", "detail", "to get it"),
            (
                (part.name, "yes" if part.usable else "no", part.detail, part.hint or "")
                for part in capabilities
            ),
        )
        for title, capabilities in parts
    )
    hints = ((hint.code, hint.message, hint.command or "") for hint in diagnosis.hints)
    host = diagnosis.environment.host
    return fragment(
        host.cpu_model or "unknown CPU",
        *tables,
        data_table("Hints", ("code", "hint", "command"), hints),
        *(paragraph(recorded_line(test)) for test in diagnosis.self_tests),
    )


def depth_html(benchmark: DepthBenchmark) -> str:
    return fragment(
        benchmark_title(benchmark),
        data_table(
            "Latency",
            ("side", *SPEED_HEADERS),
            ((side.label, *speed_cells(side)) for side in benchmark.sides),
            numbers=SPEED_HEADERS,
        ),
        notice_list(benchmark_notices(benchmark)),
    )


def run_html(view: RunView) -> str:
    """Return the headline, the notices and the time by type of layer."""
    run = view.run
    return fragment(
        f"{run.job.subject.name} · {run.job.backend} · run {view.id[:8]}",
        fact_list(_facts(view)),
        notice_list(view.notices),
        _types(view),
    )


def _facts(view: RunView) -> Iterator[tuple[str, str]]:
    outcome = view.run.outcome
    if outcome.kind is not OutcomeKind.OK:
        text = outcome_text(outcome)
        yield "outcome", f"{text}: {outcome.message}" if outcome.message else text
    found = headline(view)
    for one in ((found.main,) if found.main else ()) + found.beside:
        note = "; ".join((one.note or "").splitlines())
        yield one.label, f"{one.value}{' !' if one.is_weak else ''}{f' ({note})' if note else ''}"
    if view.layer_sum is not None:
        yield "layers", layer_sum_sentence(view.layer_sum)


def _types(view: RunView) -> str:
    shares = view.time_by_type
    shown = shares[:_TOP]
    times = number_column([one.time_ms for one in shown])
    rows = (
        (
            ms,
            UNKNOWN if one.share_pct is None else f"{one.share_pct:.1f}",
            f"{one.layers:,}",
            one.key or "not known",
        )
        for one, ms in zip(shown, times, strict=True)
    )
    more = len(shares) - len(shown)
    return data_table(
        "Time by type",
        ("ms", "%", "layers", "type"),
        rows,
        numbers=("ms", "%", "layers"),
        note=f"and {more:,} more" if more else None,
    )
