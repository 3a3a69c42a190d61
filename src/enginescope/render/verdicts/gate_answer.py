"""The answer of a gate, for terminal, Markdown, page, JSON, JUnit and SARIF alike."""

import re
from collections.abc import Callable, Iterator, Sequence, Set
from pathlib import PurePath
from typing import Any
from xml.etree import ElementTree as ET

from msgspec import to_builtins

from enginescope.analysis.verdicts.compared_figures import GATE_METRICS
from enginescope.analysis.verdicts.model_mean import gate_means
from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.judge.units import counted
from enginescope.judge.verdict import Verdict
from enginescope.records.notice import weightiest
from enginescope.records.verdict.gate import GateOutcome, GateReport, GateRow
from enginescope.render.base.answer_tables import answer_json, stated
from enginescope.render.base.data_table import UNKNOWN, ends_of
from enginescope.render.base.figures import TextTable
from enginescope.render.base.sarif import sarif_log, sarif_result, sarif_rule
from enginescope.render.base.short_names import jobs_apart
from enginescope.render.charts.estimates import Estimate, estimate_chart
from enginescope.render.html.answer_page import Answer
from enginescope.render.html.images import Chart
from enginescope.render.verdicts.verdict_phrases import (
    across_text,
    change_interval,
    change_note,
    change_pct,
    change_text,
    confidence_text,
    interval_header,
    interval_of,
    levels_text,
    mean_cells,
    mean_lines,
    metric_words,
    value_text,
    why_text,
)

_PLURALS = {
    GateOutcome.REGRESSION: "regressions",
    GateOutcome.NEW_FAILURE: "new failures",
    GateOutcome.LOST: "lost",
    GateOutcome.IMPROVEMENT: "improvements",
}
_SINGULARS = {GateOutcome.LOST: "lost", GateOutcome.NO_REGRESSION: "without regression"}
#: Failing outcomes that are nouns; others say what of: a metric or a job.
_NOUNS = frozenset({GateOutcome.REGRESSION, GateOutcome.NEW_FAILURE})
#: Notices on what differs or was measured, which are about the pair and not its trust: always said.
_DIFFERENCES = frozenset({"I-ALTERED", "I-MEANT"})
_ALWAYS = _DIFFERENCES | {"I-MEASURED-AGAIN"}


def answer_text(report: GateReport) -> str:
    """Return the result in one line: ``gate failed: 1 regression, 1 new failure``.

    One that passed has the change of its only metric, else how many metrics improved.
    """
    if report.result == "failed":
        return f"gate failed: {', '.join(_failing(report))}"
    count = report.count(GateOutcome.INCONCLUSIVE)
    if not count:
        compared = [row for row in report.rows if change_pct(row.verdict) is not None]
        if len(compared) < 2:
            changes = (_change_sentence(row, f"of {row.model} ") for row in compared)
            return "; ".join(("gate passed: no regression", *changes))
        better = report.count(GateOutcome.IMPROVEMENT)
        improved = f", {better:,} improved" if better else ""
        return f"gate passed: no regression in {len(compared):,} metrics{improved}"
    metrics = counted(sum(row.metric is not None for row in report.rows), "metric")
    inconclusive = f"{count:,} of {metrics} {'is' if count == 1 else 'are'} inconclusive"
    if report.is_passed:
        return f"gate passed: no regression found; {inconclusive}, treated as passed"
    return f"gate inconclusive: no regression found, but {inconclusive}"


def _failing(report: GateReport) -> Iterator[str]:
    """Yield ``2 regressions``, ``1 lost job``: how many rows of each outcome fail."""
    for outcome in GateOutcome:
        for unit in ("metric", "job"):
            rows = [row for row in report.rows if row.outcome is outcome and report.fails(row)]
            count = sum((row.metric is None) is (unit == "job") for row in rows)
            noun = outcome.value if outcome in _NOUNS else f"{_word(outcome)} {unit}"
            if count:
                yield counted(count, noun)


