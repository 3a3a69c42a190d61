"""Phrase a load test, for terminal, Markdown, page and JSON alike."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.analysis.claims import percentile as claims
from enginescope.analysis.claims.percentile import percentile_name
from enginescope.analysis.load.trials import ERROR, HEADLINE
from enginescope.judge.samples import Summary
from enginescope.judge.stats.early_stopping import decisive_queries
from enginescope.judge.units import format_ms, format_significant
from enginescope.records.run.load import LoadRule
from enginescope.records.verdict.load import (
    LoadGenFigures,
    LoadKind,
    LoadReport,
    LoadStep,
    LoadTrial,
    QueryParts,
    Slo,
)
from enginescope.render.base.data_table import UNKNOWN, printable
from enginescope.render.base.phrases import metric_title

STEP_HEADERS = ("Queries/s", "Verdict", "Run", "Latency", "Queueing", "Service", "Slow %")
PART_HEADERS = ("Time", "Median", "p90", "p99", "Largest")
PARTS = ("latency", "queueing", "service", "lateness")
FIGURE_HEADERS = ("MLPerf figure", "Value")


def answer_text(report: LoadReport) -> str:
    """Return the result in one line."""
    if report.is_search and report.slo:
        return _search_answer(report, slo_text(report.slo))
    if report.loadgen is not None:
        return _scenario_answer(report.loadgen, report.trials[0].latency)
    (step,) = report.steps
    at = f" at {rate_text(rate_of(step))}"
    value = _value_text(step.trials, percentile_of(report))
    if report.slo is None:
        first = step.trials[0]
        lack = claims.not_stated(first.latency, HEADLINE)
        return f"{value}{at}{parts_text(first.parts) if len(step.trials) == 1 else ''}{lack}"
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
        return f"it needs at least {needed:,} queries"
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


def _scenario_answer(figures: LoadGenFigures, latency: Summary | None) -> str:
    if figures.scenario == "offline":
        return f"offline: {format_significant(figures.per_s or 0.0, 4)} samples/s"
    name = percentile_name(figures.p)
    found = latency.percentile(figures.p) if latency else None
    sure = f" ({claims.range_or_mark(found)})" if found else ""
    value = f"{figures.scenario}: {name} latency {format_ms(figures.percentile_ms)}{sure}"
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
    """Return `claims.headline`, the rate, and the parts of that query."""
    at = rate_text(trial.rate_per_s)
    lack = claims.not_stated(trial.latency, HEADLINE)
    return f"{_value_text((trial,), HEADLINE)} at {at}{parts_text(trial.parts)}{lack}"


def _value_text(trials: Sequence[LoadTrial], p: float) -> str:
    known = [trial.latency for trial in trials if trial.latency is not None]
    return claims.headline(known, p) if known else f"{claims.percentile_name(p)} latency {UNKNOWN}"


def parts_text(parts: QueryParts | None) -> str:
    """Return `` (that query: queueing 2.13 ms + service 5.67 ms)``: they add up as they stand."""
    if parts is None:
        return ""
    scale, unit = (1e-3, "s") if parts.latency_ms >= 10_000 else (1.0, "ms")
    whole = format_significant(scale * parts.latency_ms, 4).replace(",", "")
    places = len(whole.partition(".")[2])
    service = round(scale * parts.service_ms, places)
    queueing = max(float(whole) - service, 0.0)
    times = f"queueing {queueing:,.{places}f} {unit} + service {service:,.{places}f} {unit}"
    return f" (that query: {times})"


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
            format_ms(summary.median_ms, 3),
            *(claims.cell(summary.percentile(p), _ms) for p in (90, 99)),
            format_ms(summary.max_ms, 3),
        )
        for metric in PARTS
        if (summary := part(trial, metric)) is not None
    )


def _ms(value_ms: float) -> str:
    return format_ms(value_ms, 3)


def step_rows(report: LoadReport) -> tuple[tuple[str, ...], ...]:
    """Return the trials below `STEP_HEADERS`, the lowest rate first; times are percentiles."""
    p = percentile_of(report)
    steps = sorted(report.steps, key=lambda step: rate_of(step) or 0.0)
    return tuple(_trial_row(step, trial, p) for step in steps for trial in step.trials)


def times_text(report: LoadReport) -> str:
    """Say what the times below `STEP_HEADERS` are."""
    name = percentile_name(percentile_of(report))
    return f"latency is its {name} in ms, with queueing and service time of that query"


def percentile_of(report: LoadReport) -> float:
    """Return the percentile that the report is about."""
    return report.slo.p if report.slo else HEADLINE


def _trial_row(step: LoadStep, trial: LoadTrial, p: float) -> tuple[str, ...]:
    late = ", late" if trial.is_late else ""
    slow = UNKNOWN if trial.slow is None else f"{100 * trial.slow / trial.planned:.2f}"
    return (
        format_significant(rate) if (rate := rate_of(step)) is not None else UNKNOWN,
        f"{trial.kind.value}{late}",
        trial.run[:6],
        claims.cell(trial.latency.percentile(p) if trial.latency else None),
        *_parts_of(trial, p),
        slow,
    )


def _parts_of(trial: LoadTrial, p: float) -> tuple[str, str]:
    """Return queueing and service time of the query at the percentile, if that may be stated."""
    parts = trial.parts
    if parts is None or parts.p != p:
        return UNKNOWN, UNKNOWN
    return format_significant(parts.queueing_ms), format_significant(parts.service_ms)


def loadgen_rows(figures: LoadGenFigures, latency: Summary | None) -> tuple[tuple[str, str], ...]:
    """Return the figures of a scenario below `FIGURE_HEADERS`, to the nanosecond.

    Args:
        latency: Has the intervals of the percentiles, and says which are marked.
    """
    name = percentile_name(figures.p)

    def marked(p: float, value_ms: float) -> str:
        found = latency.percentile(p) if latency else None
        sure = found.interval if found and found.mark is None else None
        return claims.level_cell(value_ms, sure, _ns)

    rows = [
        ("queries", f"{figures.queries:,}"),
        (f"{name} latency", marked(figures.p, figures.percentile_ms)),
        *(
            (f"{percentile_name(p)} latency", marked(p, value))
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
