"""The answer of a load test, for terminal, Markdown, page and JSON alike."""

from collections.abc import Sequence

from enginescope.analysis.claims import run_claims as claims
from enginescope.analysis.claims.run_claims import percentile_name
from enginescope.analysis.load.trials import ERROR, HEADLINE
from enginescope.core.record import replace
from enginescope.judge.samples import Summary
from enginescope.judge.stats.mlperf_queries import decisive_queries
from enginescope.judge.units import format_ms, format_significant
from enginescope.records.run.load_and_contention import LoadRule
from enginescope.records.verdict.load import (
    LoadGenFigures,
    LoadKind,
    LoadReport,
    LoadStep,
    LoadTrial,
    QueryParts,
    Slo,
)
from enginescope.render.base.answer_tables import stated
from enginescope.render.base.data_table import UNKNOWN, printable
from enginescope.render.base.figures import TextTable, figure
from enginescope.render.base.palette import BLUE, ORANGE, SKY, VERMILLION
from enginescope.render.base.phrases import metric_title
from enginescope.render.html.answer_page import Answer
from enginescope.render.html.images import Chart, ChartTable, Spec, marks, quantity, tooltip

_PARTS = ("latency", "queueing", "service", "lateness")
#: Color and shape of a verdict, in the order of the legend.
_MARKS = {
    LoadKind.MET: (BLUE, "circle"),
    LoadKind.INCONCLUSIVE: (ORANGE, "diamond"),
    LoadKind.MISSED: (VERMILLION, "triangle-up"),
}
_ON_TOP: Spec = {"orient": "top", "title": None}
_PALE: Spec = {"condition": {"test": "datum.stated", "value": 1}, "value": 0.35}
_PALE_MEANS = "Pale: too few samples to state it with an interval"
_DASHED = "; dashed: the objective"


def load_answer(report: LoadReport) -> Answer:
    """Return the figures of a scenario or the parts of a latency, and every run."""
    first, tables = report.trials[0], [_run_table(report)]
    if len(report.trials) == 1:
        tables.insert(0, parts_table(first))
    if report.loadgen is not None:
        title = "Figures of the scenario, as LoadGen computes them"
        rows = _loadgen_rows(report.loadgen, first.latency)
        tables.insert(0, _table(title, ("MLPerf figure", "Value"), rows))
    return Answer(
        verb="load",
        title="Load test",
        answer=_answer(report),
        facts=_facts(report),
        tables=(tables[0], *(replace(table, is_detail=True) for table in tables[1:])),
        notices=report.notices,
        report=report,
        data={"passed": report.is_passed, "verdict": report.kind},
        charts=(_by_rate(report) if report.is_search else parts_chart(first, report.slo),),
    )


def _answer(report: LoadReport) -> str:
    if report.is_search and report.slo:
        return _search_answer(report, _slo_text(report.slo))
    if report.loadgen is not None:
        return _scenario_answer(report.loadgen, report.trials[0].latency)
    (step,) = report.steps
    first, at = step.trials[0], f" at {rate_text(rate_of(step))}"
    value = _value_text(step.trials, _percentile_of(report))
    if report.slo is None:
        parts = _parts_text(first.parts) if len(step.trials) == 1 else ""
        return f"{value}{at}{parts}{claims.not_stated(first.latency, HEADLINE)}"
    goal = _slo_text(report.slo)
    if report.kind in (LoadKind.MET, LoadKind.MISSED):
        return f"{goal} is {report.kind.value}{at}: {value}"
    needed = decisive_queries(report.slo.p, ERROR)
    why = "too close to the limit for this number of queries"
    if any(trial.is_late for trial in step.trials):
        why = "the load generator was late"
    elif any(trial.planned < needed for trial in step.trials):
        why = f"it needs at least {needed:,} queries"
    return f"inconclusive whether {goal} is met{at}: {value}; {why}"


