"""``enginescope doctor --self-test``: how small a difference comparisons on this machine find."""

from __future__ import annotations

from typing import Any

from enginescope.cli.measure.bench_comparison import RoundsProgress
from enginescope.cli.process_options import stored_fields
from enginescope.cli.progress import measuring
from enginescope.cli.report_output import check_files, present_answer, step
from enginescope.cli.verb import EXIT_RUN_FAILED
from enginescope.judge.units import counted
from enginescope.records.progress import COMPARISON_TAG
from enginescope.records.run.job import Job, StopRule, Workload
from enginescope.services.measurement.interleaved import paced_workload
from enginescope.services.measurement.self_test import SelfTestRequest, run_self_test


def self_test(options: dict[str, Any]) -> int:
    """Run the self-test, write and print what it found; return the exit code."""
    from enginescope.render.self_test.self_test_answer import self_test_answer

    check_files(options, options["model"] or "")
    progress = SelfTestProgress()
    with measuring(progress):
        test = run_self_test(_request(options), progress)
    tag = f"{COMPARISON_TAG}{test.comparisons[0].comparison}"
    first = step(options, "the first comparison", "compare", tag)
    present_answer(self_test_answer(test), options, first)
    return 0 if test.is_recorded else EXIT_RUN_FAILED


def _request(options: dict[str, Any]) -> SelfTestRequest:
    model, backend, duration = (options[name] for name in ("model", "backend", "duration"))
    is_usual = duration is None
    stop = StopRule() if is_usual else StopRule(duration_ms=duration, precision_pct=None)
    workload = Workload(
        batch=options["batch"], shapes=options["shapes"], dims=options["dims"], stop=stop
    )
    numbers = {
        "rounds": options["rounds"],
        "threshold_pct": options["threshold_pct"],
        "max_time_s": options["max_time"] and options["max_time"] / 1e3,
    }
    return SelfTestRequest(
        models=(model,) if model else (),
        backends=(backend,) if backend else (),
        workload=paced_workload(workload),
        **stored_fields(options),
        **{name: value for name, value in numbers.items() if value is not None},
    )


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
