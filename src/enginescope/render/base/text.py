"""Screens for the terminal: one run, several runs, any table."""

import math
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from enginescope.analysis.claims.run_claims import SHOWN, cell, note, value_text
from enginescope.analysis.runs.run_view import RunView
from enginescope.core.record import replace
from enginescope.core.units import format_bytes
from enginescope.judge.notice import Notice
from enginescope.judge.samples import Summary
from enginescope.judge.units import counted, format_ms, format_significant, range_text
from enginescope.records.notice import Hint, is_unstable, weightiest
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.render.base import phrases
from enginescope.render.base.answer_tables import AnswerTables
from enginescope.render.base.device_phrases import clock_parts, energy_parts, provider_rows
from enginescope.render.base.facts import (
    backend_text,
    options_line,
    place_line,
    subject_line,
    subject_names,
)
from enginescope.render.base.figures import (
    TextTable,
    cells_without_samples,
    interval_cell,
    part_rows,
    printed_note,
    printed_rows,
)
from enginescope.render.base.short_names import shorten_apart, told_apart
from enginescope.render.base.text_table import as_text as as_text
from enginescope.render.base.text_table import screen_width as screen_width
from enginescope.render.base.text_table import shown_text
from enginescope.render.base.text_table import table as table

_BARS = "▁▂▃▄▅▆▇█"
#: Columns between two columns, and least columns for a run's subject and backend together.
_GAP, _LEAST_NAMES = 2, 20
_RUN_NUMBERS = ("median ms", "95 % CI ms", "p99 ms", "n")


def summary(
    view: RunView, *, width: int = 80, name: str | None = None, is_whole: bool = True
) -> RenderableType:
    """Return one run as one screen, for a rich console.

    Args:
        name: Of the model, if its own does not tell it from others.
        is_whole: With extremes, formulas, layers and every notice.
    """
    title = title_beside(subject_line(view.run, name), place_line(view.run), width)
    options = options_line(view.run)
    lines: list[RenderableType] = [
        title.append(f"\n{options}", style="dim") if options else title,
        Text(),
    ]
    if view.run.outcome.kind is not OutcomeKind.OK:
        lines += [*failure_lines(view.run), Text()]
    if view.latency is not None:
        found = view.usability
        style = "" if found is None or found.verdict == "usable" else "yellow"
        usable = textwrap.wrap(str(found), width - 2)
        figures = _figures(view, view.latency, width, is_whole=is_whole)
        lines += [*(Text(f"  {line}", style=style) for line in usable), *figures, Text()]
    elif view.run.outcome.kind is OutcomeKind.OK:
        lines += [*_printed(view, width), Text()]
    path, of_layers = (phrases.path_sentence(view), view.layer_sum) if is_whole else (None, None)
    lines += [label_row("parts", path)] if path else []
    if of_layers is not None:
        lines.append(label_row(f"{of_layers.part}s", phrases.layer_sum_sentence(of_layers)))
    lines += [Text()] if path or of_layers else []
    lines += notice_lines(view.notices, is_whole=is_whole)
    lines.append(Text(f"  run {view.id[:8]}", style="dim"))
    return Group(*lines)


def title_beside(title: str, place: str | None, width: int) -> Text:
    """Return a title, and where it was measured flush right beside it, or below it."""
    text = Text(title, style="bold")
    if place:
        gap = width - text.cell_len - Text(place).cell_len
        text.append(" " * gap if gap >= 2 else "\n").append(place, style="dim")
    return text


