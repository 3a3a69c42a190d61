"""The answer of a search among releases: a text that an issue report can take as it is."""

from __future__ import annotations

import shlex

from enginescope.judge.units import counted
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
    rows = [(step, result.row(step)) for step in result.steps]
    steps = TextTable(
        title="Comparisons",
        headers=_HEADERS,
        rows=tuple(_cells(step, row) for step, row in rows),
        numbers=_HEADERS[4:8],
        sentences=_HEADERS[-1:],
    )
    listed = TextTable(
        title="Comparisons",
        headers=("verdict", "releases and metric"),
        rows=tuple((row.kind.value, _lines(step, row)) for step, row in rows),
    )
    return Answer(
        verb="search",
        title="Search among releases",
        answer=answer_text(result),
        facts=_facts(result),
        tables=(steps, *(change.tables if change else ())),
        screen=(listed,),
        notices=(*result.notices, *(change.notices if change else ())),
        report=result,
        data={
            "verdict": result.kind,
            "release": result.bad if result.kind is UpgradeKind.WORSE else None,
        },
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
    return (
        f"inconclusive: {package} made {model} worse after {result.good}, and in {result.bad} "
        f"at the latest ({what})"
    )


def _facts(result: ReleaseSearch) -> tuple[tuple[str, str], ...]:
    skipped = [
        f"{one.version} ({printable(one.failure)})" for one in result.releases if one.failure
    ]
    usable = len(result.releases) - len(skipped)
    change, again, origin = result.change, "", None
    if change is not None:
        texts = (change.old.python or "", change.new.python or "")
        again = shlex.join(
            ("enginescope", "upgrade", result.model, "--old", texts[0], "--new", texts[1])
        )
        origin = change.models[0].origin
    versions = change.new.versions if change else {}
    own = ("python", "numpy", "onnx", "cpu", "gpu0")
    open_ = ", ".join(result.between)
    return stated(
        ("releases", f"{counted(usable, 'release')} usable"),
        ("skipped", "; ".join(skipped)),
        ("between", f"{open_}: skipped or inconclusive" if open_ else ""),
        ("error", f"at most {100 * result.error:g} % of searches name a wrong release"),
        ("machine", ", ".join(f"{name} {versions[name]}" for name in own if name in versions)),
        ("starts at", printable(origin) if origin else ""),
        ("install", _install(result)),
        ("again", again),
    )


def _install(result: ReleaseSearch) -> str:
    if result.good is None or result.bad is None:
        return ""
    return " and ".join(f"pip install {result.package}=={one}" for one in (result.good, result.bad))


def _lines(step: UpgradeReport, row: UpgradeRow) -> str:
    old, new = values_of(row)
    change = (change_text(row.verdict), change_interval(row.verdict))
    figures = (f"{old} → {new}", *(text for text in change if text != UNKNOWN))
    what = f"{step.new.name} against {step.old.name} · {metric_text(row)}"
    return "\n".join((what, *([", ".join(figures)] if row.verdict else []), why_of(row)))


def _cells(step: UpgradeReport, row: UpgradeRow) -> tuple[str, ...]:
    change = change_text(row.verdict, is_cell=True), change_interval(row.verdict)
    what = step.new.name, step.old.name, row.kind.value, metric_text(row)
    return (*what, *values_of(row), *change, why_of(row))
