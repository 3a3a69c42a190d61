"""Speed-up over a baseline backend, and the gains that ONNX Runtime's scripts printed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from enginescope.core.record import Record
from enginescope.records.suite.suite import Cell, CellRow, SuiteResult

#: A model in one batch and shape: what backends are compared in.
Case: TypeAlias = tuple[str, str]


class Gain(Record, frozen=True, kw_only=True):
    """How much less time one backend takes than another, as those scripts counted it.

    ``(b - a) ÷ b`` of the two mean latencies, in percent: positive where `label`'s first is faster.
    No interval belongs to it: it is one measurement a side, and not a verdict.
    """

    name: str
    percent: float


def case_of(cell: Cell) -> Case:
    """Return what cells of different backends have in common."""
    return cell.model, cell.case


def baselines(result: SuiteResult) -> dict[Case, str]:
    """Return the backend that each case is counted from: the suite's, else the case's first."""
    named = result.plan.suite.baseline
    found: dict[Case, str] = {}
    for cell in result.plan.cells:
        case = case_of(cell)
        if cell.spec == named or case not in found:
            found[case] = cell.spec
    return found


def speed_ups(result: SuiteResult) -> dict[str, float]:
    """Return by the keys of cells how many times as fast as their baseline they are.

    Of the medians; cells without one, and whose baseline has none, are left out.
    """
    counted_from = baselines(result)
    by_case: dict[tuple[Case, str], float] = {}
    for row in result.rows:
        latency = row.figure("latency")
        if latency:
            by_case[case_of(row.cell), row.cell.spec] = latency
    found = {}
    for row in result.rows:
        case, latency = case_of(row.cell), row.figure("latency")
        base = by_case.get((case, counted_from[case]))
        if latency and base:
            found[row.cell.key] = base / latency
    return found


#: Name of a gain -> the backends whose mean latencies it is of: of the first over the second.
GAINS = {
    "TRT_CUDA_gain(%)": ("ORT-TRTFp32", "ORT-CUDAFp32"),
    "TRT_CUDA_fp16_gain(%)": ("ORT-TRTFp16", "ORT-CUDAFp16"),
    "TRT_Standalone_gain(%)": ("ORT-TRTFp32", "TRTFp32"),
    "TRT_Standalone_fp16_gain(%)": ("ORT-TRTFp16", "TRTFp16"),
}


def gains_of(rows: Sequence[tuple[str, CellRow]]) -> tuple[Gain, ...]:
    """Return the gains of one case, given its rows by the names of the scripts' providers."""
    means = {name: row.figure("mean") for name, row in rows}
    found = []
    for gain, (first, second) in GAINS.items():
        a, b = means.get(first), means.get(second)
        if a is not None and b:
            found.append(Gain(name=gain, percent=100 * (b - a) / b))
    return tuple(found)
