"""Phrase a load test, for terminal, Markdown, page and JSON alike."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.analysis.load.trials import ERROR
from enginescope.core.units import format_ms, format_significant
from enginescope.records.run.load import LoadRule
from enginescope.records.samples import Summary
from enginescope.records.verdict.load import (
    LoadGenFigures,
    LoadKind,
    LoadReport,
    LoadStep,
    LoadTrial,
    Slo,
)
from enginescope.render.base.data_table import UNKNOWN, printable
from enginescope.render.base.phrases import metric_title, percentile_name
from enginescope.stats.early_stopping import decisive_queries

STEP_HEADERS = ("Queries/s", "Verdict", "Run", "Latency", "Queueing", "Service", "Slow %")
PART_HEADERS = ("Time", "Median", "p90", "p99", "Largest")
PARTS = ("latency", "queueing", "service", "lateness")
FIGURE_HEADERS = ("MLPerf figure", "Value")


def answer_text(report: LoadReport) -> str:
    """Return the result in one line."""
    if report.is_search and report.slo:
        return _search_answer(report, slo_text(report.slo))
    if report.loadgen is not None:
        return _scenario_answer(report.loadgen)
    (step,) = report.steps
    at = f" at {rate_text(rate_of(step))}"
    value = _value_text(step.trials, percentile_of(report))
    if report.slo is None:
        return f"{value}{at}{_parts(step.trials[0])}"
    goal = slo_text(report.slo)
    verdicts = {
        LoadKind.MET: f"{goal} is met{at}: {value}",
        LoadKind.MISSED: f"{goal} is missed{at}: {value}",
    }
    why = _why_inconclusive(step, report.slo)
    return verdicts.get(report.kind, f"inconclusive whether {goal} is met{at}: {value}; {why}")


def _why_inconclusive(step: LoadStep, slo: Slo) -> str:
    needed = decisive_queries(slo.p, ERROR)
    if any(trial.is_late for trial in step.trials):
        return "the load generator was late"
    if any(trial.planned < needed for trial in step.trials):
        return f"at least {needed:,} queries are needed"
    return "too close to the limit for this number of queries"


def _search_answer(report: LoadReport, goal: str) -> str:
    missed = f"{rate_text(report.lowest_missed)} misses it" if report.lowest_missed else ""
    open_rates = ", ".join(format_significant(rate) for rate in report.inconclusive)
    between = f"{open_rates} queries/s inconclusive" if open_rates else ""
    rest = "; ".join(part for part in (missed, between) if part)
    if report.highest_met is None:
        return f"no rate that was tried meets {goal}: {rest}"
    rest = f"; {rest}" if rest else ""
    return f"highest rate that meets {goal}: {rate_text(report.highest_met)}{rest}"


def _scenario_answer(figures: LoadGenFigures) -> str:
    if figures.scenario == "offline":
        return f"offline: {format_significant(figures.per_s or 0.0, 4)} samples/s"
    name = percentile_name(figures.p)
    value = f"{figures.scenario}: {name} latency {format_ms(figures.percentile_ms)}"
    if figures.scenario == "server":
        rate = f" at {rate_text(figures.per_s)}"
        if figures.is_passed is None:
            return f"{value}{rate}"
        return f"{value}{rate}; {_passed(figures)}"
    if figures.estimate_ms is None:
        return f"{value}; early stopping needs {figures.needed:,} queries"
    return f"{value}, early-stopping estimate {format_ms(figures.estimate_ms)}"


def _passed(figures: LoadGenFigures) -> str:
    if figures.is_passed:
        return "the run passes"
    few = figures.needed is not None and figures.queries < figures.needed
    why = f": early stopping needs {figures.needed:,} queries" if few else ""
    return f"the run does not pass{why}"


def trial_text(trial: LoadTrial) -> str:
    """Return ``p99 latency 8.1 ms at 100 queries/s (queueing 5.1 ms, service 4.2 ms)``."""
    return f"{_value_text((trial,), 99.0)} at {rate_text(trial.rate_per_s)}{_parts(trial)}"


def _value_text(trials: Sequence[LoadTrial], p: float) -> str:
    """Return ``p99 8.1 ms``; the range of several trials."""
    values = [
        found.value_ms
        for trial in trials
        if trial.latency is not None and (found := trial.latency.percentile(p)) is not None
    ]
    if not values:
        return f"{percentile_name(p)} latency {UNKNOWN}"
    low, high = format_ms(min(values), 3), format_ms(max(values), 3)
    return f"{percentile_name(p)} latency {low if low == high else f'{low} … {high}'}"


def _parts(trial: LoadTrial) -> str:
    parts = ((summary, name) for name in ("queueing", "service") if (summary := part(trial, name)))
    texts = ", ".join(f"{name} {format_ms(summary.p99_ms, 3)}" for summary, name in parts)
    return f" ({texts})" if texts else ""


def part(trial: LoadTrial, metric: str) -> Summary | None:
    """Return the statistics of a part of the latency, or of all of it."""
    parts = {
        "latency": trial.latency,
        "queueing": trial.queueing,
        "service": trial.service,
        "lateness": trial.lateness,
    }
    return parts[metric]


def slo_text(slo: Slo) -> str:
    """Return ``p99 < 10 ms``."""
    return f"{percentile_name(slo.p)} < {format_ms(slo.limit_ms, 3)}"


def rate_of(step: LoadStep) -> float | None:
    """Return the rate of a step: as requested, else as it came about."""
    return step.rate_per_s if step.rate_per_s is not None else step.trials[0].rate_per_s


def rate_text(rate_per_s: float | None) -> str:
    """Return ``120 queries/s``."""
    if rate_per_s is None:
        return "one query after another"
    return f"{format_significant(rate_per_s)} queries/s"


def arrivals_text(rule: LoadRule) -> str:
    """Return how queries arrive."""
    stop = f"{rule.queries:,} queries" if rule.queries else f"{rule.duration_ms / 1e3:g} s"
    if not rule.queries and rule.least_queries > 1:
        stop += f" and at least {rule.least_queries:,} queries"
    texts = {
        "poisson": f"Poisson, seed {rule.seed}, {stop}",
        "constant": f"at a constant rate, {stop}",
        "trace": f"trace of {len(rule.times_ms):,} arrivals",
        "closed": f"each after the one before, {stop}",
        "burst": "all at once",
    }
    return texts[rule.arrivals]


def scope_facts(report: LoadReport) -> tuple[tuple[str, str], ...]:
    """Return target, arrivals, workers and evidence, as names and texts."""
    rule = report.rule
    requests = f", {rule.samples_per_query} requests a query" if rule.samples_per_query > 1 else ""
    count = len(report.trials)
    processes = f", {count:,} processes" if count > 1 else ""
    facts = (
        ("target", f"{printable(report.target)} · {report.backend}"),
        ("scenario", rule.scenario or ""),
        ("arrivals", f"{arrivals_text(rule)}{requests}"),
        ("workers", f"{rule.workers}"),
        ("objective", slo_text(report.slo) if report.slo else ""),
        ("evidence", f"{report.evidence.value}{processes}" if report.evidence else ""),
    )
    return tuple((name, text) for name, text in facts if text)


def part_rows(trial: LoadTrial) -> tuple[tuple[str, ...], ...]:
    """Return the parts of a trial's latency below `PART_HEADERS`."""
    return tuple(
        (
            metric_title(metric),
            *(
                format_ms(value, 3)
                for value in (summary.median_ms, summary.p90_ms, summary.p99_ms, summary.max_ms)
            ),
        )
        for metric in PARTS
        if (summary := part(trial, metric)) is not None
    )


