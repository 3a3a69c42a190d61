"""Compare an upgrade with its repetition: verdicts, environments and outputs."""

import hashlib
import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import NamedTuple, TypeAlias

import numpy as np

from enginescope.analysis.upgrade.rows import output_gap
from enginescope.records.run.run import TensorValues
from enginescope.records.verdict.upgrade import (
    Agreement,
    BundledOutputs,
    BundledSample,
    BundledTensor,
    EnvironmentChange,
    OutputChange,
    OutputReason,
    ReproducedModel,
    ReproducedOutputs,
    ReproducedRow,
    UpgradedModel,
    UpgradeKind,
    UpgradeReport,
    UpgradeRow,
)

#: Returns the values of a sample; ``None``: there are hashes alone.
ReadOutputs: TypeAlias = Callable[[BundledSample], tuple[TensorValues, ...] | None]


class _Output(NamedTuple):
    sample: BundledSample
    tensor: BundledTensor


#: Stack, sample and name of an output.
_Key: TypeAlias = tuple[str | None, str, str]
#: SHA-256 -> an output with it; those of several processes that are equal are one.
_Outputs: TypeAlias = dict[str, _Output]


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
    changes = []
    for before, after in ((recorded.old, again.old), (recorded.new, again.new)):
        for name in sorted(before.versions.keys() | after.versions.keys()):
            then, now = before.versions.get(name), after.versions.get(name)
            if then != now:
                change = EnvironmentChange(stack=before.name, name=name, recorded=then, again=now)
                changes.append(change)
    return tuple(changes)


def output_hash(tensor: TensorValues) -> str:
    """Return the SHA-256 of type, shape and values."""
    digest = hashlib.sha256(f"{tensor.dtype.value} {tensor.shape} ".encode())
    digest.update(np.ascontiguousarray(tensor.data).tobytes())
    return digest.hexdigest()


def reproduced_outputs(
    recorded: BundledOutputs,
    again: BundledOutputs,
    read_recorded: ReadOutputs,
    read_again: ReadOutputs,
) -> ReproducedOutputs:
    """Return which outputs no process of a stack gave again, bit by bit."""
    before, after = _by_output(recorded), _by_output(again)
    keys = tuple(dict.fromkeys((*before, *after)))
    changes = (
        _output_change(key, before.get(key, {}), after.get(key, {}), (read_recorded, read_again))
        for key in keys
    )
    return ReproducedOutputs(compared=len(keys), changes=tuple(filter(None, changes)))


def _by_output(outputs: BundledOutputs) -> dict[_Key, _Outputs]:
    by_key: dict[_Key, _Outputs] = {}
    for process in outputs.processes:
        for sample in process.samples:
            for tensor in sample.tensors:
                key = (process.stack, sample.sample, tensor.name)
                by_key.setdefault(key, {})[tensor.sha256] = _Output(sample, tensor)
    return by_key


def _output_change(
    key: _Key, recorded: _Outputs, again: _Outputs, readers: tuple[ReadOutputs, ReadOutputs]
) -> OutputChange | None:
    """Return how an output differs; ``None``: a process gave a recorded one again."""
    if recorded.keys() & again.keys():
        return None
    reason, gap = OutputReason.MISSING, None
    if recorded and again:
        reason, gap = _gap(recorded, again, readers)
    stack, sample, name = key
    return OutputChange(
        stack=stack,
        sample=sample,
        output=name,
        reason=reason,
        gap=gap,
        recorded_error=_error(recorded),
        error=_error(again),
        was_repeatable=len(recorded) < 2,
    )


def _gap(
    recorded: _Outputs, again: _Outputs, readers: tuple[ReadOutputs, ReadOutputs]
) -> tuple[OutputReason, float | None]:
    """Return the gap between the two processes that are nearest."""
    gaps: list[float] = []
    for first, second in product(recorded.values(), again.values()):
        sides = readers[0](first.sample), readers[1](second.sample)
        if sides[0] is None or sides[1] is None:
            return OutputReason.HASHES, None
        name = first.tensor.name
        of_name = [[tensor for tensor in side if tensor.name == name] for side in sides if side]
        gaps.append(output_gap(*of_name))
    nearest = min(gaps)
    return (OutputReason.KIND, None) if math.isinf(nearest) else (OutputReason.VALUES, nearest)


def _error(outputs: _Outputs) -> float | None:
    errors = [output.tensor.max_abs_error for output in outputs.values()]
    return max((error for error in errors if error is not None), default=None)
