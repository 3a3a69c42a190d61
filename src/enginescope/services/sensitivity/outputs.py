"""Outputs of converted models against those of the model in FP32, with the same inputs."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from enginescope.analysis.accuracy.output_comparison import SideComparison
from enginescope.analysis.accuracy.output_diff import Figures, OutputDiff, SampleDiff, SideDiff
from enginescope.analysis.bisection.precision_proposals import worst_error
from enginescope.analysis.errors.output_tolerance import (
    ToleranceRequest,
    tolerance_for,
    tolerance_named,
)
from enginescope.core.errors import DiskFullError, EnginescopeError
from enginescope.formats.tensors.answer_files import answer_file, read_answers
from enginescope.records.progress import Progress
from enginescope.records.run.job import Job
from enginescope.records.run.sample_set import AnswerRequest, Sample
from enginescope.records.verdict.sensitivity import ConvertedModel, OutputError
from enginescope.services.accuracy.validation_run import collect_outputs
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.sensitivity.conversion import Conversion, UnchangedError

_REFERENCE = "FP32"


class Outputs:
    """Collects the outputs of FP32 once, and compares those of converted models with them.

    Rounding is what is measured, so that no expected noise widens the limits of the row.

    Args:
        job: In FP32.
        row: Name of the row of limits.
        max_error: In place of the row's limits.
        folder: For outputs; the caller removes it.

    Raises:
        UnsupportedError, BackendError: FP32 does not run.
    """

    def __init__(
        self,
        job: Job,
        samples: Sequence[Sample],
        conversion: Conversion,
        observer: MeasurementObserver,
        folder: Path,
        *,
        row: str,
        max_error: float | None,
    ) -> None:
        self._job, self._samples, self._conversion = job, tuple(samples), conversion
        self._observer, self._folder = observer, folder
        self._row, self._max_error = tolerance_named(row), max_error
        self._collect(job, folder / _REFERENCE, _REFERENCE, inputs_folder=str(folder / "inputs"))

    def feeds(self) -> list[dict[str, Any]]:
        """Return the inputs of each sample, by name."""
        inputs = self._folder / "inputs"
        return [
            {one.name: one.data for one in read_answers(answer_file(inputs, number))}
            for number in range(len(self._samples))
        ]

    def compared(self, names: Sequence[str], key: str, text: str) -> ConvertedModel:
        """Return what the outputs lose if some layers are converted; a failure is a state.

        Args:
            key: As for `Conversion.job`.
            text: For people.

        Raises:
            DiskFullError: The disk of temporary files is full.
        """
        self._observer.check_cancelled()
        folder, layers = self._folder / "side", tuple(names)
        try:
            job = self._conversion.job(self._job, names, key)
            self._collect(job, folder, text)
            diff = self._diff(folder)
        except DiskFullError:
            raise
        except UnchangedError as error:
            return ConvertedModel(layers=layers, state="unchanged", why=str(error))
        except EnginescopeError as error:
            return ConvertedModel(layers=layers, state="failed", why=str(error))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return self._outcome(layers, diff)

    def _collect(self, job: Job, folder: Path, text: str, **more: Any) -> None:
        def watch(_job: Job, progress: Progress | None) -> None:
            if progress is None:
                self._observer.process_started(f"outputs of {text}")
            else:
                self._observer.process_progressed(f"outputs of {text}", progress)

        collect_outputs(
            job, AnswerRequest(samples=self._samples, folder=str(folder), **more), watch
        )

    def _diff(self, folder: Path) -> SideDiff:
        limits = partial(tolerance_for, base=self._row, asked=ToleranceRequest())
        comparison = SideComparison("converted", limits)
        for number, sample in enumerate(self._samples):
            comparison.add(
                number,
                sample.name,
                read_answers(answer_file(self._folder / _REFERENCE, number)),
                read_answers(answer_file(folder, number)),
            )
        return comparison.result()

    def _outcome(self, layers: tuple[str, ...], diff: SideDiff) -> ConvertedModel:
        outputs = tuple(map(_output_error, diff.outputs))
        is_finite = not any(_is_odd(one.figures) for one in diff.outputs)
        error = worst_error([one.error_to_spread for one in outputs]) if is_finite else None
        passes = diff.passes
        if self._max_error is not None:
            passes = error is not None and error <= self._max_error
        return ConvertedModel(
            layers=layers,
            outputs=outputs,
            passes=passes,
            error=error,
            is_finite=is_finite,
            sample_errors=_by_sample(diff.samples, len(self._samples)),
        )


def _output_error(output: OutputDiff) -> OutputError:
    figures = output.figures
    why = output.reasons[0].message if output.reasons else None
    if figures is None:
        return OutputError(output=output.name, passes=output.passes, why=why)
    return OutputError(
        output=output.name,
        passes=output.passes,
        why=why,
        error_to_spread=figures.error_to_spread,
        max_abs_error=figures.max_abs_error,
        rmse=figures.rmse,
        cosine=figures.cosine,
        snr_db=figures.snr_db,
        nan=figures.nan,
        infinite=figures.infinite,
    )


def _is_odd(figures: Figures | None) -> bool:
    return figures is None or bool(figures.nan or figures.infinite or figures.finite_only_here)


def _by_sample(samples: Sequence[SampleDiff], count: int) -> tuple[float | None, ...]:
    """Return the largest error of an output for each sample; ``None`` where one is not known."""
    by_number: dict[int, list[float | None]] = {number: [] for number in range(count)}
    for sample in samples:
        figures = sample.figures
        error = None if _is_odd(figures) or figures is None else figures.error_to_spread
        by_number[sample.sample].append(error)
    return tuple(worst_error(errors) for errors in by_number.values())
