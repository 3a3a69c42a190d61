"""Phrase a contention test, for terminal, Markdown, page and JSON alike."""

from __future__ import annotations

from enginescope.analysis.claims.percentile import level_cell, note
from enginescope.judge.samples import Interval
from enginescope.judge.units import counted, format_significant, listed
from enginescope.judge.verdict import RatioEstimate, VerdictKind
from enginescope.records.verdict.contend import (
    ContenderSet,
    ContenderTimes,
    ContendKind,
    ContendReport,
    SlowDown,
)
from enginescope.render.base.data_table import UNKNOWN, printable
from enginescope.render.base.figures import TextTable
from enginescope.render.base.phrases import unstable_mark

_SHARES = {
    "processes": "each in its own process",
    "streams": "each in a thread of one process",
}
_MPS = {
    "serves": "MPS serves the GPU",
    "running": "an MPS daemon runs, but no MPS server computed on this GPU",
    "off": "no MPS daemon runs, so processes take turns on the GPU",
}
_OPEN = "?"
SET_HEADERS = ("Together", "Requests/s", "Sum alone", "Share", "95 % interval", "Fairness")
TIME_HEADERS = ("Contender", "p50 ms", "p99 ms", "Requests/s", "Left out")


def answer_text(report: ContendReport) -> str:
    """Return the answer: what each contender loses beside all others."""
    return unstable_mark(report.notices) + _answer(report)


def _answer(report: ContendReport) -> str:
    whole = report.sets[-1]
    throughput = f"total throughput is {percent(whole.share.ratio)} of the sum without sharing"
    if report.kind is ContendKind.UNAFFECTED:
        return f"no contender is slowed by more than {report.threshold_pct:g} %; {throughput}"
    if report.kind is ContendKind.INCONCLUSIVE:
        open_texts = ", ".join(map(_open_text, report.together))
        return f"inconclusive: {open_texts}; measure more rounds"
    texts = [_slowed(slowed) for slowed in report.together]
    return f"sharing slows {listed(texts)}; {throughput}"


def _slowed(slowed: SlowDown) -> str:
    if slowed.kind is VerdictKind.INCONCLUSIVE:
        return f"{_open_text(slowed)[:-1]}, inconclusive)"
    return f"{slowed.contender} {times_text(slowed.factor.ratio)}"


def _open_text(slowed: SlowDown) -> str:
    ratio, ends = times_text(slowed.factor.ratio), _ends(slowed.factor.interval)
    return f"{slowed.contender} {ratio} ({ends})"


def times_text(ratio: float) -> str:
    """Return ``1.93 ×``."""
    return f"{ratio:,.2f} ×"


def percent(share: float) -> str:
    """Return ``54 %``."""
    return f"{100 * share:.0f} %"


def _ends(interval: Interval | None) -> str:
    return "no interval" if interval is None else f"{interval.low:,.2f} … {interval.high:,.2f}"


def scope_facts(report: ContendReport) -> tuple[tuple[str, str], ...]:
    """Return what contended, how, and on what evidence."""
    contenders = tuple(
        (
            contender.name,
            " · ".join(
                (
                    printable(contender.model),
                    contender.backend,
                    *([f"threads: {contender.threads}"] if contender.threads else []),
                )
            ),
        )
        for contender in report.contenders
    )
    shared = _SHARES[report.share]
    if report.mps is not None and (report.mps != "off" or report.share == "processes"):
        shared = f"{shared}; {_MPS[report.mps]}"
    disturbed = report.measured_rounds - report.rounds
    rounds = counted(report.rounds, "round") + (
        f", {disturbed} disturbed excluded" if disturbed else ""
    )
    level = f"{report.evidence.value}, {rounds}" if report.evidence else rounds
    whole = report.sets[-1]
    interval = whole.fairness_interval
    ends = f" ({interval.low:.3f} … {interval.high:.3f})" if interval else ""
    return (
        *contenders,
        ("share", shared),
        ("throughput", _throughput(whole)),
        ("fairness", f"{whole.fairness:.3f}{ends}, Jain's index of the slow-downs"),
        ("evidence", level),
    )


def _throughput(whole: ContenderSet) -> str:
    rates = (format_significant(rate, 4) for rate in (whole.per_s, whole.alone_per_s))
    return "{} requests/s together, {} in sum without sharing: {} ({})".format(
        *rates, percent(whole.share.ratio), _share_ends(whole.share)
    )


def _share_ends(share: RatioEstimate) -> str:
    if share.interval is None:
        return UNKNOWN
    return f"{percent(share.interval.low)} … {percent(share.interval.high)}"


def contend_tables(report: ContendReport) -> tuple[TextTable, ...]:
    """Return the matrix of slow-downs, the throughput of each set, and the latencies."""
    return (_matrix(report), _sets(report), _times(report))


def _matrix(report: ContendReport) -> TextTable:
    names = [contender.name for contender in report.contenders]
    columns: dict[str, tuple[str, ...]] = {f"beside {name}": (name,) for name in names}
    headers = ["Slowed", *columns, *(["beside all"] if len(names) > 2 else [])]
    rows = []
    for name in names:
        cells = [_cell(report.slow_down(name, *beside)) for beside in columns.values()]
        if len(names) > 2:
            others = (other for other in names if other != name)
            cells.append(_cell(report.slow_down(name, *others)))
        rows.append((name, *cells))
    is_open = any(slowed.kind is VerdictKind.INCONCLUSIVE for slowed in report.slow_downs)
    note = "how many times longer a request of the row takes on average than alone, with 95 % CI"
    return TextTable(
        title="Slow-downs",
        headers=tuple(headers),
        rows=tuple(rows),
        numbers=tuple(headers[1:]),
        whole=tuple(headers[:1]),
        note=f"{note}; {_OPEN} inconclusive" if is_open else note,
    )


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
            percent(together.share.ratio),
            _share_ends(together.share),
            f"{together.fairness:.3f}",
        )
        for together in report.sets
    )
    return TextTable(
        title="Throughput",
        headers=SET_HEADERS,
        rows=rows,
        numbers=SET_HEADERS[1:],
        whole=SET_HEADERS[:1],
        note="share: together ÷ sum without sharing; fairness: Jain's index of the slow-downs",
    )


def _times(report: ContendReport) -> TextTable:
    text = "with 95 % CI; without requests that begin or end outside the window"
    if any(times.p99_ms is None for times in report.times):
        text = f"{text}; {UNKNOWN} too few for p99"
    rows = tuple(map(_time_cells, sorted(report.times, key=lambda times: times.contender)))
    marked = note([cell for row in rows for cell in row])
    return TextTable(
        title="Latency",
        headers=TIME_HEADERS,
        rows=rows,
        numbers=TIME_HEADERS[1:],
        whole=TIME_HEADERS[:1],
        note=f"{text}; {marked}" if marked else text,
    )


def _time_cells(times: ContenderTimes) -> tuple[str, ...]:
    return (
        f"{times.contender} beside {', '.join(times.beside)}" if times.beside else times.contender,
        _level(times.p50_ms, times.p50_interval),
        _level(times.p99_ms, times.p99_interval),
        format_significant(times.per_s, 4),
        f"{times.outside:,}",
    )


def _level(value_ms: float | None, interval: Interval | None) -> str:
    return UNKNOWN if value_ms is None else level_cell(value_ms, interval)
