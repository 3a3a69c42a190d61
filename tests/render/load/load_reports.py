"""Load tests made of drawn times, for tests of what shows them."""

from functools import cache
from typing import Any

import numpy as np
from rich.console import Group

from enginescope.analysis.load.trials import loadgen_figures, step_of, trial_of
from enginescope.judge.notice import Notice
from enginescope.judge.samples import Samples, frozen
from enginescope.judge.verdict import EvidenceLevel
from enginescope.records.run.job import BackendSpec, Job, Subject
from enginescope.records.run.load_and_contention import LoadOutcome, LoadRule
from enginescope.records.run.run import Run
from enginescope.records.verdict.load import LoadKind, LoadReport, Slo
from enginescope.render.base.text import stacked
from enginescope.render.base.text_table import as_text
from enginescope.render.load.load_answer import load_answer

GOAL = Slo(p=99.0, limit_ms=10.0)
SERVICE_MS = 4.0


def loaded_run(
    rate: float, *, queries: int = 3_000, late: bool = False, unserved: int = 0, **rule: Any
) -> Run:
    """Return a run whose single worker needs 3.8 to 4.2 ms a query: Lindley's recursion."""
    draw = np.random.default_rng(7)
    arrivals = np.cumsum(draw.exponential(1e3 / rate, queries))
    service = draw.uniform(0.95, 1.05, queries) * SERVICE_MS
    ends = np.zeros(queries)
    for at in range(queries):
        ends[at] = max(arrivals[at], ends[at - 1] if at else 0.0) + service[at]
    series = {
        "latency": ends - arrivals,
        "service": service,
        "queueing": ends - arrivals - service,
        "lateness": np.full(queries, 0.002),
    }
    return Run(
        id=f"{int(rate):012x}",
        created="2026-11-23T10:00:00+00:00",
        origin="measured",
        job=Job(
            subject=Subject(name="net.onnx", kind="onnx"),
            backend=BackendSpec(name="ort-cpu"),
            load=LoadRule(rate_per_s=rate, queries=queries, **rule),
        ),
        samples=tuple(
            Samples(metric=metric, values_ms=frozen(values), start_ms=frozen(arrivals))
            for metric, values in series.items()
        ),
        load=LoadOutcome(
            planned=queries + unserved, unserved=unserved, rate_per_s=rate, closed_ms=SERVICE_MS
        ),
        notices=(Notice(code="W-LATE", message="the load generator was late"),) if late else (),
    )


def _report(run: Run, slo: Slo | None = None, **fields: Any) -> LoadReport:
    step = step_of(None, [trial_of(run, slo)])
    return LoadReport(
        target="net.onnx",
        backend="ort-cpu",
        rule=run.job.load or LoadRule(),
        kind=step.kind,
        steps=(step,),
        slo=slo,
        **fields,
    )


@cache
def single(rate: float = 100.0, slo: Slo | None = None, **run: Any) -> LoadReport:
    made = loaded_run(rate, **run)
    return _report(made, slo, evidence=EvidenceLevel.SAMPLES, notices=made.notices)


@cache
def scenario(name: Any) -> LoadReport:
    run = loaded_run(100.0, scenario=name)
    return _report(run, loadgen=loadgen_figures(run, name, GOAL if name == "server" else None))


@cache
def searched() -> LoadReport:
    """Return a search: one rate meets the goal, one is inconclusive, one misses it."""
    steps = tuple(
        step_of(rate, [trial_of(loaded_run(rate, queries=queries), GOAL)])
        for rate, queries in ((20.0, 9_000), (110.0, 150), (200.0, 3_000))
    )
    return LoadReport(
        target="http://localhost:8000/v2/models/net",
        backend="oip",
        rule=LoadRule(),
        kind=LoadKind.MET,
        steps=steps,
        slo=GOAL,
        is_search=True,
        highest_met=20.0,
        lowest_missed=200.0,
        inconclusive=(110.0,),
    )


def load_screen(report: LoadReport, width: int) -> str:
    return as_text(Group(*stacked(load_answer(report).tables[:1])), width=width)
