"""Measure the memory of processes with an empty model on both stacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.upgrade.memory_rows import LibraryMemory
from enginescope.analysis.verdicts.compared_figures import process_value
from enginescope.core.record import replace
from enginescope.records.run.job import StopRule, Workload
from enginescope.services.measurement.jobs import jobs_of
from enginescope.services.upgrade.outputs import on_stack
from enginescope.services.upgrade.stacks import is_own

if TYPE_CHECKING:
    from enginescope.records.verdict.upgrade import Stack
    from enginescope.services.upgrade.request import UpgradeRequest
    from enginescope.services.upgrade.stacks import StackRunner
    from enginescope.store.archive import Store

_METRICS = ("peak_memory", "device_memory")


def library_memory(
    request: UpgradeRequest,
    specs: tuple[str, str],
    stacks: tuple[Stack, Stack],
    runner: StackRunner,
    store: Store,
) -> LibraryMemory:
    """Return the memory of one process a stack; nothing of a metric that a process does not have.

    The runs are not stored.
    """
    from enginescope.runner.inputs.sample_models import EMPTY_MODEL, sample_models

    models = sample_models(store.path / "samples", EMPTY_MODEL)
    workload = Workload(stop=StopRule(iterations=10), mode=request.workload.mode)
    views = []
    for spec, stack in zip(specs, stacks, strict=True):
        fields = {"backends": (spec,), "is_elsewhere": not is_own(stack), "workload": workload}
        jobs = jobs_of(replace(request.jobs(*models), **fields), store)
        runs = runner.run_jobs([on_stack(job, stack) for job in jobs], lambda _run: None)
        views.append(RunView(runs[0]))
    shares = {}
    for metric in _METRICS:
        old, new = (process_value(view, metric) for view in views)
        if old is not None and new is not None:
            shares[metric] = (old, new)
    return shares