def _search_answer(report: LoadReport, goal: str) -> str:
    missed = f"{rate_text(report.lowest_missed)} misses it" if report.lowest_missed else ""
    open_rates = ", ".join(map(format_significant, report.inconclusive))
    rest = filter(None, (missed, f"{open_rates} queries/s inconclusive" if open_rates else ""))
    if report.highest_met is None:
        return f"no rate that was tried meets {goal}: {'; '.join(rest)}"
    best = f"highest rate that meets {goal}: {rate_text(report.highest_met)}"
    return "; ".join((best, *rest))


def _scenario_answer(figures: LoadGenFigures, latency: Summary | None) -> str:
    if figures.scenario == "offline":
        return f"offline: {format_significant(figures.per_s or 0.0, 4)} samples/s"
    found = latency.percentile(figures.p) if latency else None
    sure = f" ({claims.range_or_mark(found)})" if found else ""
    name, value = percentile_name(figures.p), format_ms(figures.percentile_ms)
    text = f"{figures.scenario}: {name} latency {value}{sure}"
    needs = f"early stopping needs {figures.needed:,} queries" if figures.needed is not None else ""
    if figures.scenario == "server":
        text += f" at {rate_text(figures.per_s)}"
        if figures.is_passed is None:
            return text
        why = f": {needs}" if figures.queries < (figures.needed or 0) else ""
        return f"{text}; the run {'passes' if figures.is_passed else f'does not pass{why}'}"
    if figures.estimate_ms is None:
        return f"{text}; {needs}"
    return f"{text}, early-stopping estimate {format_ms(figures.estimate_ms)}"


def trial_text(trial: LoadTrial) -> str:
    """Return `claims.headline`, the rate, and the parts of that query."""
    at = rate_text(trial.rate_per_s)
    lack = claims.not_stated(trial.latency, HEADLINE)
    return f"{_value_text((trial,), HEADLINE)} at {at}{_parts_text(trial.parts)}{lack}"


def _value_text(trials: Sequence[LoadTrial], p: float) -> str:
    known = [trial.latency for trial in trials if trial.latency is not None]
    return claims.headline(known, p) if known else f"{percentile_name(p)} latency {UNKNOWN}"


def _parts_text(parts: QueryParts | None) -> str:
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


def _slo_text(slo: Slo) -> str:
    return f"{percentile_name(slo.p)} < {_ms(slo.limit_ms)}"


def rate_of(step: LoadStep) -> float | None:
    """Return the rate of a step: as requested, else as it came about."""
    return step.rate_per_s if step.rate_per_s is not None else step.trials[0].rate_per_s


def rate_text(rate_per_s: float | None) -> str:
    """Return ``120 queries/s``."""
    if rate_per_s is None:
        return "one query after another"
    return f"{format_significant(rate_per_s)} queries/s"


def _percentile_of(report: LoadReport) -> float:
    return report.slo.p if report.slo else HEADLINE


def _arrivals_text(rule: LoadRule) -> str:
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
    requests = f", {rule.samples_per_query} requests a query" if rule.samples_per_query > 1 else ""
    return f"{texts[rule.arrivals]}{requests}"


def _facts(report: LoadReport) -> tuple[tuple[str, str], ...]:
    count = len(report.trials)
    processes = f", {count:,} processes" if count > 1 else ""
    return stated(
        ("target", f"{printable(report.target)} · {report.backend}"),
        ("scenario", report.rule.scenario or ""),
        ("arrivals", _arrivals_text(report.rule)),
        ("workers", f"{report.rule.workers}"),
        ("objective", _slo_text(report.slo) if report.slo else ""),
        ("evidence", f"{report.evidence.value}{processes}" if report.evidence else ""),
    )


def _run_table(report: LoadReport) -> TextTable:
    p = _percentile_of(report)
    headers = ("Queries/s", "Verdict", "Run", "Latency", "Queueing", "Service", "Slow %")
    of_query = "in ms, with queueing and service time of that query"
    note = f"latency is its {percentile_name(p)} {of_query}"
    is_late = any(trial.is_late for trial in report.trials)
    late = "late: the load generator was late (W-LATE)" if is_late else ""
    steps = sorted(report.steps, key=lambda step: rate_of(step) or 0.0)
    rows = tuple(_trial_row(step, trial, p) for step in steps for trial in step.trials)
    runs = _table("Each run", headers, rows, note, late)
    return replace(runs, numbers=(headers[0], *headers[3:]), whole=headers[1:2])


