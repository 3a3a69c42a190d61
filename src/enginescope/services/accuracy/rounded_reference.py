"""The reference once more, rounded to each row's type: what error rounding alone causes.

Kernels differ in how they round, so that one rounded copy is too little: there is one for each of
`ORDERS`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from enginescope.backends.registry import parse_backend
from enginescope.core.errors import EnginescopeError
from enginescope.core.record import replace
from enginescope.formats.onnx.onnx_rounding import (
    LARGEST,
    ORDERS,
    ROUNDED_ROWS,
    RoundedCopy,
    rounded_onnx,
)
from enginescope.formats.tensors.answer_files import answer_file, read_answers
from enginescope.judge.notice import Notice
from enginescope.judge.units import format_significant
from enginescope.records.run.job import Job
from enginescope.records.run.run import TensorValues
from enginescope.services.accuracy.sides import REFERENCE, Side

#: Beyond this, FP16 has infinities.
_LARGEST_FP16 = 65504.0
#: Rows whose type has no emulation, although it rounds.
_WITHOUT = frozenset({"fp4"})
_UNOPTIMIZED = "&graph_optimization_level=disable"


class RoundedReference:
    """Runs rounded copies of the reference, some for each row, and reads their outputs.

    Args:
        rows: Rows of limits in play; those that do not round, such as ``fp32``, need no copy.
        folder: For copies and outputs.
    """

    def __init__(self, reference: Side, rows: Iterable[str], folder: Path) -> None:
        self._reference = reference
        self._rows = sorted({*rows} & (ROUNDED_ROWS | _WITHOUT))
        self._folder = folder / "rounded"
        self._copies: dict[str, list[RoundedCopy]] = {}
        self._largest: dict[str, float] = {}
        self.notices: list[Notice] = []

    def run(self, answer: Callable[[Job, Path], object]) -> None:
        """Let each copy answer; one that cannot leaves the row's own limits, and a notice.

        Args:
            answer: Runs a job; its outputs go into the folder.
        """
        for row in self._rows:
            why = self._obstacle(row)
            if why is None:
                why = self._ran(row, answer)
            if why is not None:
                self.notices.append(_unknown(row, why))

    def _ran(self, row: str, answer: Callable[[Job, Path], object]) -> str | None:
        """Run the copies of a row; return why one could not run."""
        job, copies = self._reference.job, []
        if job is None:
            return None
        for number, order in enumerate(ORDERS.get(row, ("nearest",))):
            home = self._folder / row / str(number)
            try:
                path = Path(job.subject.path or "")
                copies.append(rounded_onnx(path, row, home / "model", order))
                copy = str(copies[-1].path)
                subject = replace(job.subject, path=copy, sha256=None)
                backend = parse_backend(REFERENCE + _UNOPTIMIZED)  # optimizers drop rounding
                answer(replace(job, subject=subject, backend=backend), home)
            except (EnginescopeError, ValueError) as error:
                return str(error)
            finally:
                shutil.rmtree(home / "model", ignore_errors=True)
        self._copies[row] = copies
        return None

    def outputs(self, row: str, number: int) -> list[tuple[TensorValues, ...]]:
        """Return what each copy for a row gave for a sample; nothing without copies."""
        orders = []
        for order, copy in enumerate(self._copies.get(row, ())):
            tensors = read_answers(answer_file(self._folder / row / str(order), number))
            for tensor in tensors:
                if tensor.name == LARGEST:
                    for name, size in zip(copy.activations, tensor.data, strict=True):
                        self._largest[name] = max(self._largest.get(name, 0.0), float(size))
            orders.append(tuple(tensor for tensor in tensors if tensor.name != LARGEST))
        return orders

    def close(self) -> None:
        """Remove what was written; add what was noticed."""
        shutil.rmtree(self._folder, ignore_errors=True)
        beyond = {name: size for name, size in self._largest.items() if size > _LARGEST_FP16}
        if beyond:
            name = max(beyond, key=lambda one: beyond[one])
            count = f"{len(beyond)} tensor{'s' * (len(beyond) > 1)}"
            self.notices.append(
                Notice(
                    code="W-FP16-RANGE",
                    message=f"{count} of the reference exceed FP16's largest value of 65,504: "
                    f"{name} reaches {format_significant(beyond[name], 3)}; the expected noise "
                    "has 65,504 there, and an engine in FP16 may give infinities",
                    evidence={"tensors": beyond},
                )
            )

    def _obstacle(self, row: str) -> str | None:
        """Return why the reference has no rounded copy."""
        job = self._reference.job
        if row in _WITHOUT:
            return f"enginescope cannot emulate {row}"
        if job is None:
            return "the reference is stored outputs, not a model"
        if job.subject.kind != "onnx":
            return "the reference is an engine, not an ONNX model"
        if not job.backend.is_cpu or job.backend.precision is not None:
            return f"the reference runs on {job.backend}, not in FP32 on the CPU"
        return None


def _unknown(row: str, why: str) -> Notice:
    return Notice(
        code="I-NO-EXPECTED-NOISE",
        level="info",
        message=f"the noise that {row} causes in this model is unknown: {why}; only the limits of "
        "the row apply",
        evidence={"row": row, "why": why},
    )