def checked_text(report: GateReport) -> str:
    """Return ``2 metrics of 1 job: 1 inconclusive, 1 without regression``."""
    metrics = [row for row in report.rows if row.metric is not None]
    whole = [row for row in report.rows if row.metric is None]
    jobs = counted(len({row.job for row in metrics}), "job")
    parts = (
        f"{counted(len(metrics), 'metric')} of {jobs}: {_counts(metrics)}" if metrics else "",
        f"{counted(len(whole), 'whole job')}: {_counts(whole)}" if whole else "",
    )
    return "; ".join(filter(None, parts))


def is_listed(report: GateReport, row: GateRow) -> bool:
    """Whether a row is listed unless all are asked for: up to 12 where none has a regression."""
    if row.outcome is not GateOutcome.NO_REGRESSION:
        return True
    return report.count(row.outcome) == len(report.rows) <= 12


def scope_facts(report: GateReport) -> tuple[tuple[str, str], ...]:
    """Return baseline, difference, limits, what was checked, and evidence, as names and texts."""
    every = report.terms.limits
    limits = ", ".join(f"{metric_words(one.metric)} {one.regression_pct:g} %" for one in every)
    differences = (text.removeprefix("the current side ") for text in common_differences(report))
    compared = [row for row in report.rows if row.verdict is not None]
    before, after = values_of(compared[0]) if len(compared) == 1 else ("", "")
    return stated(
        ("baseline", ": ".join(filter(None, (report.baseline, before)))),
        ("current", "; ".join(filter(None, (after, *differences)))),
        ("on", report.place),
        ("limits", limits),
        ("checked", checked_text(report)),
        ("evidence", levels_text(row.verdict for row in report.rows)),
    )


def metric_text(row: GateRow) -> str:
    """Return the heading of a row's metric; a dash of a job as a whole."""
    return GATE_METRICS[row.metric] if row.metric else UNKNOWN


def values_of(row: GateRow) -> tuple[str, str]:
    """Return both sides' figures with their units."""
    if (verdict := row.verdict) is None:
        return UNKNOWN, UNKNOWN
    return value_text(verdict.metric, verdict.a), value_text(verdict.metric, verdict.b)


def figures_sentence(row: GateRow) -> str | None:
    """Return a row's figures with interval and limit; ``None`` without any."""
    verdict = row.verdict
    if verdict is None or row.metric is None or verdict.a is verdict.b is None:
        return f"{metric_words(row.metric)}, limit {row.limit_pct:g} %" if row.metric else None
    before, after = values_of(row)
    return f"{_change_sentence(row, f'{before} → {after}, ')}, limit {row.limit_pct:g} %"


def _change_sentence(row: GateRow, about: str = "") -> str:
    """Return ``latency −30.4 % (99 % CI −31.4 … −29.7 %)`` of a row with a verdict."""
    assert row.metric is not None
    interval = interval_of(row.verdict) if row.verdict else None
    ends = f" ({confidence_text(interval)} CI {change_interval(row.verdict)})" if interval else ""
    return f"{metric_words(row.metric)} {about}{change_text(row.verdict)}{ends}"


def details(row: GateRow) -> list[str]:
    """Return what else is said of a row, the most important first."""
    found = [row.why] if row.why else []
    if row.outcome is GateOutcome.INCONCLUSIVE and row.verdict is not None:
        why = why_text(row.verdict)
        if why:  # of some reasons it begins with the detail
            found = [why] if row.why and why.startswith(row.why) else [*found, why]
    if row.outcome is GateOutcome.INCOMPARABLE and row.differing:
        found.append(across_text(row.differing))
    return found


def shown_notices(report: GateReport, row: GateRow) -> tuple[Notice, ...]:
    """Return a row's notices; notes only where the row fails or is inconclusive."""
    matters = report.fails(row) or row.outcome is GateOutcome.INCONCLUSIVE
    return weightiest(
        notice
        for notice in row.notices
        if matters or notice.level == "warning" or notice.code in _ALWAYS
    )