def _table(
    title: str, headers: tuple[str, ...], rows: tuple[tuple[str, ...], ...], *notes: str
) -> TextTable:
    marked = claims.note([cell for row in rows for cell in row])
    note = "; ".join(filter(None, (*notes, marked))) or None
    return TextTable(title=title, headers=headers, rows=rows, numbers=headers[1:], note=note)


def parts_table(trial: LoadTrial) -> TextTable:
    rows = tuple(
        (
            metric_title(metric),
            _ms(summary.median_ms),
            *(claims.cell(summary.percentile(p), _ms) for p in (90, 95, 99)),
            _ms(summary.max_ms),
        )
        for metric, summary in _summaries(trial, _PARTS)
    )
    title = "Latency and its parts; each percentile is of its own times"
    return _table(title, ("Time", "Median", "p90", "p95", "p99", "Largest"), rows)


def _summaries(trial: LoadTrial, metrics: Sequence[str]) -> list[tuple[str, Summary]]:
    found = [(metric, getattr(trial, metric)) for metric in metrics]
    return [(metric, summary) for metric, summary in found if summary is not None]


def _ms(value_ms: float) -> str:
    return format_ms(value_ms, 3)


def _trial_row(step: LoadStep, trial: LoadTrial, p: float) -> tuple[str, ...]:
    parts = trial.parts if trial.parts is not None and trial.parts.p == p else None
    return (
        figure(rate_of(step), 3),
        f"{trial.kind.value}{', late' if trial.is_late else ''}",
        trial.run[:6],
        claims.cell(trial.latency.percentile(p) if trial.latency else None),
        figure(parts.queueing_ms if parts else None, 3),
        figure(parts.service_ms if parts else None, 3),
        UNKNOWN if trial.slow is None else f"{100 * trial.slow / trial.planned:.2f}",
    )


def _loadgen_rows(figures: LoadGenFigures, latency: Summary | None) -> tuple[tuple[str, str], ...]:
    """Return the figures of a scenario below `_FIGURE_HEADERS`, to the nanosecond.

    Args:
        latency: Has the intervals of the percentiles, and says which are marked.
    """
    name = percentile_name(figures.p)

    def marked(p: float, value_ms: float) -> str:
        found = latency.percentile(p) if latency else None
        sure = found.interval if found and found.mark is None else None
        return claims.level_cell(value_ms, sure, _ns)

    scenario, slow, needed = figures.scenario, figures.slow, figures.needed
    early = _ns(figures.estimate_ms) if scenario.endswith("-stream") else ""
    early_p99 = _ns(figures.estimate_p99_ms) if scenario == "single-stream" else ""
    rate = "samples/s" if scenario == "offline" else "scheduled queries/s"
    rates = {rate: figures.per_s, "completed queries/s": figures.completed_per_s}
    return stated(
        ("queries", f"{figures.queries:,}"),
        (f"{name} latency", marked(figures.p, figures.percentile_ms)),
        *(
            (f"{percentile_name(p)} latency", marked(p, value))
            for p, value in figures.percentiles
            if p != figures.p
        ),
        ("mean latency", _ns(figures.mean_ms)),
        (f"early-stopping {name}", early),
        ("early-stopping p99", early_p99),
        ("queries above the limit", None if slow is None else f"{slow:,}"),
        ("queries that early stopping needs", None if needed is None else f"{needed:,}"),
        *((title, format_significant(n, 6)) for title, n in rates.items() if n is not None),
    )


def _ns(value_ms: float | None) -> str:
    return UNKNOWN if value_ms is None else f"{value_ms:,.6f} ms"


