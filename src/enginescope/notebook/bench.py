"""Runs and interleaved comparisons with their display."""

from __future__ import annotations

from enginescope.analysis.runs.run_view import RunView
from enginescope.notebook.display import displayed, shown_as
from enginescope.notebook.run import ShownRun
from enginescope.notebook.verdicts import ShownVerdicts
from enginescope.services import store_access
from enginescope.services.measurement import bench as bench_service
from enginescope.services.measurement import interleaved


def _shown(view: RunView) -> ShownRun:
    return ShownRun(view.run)


bench = displayed(bench_service.bench, _shown)
open_run = displayed(store_access.open_run, _shown)
bench_interleaved = displayed(interleaved.bench_interleaved, shown_as(ShownVerdicts))
