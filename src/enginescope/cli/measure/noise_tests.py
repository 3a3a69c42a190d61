"""``enginescope doctor --noise`` and ``--self-test``: which differences this machine detects."""

from typing import Any, TypeVar

from enginescope.cli.measure.bench_comparison import RoundsProgress
from enginescope.cli.messages import note
from enginescope.cli.process_options import picked, request_of
from enginescope.cli.progress import exit_code, measuring
from enginescope.cli.report_output import check_files, present_answer, step
from enginescope.cli.run_output import present
from enginescope.cli.verb import EXIT_RUN_FAILED
from enginescope.judge.units import counted
from enginescope.records.progress import COMPARISON_TAG
from enginescope.records.run.job import Job, StopRule, Workload
from enginescope.services.measurement.interleaved import paced_workload
from enginescope.services.measurement.noise import (
    NoiseRequest,
    SelfTestRequest,
    measure_noise,
    run_self_test,
)

Q = TypeVar("Q", NoiseRequest, SelfTestRequest)


def noise(options: dict[str, Any]) -> int:
    """Measure the noise floor, record it and print it; return the exit code."""
    from enginescope.render.verdicts.noise_answer import noise_answer

    check_files(options, options["model"] or "")
    request = _request(NoiseRequest, options)
    with measuring(progress := RoundsProgress(), can_continue=True):
        result = measure_noise(request, progress)
    if result.floor is not None and result.measured.comparison is not None:
        present_answer(noise_answer(result.floor, result.measured.comparison), options)
    elif progress.interruption is None:
        present(result.measured.failed, options)
    if result.recorded is not None:
        note(f"recorded: {result.recorded}")
    if result.not_recorded is not None:
        progress.warn(result.not_recorded)
    is_fine = result.recorded is not None and result.measured.is_stored
    return exit_code(progress, 0 if is_fine else EXIT_RUN_FAILED)


def self_test(options: dict[str, Any]) -> int:
    """Run the self-test, write and print what it found; return the exit code."""
    from enginescope.render.self_test.self_test_answer import self_test_answer

    check_files(options, options["model"] or "")
    request = _request(SelfTestRequest, options)
    with measuring(progress := SelfTestProgress()):
        test = run_self_test(request, progress)
    tag = f"{COMPARISON_TAG}{test.comparisons[0].comparison}"
    first = step(options, "the first comparison", "compare", tag)
    present_answer(self_test_answer(test), options, first)
    return 0 if test.is_recorded else EXIT_RUN_FAILED


def _request(kind: type[Q], options: dict[str, Any]) -> Q:
    duration = options["duration"]
    stop = StopRule() if duration is None else StopRule(duration_ms=duration, precision_pct=None)
    workload = Workload(**picked(options, "batch", "shapes", "dims"), stop=stop)
    return request_of(kind, options, workload=paced_workload(workload))


class SelfTestProgress(RoundsProgress):
    """Shows which comparison and round is measured, and prints what fails."""

    _number = 0

    def rounds_started(self, jobs: tuple[Job, ...], most: int) -> None:
        """Count a comparison of the model with itself."""
        self._begin_rounds(jobs, most)
        self._number += 1
        self._so_far = f"comparison {self._number} of the model with itself"
        if not self._live:
            self._line(f"{self._so_far}, at most {most} rounds …")

    def standing(self) -> str:
        return f"{counted(self._stored, 'run')} stored; the self-test is not recorded"
