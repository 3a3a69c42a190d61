"""The answer of an upgrade that ran again, for terminal, Markdown, page, notebook and JSON."""

from collections.abc import Iterator, Sequence

from enginescope.core.record import replace
from enginescope.core.units import format_bytes
from enginescope.judge.units import counted
from enginescope.records.verdict.upgrade import (
    Agreement,
    OutputChange,
    OutputReason,
    ReproducedModel,
    ReproducedRow,
    Reproduction,
    UpgradeRow,
)
from enginescope.render.base.answer_tables import stated
from enginescope.render.base.data_table import UNKNOWN, printable
from enginescope.render.base.figures import TextTable
from enginescope.render.base.phrases import few
from enginescope.render.html.answer_page import Answer
from enginescope.render.verdicts import upgrade_answer as upgrade
from enginescope.render.verdicts.verdict_phrases import change_interval, change_text

_HEADERS = (
    *("Agreement", "Model", "Metric", "Upgrade"),
    *("Verdict", "Old", "New", "Change", "Interval"),
)


def reproduction_answer(result: Reproduction) -> Answer:
    """Return the verdicts that count, then all figures of each model."""
    pairs = [(model, row) for model in result.models for row in model.rows]
    listed = [
        (model, row)
        for model, row in pairs
        if any(half and upgrade.is_listed(half) for half in (row.recorded, row.again))
    ]
    rows = tuple((_agreement(row), "\n".join(_lines(model, row))) for model, row in listed)
    screen = TextTable(title="Verdicts", headers=("verdicts", "model and metric"), rows=rows)
    cells = [line for model, row in listed for line in _cells(model, row)]
    title, has_models = "Recorded and new verdicts", len(result.models) > 1
    first = [upgrade.metric_table(title, _HEADERS, cells, has_models=has_models)] if cells else []
    return Answer(
        verb="reproduction",
        title="Reproduction",
        answer=answer_text(result),
        facts=scope_facts(result),
        tables=(*first, *map(_model_table, result.models)),
        screen=(screen,) if listed else (),
        report=result,
        data={
            "reproduced": result.is_reproduced,
            "sentences": [
                f"{first}: {_agreement(row)}: {'; '.join(verdicts)}"
                for model, row in pairs
                for first, *verdicts in (_lines(model, row),)
            ],
        },
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
        names = [
            f"{upgrade.name_of(model.recorded)} ({_metric(row, in_text=True)})"
            for model, row in rows
            if row.agreement is Agreement.DIFFERENT
        ]
        verb = "differs" if len(names) == 1 else "differ"
        return f"not reproduced: {len(names)} of {count} {verb}: {', '.join(names)}"
    same = sum(row.agreement is Agreement.SAME for _, row in rows)
    if same == len(rows):
        return f"reproduced: {count}, all the same"
    rest = len(rows) - same
    text = f"no verdict differs: {same} of {count} {upgrade.are(same)} the same"
    return f"{text}, {rest} {upgrade.are(rest)} inconclusive"


def scope_facts(result: Reproduction) -> tuple[tuple[str, str], ...]:
    """Return the bundle, its verdict and evidence, and what differs, as names and texts."""
    recorded, again = (
        "; ".join(dict.fromkeys((report.kind.value, *map(upgrade.evidence_text, report.models))))
        if report
        else ""
        for report in (result.recorded, result.again)
    )
    written = (result.recorded.created or UNKNOWN)[:10]
    size = f"{counted(result.files, 'file')}, {format_bytes(result.size_bytes)}"
    changes = (
        printable(f"{one.stack}: {one.name} {one.recorded or 'absent'} → {one.again or 'absent'}")
        for one in result.environment
    )
    return stated(
        ("bundle", f"{printable(result.folder)}: {size}"),
        ("SHA-256", result.sha256),
        ("written", f"{written} by enginescope {result.enginescope}"),
        ("command", printable(result.recorded.command or "")),
        ("recorded", recorded),
        ("again", again),
        ("outputs", _outputs(result.models, most=3)),
        ("versions", again and ("; ".join(changes) or "the same, and the same devices")),
    )


def _outputs(models: Sequence[ReproducedModel], *, most: int) -> str:
    """Return how many outputs are not as recorded, and which; empty without outputs.

    Args:
        most: Number of outputs that are named.
    """
    known = [(model, model.outputs) for model in models if model.outputs]
    if not known:
        return ""
    count = counted(sum(outputs.compared for _, outputs in known), "output")
    texts = [
        (f"{upgrade.name_of(model.recorded)}: " if len(models) > 1 else "")
        + change_of_output(change)
        for model, outputs in known
        for change in outputs.changes
    ]
    if not texts:
        return f"{count}, every bit as recorded"
    listed = few(texts, most, "; ")
    return f"{len(texts):,} of {count} {upgrade.are(len(texts))} not as recorded: {listed}"


def change_of_output(change: OutputChange) -> str:
    """Return ``scores of random 0 on new differs by 1e-06, error 2e-07 → 1e-06``."""
    where = "in the reference" if change.stack is None else f"on {change.stack}"
    differs = {
        OutputReason.VALUES: "differs in bits alone",
        OutputReason.HASHES: "has another hash",
        OutputReason.KIND: "differs in type, shape, NaN or text",
        OutputReason.MISSING: "is missing in one upgrade",
    }
    how = f"differs by {change.gap:.2g}" if change.gap else differs[change.reason]
    errors = change.recorded_error, change.error
    error = f", error {errors[0]:.2g} → {errors[1]:.2g}" if None not in errors else ""
    unsteady = "" if change.was_repeatable else ", as its recorded processes did"
    return printable(f"{change.output} of {change.sample} {where} {how}{error}{unsteady}")


def _model_table(model: ReproducedModel) -> TextTable:
    notes = (model.recorded.backend, _outputs((model,), most=20), "in brackets: does not count")
    rows = [cells for row in model.rows for cells in _cells(model, row)]
    table = upgrade.metric_table(
        f"Figures of {upgrade.name_of(model.recorded)}", _HEADERS, rows, *notes
    )
    return replace(table, is_detail=True)


def _agreement(row: ReproducedRow) -> str:
    """Return how the verdicts agree; in brackets where the metric does not count."""
    return row.agreement.value if row.decides else f"({row.agreement.value})"


def _cells(model: ReproducedModel, row: ReproducedRow) -> Iterator[tuple[str, ...]]:
    named = (_agreement(row), upgrade.name_of(model.recorded), _metric(row))
    for name, half in _halves(row):
        cells: tuple[str, ...] = (UNKNOWN,) * 5
        if half is not None:
            change = change_text(half.verdict, is_cell=True), change_interval(half.verdict)
            cells = (half.kind.value, *upgrade.values_of(half), *change)
        yield (*named, name, *cells)


def _halves(row: ReproducedRow) -> tuple[tuple[str, UpgradeRow | None], ...]:
    return ("recorded", row.recorded), ("again", row.again)


def _lines(model: ReproducedModel, row: ReproducedRow) -> Iterator[str]:
    names = upgrade.name_of(model.recorded), printable(model.recorded.backend), _metric(row)
    yield " · ".join(names)
    kinds = {half.kind for half in (row.recorded, row.again) if half}
    for name, half in _halves(row):
        if half is None:
            yield f"{name} {UNKNOWN}"
            continue
        figures = " → ".join(upgrade.values_of(half)) if half.old is not None else UNKNOWN
        cells = (figures, change_text(half.verdict), change_interval(half.verdict))
        why = f"; {printable(upgrade.why_of(half))}" if len(kinds) > 1 else ""
        known = ", ".join((half.kind.value, *(cell for cell in cells if cell != UNKNOWN)))
        yield f"{name} {known}{why}"


def _metric(row: ReproducedRow, *, in_text: bool = False) -> str:
    half = row.recorded or row.again
    assert half is not None
    return upgrade.metric_text(half, in_text=in_text)
