"""``enginescope doctor --self-test``: how small a difference comparisons on this machine find."""

from __future__ import annotations

import sys
from typing import Any

from rich.console import Group
from rich.text import Text

from enginescope.cli.measure.bench import command_line
from enginescope.cli.measure.bench_comparison import RoundsProgress
from enginescope.cli.messages import next_steps, words
from enginescope.cli.options import check_outputs, write_output
from enginescope.cli.termination import EXIT_RUN_FAILED, ending_in_order, saying_what_stands
from enginescope.cli.verb import naming_flags
from enginescope.core.units import counted
from enginescope.records.progress import COMPARISON_TAG
from enginescope.records.run.job import Job, StopRule, Workload
from enginescope.records.verdict.self_test import SelfTest
from enginescope.services.measurement.interleaved import paced_workload
from enginescope.services.measurement.self_test import SelfTestRequest, run_self_test


def self_test(options: dict[str, Any]) -> int:
    """Run the self-test, write and print what it found; return the exit code."""
    check_outputs([options["markdown"], options["html"]], [str(options["model"] or "")])
    progress = SelfTestProgress(quiet=options["as_json"])
    with naming_flags(), ending_in_order(), progress, saying_what_stands(progress.standing):
        test = run_self_test(_request(options), progress)
    _write(test, options)
    _present(test, as_json=options["as_json"])
    if not options["as_json"]:
        _next(test, options)
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
        tags=options["tags"],
        store=options["store_folder"],
        command=command_line(),
        **{name: value for name, value in numbers.items() if value is not None},
    )


class SelfTestProgress(RoundsProgress):
    """Shows which comparison and round is measured, and prints what fails."""

    _number = 0

    def rounds_started(self, jobs: tuple[Job, ...], most: int) -> None:
        """Count a comparison of the model with itself."""
        self._jobs, self._most = jobs, most
        self._number += 1
        self._so_far = f"comparison {self._number} of the model with itself"
        if not self._live and not self._quiet:
            self._line(f"{self._so_far}, at most {most} rounds …")

    def standing(self) -> str:
        """Return what an interrupt leaves in the store."""
        return f"{counted(self._stored, 'run')} stored; the self-test is not recorded"


def _write(test: SelfTest, options: dict[str, Any]) -> None:
    from enginescope.render.self_test.self_test_writers import (
        self_test_markdown,
        self_test_page,
    )

    for path, written in (
        (options["markdown"], self_test_markdown),
        (options["html"], self_test_page),
    ):
        if path is not None:
            write_output(path, written(test))


def _present(test: SelfTest, *, as_json: bool) -> None:
    from enginescope.render.self_test.self_test_writers import self_test_json, self_test_tables

    if as_json:
        sys.stdout.buffer.write(self_test_json(test))
        sys.stdout.flush()
        return
    from enginescope.render.base.text import show_answer, table
    from enginescope.render.self_test.self_test_phrases import answer_text, scope_facts

    tables = [
        part
        for one in self_test_tables(test)
        for part in (table(one.headers, one.rows, right=one.numbers), Text())
    ]
    show_answer(answer_text(test), scope_facts(test), Group(*tables[:-1]), test.notices)


def _next(test: SelfTest, options: dict[str, Any]) -> None:
    at = ("--store", store) if (store := options["store_folder"]) else ()
    written = options["html"] or options["markdown"]
    steps = [("open", str(written))] if written else []
    tag = f"{COMPARISON_TAG}{test.comparisons[0].comparison}"
    again = words("enginescope", "compare", *at, tag)
    next_steps(*steps, ("the first comparison", again))
