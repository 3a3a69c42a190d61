"""In the worker: one session through all shapes of a sweep."""

from __future__ import annotations

from time import perf_counter

from enginescope.backends.base import Measured, ProgressSink
from enginescope.backends.changing import Changing, measure_changes
from enginescope.core.record import replace
from enginescope.records.progress import Progress
from enginescope.records.run.job import Job, ShapeRule
from enginescope.records.run.run import Phase
from enginescope.runner.inputs.inputs import make_feeds


def change_shapes(backend: Changing, job: Job, rule: ShapeRule, report: ProgressSink) -> Measured:
    """Load the model, make the inputs of every shape, and change between the shapes."""
    report(Progress(phase="load"))
    begin = perf_counter()
    session = backend.open_for_changes(job)
    loaded = Phase(name="load", duration_ms=1e3 * (perf_counter() - begin))
    try:
        fed = [make_feeds(session.input_specs, point.workload) for point in rule.points]
        measured = measure_changes(rule, session, fed, report)
        notices = {notice: None for feeds in fed[:1] for notice in feeds.notices}
    finally:
        session.close()
    return replace(measured, phases=(loaded,), notices=(*notices, *measured.notices))
