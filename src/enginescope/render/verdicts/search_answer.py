"""The answer of a search among releases: a text that an issue report can take as it is."""

import shlex

from enginescope.records.verdict.upgrade import (
    ReleaseSearch,
    UpgradeKind,
    UpgradeReport,
    UpgradeRow,
)
from enginescope.render.base.answer_tables import stated
from enginescope.render.base.data_table import UNKNOWN, printable
from enginescope.render.base.figures import TextTable
from enginescope.render.html.answer_page import Answer
from enginescope.render.verdicts.upgrade_answer import (
    metric_text,
    upgrade_answer,
    values_of,
    why_of,
)
from enginescope.render.verdicts.verdict_phrases import change_interval, change_text

_HEADERS = ("Release", "Against", "Verdict", "Metric", "Old", "New", "Change", "Interval", "Why")


def search_answer(result: ReleaseSearch) -> Answer:
    """Return the release, every comparison of the search, and the figures of the last one."""
    change = upgrade_answer(result.change) if result.change else None
    rows = [(step, result.row(step), _why(result, step)) for step in result.steps]
    steps = TextTable(
        title="Comparisons",
        headers=_HEADERS,
        rows=tuple(
            (
                *(step.new.name, step.old.name, row.kind.value, metric_text(row), *values_of(row)),
                *(change_text(row.verdict, is_cell=True), change_interval(row.verdict), why),
            )
            for step, row, why in rows
        ),
        numbers=_HEADERS[4:8],
        sentences=_HEADERS[-1:],
    )
    listed = TextTable(
        title="Comparisons",
        headers=("verdict", "releases and metric"),
        rows=tuple((row.kind.value, _lines(step, row, why)) for step, row, why in rows),
    )
    is_worse = result.kind is UpgradeKind.WORSE
    return Answer(
        verb="search",
        title="Search among releases",
        answer=answer_text(result),
        facts=_facts(result),
        tables=(steps, *(change.tables if change else ())),
        screen=(listed,),
        notices=(*result.notices, *(change.notices if change else ())),
        report=result,
        data={"verdict": result.kind, "release": result.bad if is_worse else None},
        charts=change.charts if change else (),
    )


def answer_text(result: ReleaseSearch) -> str:
    """Return the result in one line: ``onnxruntime 1.22.0 made net.onnx worse: latency +5.1 %``."""
    model, package = printable(result.model), result.package
    usable = [one.version for one in result.releases if one.failure is None]
    if result.metric is None:
        span = f"{package} from {usable[0]} to {usable[-1]}" if usable else package
        if result.kind is UpgradeKind.INCONCLUSIVE:
            return f"inconclusive: whether a release of {span} made {model} worse"
        return f"no release of {span} made {model} worse"
    row = result.row(result.steps[-1])
    texts = (metric_text(row, in_text=True), change_text(row.verdict))
    what = " ".join(text for text in texts if text != UNKNOWN)
    if result.kind is UpgradeKind.WORSE:
        return f"{package} {result.bad} made {model} worse than {result.good}: {what}"
    span = f"after {result.good}, and in {result.bad} at the latest"
    return f"inconclusive: {package} made {model} worse {span} ({what})"


def _facts(result: ReleaseSearch) -> tuple[tuple[str, str], ...]:
    usable = [one.version for one in result.releases if one.failure is None]
    skipped = [f"{one.version} ({one.failure})" for one in result.releases if one.failure]
    ends = f", {usable[0]} to {usable[-1]}" if usable else ""
    change, between, again = result.change, ", ".join(result.between), ""
    versions, origin = (change.new.versions, change.models[0].origin) if change else ({}, None)
    if result.good and result.bad:
        span = ("--search", f"{result.good}..{result.bad}", "--package", result.package)
        again = shlex.join(("enginescope", "upgrade", result.model, *span))
    of_issue = ("enginescope", "python", "numpy", "onnx", "cpu", "gpu0")  # an issue report has them
    named = [f"{name} {versions[name]}" for name in of_issue if name in versions]
    return stated(
        ("model", f"{printable(result.model)}, SHA-256 {result.sha256}" if result.sha256 else None),
        ("releases", f"{len(usable)} usable{ends}"),
        ("skipped", printable("; ".join(skipped))),
        ("between", f"{between}: skipped or inconclusive" if between else None),
        ("error", f"at most {100 * result.error:g} % of searches name a wrong release"),
        ("versions", ", ".join(named)),
        ("starts at", printable(origin) if origin else None),
        ("again", again),
    )


def _why(result: ReleaseSearch, step: UpgradeReport) -> str:
    """Return why a verdict is so; only the last one needs more than a word if it is worse."""
    row = result.row(step)
    is_last = step is result.steps[-1]
    return why_of(row) if is_last or row.kind is not UpgradeKind.WORSE else row.reason


def _lines(step: UpgradeReport, row: UpgradeRow, why: str) -> str:
    old, new = values_of(row)
    change = (change_text(row.verdict), change_interval(row.verdict))
    figures = (f"{old} → {new}", *(text for text in change if text != UNKNOWN))
    what = f"{step.new.name} against {step.old.name} · {metric_text(row)}"
    return "\n".join((what, *([", ".join(figures)] if row.verdict else []), why))
