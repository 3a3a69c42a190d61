"""Tables of figures, formatted for reading; and the figures that a tool printed of a run.

A run without samples has only printed figures, on terminal, page and in Markdown.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping

from enginescope.analysis.claims import run_claims
from enginescope.analysis.claims.run_claims import SHOWN, mark_text, percentile_name, shown_texts
from enginescope.analysis.runs.run_view import RunView
from enginescope.core.record import Record, replace
from enginescope.core.units import format_bytes
from enginescope.judge.samples import Interval
from enginescope.judge.units import counted, format_ms, format_significant, range_text
from enginescope.records.run.metric import METRICS
from enginescope.records.run.run import OutcomeKind
from enginescope.records.samples import ReportedSummary
from enginescope.render.base.facts import inputs_text
from enginescope.render.base.phrases import (
    Figure,
    Headline,
    count_text,
    in_text,
    interval_text,
    metric_title,
    rate_formula,
    throughput_text,
)

UNKNOWN = "—"


class TextTable(Record, frozen=True, kw_only=True):
    """A table for the terminal, Markdown and pages.

    Attributes:
        rows: As many cells each as there are headers.
        numbers: Headers of columns set flush right.
        whole: Headers of columns that the terminal never breaks.
        note: A line below: what was left out, what a figure is.
        left_out: Rows that only the files have.
        has_long_names: A terminal shows the first column last, where names have room.
        is_detail: A terminal leaves it out, and Markdown folds it away.
        links: Per row, where its first cell leads; empty for tables without links.
        shortened: Header of a column of names -> most characters on a terminal; 0: those that the
            other columns leave.
        sentences: Headers of columns that a page breaks as sentences.
        below: The last header; a page lists the lines of its cell below the row.
        spared: Headers of columns that a narrow terminal leaves out, the first one first.
        is_titled: A terminal shows its title.
        is_divided: A narrow terminal shows it as several tables, each with the first column.
    """

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    note: str | None = None
    left_out: int = 0
    has_long_names: bool = False
    is_detail: bool = False
    links: tuple[str, ...] = ()
    shortened: Mapping[str, int] = {}
    sentences: tuple[str, ...] = ()
    below: str | None = None
    spared: tuple[str, ...] = ()
    is_titled: bool = False
    is_divided: bool = False

    def known(self) -> TextTable:
        """Return the table without columns in which nothing is known."""
        columns = zip(self.headers, *self.rows, strict=True)
        kept = [one for one in columns if not self.rows or set(one[1:]) - {UNKNOWN, ""}]
        headers, *rows = zip(*kept, strict=True) if kept else ((),)
        return replace(self, headers=headers, rows=tuple(rows))

    @property
    def caption(self) -> str:
        """Its title, its note, and how many rows it leaves out."""
        left_out = f"{self.left_out:,} more below" if self.left_out else ""
        return "; ".join(filter(None, (self.title, self.note, left_out)))


def figure(value: float | None, digits: int = 4) -> str:
    """Return a number for reading, or a dash."""
    return UNKNOWN if value is None else format_significant(value, digits)


def interval_cell(interval: Interval | None) -> str:
    """Return ``4.201 … 4.236``, or a word for none."""
    return range_text(interval.low, interval.high) if interval else "none"


def summary_rows(view: RunView) -> TextTable:
    """Return the statistics of every metric, one row each."""
    rows = tuple(
        (
            *(metric_title(one.metric), f"{one.n:,}", f"{int(one.effective_n):,}"),
            *(figure(one.min_ms), figure(one.mean_ms), figure(one.median_ms)),
            interval_cell(one.median_interval),
            *(figure(one.std_ms, 3), figure(one.cv_pct, 3), figure(one.max_ms)),
        )
        for one in view.summaries
    )
    headers = (
        *("Metric", "n", "Effective n", "Min ms", "Mean ms", "Median ms"),
        *("95 % CI ms", "SD ms", "CV %", "Max ms"),
    )
    title = "Every metric of the run; SD and CV are of all samples"
    return TextTable(title=title, headers=headers, rows=rows, numbers=headers[1:])


def percentile_rows(view: RunView) -> TextTable:
    """Return the percentiles of every metric, each with its interval or its mark."""
    rows = tuple(
        (
            *(metric_title(summary.metric), percentile_name(one.p), figure(one.value_ms)),
            *(interval_cell(one.interval), UNKNOWN if one.n is None else f"{one.n:,}"),
            *(f"{int(one.effective_n):,}", f"{one.needed_n:,}", mark_text(one) or "enough"),
        )
        for summary in view.summaries
        for one in summary.percentiles
    )
    headers = (
        *("Metric", "Percentile", "Value ms", "95 % CI ms"),
        *("n", "Effective n", "Needed n", "Samples"),
    )
    title = "Percentiles by nearest rank, with whether the samples can carry them"
    return TextTable(title=title, headers=headers, rows=rows, numbers=headers[2:7])


def reported_rows(view: RunView) -> TextTable | None:
    """Return what the tool printed of itself beside what its samples give; ``None`` without."""
    tool = view.run.tool
    if tool is None or not tool.summaries:
        return None
    rows = []
    for summary in tool.summaries:
        ours = view.summary(summary.metric)
        pairs: list[tuple[str, float | None, float | None]] = [
            (name, getattr(summary, f"{name}_ms"), getattr(ours, f"{name}_ms", None))
            for name in ("min", "mean", "median", "max")
        ]
        for p, value_ms in summary.percentiles:
            mine = ours.percentile(p) if ours else None
            pairs.append((percentile_name(p), value_ms, mine.value_ms if mine else None))
        rows += [
            (metric_title(summary.metric), name, figure(theirs, 6), figure(mine_ms, 6))
            for name, theirs, mine_ms in pairs
            if theirs is not None
        ]
    headers = ("Metric", "Figure", f"{tool.tool} printed, ms", "From the samples, ms")
    title = f"What {tool.tool} printed, and the same computed from the samples"
    return TextTable(title=title, headers=headers, rows=tuple(rows), numbers=headers[2:])


def cells_without_samples(
    view: RunView, as_text: Callable[[float], str]
) -> tuple[str, str, str, str]:
    """Return the cells median, interval, p99 and n of a run without samples.

    They are what its tool printed; else the second says what the run has. Of a run that failed
    nothing is known.

    Args:
        as_text: Formats milliseconds.
    """
    run = view.run
    if run.outcome.kind is not OutcomeKind.OK:
        return UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN
    if run.printed is None:
        has = "a build" if run.tool is not None and run.tool.build_s is not None else "no samples"
        if run.profile is not None:
            has = f"{view.layer_sum.part if view.layer_sum else 'layer'} times"
        elif run.plan is not None:
            has = counted(len(run.plan.layers), "layer")
        return UNKNOWN, has, UNKNOWN, UNKNOWN
    median, mean = run.printed.median_ms, run.printed.mean_ms
    p99 = dict(run.printed.percentiles).get(99)
    how = "printed" if median is not None or mean is None else f"mean {as_text(mean)}, printed"
    cells = [as_text(one) if one is not None else UNKNOWN for one in (median, p99)]
    return cells[0], how, cells[1] if p99 is None else f"{cells[1]} {run_claims.MARK}", UNKNOWN


#: Metric -> the short label of its row, below the latency of which it is a part.
_LABELS = {
    "gpu_compute": "compute",
    "enqueue": "enqueue",
    "h2d": "H2D",
    "d2h": "D2H",
    "end_to_end": "end to end",
}


def printed_note(view: RunView) -> str | None:
    """Say who printed the figures and what they lack; ``None`` where nothing is printed."""
    run = view.run
    if run.printed is None or run.tool is None:
        return None
    return f"printed by {run.tool.tool}; no samples, so no confidence interval"


def part_rows(view: RunView) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return label and figures of each series beside the headline: of its samples, else printed."""
    run = view.run
    main = run.headline or run.printed
    stated = {one.metric: one for one in (run.tool.summaries if run.tool else ())}
    rows = []
    for metric, label in _LABELS.items():
        measured, printed = view.summary(metric), stated.get(metric)
        if main is not None and metric == main.metric:
            continue
        if measured is not None:
            median = f"{format_ms(measured.median_ms)} median"
            stats = {"mean": measured.mean_ms, "min": measured.min_ms, "max": measured.max_ms}
            ends = (f"{name} {format_ms(ms)}" for name, ms in stats.items())
            rows.append((label, (median, interval_text(measured), *shown_texts(measured), *ends)))
        elif printed is not None and printed.max_ms != 0:  # 0: trtexec without copies
            note = ("as printed, no interval",) if run.headline is not None else ()
            rows.append((label, (*_statistics(printed), *note)))
    return tuple(rows)