def common_differences(report: GateReport) -> tuple[str, ...]:
    """Return in what the sides of all compared jobs differ, as notices have it."""
    told = [
        dict.fromkeys(one.message for one in row.notices if one.code in _DIFFERENCES)
        for row in report.rows
        if row.verdict is not None
    ]
    return tuple(text for text in (told[0] if told else ()) if all(text in one for one in told))


def repeated_notices(report: GateReport, rows: Sequence[GateRow]) -> dict[str, Notice]:
    """Return by code what several rows show, with the number of rows; all of the only row's."""
    if len(report.rows) == 1:
        shown = (one for row in rows for one in shown_notices(report, row))
        return {one.code: one for one in shown if one.code not in _DIFFERENCES}
    by_code: dict[str, list[Notice]] = {}
    for row in rows:
        of_row = {notice.code: notice for notice in shown_notices(report, row)}
        for code in of_row.keys() - _ALWAYS:
            by_code.setdefault(code, []).append(of_row[code])
    repeated = {}
    for code, notices in sorted(by_code.items()):
        if len(notices) > 1:
            first, others = notices[0].message, len({notice.message for notice in notices}) > 1
            where = f"{'this or a similar notice ' if others else ''}in {len(notices):,} rows"
            repeated[code] = replace(notices[0], message=f"{first}; {where}")
    return repeated


def sentence(row: GateRow) -> str:
    """Return a row in one sentence, without its job."""
    parts = (figures_sentence(row), *details(row), levels_text([row.verdict]))
    return f"{row.outcome.value}: {'; '.join(filter(None, parts))}"


def _counts(rows: Sequence[GateRow]) -> str:
    counts = []
    for outcome in GateOutcome:
        count = sum(row.outcome is outcome for row in rows)
        if count:
            words = _PLURALS if count > 1 else _SINGULARS
            counts.append(f"{count:,} {words.get(outcome) or _word(outcome)}")
    return ", ".join(counts)


def _word(outcome: GateOutcome) -> str:
    return _SINGULARS.get(outcome, outcome.value)


_WHY = "Why"
#: Outcomes that fail a gate without anything being worse.
_OPEN = frozenset({GateOutcome.INCONCLUSIVE, GateOutcome.INCOMPARABLE, GateOutcome.UNSTABLE})


def gate_answer(
    report: GateReport, link: Callable[[GateRow], str] | None = None, *, everything: bool = False
) -> Answer:
    """Return the result, the rows that matter with their reasons, and the others folded away.

    Args:
        link: Where a page leads to from a row.
        everything: Whether a terminal lists jobs without regression too.
    """
    told, options = named_apart(report)
    listed, means = _listed(told, everything=False), gate_means(report)
    rest = [row for row in told.rows if not is_listed(report, row)]
    said = _said_of_all(report, listed)
    rows = [
        (*_cells(report, row), _lines(*details(row), *_notes(report, row, said)) or UNKNOWN)
        for row in listed
    ]
    rows += [mean_cells(mean, "job") for mean in means]
    level = interval_header([*(row.verdict.estimate for row in told.rows if row.verdict), *means])
    headers = ("Result", "Job", "Metric", "Baseline", "Current", "Change", level)
    jobs = TextTable(
        title="Jobs",
        headers=(*headers, _WHY),
        rows=tuple(rows),
        numbers=headers[3:],
        whole=headers[3:],
        note=change_note(rows),
        sentences=("Job",),
        below=_WHY,
        links=(*map(link, listed), *("" for _ in means)) if link else (),
    )
    held_rows = tuple(_cells(report, row) for row in rest)
    held = replace(
        jobs,
        title=f"Without regression: {counted(len(rest), 'metric')}",
        headers=headers,
        rows=held_rows,
        note=change_note(held_rows),
        below=None,
        is_detail=True,
        links=tuple(map(link, rest)) if link else (),
    )
    return Answer(
        verb="gate",
        title="Gate",
        answer=answer_text(report),
        facts=(*_next(told), *scope_facts(report), *stated(("jobs", options))),
        tables=tuple(table for table in (jobs, held) if table.rows),
        screen=(gate_rows(told, everything=everything),) if report.rows else (),
        notices=gate_notices(report, everything=everything),
        report=report,
        document=gate_json(report),
        charts=(_chart(told, level),),
        fails=report.result == "failed",
    )


