"""``enginescope doctor --noise`` and ``--self-test``: which differences this machine detects."""

from __future__ import annotations

from typing import Any

from enginescope.cli.measure.bench_comparison import RoundsProgress
from enginescope.cli.messages import note
from enginescope.cli.process_options import stored_fields
from enginescope.cli.progress import exit_code, measuring
from enginescope.cli.report_output import check_files, present_answer, step
from enginescope.cli.run_output import present
from enginescope.cli.verb import EXIT_RUN_FAILED
from enginescope.judge.units import counted
from enginescope.records.progress import COMPARISON_TAG
from enginescope.records.run.job import Job, StopRule, Workload
from enginescope.services.measurement.interleaved import paced_workload
from enginescope.services.measurement.noise import SelfTestRequest, measure_noise, run_self_test
from enginescope.services.measurement.rounds import InterleavedRequest


def noise(options: dict[str, Any]) -> int:
    """Measure the noise floor, record it and print it; return the exit code."""
    from enginescope.render.verdicts.noise_answer import noise_answer

    check_files(options, options["model"] or "")
    request = InterleavedRequest(**_fields(options), continues=options["continues"])
    progress = RoundsProgress()
    with measuring(progress, can_continue=True):
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
    threshold = options["threshold_pct"]
    own = {} if threshold is None else {"threshold_pct": threshold}
    progress = SelfTestProgress()
    with measuring(progress):
        test = run_self_test(SelfTestRequest(**_fields(options), **own), progress)
    tag = f"{COMPARISON_TAG}{test.comparisons[0].comparison}"
    first = step(options, "the first comparison", "compare", tag)
    present_answer(self_test_answer(test), options, first)
    return 0 if test.is_recorded else EXIT_RUN_FAILED


def _fields(options: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that both requests have; those of options without a value are absent."""
    model, backend, duration = (options[name] for name in ("model", "backend", "duration"))
    is_usual = duration is None
    stop = StopRule() if is_usual else StopRule(duration_ms=duration, precision_pct=None)
    workload = Workload(
        batch=options["batch"], shapes=options["shapes"], dims=options["dims"], stop=stop
    )
    most_ms = options["max_time"]
    numbers = {"rounds": options["rounds"], "max_time_s": most_ms and most_ms / 1e3}
    return {
        "models": (model,) if model else (),
        "backends": (backend,) if backend else (),
        "workload": paced_workload(workload),
        **stored_fields(options),
        **{name: value for name, value in numbers.items() if value is not None},
    }


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
        """Return what an interrupt leaves in the store."""
        return f"{counted(self._stored, 'run')} stored; the self-test is not recorded"
