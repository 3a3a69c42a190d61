"""Phrase a bundle of evidence and what came out when it ran again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from enginescope.core.units import format_bytes
from enginescope.judge.units import counted
from enginescope.records.verdict.bundled_outputs import OutputChange, OutputReason
from enginescope.records.verdict.reproduction import (
    Agreement,
    EnvironmentChange,
    ReproducedModel,
    ReproducedRow,
    Reproduction,
)
from enginescope.records.verdict.upgrade import UpgradeRow
from enginescope.render.base.answer_tables import stated
from enginescope.render.base.data_table import UNKNOWN, printable
from enginescope.render.verdicts.gate_phrases import interval_text
from enginescope.render.verdicts.upgrade_answer import (
    change_text,
    evidence_text,
    metric_text,
    name_of,
    values_of,
    why_of,
)

#: Outputs that the list of facts names.
_SHOWN = 3
ROW_HEADERS = (
    *("Agreement", "Model", "Metric", "Upgrade"),
    *("Verdict", "Old", "New", "Change", "Interval"),
)


def answer_text(result: Reproduction) -> str:
    """Return the result in one line: ``not reproduced: 1 of 4 verdicts differs: net (latency)``."""
    if result.again is None:
        return f"bundle is intact: all {counted(result.files, 'file')} match the manifest"
    rows = [(model, row) for model in result.models for row in model.rows if row.decides]
    count = counted(len(rows), "verdict")
    if result.is_reproduced is None:
        return f"inconclusive: {count}, none of them clear in both upgrades"
    if not result.is_reproduced:
        different = [one for one in rows if one[1].agreement is Agreement.DIFFERENT]
        names = ", ".join(
            f"{_model(model)} ({_metric(row, in_text=True)})" for model, row in different
        )
        verb = "differs" if len(different) == 1 else "differ"
        return f"not reproduced: {len(different)} of {count} {verb}: {names}"
    same = sum(row.agreement is Agreement.SAME for _, row in rows)
    if same == len(rows):
        return f"reproduced: {count}, all the same"
    rest = len(rows) - same
    text = f"no verdict differs: {same} of {count} {_are(same)} the same"
    return f"{text}, {rest} {_are(rest)} inconclusive"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def scope_facts(result: Reproduction) -> tuple[tuple[str, str], ...]:
    """Return the bundle, its verdict and evidence, and what differs, as names and texts."""
    recorded, again = result.recorded, result.again
    levels = [
        dict.fromkeys(evidence_text(model) for model in report.models)
        for report in (recorded, again)
        if report is not None
    ]
    written = f"{(recorded.created or UNKNOWN)[:10]} by enginescope {result.enginescope}"
    size = f"{counted(result.files, 'file')}, {format_bytes(result.size_bytes)}"
    return stated(
        ("bundle", f"{printable(result.folder)}: {size}"),
        ("SHA-256", result.sha256),
        ("written", written),
        ("command", printable(recorded.command or "")),
        ("recorded", f"{recorded.kind.value}; {'; '.join(levels[0])}"),
        ("again", f"{again.kind.value}; {'; '.join(levels[1])}" if again else ""),
        ("outputs", outputs_text(result.models, most=_SHOWN)),
        ("versions", _versions(result) if again else ""),
    )


def outputs_text(models: Sequence[ReproducedModel], *, most: int) -> str:
    """Return how many outputs are not as recorded, and which; empty without outputs.

    Args:
        most: Number of outputs that are named.
    """
    known = [(model, model.outputs) for model in models if model.outputs]
    if not known:
        return ""
    count = counted(sum(outputs.compared for _, outputs in known), "output")
    texts = [
        f"{_model(model)}: {change_of_output(change)}"
        if len(models) > 1
        else change_of_output(change)
        for model, outputs in known
        for change in outputs.changes
    ]
    if not texts:
        return f"{count}, every bit as recorded"
    more = [f"and {len(texts) - most:,} more"] if len(texts) > most else []
    listed = "; ".join((*texts[:most], *more))
    return f"{len(texts):,} of {count} {_are(len(texts))} not as recorded: {listed}"


def change_of_output(change: OutputChange) -> str:
    """Return ``scores of random 0 on new differs by 1e-06, error 2e-07 → 1e-06``."""
    where = "in the reference" if change.stack is None else f"on {change.stack}"
    how = {
        OutputReason.VALUES: f"differs by {change.gap:.2g}"
        if change.gap
        else "differs in bits alone",
        OutputReason.HASHES: "has another hash",
        OutputReason.KIND: "differs in type, shape, NaN or text",
        OutputReason.MISSING: "is missing in one upgrade",
    }[change.reason]
    errors = change.recorded_error, change.error
    error = f", error {errors[0]:.2g} → {errors[1]:.2g}" if None not in errors else ""
    unsteady = "" if change.was_repeatable else ", as its recorded processes did"
    return printable(f"{change.output} of {change.sample} {where} {how}{error}{unsteady}")


def _versions(result: Reproduction) -> str:
    changes = map(change_of_environment, result.environment)
    return "; ".join(changes) or "the same, and the same devices"


def change_of_environment(change: EnvironmentChange) -> str:
    """Return ``new: onnxruntime 1.23.2 → 1.32.0``."""
    recorded, again = (value or "absent" for value in (change.recorded, change.again))
    return printable(f"{change.stack}: {change.name} {recorded} → {again}")


def agreement_text(row: ReproducedRow) -> str:
    """Return how the verdicts agree; in brackets where the metric does not count."""
    text = row.agreement.value
    return text if row.decides else f"({text})"


def rows_of(model: ReproducedModel, row: ReproducedRow) -> Iterator[tuple[str, ...]]:
    """Yield the recorded verdict and the new one below `ROW_HEADERS`."""
    for name, half in _halves(row):
        kind = half.kind.value if half else UNKNOWN
        figures = (*values_of(half), *_change(half)) if half else (UNKNOWN,) * 4
        yield (agreement_text(row), _model(model), _metric(row), name, kind, *figures)


def _halves(row: ReproducedRow) -> tuple[tuple[str, UpgradeRow | None], ...]:
    return ("recorded", row.recorded), ("again", row.again)


def _change(half: UpgradeRow) -> tuple[str, str]:
    return change_text(half), interval_text(half)


def lines_of(model: ReproducedModel, row: ReproducedRow) -> Iterator[str]:
    """Yield the metric, its recorded and its new verdict, for a narrow table."""
    yield f"{_model(model)} · {printable(model.recorded.backend)} · {_metric(row)}"
    kinds = {half.kind for half in (row.recorded, row.again) if half}
    for name, half in _halves(row):
        if half is None:
            yield f"{name} {UNKNOWN}"
            continue
        figures = [" → ".join(values_of(half))] if half.old is not None else []
        cells = [one for one in (half.kind.value, *figures, *_change(half)) if one != UNKNOWN]
        why = f"; {printable(why_of(half))}" if len(kinds) > 1 else ""
        yield f"{name} {', '.join(cells)}{why}"


def sentence(model: ReproducedModel, row: ReproducedRow) -> str:
    """Return a row in one sentence."""
    first, *verdicts = lines_of(model, row)
    return f"{first}: {agreement_text(row)}: {'; '.join(verdicts)}"


def _model(model: ReproducedModel) -> str:
    return name_of(model.recorded)


def _metric(row: ReproducedRow, *, in_text: bool = False) -> str:
    half = row.recorded or row.again
    assert half is not None
    return metric_text(half, in_text=in_text)
