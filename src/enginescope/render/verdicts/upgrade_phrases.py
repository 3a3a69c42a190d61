"""Phrase an upgrade, for terminal, Markdown, page and JSON alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from enginescope.analysis.verdicts.printed_verdicts import THROUGHPUT, printed_cause
from enginescope.judge.evidence import EvidenceLevel
from enginescope.judge.units import signed_pct
from enginescope.records.verdict.upgrade import (
    OUTPUTS,
    Stack,
    UpgradedModel,
    UpgradeKind,
    UpgradeReport,
    UpgradeRow,
)
from enginescope.render.base.data_table import UNKNOWN, printable
from enginescope.render.verdicts.gate_phrases import change_pct, interval_text
from enginescope.render.verdicts.verdict_phrases import (
    basis_text,
    confidence_text,
    title_of,
    value_text,
    why_text,
)

#: Ends a change that is the middle of those of the rounds.
PER_ROUND = " per round"
ROW_HEADERS = ("Verdict", "Model", "Metric", "Old", "New", "Change", "Interval", "Why")
_ANSWERS = {
    UpgradeKind.WORSE: "upgrade is not safe",
    UpgradeKind.INCONCLUSIVE: "upgrade is inconclusive",
    UpgradeKind.BETTER: "upgrade is safe, and better",
    UpgradeKind.SAFE: "upgrade is safe",
}
#: Metrics that tell the GPU's time from the host's.
_APART = frozenset({"gpu_compute", "enqueue"})
#: Versions that say what a stack is, the first ones first.
_TELLING = ("tensorrt", "onnxruntime", "onnxruntime-gpu", "onnxruntime-openvino", "openvino")


def answer_text(report: UpgradeReport) -> str:
    """Return the result in one line: ``upgrade is not safe: 1 of 6 models is worse (a.onnx)``."""
    kind, models = report.kind, report.models
    those = [model for model in models if model.kind is kind]
    if kind is UpgradeKind.SAFE:
        return f"{_ANSWERS[kind]}: {_count(len(models))} {_are(models)} as correct and as fast"
    verb = _are(those)
    printed = _printed(models)
    if printed is not None:
        return f"{_ANSWERS[kind]}: {printed}"
    if len(models) == 1:
        return f"{_ANSWERS[kind]}: {name_of(models[0])} {verb} {kind.value}{_metrics(models[0])}"
    names = ", ".join(f"{name_of(one)}{_metrics(one)}" for one in those)
    return f"{_ANSWERS[kind]}: {len(those)} of {_count(len(models))} {verb} {kind.value}: {names}"


def _printed(models: Sequence[UpgradedModel]) -> str | None:
    """Return what the printed figures of a model say; ``None`` where more is known, or nothing."""
    if len(models) != 1 or models[0].evidence is not EvidenceLevel.PRINTED:
        return None
    rows = [row for row in models[0].rows if row.verdict is not None]
    cause = printed_cause([row.verdict for row in rows if row.verdict])
    if cause is None:
        return None
    shown = [row for row in rows if row.metric == THROUGHPUT or row.metric in _APART]
    changes = ", ".join(f"{metric_text(row, in_text=True)} {change_text(row)}" for row in shown)
    return f"printed figures alone say: {cause} ({changes})"


def name_of(model: UpgradedModel) -> str:
    """Return a model's name without characters that a terminal obeys."""
    return printable(model.model)


def _metrics(model: UpgradedModel) -> str:
    rows = [row for row in model.rows if row.decides and row.kind is model.kind]
    return f" ({', '.join(metric_text(row, in_text=True) for row in rows)})"


def _count(models: int) -> str:
    return f"{models} {'model' if models == 1 else 'models'}"


def _are(models: Iterable[UpgradedModel]) -> str:
    return "is" if len(tuple(models)) == 1 else "are"


def scope_facts(report: UpgradeReport) -> tuple[tuple[str, str], ...]:
    """Return stacks, reference, evidence and limits, as names and texts."""
    evidence = dict.fromkeys(evidence_text(model) for model in report.models)
    references = dict.fromkeys(one.reference for one in report.models if one.reference)
    limits = ", ".join(f"{title_of(one.metric)} {one.regression_pct:g} %" for one in report.limits)
    facts = (
        ("old", stack_text(report.old, report.new)),
        ("new", stack_text(report.new, report.old)),
        ("reference", "; ".join(references)),
        ("evidence", "; ".join(evidence)),
        ("intervals", ", ".join(_confidences(report))),
        ("limits", limits),
    )
    return tuple((name, text) for name, text in facts if text)


