"""Compare an upgrade with its repetition, verdict by verdict."""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.records.verdict.reproduction import (
    Agreement,
    EnvironmentChange,
    ReproducedModel,
    ReproducedRow,
)
from enginescope.records.verdict.upgrade import (
    Stack,
    UpgradedModel,
    UpgradeKind,
    UpgradeReport,
    UpgradeRow,
)


def reproduced_models(recorded: UpgradeReport, again: UpgradeReport) -> tuple[ReproducedModel, ...]:
    """Return every model of both reports, which have them in one order."""
    return tuple(
        ReproducedModel(recorded=before, again=after, rows=tuple(_rows(before, after)))
        for before, after in zip(recorded.models, again.models, strict=True)
    )


def _rows(before: UpgradedModel, after: UpgradedModel) -> Iterator[ReproducedRow]:
    recorded, again = ({row.metric: row for row in model.rows} for model in (before, after))
    for metric in dict.fromkeys((*recorded, *again)):
        rows = recorded.get(metric), again.get(metric)
        yield ReproducedRow(
            metric=metric,
            decides=any(row.decides for row in rows if row),
            agreement=agreement_of(*rows),
            recorded=rows[0],
            again=rows[1],
        )


def agreement_of(recorded: UpgradeRow | None, again: UpgradeRow | None) -> Agreement:
    """Return how two verdicts agree.

    One that is inconclusive, or missing, agrees with nothing but a verdict on the same figures.
    """
    if recorded is not None and recorded.verdict is not None and recorded == again:
        return Agreement.SAME
    kinds = {row.kind if row else UpgradeKind.INCONCLUSIVE for row in (recorded, again)}
    if UpgradeKind.INCONCLUSIVE in kinds:
        return Agreement.INCONCLUSIVE
    return Agreement.SAME if len(kinds) == 1 else Agreement.DIFFERENT


def environment_changes(
    recorded: UpgradeReport, again: UpgradeReport
) -> tuple[EnvironmentChange, ...]:
    """Return versions and devices that differ, stack by stack."""
    stacks = ((recorded.old, again.old), (recorded.new, again.new))
    return tuple(change for before, after in stacks for change in _changes(before, after))


def _changes(before: Stack, after: Stack) -> Iterator[EnvironmentChange]:
    for name in sorted(before.versions.keys() | after.versions.keys()):
        values = before.versions.get(name), after.versions.get(name)
        if values[0] != values[1]:
            yield EnvironmentChange(
                stack=before.name, name=name, recorded=values[0], again=values[1]
            )