def _next(report: GateReport) -> tuple[tuple[str, str], ...]:
    """Return why the worst row is so, and what to do: its rule's advice, with the row's names."""
    row = next((one for one in report.rows if one.outcome in _CODES), None)
    if row is None:
        return ()
    why = next(iter(details(row)), figures_sentence(row))
    of = f"{row.job}: " if sum(one.outcome in _CODES for one in report.rows) > 1 else ""
    text = next(advice for code, *_, advice in RULES if code == _CODES[row.outcome])
    names = {"BASELINE": row.baseline, "CURRENT": row.current, "MODEL": (row.model,)}
    text = re.sub("[A-Z]{5,}", lambda word: (names.get(word[0]) or (word[0],))[-1], text)
    return stated(("why", why and f"{of}{why}"), ("next", text))


def named_apart(report: GateReport) -> tuple[GateReport, str | None]:
    """Return the report with jobs told apart by the options that differ; the others, said once."""
    apart = jobs_apart([row.job for row in report.rows])
    pairs = zip(report.rows, apart.labels, strict=True)
    return replace(report, rows=tuple(replace(row, job=job) for row, job in pairs)), apart.shared


def gate_rows(report: GateReport, *, everything: bool = False) -> TextTable:
    """Return what a terminal lists, the worst first.

    Args:
        everything: Jobs without regression too.
    """
    listed = _listed(report, everything=everything)
    said = _said_of_all(report, listed)
    rows = [
        (row.outcome.value, _lines(row.job, figures_sentence(row), *details(row), *notes))
        for row in listed
        for notes in [_notes(report, row, said)]
    ]
    rows += [("mean", mean_lines(mean, "job")) for mean in gate_means(report)]
    return TextTable(title="Jobs", headers=("result", "job"), rows=tuple(rows))


def gate_notices(report: GateReport, *, everything: bool = False) -> tuple[Notice, ...]:
    """Return what is said below `gate_rows`: of the gate, then of several rows."""
    repeated = repeated_notices(report, _listed(report, everything=everything))
    return (*report.notices, *repeated.values())


def _listed(report: GateReport, *, everything: bool) -> list[GateRow]:
    return [row for row in report.rows if everything or is_listed(report, row)]


def _said_of_all(report: GateReport, rows: Sequence[GateRow]) -> set[str]:
    """Return codes and messages of notices that no row repeats."""
    return {*repeated_notices(report, rows), *common_differences(report)}


def _notes(report: GateReport, row: GateRow, said: Set[str] = frozenset()) -> Iterator[str]:
    for notice in shown_notices(report, row):
        if said.isdisjoint((notice.code, notice.message)):
            yield f"{'!' if notice.level == 'warning' else '·'} {notice.message} ({notice.code})"


def _lines(*texts: str | None) -> str:
    return "\n".join(filter(None, texts))


def gate_json(report: GateReport) -> bytes:
    """Return every row as strict JSON, those without regression too."""
    return answer_json(
        schema=1,
        passed=report.is_passed,
        result=report.result,
        answer=answer_text(report),
        baseline=report.baseline,
        terms=report.terms,
        jobs=report.jobs,
        checked=checked_text(report),
        counts={one.value: report.count(one) for one in GateOutcome},
        rows=[
            {**to_builtins(row), "fails": report.fails(row), "change_pct": change_pct(row.verdict)}
            for row in report.rows
        ],
        means=gate_means(report),
        notices=report.notices,
    )


def _cells(report: GateReport, row: GateRow) -> tuple[str, ...]:
    sign = ("? " if row.outcome in _OPEN else "✗ ") if report.fails(row) else ""
    change = change_text(row.verdict, is_cell=True), change_interval(row.verdict)
    return f"{sign}{row.outcome.value}", row.job, metric_text(row), *values_of(row), *change