def runs_table(views: Sequence[RunView], *, width: int = 80) -> RenderableType:
    """Return several runs as a compact table, one row each.

    Where names would have no room the last columns are left out, medians and intervals never.
    """
    columns = list(zip(_RUN_NUMBERS, *map(_run_figures, views), strict=True))
    while (spare := _spare(columns, width)) < _LEAST_NAMES and len(columns) > 2:
        del columns[-1]
    headers, *figures = zip(*columns, strict=True)
    apart = told_apart([backend_text(one.run.job.backend) for one in views])
    backend = min(max(map(len, apart.labels)), max(12, spare * 2 // 5))
    names = shorten_apart(subject_names([one.run.job for one in views]), spare - backend)
    specs = shorten_apart(apart.labels, backend)
    rows = [
        (view.id[:6], name, spec, *row)
        for view, name, spec, row in zip(views, names, specs, figures, strict=True)
    ]
    made = table(("run", "subject", "backend", *headers), rows, right=_RUN_NUMBERS)
    marked = note([text for column in figures for text in column])
    lines = [Text(apart.shared, style="dim")] if apart.shared else []
    lines += [Text(marked, style="yellow")] if marked else []
    return Group(made, *lines)


def _spare(columns: Sequence[Sequence[str]], width: int) -> int:
    """Return what is left of a row for the names of subject and backend."""
    figures = sum(max(map(len, column)) for column in columns)
    return max(_LEAST_NAMES - 1, width - 6 - figures - _GAP * (len(columns) + 2))


def sentence(text: str) -> RenderableType:
    """Return a line of words that breaks between them."""
    return Text(text)


def show(renderable: RenderableType, stream: TextIO | None = None) -> None:
    """Print a renderable; color only on a terminal, and not with ``NO_COLOR``."""
    print(shown_text(renderable, stream), end="", file=stream)


def show_answer(
    answered: AnswerTables, rows: Sequence[RenderableType] | None = None, *, is_whole: bool = True
) -> None:
    """Print an answer, what it is about, its rows, its notices and its parts.

    Args:
        rows: By default the tables.
        is_whole: Every fact and notice; else the weightiest notices.
    """
    # what reads from a pipe finds the answer in the first line
    width = screen_width() if sys.stdout.isatty() else len(answered.answer) + 1
    print(textwrap.fill(answered.answer, width, break_long_words=False))
    for line in answer_lines(answered, screen_width(), rows, is_whole=is_whole):
        show(line)


def answer_lines(
    answered: AnswerTables,
    width: int,
    rows: Sequence[RenderableType] | None = None,
    *,
    is_whole: bool = True,
) -> list[RenderableType]:
    """Return what stands below an answer as `show_answer` shows it; the last line is blank."""
    facts = (*answered.facts, *(answered.more_facts if is_whole else ()))
    lines: list[RenderableType] = [label_row(name, text) for name, text in facts]
    lines.append(Text())
    if rows is None:
        tables = answered.screen or [part for part in answered.tables if not part.is_detail]
        rows = stacked(tables, width)[:-1]
    lines += [*rows, Text()] if rows else []
    lines += notice_lines(answered.notices, is_whole=is_whole)
    for part in answered.parts:
        title = Text(part.answer, style="bold")
        lines.append(label_row(part.label, part.answer, "bold") if part.label else title)
        lines += answer_lines(part, width, is_whole=is_whole)
    return lines


def on_screen(part: TextTable) -> TextTable:
    """Return a table as a terminal shows it: what is known, long names last."""
    shown = part.known()
    if not part.has_long_names:
        return shown
    rows = tuple((*row[1:], *row[:1]) for row in shown.rows)
    return replace(shown, headers=(*shown.headers[1:], *shown.headers[:1]), rows=rows)


def stacked(tables: Iterable[TextTable], width: int | None = None) -> list[RenderableType]:
    """Return tables and their notes as lines, a blank one after each table."""
    lines: list[RenderableType] = []
    width = screen_width() if width is None else width
    for whole in map(on_screen, tables):
        lines += [Text(whole.title, style="bold")] if whole.is_titled else []
        for part in _divided(whole, width) if whole.is_divided else [whole]:
            fits = _fitted(part, width)
            made = table(fits.headers, fits.rows, right=fits.numbers, whole=fits.whole)
            lines += [made] if whole.rows else []
            lines += [Text()] if whole.is_divided else []
        if whole.note:
            lines.append(Text(whole.note, style="dim"))
        if whole.left_out:
            lines.append(Text(f"and {whole.left_out:,} more"))
        lines += [] if whole.is_divided and not whole.note else [Text()]
    return lines


def _fitted(part: TextTable, width: int) -> TextTable:
    if not part.shortened and not part.spared:
        return part
    columns = {name: [row[at] for row in part.rows] for at, name in enumerate(part.headers)}
    rest = [name for name in columns if part.shortened.get(name) == 0]
    for name, most in part.shortened.items():
        if most and name in columns:
            limit = most if width >= 72 else min(most, width // 4)
            columns[name] = shorten_apart(columns[name], limit)
    # names have up to 20 columns if others can be left out, and at least 12
    wanted = sum(min(20, max(map(len, (name, *columns[name])))) for name in rest)

    def room() -> int:
        kept = [(name, *cells) for name, cells in columns.items() if name not in rest]
        return width - sum(_GAP + max(map(len, column)) for column in kept)

    for name in part.spared:
        if room() >= wanted:
            break
        columns.pop(name, None)
    for name in rest:
        most = max(12, room() // len(rest) - (name == part.headers[-1]))
        columns[name] = shorten_apart(columns[name], most)
    return replace(part, headers=tuple(columns), rows=tuple(zip(*columns.values(), strict=True)))


def _divided(part: TextTable, width: int) -> Iterator[TextTable]:
    columns = list(zip(part.headers, *part.rows, strict=True))
    longest, *lengths = (max(map(len, column)) for column in columns)
    first, widths = _GAP + min(28, longest), [_GAP + min(18, length) for length in lengths]
    groups: list[list[int]] = [[]]
    for at, each in enumerate(widths):
        if groups[-1] and first + sum(widths[one] for one in groups[-1]) + each > width:
            groups.append([])
        groups[-1].append(at)
    for group in groups:
        headers, *rows = zip(*[columns[0], *(columns[1 + at] for at in group)], strict=True)
        yield replace(part, headers=headers, rows=tuple(rows))


def _figures(
    view: RunView, latency: Summary, width: int, *, is_whole: bool
) -> list[RenderableType]:
    median = Text(f"{format_ms(latency.median_ms)} median", style="bold")
    known = (one for one in latency.percentiles if one.p in SHOWN)
    percentiles = [Text(value_text(one), style="yellow" if one.mark else "") for one in known]
    label = "compute" if latency.metric == "gpu_compute" else "latency"
    count = Text(f"{phrases.interval_text(latency)}, {phrases.count_text(latency)}")
    lines = _rows(label, [median, count, *percentiles], width)
    lines += _rows("", _spread(latency), width) if is_whole else []
    if latency.metric != "latency":
        lines.append(
            _hanging(_lead(""), Text(phrases.metric_sentence(latency.metric), style="dim"))
        )
    lines += _labelled(part_rows(view), width)
    if view.throughput:
        definition = Text(f"({phrases.rate_formula(view)})", style="dim")
        parts = [Text(phrases.throughput_text(view) or ""), *([definition] if is_whole else [])]
        lines += _rows("throughput", parts, width)
    phases = (("load", "load"), ("first_inference", "first inference"))
    known_ms = ((view.run.phase_ms(phase), name) for phase, name in phases)
    times = " · ".join(f"{format_ms(ms, 3)} {name}" for ms, name in known_ms if ms is not None)
    peak = view.run.peak_memory_bytes
    memory = f"{format_bytes(peak)} peak until the loop ended" if peak is not None else ""
    lines += _rows("start", list(map(Text, filter(None, (times, memory)))), width)
    lines += [label_row(name, text) for name, text in provider_rows(view)]
    gpu = (
        ("energy", energy_parts(view.energy) if view.energy else ()),
        ("SM clock", clock_parts(view)),
        ("thermal", (view.thermal_state.text,) if view.run.gpu else ()),
    )
    return [*lines, *_labelled(gpu, width), Text(), *_sparkline(view, width)]


def _printed(view: RunView, width: int) -> list[RenderableType]:
    lines = _labelled(printed_rows(view), width)
    note = printed_note(view)
    if note is None:
        plan = view.run.plan
        layers = [label_row("plan", counted(len(plan.layers), "layer"))] if plan else []
        return [label_row("latency", "none: this run has no samples"), *lines, *layers]
    return [*lines, _hanging(_lead(""), Text(note, style="dim"))]


def _sparkline(view: RunView, width: int) -> list[RenderableType]:
    found = view.sparkline(32)
    if found is None:
        return []
    most = max(found.counts)
    # A column with a single sample must not look like an empty one.
    heights = [math.ceil(count * len(_BARS) / most) for count in found.counts]
    bars = "".join(_BARS[height - 1] if height else " " for height in heights)
    folded = (("below", found.n_below), ("above", found.n_above))
    beyond = ", ".join(f"{count:,} {side}" for side, count in folded if count)
    span = f"{range_text(found.edges_ms[0], found.edges_ms[-1], 3)} ms"
    return _rows("", [Text(bars), Text(f"{span}; {beyond}" if beyond else span)], width)


def _spread(latency: Summary) -> list[Text]:
    variation = f" (CV {format_significant(latency.cv_pct)} %)" if latency.cv_pct else ""
    deviation = f", SD {format_ms(latency.std_ms)}" if latency.std_ms is not None else ""
    mean = f"mean {format_ms(latency.mean_ms)}{deviation}{variation}"
    least, most = format_ms(latency.min_ms), format_ms(latency.max_ms)
    return [Text(f"min {least}"), Text(mean), Text(f"max {most}")]


def notice_lines(notices: Sequence[Notice], *, is_whole: bool = True) -> list[RenderableType]:
    """Return notices as lines, a blank one after them; nothing without any.

    Args:
        is_whole: Else the weightiest three, and how many more there are.
    """
    lines: list[RenderableType] = []
    every = weightiest(notices)
    shown = every if is_whole else every[:3]
    for notice in shown:
        warning = notice.level == "warning"
        mark = Text("  ! " if warning else "  · ", style="bold yellow" if warning else "dim")
        style = "bold red" if is_unstable(notice) else ""
        lines.append(_hanging(mark, Text(f"{notice.message} ({notice.code})", style=style)))
    if len(every) > len(shown):
        more = counted(len(every) - len(shown), "more notice")
        lines.append(Text(f"  · {more} with -v", style="dim"))
    return [*lines, Text()] if lines else []


def failure_lines(run: Run) -> list[RenderableType]:
    """Return how a run failed, why, what to do, and the end of its log."""
    outcome = run.outcome
    lines = [label_row("outcome", phrases.outcome_text(outcome), style="bold red")]
    lines += [label_row("why", outcome.message)] if outcome.message else []
    lines += [label_row("next", outcome.hint)] if outcome.hint else []
    if outcome.detail:
        last = outcome.detail.rstrip().splitlines()[-12:]
        lines += [Text(), Text("  last lines of its log", style="dim")]
        lines += [_hanging(Text("  | ", style="dim"), Text(line)) for line in last]
    return lines


def _run_figures(view: RunView) -> tuple[str, ...]:
    latency = view.latency
    if latency is None:
        median, how, *others = cells_without_samples(view, lambda ms: format_significant(ms, 4))
        kind = view.run.outcome.kind
        return (median, how if kind is OutcomeKind.OK else kind.value.replace("_", " "), *others)
    return (
        format_significant(latency.median_ms, 4),
        interval_cell(latency.median_interval),
        cell(latency.percentile(99)),
        f"{latency.n:,}",
    )


def _rows(label: str, parts: list[Text], width: int) -> list[RenderableType]:
    """Set `parts` beside each other, three blanks apart, on as many lines as they need."""
    room = width - _lead(label).cell_len
    lines: list[Text] = []
    for part in parts:
        if lines and lines[-1].cell_len + 3 + part.cell_len <= room:
            lines[-1].append("   ").append_text(part)
        else:
            lines.append(Text().append_text(part))
    return [_hanging(_lead("" if at else label), line) for at, line in enumerate(lines)]


def _labelled(rows: Iterable[tuple[str, tuple[str, ...]]], width: int) -> list[RenderableType]:
    return [line for name, parts in rows for line in _rows(name, list(map(Text, parts)), width)]


def label_row(label: str, text: str, style: str = "") -> RenderableType:
    """Return a labeled line; what does not fit hangs under it."""
    return _hanging(_lead(label), Text(text, style=style))


def _lead(label: str) -> Text:
    return Text(f"  {label:<10} ")


def _hanging(lead: Text, text: Text) -> RenderableType:
    """Set `text` after `lead`, its further lines under its first."""
    grid = Table.grid(padding=0)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(lead, text)
    return grid


def hint_lines(hints: Sequence[Hint]) -> Group:
    """Return each hint with its code, and what to type under it."""
    lines = []
    for hint in hints:
        lines.append(Padding(Text(f"! {hint.message} ({hint.code})"), 0))
        if hint.command:
            lines.append(Padding(Text(hint.command, style="dim"), (0, 0, 0, 4)))
    return Group(*lines)
