"""Outputs of builds, compared with those of the first build as they come."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from string import ascii_uppercase

from enginescope.analysis.upgrade.output_row import output_gap
from enginescope.core.record import Record
from enginescope.records.run.run import TensorValues


class BuildOutputs(Record, frozen=True, kw_only=True):
    """What the outputs of one build are, as `DrawnBuild` has it."""

    letter: str
    gap: float
    is_repeatable: bool


class OutputTally:
    """Takes the outputs of processes; holds those of the first process alone."""

    def __init__(self) -> None:
        self._first: Sequence[TensorValues] | None = None
        self._digests: dict[int, list[str]] = {}
        self._gaps: dict[int, float] = {}

    def add(self, build: int, outputs: Sequence[TensorValues]) -> None:
        """Take the outputs of a process of a build; a process without outputs counts for none."""
        if not outputs:
            return
        if self._first is None:
            self._first = outputs
        self._digests.setdefault(build, []).append(_digest(outputs))
        gap = output_gap(self._first, outputs)
        self._gaps[build] = max(gap, self._gaps.get(build, 0.0))

    def of(self, build: int) -> BuildOutputs | None:
        """Return what a build's outputs are; ``None`` where it has none."""
        digests = self._digests.get(build)
        if digests is None:
            return None
        letters = {
            digest: _letter(place)
            for place, digest in enumerate(
                dict.fromkeys(one[0] for _, one in sorted(self._digests.items()))
            )
        }
        return BuildOutputs(
            letter=letters[digests[0]],
            gap=self._gaps[build],
            is_repeatable=len(set(digests)) == 1,
        )


def _letter(place: int) -> str:
    times, rest = divmod(place, len(ascii_uppercase))
    return ascii_uppercase[rest] * (times + 1)


def _digest(outputs: Sequence[TensorValues]) -> str:
    digest = hashlib.sha256()
    for tensor in sorted(outputs, key=lambda one: one.name):
        digest.update(f"{tensor.name} {tensor.dtype} {tensor.shape}".encode())
        digest.update(tensor.data.tobytes())
    return digest.hexdigest()