def change_estimate(name: str, verdict: Verdict, kind: str) -> Estimate:
    """Return the change of a metric in percent, with its interval, for a chart."""
    ends = ends_of(interval_of(verdict))
    low, high = (None if end is None else 100 * (end - 1) for end in ends)
    most = 1 + verdict.threshold_pct / 100
    limit = 100 * ((1 / most if verdict.higher_is_better else most) - 1)
    value = change_pct(verdict) or 0.0
    return Estimate(name=name, value=value, kind=kind, low=low, high=high, limit=limit)


def _chart(report: GateReport, lines: str) -> Chart | None:
    """Return the change of each metric with its interval, the worst 40."""
    changes = [
        change_estimate(f"{row.job}, {metric_text(row)}", row.verdict, row.outcome.value)
        for row in report.rows[:40]
        if row.verdict is not None and change_pct(row.verdict) is not None
    ]
    axis, title = "change, %", f"Change against {report.baseline}"
    return estimate_chart("gate_changes", title, changes, axis=axis, reference=0.0, lines=lines)


#: What XML 1.0 cannot hold, however it is written.
_NO_CHARACTER = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SUITE = "enginescope gate"
#: Neither passed nor failed: there was nothing to compare with the baseline.
_SKIPPED = frozenset({GateOutcome.STILL_FAILING, GateOutcome.NO_BASELINE, GateOutcome.NEW})


