"""Outputs of the models of an upgrade, kept for its evidence and compared with recorded ones."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from enginescope.analysis.upgrade.output_row import output_gap
from enginescope.analysis.upgrade.reproduced_outputs import output_hash, reproduced_outputs
from enginescope.core.record import replace
from enginescope.formats.tensors.answer_files import read_answers, write_answers
from enginescope.records.run.run import TensorValues
from enginescope.records.run.sample_set import Sample
from enginescope.records.verdict.bundled_outputs import (
    BundledOutputs,
    BundledProcess,
    BundledSample,
    BundledTensor,
    ReproducedOutputs,
)
from enginescope.services.accuracy.sides import Side
from enginescope.services.accuracy.validation_run import ValidationRun
from enginescope.services.upgrade.evidence import OUTPUTS, Evidence, check_inside

#: Values of a model's outputs are kept up to this size; of larger ones hashes and errors.
MOST_BYTES = 64 << 20


class KeptOutputs:
    """Outputs of models, one after another; equal outputs of a sample are one file.

    Args:
        folder: Gets the files, below ``outputs``.
        most_bytes: Size of a model's values above which hashes and errors alone are kept.

    Attributes:
        models: ``None`` for a model that returned no outputs.
    """

    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES) -> None:
        self.folder, self._most_bytes = folder, most_bytes
        self.models: list[BundledOutputs | None] = []

    def start_model(self) -> None:
        """Add the next model, without outputs yet."""
        self.models.append(None)

    def keep(
        self, model: str, run: ValidationRun, sides: Sequence[Side], samples: Sequence[Sample]
    ) -> None:
        """Keep the outputs of the model that was started last.

        Args:
            sides: The reference first; those that returned nothing are skipped.
        """
        reference, *others = sides
        answered = [reference, *(side for side in others if run.has_answers(side.label))]
        skipped = {one.sample for one in run.skipped}
        by_label: dict[str, list[BundledSample]] = {side.label: [] for side in answered}
        sizes: dict[str, int] = {}
        for number, sample in enumerate(samples):
            if number in skipped:
                continue
            expected = run.answers_of(reference.label, number)
            for side in answered:
                outputs = run.answers_of(side.label, number)
                base = None if side is reference else expected
                tensors = tuple(_bundled(tensor, base) for tensor in outputs)
                place = self._place(outputs, tensors, sizes)
                kept = BundledSample(sample=sample.name, tensors=tensors, place=place)
                by_label[side.label].append(kept)
        processes = tuple(_process(side, by_label[side.label], reference) for side in answered)
        size = sum(sizes.values())
        if size > self._most_bytes:
            processes = tuple(map(_without_places, processes))
            for place in sizes:
                (self.folder / place).unlink(missing_ok=True)
        self.models[-1] = BundledOutputs(model=model, processes=processes, size_bytes=size)

    def _place(
        self,
        outputs: Sequence[TensorValues],
        tensors: Sequence[BundledTensor],
        sizes: dict[str, int],
    ) -> str:
        """Write the outputs of a sample, unless equal ones are there; return their place."""
        text = " ".join(f"{tensor.name} {tensor.sha256}" for tensor in tensors)
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        place = f"{OUTPUTS}/{len(self.models) - 1}/{digest}.npz"
        if place not in sizes:
            sizes[place] = sum(int(tensor.data.nbytes) for tensor in outputs)
            if sum(sizes.values()) <= self._most_bytes:
                path = self.folder / place
                path.parent.mkdir(parents=True, exist_ok=True)
                write_answers(path, outputs)
        return place


def _bundled(tensor: TensorValues, expected: Sequence[TensorValues] | None) -> BundledTensor:
    """Return an output with its error; without, where it is the reference's own."""
    same = [each for each in expected or () if each.name == tensor.name]
    gap = output_gap(same, [tensor])
    error = None if math.isinf(gap) else gap
    return BundledTensor(name=tensor.name, sha256=output_hash(tensor), max_abs_error=error)


def _process(side: Side, samples: Sequence[BundledSample], reference: Side) -> BundledProcess:
    job = None if side is reference else side.job
    stack = job.backend.environment if job else None
    return BundledProcess(stack=stack, samples=tuple(samples))


def _without_places(process: BundledProcess) -> BundledProcess:
    samples = tuple(replace(sample, place=None) for sample in process.samples)
    return replace(process, samples=samples)


def compare_with_bundle(
    evidence: Evidence, again: KeptOutputs
) -> tuple[ReproducedOutputs | None, ...]:
    """Return for each model which outputs are not as recorded; ``None``: there are none.

    Raises:
        FormatError: The bundle names a file outside it, or one that cannot be read.
    """
    readers = partial(_read, evidence.folder), partial(_read, again.folder)
    recorded = evidence.bundle.outputs or (None,) * len(again.models)
    return tuple(
        reproduced_outputs(before, after, *readers) if before and after else None
        for before, after in zip(recorded, again.models, strict=True)
    )


def _read(folder: Path, sample: BundledSample) -> tuple[TensorValues, ...] | None:
    if sample.place is None:
        return None
    path = folder / sample.place
    check_inside(path, folder)
    return read_answers(path)
