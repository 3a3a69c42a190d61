"""Outputs of builds, compared with those of the first build."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from enginescope.analysis.upgrade.rows import output_gap
from enginescope.core.record import Record
from enginescope.records.progress import side_label
from enginescope.records.run.run import TensorValues


class BuildOutputs(Record, frozen=True, kw_only=True):
    """What the outputs of one build are, as `DrawnBuild` has it."""

    letter: str
    gap: float
    is_repeatable: bool


class OutputTally:
    """Takes the outputs of processes in any order of builds; holds one of each kind."""

    def __init__(self) -> None:
        self._kinds: dict[str, Sequence[TensorValues]] = {}
        self._digests: dict[int, list[str]] = {}

    def add(self, build: int, outputs: Sequence[TensorValues]) -> None:
        """Take the outputs of a process of a build; a process without outputs counts for none."""
        if outputs:
            digest = _digest(outputs)
            self._kinds.setdefault(digest, outputs)
            self._digests.setdefault(build, []).append(digest)

    def of(self, build: int) -> BuildOutputs | None:
        """Return what a build's outputs are; ``None`` where it has none."""
        digests = self._digests.get(build)
        if digests is None:
            return None
        firsts = list(dict.fromkeys(one[0] for _, one in sorted(self._digests.items())))
        base = self._kinds[firsts[0]]
        return BuildOutputs(
            letter=side_label(firsts.index(digests[0])),
            gap=max(output_gap(base, self._kinds[digest]) for digest in set(digests)),
            is_repeatable=len(set(digests)) == 1,
        )


def _digest(outputs: Sequence[TensorValues]) -> str:
    digest = hashlib.sha256()
    for tensor in sorted(outputs, key=lambda one: one.name):
        digest.update(f"{tensor.name} {tensor.dtype} {tensor.shape}".encode())
        digest.update(tensor.data.tobytes())
    return digest.hexdigest()