def step_rows(report: LoadReport) -> tuple[tuple[str, ...], ...]:
    """Return the trials below `STEP_HEADERS`, the lowest rate first; times are percentiles."""
    p = percentile_of(report)
    steps = sorted(report.steps, key=lambda step: rate_of(step) or 0.0)
    return tuple(_trial_row(step, trial, p) for step in steps for trial in step.trials)


def kind_text(kind: LoadKind) -> str:
    """Return a verdict in words."""
    return "inconclusive" if kind is LoadKind.INCONCLUSIVE else kind.value


def percentile_of(report: LoadReport) -> float:
    """Return the percentile that the report is about."""
    return report.slo.p if report.slo else 99.0


def _trial_row(step: LoadStep, trial: LoadTrial, p: float) -> tuple[str, ...]:
    late = " *" if trial.is_late else ""
    slow = UNKNOWN if trial.slow is None else f"{100 * trial.slow / trial.planned:.2f}"
    return (
        format_significant(rate) if (rate := rate_of(step)) is not None else UNKNOWN,
        f"{kind_text(trial.kind)}{late}",
        trial.run[:6],
        *(_percentile(part(trial, metric), p) for metric in ("latency", "queueing", "service")),
        slow,
    )


def _percentile(summary: Summary | None, p: float) -> str:
    if summary is None:
        return UNKNOWN
    found = summary.percentile(p) or summary.percentile(99)
    return UNKNOWN if found is None else format_significant(found.value_ms)


def loadgen_rows(figures: LoadGenFigures) -> tuple[tuple[str, str], ...]:
    """Return the figures of a scenario below `FIGURE_HEADERS`, to the nanosecond."""
    name = percentile_name(figures.p)
    rows = [
        ("queries", f"{figures.queries:,}"),
        (f"{name} latency", _ns(figures.percentile_ms)),
        *(
            (f"{percentile_name(p)} latency", _ns(value))
            for p, value in figures.percentiles
            if p != figures.p
        ),
        ("mean latency", _ns(figures.mean_ms)),
    ]
    if figures.scenario in ("single-stream", "multi-stream"):
        rows.append((f"early-stopping {name}", _ns(figures.estimate_ms)))
    if figures.scenario == "single-stream":
        rows.append(("early-stopping p99", _ns(figures.estimate_p99_ms)))
    if figures.slow is not None:
        rows.append(("queries above the limit", f"{figures.slow:,}"))
    if figures.needed is not None:
        rows.append(("queries that early stopping needs", f"{figures.needed:,}"))
    if figures.per_s is not None:
        kind = "samples/s" if figures.scenario == "offline" else "scheduled queries/s"
        rows.append((kind, format_significant(figures.per_s, 6)))
    if figures.completed_per_s is not None:
        rows.append(("completed queries/s", format_significant(figures.completed_per_s, 6)))
    return tuple(rows)


def _ns(value_ms: float | None) -> str:
    return UNKNOWN if value_ms is None else f"{value_ms:,.6f} ms"