def printed_rows(view: RunView) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return label and figures: latency, its parts, throughput, build."""
    run, tool = view.run, view.run.tool
    if tool is None or run.headline is not None:
        return ()
    rate, size, printed = throughput_text(view), tool.engine_bytes, run.printed
    built = (
        *((f"{format_significant(tool.build_s, 4)} s",) if tool.build_s is not None else ()),
        *((f"engine {format_bytes(size)}",) if size is not None else ()),
    )
    rows = (
        (
            _LABELS.get(printed.metric if printed else "", "latency"),
            printed and _statistics(printed),
        ),
        *part_rows(view),
        ("throughput", rate and (rate,)),
        ("build", built),
    )
    return tuple((label, texts) for label, texts in rows if texts)


def headline(view: RunView) -> Headline:
    """Return the median with its interval, then percentiles, throughput, start-up and memory."""
    latency = view.latency
    if latency is None:
        return Headline(main=None, beside=_start(view))
    is_weak = view.usability is not None and view.usability.verdict == "not usable"
    mark = ["not usable"] if is_weak else []
    main = Figure(
        label=f"{in_text(latency.metric)}, median",
        value=format_ms(latency.median_ms),
        note="\n".join((*mark, interval_text(latency), count_text(latency))),
        is_weak=is_weak,
    )
    beside = [
        Figure(
            label=percentile_name(one.p),
            value=format_ms(one.value_ms),
            note=run_claims.range_or_mark(one),
            is_weak=is_weak or one.mark is not None,
        )
        for one in latency.percentiles
        if one.p in SHOWN
    ]
    for metric in ("time_to_first_token", "time_per_token"):
        if (summary := view.summary(metric)) is not None:
            label, value = METRICS[metric].title.lower(), format_ms(summary.median_ms)
            beside.append(Figure(label=label, value=value, note=interval_text(summary)))
    return Headline(main=main, beside=(*beside, *rate_figures(view), *_start(view)))


def _start(view: RunView) -> tuple[Figure, ...]:
    run = view.run
    load, first = run.phase_ms("load"), run.phase_ms("first_inference")
    found = []
    if load is not None:
        note = f"first inference {format_ms(first, 3)}" if first is not None else None
        found.append(Figure(label="load", value=format_ms(load, 3), note=note))
    if run.peak_memory_bytes is not None:
        peak = format_bytes(run.peak_memory_bytes)
        found.append(Figure(label="peak memory", value=peak, note="until the loop ended"))
    return tuple(found)


def rate_figures(view: RunView) -> tuple[Figure, ...]:
    """Return the throughput, and below it at which load: batch or shapes, requests at a time."""
    run, text, rate = view.run, throughput_text(view), view.throughput
    if text is None or rate is None:
        return ()
    batch, mode = run.job.workload.batch, run.job.workload.mode
    parts = (
        f"batch {batch:,}" if batch else inputs_text(run),
        run.job.load.text if run.job.load else None,
        f"{mode.in_flight} in flight" if mode.in_flight is not None else None,
        counted(mode.streams, "stream") if mode.streams is not None else None,
    )
    note = f"{', '.join(filter(None, parts)) or 'load unknown'}\n{rate_formula(view)}"
    return (Figure(label="throughput", value=text, note=note),)


#: What follows a run of which nothing is missing.
COMPARE = "compare with another run"


def run_steps(view: RunView, store: object = None) -> tuple[tuple[str, str], ...]:
    """Return what to do after a run that was measured: a purpose and a command line."""
    found, command, job = view.usability, view.run.command or "", view.run.job
    if found is None or view.run.origin != "measured":
        return ()
    if command and found.verdict == "not usable":
        is_busy = any(harm.code == "W-LOAD" and harm.is_fatal for harm in found.harms)
        when = " when the machine is idle" if is_busy else ""
        return ((f"measure again{when}", command),)
    place = ("--store", str(store)) if store else ()
    after = ((COMPARE, shlex.join(("enginescope", "compare", *place, view.id[:8], "OTHER"))),)
    if job.layer_profile or view.layer_sum is not None:
        return after
    batch = () if job.workload.batch is None else ("--batch", str(job.workload.batch))
    side = (job.subject.path or job.subject.name, "--on", str(job.backend), *batch)
    return (("time the layers", shlex.join(("enginescope", "bench", *side, "--layers"))), *after)


def first_figures(view: RunView) -> Headline:
    """Return `headline`; of a run without samples the printed figures, if there are some."""
    run, tool, figures = view.run, view.run.tool, headline(view)
    if run.printed is None or tool is None:
        return figures
    stated = {one.metric: one for one in tool.summaries if one is not run.printed}
    cards = (metric for metric in ("gpu_compute", "enqueue") if metric in stated)
    beside = [_figure(stated[metric], None) for metric in cards]
    main = _figure(run.printed, printed_note(view))
    return Headline(main=main, beside=(*beside, *rate_figures(view), *figures.beside))


def _figure(summary: ReportedSummary, note: str | None) -> Figure:
    name, value = _typical(summary)
    label = f"{in_text(summary.metric)}, {name}"
    return Figure(label=label, value=format_ms(value) if value is not None else "—", note=note)


def _typical(summary: ReportedSummary) -> tuple[str, float | None]:
    if summary.median_ms is None and summary.mean_ms is not None:
        return "mean", summary.mean_ms
    return "median", summary.median_ms


def _statistics(summary: ReportedSummary) -> tuple[str, ...]:
    name, value = _typical(summary)
    mean = summary.mean_ms if name == "median" else None
    stated = [("mean", mean), ("min", summary.min_ms), ("max", summary.max_ms)]
    high = [(percentile_name(p), one) for p, one in summary.percentiles if p in SHOWN]
    first = f"{format_ms(value)} {name}" if value is not None else "median unknown"
    more = (f"{title} {format_ms(one)}" for title, one in (*high, *stated) if one is not None)
    return (first, *more)