def _by_rate(report: LoadReport) -> Chart:
    name = percentile_name(_percentile_of(report))
    rows = [
        {
            "x": rate_of(step),
            "y": trial.percentile.value_ms,
            "verdict": trial.kind.value,
            "sure": claims.range_or_mark(trial.percentile),
            "stated": trial.percentile.mark is None,
        }
        for step in report.steps
        for trial in step.trials
        if trial.percentile is not None
    ]
    present = {row["verdict"] for row in rows}
    looks = {kind.value: mark for kind, mark in _MARKS.items() if kind.value in present}

    def by_verdict(part: int) -> Spec:
        scale = {"domain": [*looks], "range": [mark[part] for mark in looks.values()]}
        return {"field": "verdict", "type": "nominal", "scale": scale, "legend": _ON_TOP}

    ticks = {"tickCount": 6, "format": ",~g"}
    latency = quantity("y", f"{name} latency, ms (log)", scale={"type": "log"}, axis=ticks)
    points = marks(
        rows,
        {"type": "point", "size": 60, "filled": True},
        x=quantity("x", "queries per second", axis={"grid": False}),
        y=latency,
        color=by_verdict(0),
        shape=by_verdict(1),
        opacity=_PALE,
        tooltip=tooltip(x="queries/s#", y="latency, ms#", sure="95 % CI", verdict="verdict"),
    )
    goal = _objective(report.slo, latency) if report.slo else []
    title = f"{name} latency by rate"
    subtitle = (f"{_PALE_MEANS}{_DASHED if goal else ''}",)
    return Chart(
        key="load", title=title, subtitle=subtitle, spec={"layer": [points, *goal]}, is_wide=True
    )


def _objective(slo: Slo, y: Spec, kind: LoadKind | None = None) -> list[Spec]:
    """Return a line at the limit, and its label: the objective, and whether it is met."""
    row = [{"y": slo.limit_ms, "text": f"{_slo_text(slo)}{f': {kind.value}' if kind else ''}"}]
    label = {"align": "left", "baseline": "top", "dx": 4, "dy": 4, "fontWeight": 600}
    return [
        marks(row, {"type": "rule", "strokeDash": [6, 3], "strokeWidth": 1.6}, y=y),
        marks(row, {"type": "text", **label}, x={"value": 0}, y=y, text={"field": "text"}),
    ]


def parts_chart(trial: LoadTrial, slo: Slo | None = None) -> Chart | None:
    """Return latency and its parts by percentile, with the objective; ``None`` of a closed loop."""
    summaries = _summaries(trial, _PARTS[:3])
    times = [
        (percentile_name(point.p), metric_title(metric), point)
        for metric, summary in summaries
        for point in summary.percentiles
        if point.p in (50.0, 90.0, 95.0, 99.0)
    ]
    if len(summaries) < 3 or not times:
        return None
    names, y = [metric_title(metric) for metric, _ in summaries], quantity("y", "time, ms")
    by_part: Spec = {"field": "part", "sort": names}
    flat = {"axis": {"labelAngle": 0}}
    scale = {"domain": names, "range": [BLUE, ORANGE, SKY]}
    rows = [
        {"percentile": p, "part": name, "y": point.value_ms, "stated": point.mark is None}
        for p, name, point in times
    ]
    bars = marks(
        rows,
        {"type": "bar"},
        x={"field": "percentile", "type": "nominal", "sort": None, "title": None, **flat},
        xOffset=by_part,
        y=y,
        color={**by_part, "type": "nominal", "scale": scale, "legend": _ON_TOP},
        opacity=_PALE,
        tooltip=tooltip(part="time", percentile="percentile", y="ms#"),
    )
    return Chart(
        key="load",
        title="Latency, queueing time and service time by percentile",
        subtitle=(
            "Each percentile is of its own times, so the parts do not add up to the whole",
            f"{_PALE_MEANS}{_DASHED if slo else ''}",
        ),
        spec={"layer": [bars, *(_objective(slo, y, trial.kind) if slo else ())]},
        table=ChartTable(
            headers=("Percentile", "Time", "ms (95 % CI)"),
            rows=tuple((p, name, claims.cell(point, figure)) for p, name, point in times),
        ),
        is_wide=True,
    )
