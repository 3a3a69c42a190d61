"""Findings as rows for a table, as JSON, and as SARIF for code hosts and editors."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import asdict

from enginescope.analysis.claims.layer_claims import Saving, together
from enginescope.core.record import Record
from enginescope.judge.units import format_ms, format_significant
from enginescope.records.plan.plan import Plan
from enginescope.render.base.answer_tables import answer_json
from enginescope.render.base.data_table import DataColumn, DataTable, column, data_table
from enginescope.render.base.figures import TextTable
from enginescope.render.base.phrases import profiler_part, saving_text
from enginescope.render.base.sarif import sarif_log, sarif_result, sarif_rule
from enginescope.render.base.short_names import shorten_apart
from enginescope.render.plans.plan_tables import LAYERS, RowOfLayer, text_table
from enginescope.rules.base import Finding, Severity, Symptom
from enginescope.rules.catalogue import every_rule, paragraphs
from enginescope.rules.engine import FindingGroup, LintReport

_FINDING = ("finding", "findings")
#: Rows of a plan that are shown unless more are asked for.
SHOWN_GROUPS = 12
_SARIF_LEVELS = {Severity.INFO: "note", Severity.WARNING: "warning", Severity.ERROR: "error"}


class Linted(Record, frozen=True, kw_only=True):
    """What was found in one plan.

    Attributes:
        source: The file or run that the plan came from.
        is_file: Whether `source` is a path.
    """

    source: str
    plan: Plan
    report: LintReport
    is_file: bool = True


def headline(report: LintReport) -> str:
    """Return how much was found, as one line."""
    counts = Counter(finding.severity for finding in report.findings)
    known = [f"{counts[level]:,} {level.value}" for level in reversed(Severity) if counts[level]]
    found = ", ".join(known) or "none"
    size = f"{report.layers:,} layers"
    if report.active_layers < report.layers:
        size += f", {report.active_layers:,} launch work"
    if report.sum_ms is not None:
        size += f", sum {format_ms(report.sum_ms)}"
    hidden = f"; {report.suppressed:,} suppressed" if report.suppressed else ""
    return f"{report.plan} ({size}): findings {found}{hidden}"


def first_changes(report: LintReport | None, most: int = 1) -> tuple[str, ...]:
    """Return one cause, one change and one figure of each of the first groups of a report.

    Groups without a known saving are left out, unless no group has one.
    """
    groups, changes = report.groups if report else (), []
    for group in ([group for group in groups if group.saving.known_ms] or groups)[:most]:
        cause = f"{_short_subject(group, 60)} {group.message}"
        figure = saving_text(group.saving) or "saving unknown: no layer times"
        figure += _alone(group.saving)
        changes.append(f"{cause} → {group.advice}: {figure} ({group.code})")
    return tuple(changes)


def saving_words(report: LintReport) -> str | None:
    """Return what all findings may save, and of which time; ``None`` without a known figure.

    The rows of each column below add up to the figure of its kind.
    """
    saving, engine_ms = report.saving, report.engine_ms
    if not engine_ms or saving.rank[0] > 2:
        return None
    parts = []
    if saving.bound_ms is not None:
        share = format_significant(saving.share_pct(saving.bound_ms) or 0.0, 3)
        of = f"{format_ms(saving.bound_ms)} of {format_ms(engine_ms)} ({share} %)"
        parts.append(f"These findings save at most {of}")
    if saving.item_ms is not None:
        parts.append(f"A larger batch saves at most {format_ms(saving.item_ms)} per item")
    if saving.unknown_of_ms is not None:
        parts.append('"of ms" is the time of layers whose saving is unknown')
    known = [f"times are {profiler_part(report.profiler_ms)}"] if report.profiler_ms else []
    gpu = "--gpu NAME subtracts the least time that the GPU needs"
    last = "; ".join((*known, gpu if report.gpu is None else f"limits of {report.gpu}"))
    return ". ".join((*parts, last[:1].upper() + last[1:]))


def group_table(
    report: LintReport, limit: int | None, *, name_width: int | None = 40
) -> TextTable | None:
    """Return the first groups as text.

    Args:
        name_width: Names are shortened to so many characters in all; ``None``: not at all.
    """
    groups, shared, sentences = report.groups, _advice_of(report.findings), []
    for group in groups:
        subject = group.subject() if name_width is None else _short_subject(group, name_width)
        codes = {one.code for at in group.findings for one in report.findings[at].symptoms}
        explains = f" (explains {', '.join(sorted(codes))})" if codes else ""
        alone = _alone(group.saving) if len(group.findings) == 1 else ""
        advice = f" → {group.advice}" if group.advice != shared[group.code] else ""
        sentences.append(f"{subject} {group.message}{explains}{alone}{advice}")
    columns = (
        column("Finding", sentences),
        *_saving_columns(group.saving for group in groups),
        column("Code", (group.code for group in groups)),
        column("Severity", (group.severity.value for group in groups)),
    )
    table = data_table("groups", "Findings", _FINDING, columns)
    return text_table(table, len(groups) if limit is None else limit)


def finding_table(found: Sequence[Finding], rows: RowOfLayer) -> DataTable | None:
    """Return findings one by one; a kind of saving that none has is left out."""
    first = tuple(rows.get(finding.layers[0]) if finding.layers else None for finding in found)
    columns = (
        *_saving_columns(finding.saving for finding in found),
        column("Code", (finding.code for finding in found), is_choice=True),
        column("Rule", (finding.rule for finding in found), is_hidden=True),
        column("Severity", (finding.severity.value for finding in found), is_choice=True),
        column("Layer", (one.subject for one in found), leads_to=LAYERS, rows_there=first),
        column("Finding", (finding.message for finding in found)),
        column("Layers", (len(finding.layers) for finding in found), 0),
        column("What to try", (finding.advice for finding in found)),
    )
    return data_table("findings", "Findings one by one", _FINDING, columns)


def _saving_columns(savings: Iterable[Saving]) -> Iterator[DataColumn]:
    columns = (
        ("bound_ms", "ms", "the most that one inference saves"),
        ("bound_pct", "%", "of the engine's time"),
        ("item_ms", "ms per item", "the most that each item of a larger batch saves"),
        ("unknown_of_ms", "of ms", "time of layers whose saving is unknown"),
        ("alone_ms", "ms alone", "the most that it saves if nothing else is changed"),
    )
    fields = [saving.fields() for saving in savings]
    for name, title, meaning in columns:
        yield column(
            title,
            (one[name] for one in fields),
            5 if name.endswith("ms") else 2,
            meaning=meaning,
            is_share=name.endswith("pct"),
            is_hidden=name == "alone_ms",
        )


def _short_subject(group: FindingGroup, width: int) -> str:
    """Return a group's subject, its names of at most so many characters in all."""
    short = shorten_apart(group.names, width // len(group.names))
    return group.subject(dict(zip(group.names, short, strict=True)).__getitem__)


def _alone(saving: Saving) -> str:
    alone_ms = saving.shared_alone_ms
    return "" if alone_ms is None else f" ({format_ms(alone_ms, 3)} if done alone)"


def rule_table(report: LintReport) -> TextTable | None:
    """Return the rules that found something, those that may save most first."""
    by_code: dict[str, list[Finding]] = {}
    for finding in report.findings:
        by_code.setdefault(finding.code, []).append(finding)
    shared = _advice_of(report.findings)
    savings = {code: together(one.saving for one in found) for code, found in by_code.items()}
    order = sorted(by_code, key=lambda code: (savings[code].rank, code))
    alone = {code: _alone(savings[code]) for code in order if len(by_code[code]) == 1}
    columns = (
        column("What to do", (shared[code] + alone.get(code, "") for code in order)),
        column("Code", order),
        column("n", (len(by_code[code]) for code in order), 0),
        *_saving_columns(savings[code] for code in order),
    )
    table = data_table("rules", "What to do", ("rule", "rules"), columns)
    return text_table(table, len(order), note=saving_words(report) or "")


def _advice_of(findings: Iterable[Finding]) -> dict[str, str]:
    """Return the advice of each code: that of all its findings, else the rule's."""
    advices: dict[str, set[str]] = {}
    for finding in findings:
        advices.setdefault(finding.code, set()).add(finding.advice)
    usual = {rule.code: rule.advice for rule in every_rule()}
    return {code: min(own) if len(own) == 1 else usual[code] for code, own in advices.items()}


def findings_json(linted: Sequence[Linted]) -> bytes:
    """Return every finding of every plan as strict JSON; layers with their names."""
    return answer_json(schema=1, plans=list(map(_plan_findings, linted)))


def findings_sarif(linted: Sequence[Linted]) -> bytes:
    """Return the findings as SARIF 2.1.0, one run for each plan.

    A plan's file is the physical location, without a line; its layers are logical locations.
    """
    rules = [
        sarif_rule(
            *(rule.code, rule.name, f"{rule.summary}."),
            "\n\n".join(f"{heading}: {words}" for heading, words in paragraphs(rule).items()),
            f"{rule.advice[:1].upper()}{rule.advice[1:]}.",
            level=_SARIF_LEVELS[rule.severity],
        )
        for rule in every_rule()
    ]
    return sarif_log(list(map(_results, linted)), rules)


def _plan_findings(linted: Linted) -> dict[str, Any]:
    report, names = linted.report, _names(linted.plan)
    saving = report.saving.fields()
    del saving["alone_ms"]
    return {
        "source": linted.source,
        **asdict(report),
        "saving": saving,
        "findings": [
            {
                **_named(finding, names),
                "saving": finding.saving.fields(),
                "is_question": finding.is_question,
                "symptoms": [_named(symptom, names) for symptom in finding.symptoms],
            }
            for finding in report.findings
        ],
        "groups": groups_data(report),
    }


def groups_data(report: LintReport) -> list[dict[str, Any]]:
    """Return the groups of findings for a JSON document, in the order of every other form."""
    names = ("code", "rule", "severity", "message", "advice", "findings")
    return [
        {
            **{name: getattr(group, name) for name in names},
            "subject": group.subject(),
            "saving": group.saving.fields(),
        }
        for group in report.groups
    ]


def _names(plan: Plan) -> dict[int, str]:
    return {layer.index: layer.name for layer in plan.layers}


def _named(found: Finding | Symptom, names: dict[int, str]) -> dict[str, Any]:
    layers = [{"index": index, "name": names[index]} for index in found.layers]
    return {**asdict(found), "layers": layers}


def _results(linted: Linted) -> list[dict[str, Any]]:
    plan, names = linted.report.plan, _names(linted.plan)
    return [
        sarif_result(
            finding.code,
            _SARIF_LEVELS[finding.severity],
            f"{finding.subject} {finding.message}{'' if finding.is_question else '.'} "
            f"Try: {finding.advice}.",
            subject=finding.subject,
            places=[(names[at], f"{plan}/{at}/{names[at]}") for at in finding.layers],
            file=linted.source if linted.is_file else None,
            properties={
                "saving": finding.saving.fields(),
                "evidence": finding.evidence,
                "symptoms": [f"{one.code} {one.subject} {one.message}" for one in finding.symptoms],
            },
        )
        for finding in linted.report.findings
    ]
