"""The answer of a contention test, for terminal, Markdown, CSV, page and JSON alike."""

from collections.abc import Callable

from enginescope.analysis.claims.run_claims import level_cell, note
from enginescope.judge.samples import Interval
from enginescope.judge.units import format_significant, listed
from enginescope.judge.verdict import NOT_DETECTED, VerdictKind
from enginescope.records.verdict.contend import ContenderTimes, ContendKind, ContendReport, SlowDown
from enginescope.render.base.data_table import UNKNOWN, printable, ratio_cells
from enginescope.render.base.figures import TextTable
from enginescope.render.base.phrases import rounds_text, unstable_mark
from enginescope.render.charts.estimates import estimate_chart, ratio_estimate
from enginescope.render.html.answer_page import Answer
from enginescope.render.html.images import Chart

_SHARES = {"processes": "each in its own process", "streams": "each in a thread of one process"}
_MPS = {
    "serves": "MPS serves the GPU",
    "running": "an MPS daemon runs, but no MPS server computed on this GPU",
    "off": "no MPS daemon runs, so processes take turns on the GPU",
}
_OPEN = "?"
_SET_HEADERS = ("Together", "Requests/s", "Sum alone", "Share", "95 % interval", "Fairness")
_TIME_HEADERS = ("Contender", "p50 ms", "p99 ms", "Requests/s", "Left out")
_P99 = ("p99_slow_down", "p99_low", "p99_high")
_CSV_HEADERS = ("contender", "beside", "slow_down", "low", "high", "verdict", *_P99)


def contend_answer(report: ContendReport) -> Answer:
    """Return the answer, its facts, the matrix of slow-downs, throughput and latencies."""
    return Answer(
        verb="contend",
        title="Contention",
        answer=unstable_mark(report.notices) + _answer(report),
        facts=_facts(report),
        tables=(_matrix(report), _sets(report), _times(report)),
        notices=report.notices,
        report=report,
        data={"verdict": report.kind},
        csv=(_CSV_HEADERS, [_csv_row(slowed) for slowed in report.slow_downs]),
        charts=(_chart(report),),
    )


def _answer(report: ContendReport) -> str:
    whole = report.sets[-1]
    throughput = f"total throughput is {_percent(whole.share.ratio)} of the sum without sharing"
    if report.kind is ContendKind.UNAFFECTED:
        return f"no contender is slowed by more than {report.threshold_pct:g} %; {throughput}"
    if report.kind is ContendKind.INCONCLUSIVE:
        open_texts = ", ".join(map(_open_text, report.together))
        return f"inconclusive: {open_texts}; measure more rounds"
    texts = [
        f"{_open_text(slowed)[:-1]}, inconclusive)"
        if slowed.kind is VerdictKind.INCONCLUSIVE
        else f"{slowed.contender} {slowed.factor.ratio:,.2f} ×"
        for slowed in report.together
    ]
    return f"sharing slows {listed(texts)}; {throughput}"


def _open_text(slowed: SlowDown) -> str:
    factor = slowed.factor
    return f"{slowed.contender} {factor.ratio:,.2f} × ({_ends(factor.interval)})"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _ends(interval: Interval | None, text: Callable[[float], str] = "{:,.2f}".format) -> str:
    return f"{text(interval.low)} … {text(interval.high)}" if interval else "no interval"


def _beside(run: SlowDown | ContenderTimes) -> str:
    return run.contender + (f" beside {', '.join(run.beside)}" if run.beside else "")


def _facts(report: ContendReport) -> tuple[tuple[str, str], ...]:
    contenders = []
    for contender in report.contenders:
        threads = f"threads: {contender.threads}" if contender.threads else ""
        parts = filter(None, (printable(contender.model), contender.backend, threads))
        contenders.append((contender.name, " · ".join(parts)))
    shared = _SHARES[report.share]
    if report.mps is not None and (report.mps != "off" or report.share == "processes"):
        shared = f"{shared}; {_MPS[report.mps]}"
    return (*contenders, ("share", shared), ("evidence", rounds_text(report)))


def _table(
    title: str, headers: tuple[str, ...], rows: tuple[tuple[str, ...], ...], note: str
) -> TextTable:
    first, others = headers[:1], headers[1:]
    return TextTable(
        title=title, headers=headers, rows=rows, numbers=others, whole=first, note=note
    )


def _matrix(report: ContendReport) -> TextTable:
    names = [contender.name for contender in report.contenders]
    all_too = len(names) > 2
    headers = ["Slowed", *(f"beside {name}" for name in names), *["beside all"] * all_too]
    rows = []
    for name in names:
        every = [other for other in names if other != name]
        beside = [*([other] for other in names), *[every] * all_too]
        rows.append((name, *(_cell(report.slow_down(name, *others)) for others in beside)))
    is_open = any(slowed.kind is VerdictKind.INCONCLUSIVE for slowed in report.slow_downs)
    note = "how many times longer a request of the row takes on average than alone, with 95 % CI"
    note += f"; {_OPEN} inconclusive" if is_open else ""
    return _table("Slow-downs", tuple(headers), tuple(rows), note)


def _cell(slowed: SlowDown | None) -> str:
    if slowed is None:
        return UNKNOWN
    mark = f" {_OPEN}" if slowed.kind is VerdictKind.INCONCLUSIVE else ""
    return f"{slowed.factor.ratio:,.2f} ({_ends(slowed.factor.interval)}){mark}"


def _sets(report: ContendReport) -> TextTable:
    rows = tuple(
        (
            " + ".join(together.contenders),
            format_significant(together.per_s, 4),
            format_significant(together.alone_per_s, 4),
            _percent(together.share.ratio),
            _ends(together.share.interval, _percent) if together.share.interval else UNKNOWN,
            f"{together.fairness:.3f}" + (f" ({_ends(own, '{:.3f}'.format)})" if own else ""),
        )
        for together, own in ((one, one.fairness_interval) for one in report.sets)
    )
    note = "share: together ÷ sum without sharing; fairness: Jain's index of the slow-downs"
    return _table("Throughput", _SET_HEADERS, rows, note)


def _times(report: ContendReport) -> TextTable:
    text = "with 95 % CI; without requests that begin or end outside the window"
    if any(times.p99_ms is None for times in report.times):
        text = f"{text}; {UNKNOWN} too few for p99"
    rows = tuple(
        (
            _beside(times),
            level_cell(times.p50_ms, times.p50_interval),
            UNKNOWN if times.p99_ms is None else level_cell(times.p99_ms, times.p99_interval),
            format_significant(times.per_s, 4),
            f"{times.outside:,}",
        )
        for times in sorted(report.times, key=lambda times: times.contender)
    )
    marked = note([cell for row in rows for cell in row])
    return _table("Latency", _TIME_HEADERS, rows, f"{text}; {marked}" if marked else text)


def _csv_row(slowed: SlowDown) -> tuple[object, ...]:
    factor, tail = ratio_cells(slowed.factor), ratio_cells(slowed.p99_factor)
    return (slowed.contender, " ".join(slowed.beside), *factor, slowed.kind.value, *tail)


def _chart(report: ContendReport) -> Chart | None:
    names = {kind: kind.value for kind in VerdictKind} | {VerdictKind.SAME: NOT_DETECTED}
    estimates = [ratio_estimate(_beside(s), s.factor, names[s.kind]) for s in report.slow_downs]
    title, axis = "Mean latency beside others ÷ alone", "slow-down, ×"
    return estimate_chart("contend_slow_downs", title, estimates, axis=axis, reference=1.0)