def _confidences(report: UpgradeReport) -> Iterable[str]:
    """Return the confidence of the intervals, each once."""
    rows = (row for model in report.models for row in model.rows if row.decides)
    estimates = (row.verdict.estimate for row in rows if row.verdict)
    return dict.fromkeys(
        confidence_text(estimate.interval)
        for estimate in estimates
        if estimate and estimate.interval
    )


def stack_text(stack: Stack, other: Stack) -> str:
    """Return a stack's name, and the versions in which it differs from the other one."""
    if stack.python is None:
        return stack.name
    differing = [
        f"{name} {value}"
        for name, value in sorted(stack.versions.items(), key=lambda item: _place(item[0]))
        if other.versions.get(name) != value
    ]
    versions = ", ".join(differing) or "the same versions as the other stack"
    return f"{stack.name} ({versions}), {stack.python}"


def _place(name: str) -> int:
    return _TELLING.index(name) if name in _TELLING else len(_TELLING)


def evidence_text(model: UpgradedModel) -> str:
    """Return the evidence level and the number of processes; what is missing."""
    if model.evidence is None:
        return "outputs only; not timed"
    counts = sorted({len(model.old), len(model.new)})
    runs = " and ".join(map(str, counts))
    return f"{model.evidence.value}, {runs} {'run' if counts == [1] else 'runs'} a side"


def is_listed(row: UpgradeRow) -> bool:
    """Whether a row is always listed: it counts, or tells the GPU's time from the host's."""
    return row.decides or row.metric in _APART


def metric_text(row: UpgradeRow, *, in_text: bool = False) -> str:
    """Return the heading of a row's metric, or its words within a sentence."""
    title = "Outputs" if row.metric == OUTPUTS else title_of(row.metric)
    return title if not in_text or title[:2].isupper() else f"{title[:1].lower()}{title[1:]}"


def values_of(row: UpgradeRow) -> tuple[str, str]:
    """Return the figures of both stacks; of outputs their largest error."""
    if row.metric == OUTPUTS:
        old, new = (UNKNOWN if one is None else f"{one:.2g}" for one in (row.old, row.new))
        return old, new
    old, new = (value_text(row.metric, one) for one in (row.old, row.new))
    return old, new


def change_text(row: UpgradeRow) -> str:
    """Return ``+6.9 % per round``: the middle of the rounds' ratios, where there are rounds."""
    change = change_pct(row.verdict) if row.verdict else None
    if row.verdict is None or change is None:
        return UNKNOWN
    return f"{signed_pct(change)} %{basis_text(row.verdict.estimate)}"


def why_of(row: UpgradeRow) -> str:
    """Return why a row is what it is: one sentence with its reason code."""
    return f"{words_of(row)} ({row.reason})"


def words_of(row: UpgradeRow) -> str:
    """Return why a row is what it is, in words alone."""
    if row.message:
        return row.message
    if row.verdict is not None and row.kind is UpgradeKind.INCONCLUSIVE:
        return why_text(row.verdict) or "the interval does not decide it"
    return _BY_KIND[row.kind].format(limit=f"{row.limit_pct:g} %")


_BY_KIND = {
    UpgradeKind.WORSE: "beyond the limit of {limit}",
    UpgradeKind.BETTER: "better by more than {limit}",
    UpgradeKind.SAFE: "not worse by more than {limit}",
    UpgradeKind.INCONCLUSIVE: "the limit is {limit}",
}


def row_cells(model: UpgradedModel, row: UpgradeRow) -> tuple[str, ...]:
    """Return a row below `ROW_HEADERS`."""
    figures = (*values_of(row), change_text(row), interval_text(row))
    return (verdict_text(row), name_of(model), metric_text(row), *figures, words_of(row))


def verdict_text(row: UpgradeRow) -> str:
    """Return the verdict; in brackets where it does not count."""
    return row.kind.value if row.decides else f"({row.kind.value})"


def sentence(model: UpgradedModel, row: UpgradeRow) -> str:
    """Return a row in one sentence."""
    old, new = values_of(row)
    figures = f"{metric_text(row)} {old} → {new}" if row.old is not None else metric_text(row)
    change = f", {change_text(row)}" if row.verdict and change_text(row) != UNKNOWN else ""
    return f"{name_of(model)} · {model.backend}: {row.kind.value}: {figures}{change}; {why_of(row)}"