def gate_junit(report: GateReport) -> bytes:
    """Return one suite with a test case for each job and metric.

    What regressed, is lost or cannot be compared is a failure, what does not run any more an
    error; an inconclusive one is a failure of its own type. There is no ``time``: a row compares
    processes of two sides, and has no duration of its own.
    """
    suites = ET.Element("testsuites", {"name": _SUITE})
    suite = ET.SubElement(suites, "testsuite", {"name": _SUITE})
    properties = ET.SubElement(suite, "properties")
    for name, text in (("answer", answer_text(report)), ("checked", checked_text(report))):
        ET.SubElement(properties, "property", {"name": name, "value": _text(text)})
    kinds = [_case(suite, report, row) for row in report.rows]
    counts = {f"{kind}s": str(kinds.count(kind)) for kind in ("failure", "error")}
    suites.attrib |= {"tests": str(len(kinds)), **counts}  # it has no attribute "skipped"
    suite.attrib |= {**suites.attrib, "skipped": str(kinds.count("skipped"))}
    suite.set("timestamp", (report.measured or "1970-01-01T00:00:00")[:19])
    suite.set("hostname", _text(report.host or "unknown"))
    ET.indent(suites)
    document: bytes = ET.tostring(suites, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _case(suite: ET.Element, report: GateReport, row: GateRow) -> str | None:
    name = metric_text(row) if row.metric else "run"
    case = ET.SubElement(suite, "testcase", {"classname": _text(row.job), "name": _text(name)})
    kind = "skipped" if row.outcome in _SKIPPED else None
    if report.fails(row):
        kind = "error" if row.outcome is GateOutcome.NEW_FAILURE else "failure"
    notices = (*_notes(report, row),)
    if kind is not None:
        said = ET.SubElement(case, kind, {"message": _text(sentence(row))})
        if kind != "skipped":
            said.set("type", row.outcome.value)
            said.text = _text(_lines(row.job, figures_sentence(row), *details(row), *notices))
            return kind
    told = _lines(row.outcome.value, figures_sentence(row), *notices)
    ET.SubElement(case, "system-out").text = _text(told)
    return kind


def _text(text: str) -> str:
    """Return `text` with what XML cannot hold as the sign for a lost character."""
    return _NO_CHARACTER.sub("\ufffd", text)


_FLAKY = "GATE006"
_CODES = {
    GateOutcome.REGRESSION: "GATE001",
    GateOutcome.NEW_FAILURE: "GATE002",
    GateOutcome.LOST: "GATE003",
    GateOutcome.INCOMPARABLE: "GATE004",
    GateOutcome.INCONCLUSIVE: "GATE005",
    GateOutcome.UNSTABLE: "GATE007",
}


def gate_sarif(report: GateReport, *, root: str | None = None) -> bytes:
    """Return what fails or is open as results; the file of a job's model is its place.

    Args:
        root: Models below this folder are named relative to it, as code hosts want them.
    """
    about = {"answer": answer_text(report), "checked": checked_text(report)}
    levels = {"GATE005": _open_level(report), _FLAKY: "warning"}
    rules = [sarif_rule(*one, level=levels.get(one[0], "error")) for one in RULES]
    return sarif_log([list(_results(report, root))], rules, properties=about)


def _results(report: GateReport, root: str | None) -> Iterator[dict[str, Any]]:
    for row in report.rows:
        if row.outcome in _CODES:
            level = _open_level(report) if row.outcome is GateOutcome.INCONCLUSIVE else "error"
            yield _result(row, _CODES[row.outcome], level, f"{row.job}: {sentence(row)}.", root)
        for notice in row.notices:
            if notice.code == "W-FLAKY-BASELINE":
                yield _result(row, _FLAKY, "warning", f"{row.job}: {notice.message}.", root)


def _result(row: GateRow, rule: str, level: str, message: str, root: str | None) -> dict[str, Any]:
    file = row.path
    if file is not None and root is not None and PurePath(file).is_relative_to(root):
        file = PurePath(file).relative_to(root).as_posix()
    return sarif_result(
        *(rule, level, message),
        subject=f"{row.job}/{row.metric or 'run'}",
        places=((row.job, f"{row.model}/{row.backend}"),),
        kind="module",
        file=file,
        properties={
            "metric": row.metric,
            "limit_pct": row.limit_pct,
            "change_pct": change_pct(row.verdict),
            "baseline_runs": row.baseline,
            "current_runs": row.current,
        },
    )


def _open_level(report: GateReport) -> str:
    return "note" if report.terms.inconclusive == "pass" else "error"


#: Code, name, what it says in short, in full, and what to do.
RULES = (
    (
        "GATE001",
        "regression",
        "A metric is worse than its limit allows.",
        "The ratio is beyond the limit, and its interval excludes 1 at the confidence shown.",
        "Look for the cause: enginescope compare BASELINE CURRENT, enginescope history MODEL.",
    ),
    (
        "GATE002",
        "new-failure",
        "A job fails that did not fail in the baseline.",
        "At least one process of the job ended in a failure, and none did in the baseline.",
        "Read its log: enginescope runs show CURRENT.",
    ),
    (
        "GATE003",
        "lost-coverage",
        "The baseline has a job or a figure that the current runs lack.",
        "A job that is no longer measured cannot show a regression.",
        "Measure it, or remove it from the baseline.",
    ),
    (
        "GATE004",
        "incomparable",
        "A job was measured under other conditions than its baseline.",
        "Another GPU, driver, processor, precision, shape or mode changes figures too.",
        "Measure the baseline here, or compare different conditions on purpose with --across.",
    ),
    (
        "GATE005",
        "inconclusive",
        "Inconclusive: the figure may or may not be worse than its limit.",
        "The interval of the ratio exceeds the limit, or there is no interval.",
        "Measure more, on an idle machine; what is open: enginescope compare BASELINE CURRENT.",
    ),
    (
        "GATE006",
        "flaky-baseline",
        "The baseline itself is not steady.",
        "Its run-to-run variation is larger than usual, or its samples drift or are bimodal.",
        "Measure the baseline again on a quiet machine, with more processes.",
    ),
    (
        "GATE007",
        "unstable",
        "The current side is unstable by itself.",
        "Its processes are disturbed in more rounds than the baseline's, beyond chance.",
        "Look for what changes between processes: threads, allocation, clocks.",
    ),
)
