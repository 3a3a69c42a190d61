"""A job's history in words, on the terminal with a plot of dots, and as JSON."""

import re
from collections import Counter
from collections.abc import Sequence
from math import log
from string import ascii_uppercase

from enginescope.core.record import replace
from enginescope.judge.comparison.change_points import FEWEST_POINTS
from enginescope.judge.units import counted, format_significant, range_text, signed_pct
from enginescope.records.verdict.history import (
    FactChange,
    HistoryPoint,
    JobHistory,
    Level,
    LevelChange,
)
from enginescope.render.base.answer_tables import answer_json
from enginescope.render.base.short_names import NAME_LENGTH, told_apart
from enginescope.render.verdicts.verdict_phrases import metric_words, value_text


def title_text(*jobs: JobHistory) -> str:
    """Return `changes_text` of a job, or of all jobs of a model and backend, and what it is of."""
    first = jobs[0]
    parts = (first.model, first.backend, first.case if len(jobs) == 1 else "")
    name = " · ".join(filter(None, parts))
    newest = f"newest {level_text(first, first.points[-1])}" if len(jobs) == 1 else ""
    low, *_, high = sorted(point.value for point in (first.points[0], *first.points))
    if newest and len(first.levels) == 1 and not first.doubt and 0 < low < high:
        newest += f", sessions within {100 * (high / low - 1):.2g} %"
    told = "; ".join(filter(None, (newest, changes_text(jobs))))
    return f"{metric_words(first.metric)} of {name}: {told}"


def changes_text(jobs: Sequence[JobHistory]) -> str:
    """Return ``2 changes of level, the last +6.9 % (worse) on 2026-11-20``.

    Of several jobs: ``no change of level in 3 of 5 jobs, unknown in 2``. The largest change that is
    not sure comes first.
    """
    known = sum(len(job.points) >= FEWEST_POINTS for job in jobs)
    if not known and len(jobs) == 1:
        sessions = counted(len(jobs[0].points), "session")
        return f"change of level unknown ({sessions}, a change shows in {FEWEST_POINTS} or more)"
    if not known:
        return f"change of level unknown in {len(jobs)} jobs of few sessions"
    every = [(when_text(job, change), change) for job in jobs for change in job.sure]
    open_jobs = ((job, job.doubt) for job in jobs if job.doubt)
    doubts = [(abs(log(one.estimate.ratio)), open_sentence(job, one)) for job, one in open_jobs]
    perhaps = max(doubts)[1] if doubts else ""
    if perhaps and not every and len(jobs) == 1:
        return perhaps
    perhaps += f" (the largest of {len(doubts)})" if len(doubts) > 1 else ""
    none = f"no {'other ' if doubts else ''}change"
    text = f"{counted(len(every), 'change') if every else none} of level"
    if len(jobs) > 1:
        unknown = f" of {len(jobs)} jobs, unknown in {len(jobs) - known}"
        text += f" in {known}{unknown if known < len(jobs) else ' jobs'}"
    text = "; ".join(filter(None, (perhaps, text)))
    if not every:
        return text
    when, last = max(every, key=lambda one: one[0])
    amount = f"{amount_text(last)} ({way_text(last)}) on {when[:10]}"
    return f"{text}, {'the last ' if len(every) > 1 else ''}{amount}"


def named_apart(found: Sequence[JobHistory]) -> tuple[list[JobHistory], str | None]:
    """Return jobs whose backends have the options that differ; those that they share."""
    apart = told_apart([job.backend for job in found], NAME_LENGTH)
    pairs = zip(found, apart.labels, strict=True)
    return [replace(job, backend=backend) for job, backend in pairs], apart.shared


def case_name(job: JobHistory) -> str:
    """Return what tells a job from others of its model and backend; the model without that."""
    return job.case or job.model


def anchor(found: JobHistory) -> str:
    """Return the name that a link to a job on the page has."""
    return re.sub(r"[^a-z0-9]+", "-", found.label.lower()).strip("-")


def grouped(histories: Sequence[JobHistory]) -> tuple[tuple[JobHistory, ...], ...]:
    """Return the jobs of each model and backend together, in the order of their first."""
    groups: dict[tuple[str, str], list[JobHistory]] = {}
    for job in histories:
        groups.setdefault((job.model, job.backend), []).append(job)
    return tuple(map(tuple, groups.values()))


def lettered(jobs: Sequence[JobHistory]) -> tuple[tuple[str, JobHistory, LevelChange], ...]:
    """Return the changes of jobs under their letters."""
    every = ((job, change) for job in jobs for change in job.sure)
    return tuple((letter(at), job, change) for at, (job, change) in enumerate(every))


def across_change(jobs: Sequence[JobHistory]) -> tuple[str, str] | None:
    """Return the runs on both sides of the last change; ``None`` without a change."""
    changes = [(job, change) for job in jobs for change in job.sure]
    if not changes:
        return None
    job, change = changes[-1]
    return job.points[change.at - 1].runs[-1], job.points[change.at].runs[-1]


def span_text(found: JobHistory) -> str:
    """Return how much there is, and from when to when."""
    count = sum(len(point.runs) for point in found.points)
    runs, sessions = counted(count, "run"), counted(len(found.points), "session")
    each = f"{runs}, each a session" if 1 < count == len(found.points) else f"{runs} in {sessions}"
    first, last = found.points[0].created[:10], found.points[-1].created[:10]
    failed = f"; {counted(found.failed, 'failed run')} skipped" if found.failed else ""
    when = first if first == last else f"{first} … {last}"
    evidence = f"; evidence: {found.evidence.value}" if found.evidence else ""
    most = f"changes of {found.threshold_pct:g} % or less do not count"
    return f"{each}, {when}{failed}; {most}{evidence}"


def letter(number: int) -> str:
    """Return what the change of that number is called: A … Z, then AA."""
    more, at = divmod(number, len(ascii_uppercase))
    return (letter(more - 1) if more else "") + ascii_uppercase[at]


def change_sentence(found: JobHistory, change: LevelChange) -> str:
    """Return by how much the level changed, with the interval, and when."""
    ends = _levels_of(found, change) if change.estimate.basis == "pair" else None
    is_other = ends and _percent(ends[1].value / ends[0].value) != _percent(change.estimate.ratio)
    whose = " in the median pair of sessions" if is_other else ""
    amount = f"{amount_text(change)}{whose} ({interval_text(change)}), {way_text(change)}"
    return f"{amount}, {when_text(found, change)}, run {found.points[change.at].runs[0][:8]}"


def amount_text(change: LevelChange) -> str:
    """Return ``+6.9 %``."""
    return f"{_percent(change.estimate.ratio)} %"


def interval_text(change: LevelChange) -> str:
    """Return ``99 % CI +6.7 … +7.9 %``."""
    interval = change.estimate.interval
    if interval is None:
        return "no interval"
    low, high = _percent(interval.low), _percent(interval.high)
    return f"{100 * interval.confidence:g} % CI {low} … {high} %"


def way_text(change: LevelChange) -> str:
    """Return whether it got better or worse."""
    return "worse" if change.is_worse else "better"


def when_text(found: JobHistory, change: LevelChange) -> str:
    """Return when the first run of the new level was made."""
    return found.points[change.at].created[:16].replace("T", " ")


def levels_sentence(found: JobHistory, change: LevelChange) -> str | None:
    """Return both levels and the sessions of each; ``None`` of a change that is not borne out."""
    if (pair := _levels_of(found, change)) is None:
        return None
    counts = " and ".join(f"{one.last - one.first + 1:,}" for one in pair)
    texts = [value_text(found.metric, one.value) for one in pair]
    return f"{texts[0]} → {texts[1]}, over {counts} sessions"


def _levels_of(found: JobHistory, change: LevelChange) -> tuple[Level, Level] | None:
    before = next((level for level in found.levels if level.last == change.at - 1), None)
    after = next((level for level in found.levels if level.first == change.at), None)
    return None if before is None or after is None else (before, after)


def cause_texts(change: LevelChange) -> tuple[str, ...]:
    """Return what changed first, likely causes first; a sentence where nothing is known to."""
    if not change.changed:
        return ("no recorded fact changed: load, temperature, clocks?",)
    more = len(change.changed) - 6  # the page and JSON have all
    return (*map(fact_text, change.changed[:6]), *((f"… and {more} more",) if more > 0 else ()))


def fact_text(one: FactChange) -> str:
    """Return a fact with both its values, and whether it also changed without effect."""
    if one.fact == "commit":  # that it changes is nothing special
        return str(one)
    times = "once" if one.elsewhere == 1 else f"{one.elsewhere:,} times"
    return f"{one}" + (f" (also changed {times} without effect)" if one.elsewhere else "")


def open_sentence(found: JobHistory, change: LevelChange) -> str:
    """Say what a change that is not borne out yet wants."""
    run = found.points[change.at].runs[0][:8]
    after = counted(len(found.points) - change.at, "session")
    return f"perhaps {amount_text(change)} since run {run}, inconclusive after {after}"


def _percent(ratio: float) -> str:
    return signed_pct(100 * (ratio - 1))


#: Columns of the table of changes.
HEADERS = ("", "changes of level, and what changed with them")


def warnings_text(found: JobHistory) -> str:
    """Return ``time stolen (W-STEAL) in 1 (run 2d4287bf) of 4 newest runs``, in newest words."""
    newest = {one.code: (run, one) for run, said in found.warnings.items() for one in said}
    runs = Counter(code for said in found.warnings.values() for code in {one.code for one in said})
    told, every = list[str](), len(found.warnings)
    for code, count in runs.most_common():
        which = f" (run {newest[code][0][:8]})" if count == 1 < every else ""
        told.append(f"{newest[code][1].message} ({code}) in {count}{which}")
    return f"{', '.join(told)} of {counted(every, 'newest run')}"


def level_text(found: JobHistory, point: HistoryPoint) -> str:
    """Return the value of a session with its range: ``4.218 ms (3 runs 4.200 … 4.240)``."""
    value, reach = value_text(found.metric, point.value), reach_texts(found, point)
    return f"{value} ({' '.join(reach)})" if reach else value


def reach_texts(found: JobHistory, point: HistoryPoint) -> tuple[str, ...]:
    """Return ``95 % CI`` or ``3 runs``, and the range in ms that is theirs; nothing without one."""
    if found.unit != "ms" or point.highest <= point.lowest:
        return ()
    whose = "95 % CI" if len(point.runs) == 1 else f"{len(point.runs):,} runs"
    return whose, range_text(point.lowest, point.highest, 4)


def history_plot(found: JobHistory, *, width: int = 80) -> tuple[str, ...]:
    """Return the series as lines, changes under their letters; the unit above the axis."""
    values = [point.value for point in found.points]
    marks = [(one.at, letter(number)) for number, one in enumerate(found.sure)]
    return (found.unit, *dot_plot(values, levels=found.levels, marks=marks, width=width))


def history_rows(found: JobHistory) -> tuple[tuple[str, str], ...]:
    """Return every change under its letter, the oldest first."""
    rows = []
    for number, change in enumerate(found.sure):
        sentences = (change_sentence(found, change), levels_sentence(found, change))
        rows.append((letter(number), "\n".join((*filter(None, sentences), *cause_texts(change)))))
    if found.doubt:
        texts = (open_sentence(found, found.doubt), *cause_texts(found.doubt))
        rows.append(("?", "\n".join(texts)))
    return tuple(rows)


def history_json(found: Sequence[JobHistory]) -> bytes:
    """Return every series with its points, levels and changes as strict JSON."""
    return answer_json(schema=1, series=found)


_DOT, _LEVEL, _MARK = "•", "─", "┊"


def dot_plot(
    values: Sequence[float],
    *,
    levels: Sequence[Level] = (),
    marks: Sequence[tuple[int, str]] = (),
    width: int = 80,
    height: int = 11,
) -> tuple[str, ...]:
    """Return the lines of a plot; where there are more values than columns, several share one.

    Args:
        values: One or more, in their order.
        marks: Places that a line stands before, with the letter below it.
        width, height: In characters; the height without the axis.
    """
    drawn = [*values, *(level.value for level in levels)]
    low, high = min(drawn), max(drawn)
    room = 0.05 * (high - low)
    low, high = flat_ends(drawn) or (low - room, high + room)
    labels = _labels(low, high, height)
    margin = max(map(len, labels.values()))
    columns = max(8, min(width - margin - 3, 3 * len(values)))
    grid = [[" "] * columns for _ in range(height)]

    def column(place: float) -> int:
        return min(columns - 1, int((place + 0.5) * columns / len(values)))

    def row(value: float) -> int:
        return round((high - value) / (high - low) * (height - 1))

    for place, _ in marks:
        for line in grid:
            line[column(place - 0.5)] = _MARK
    for level in levels:
        for at in range(column(level.first), column(level.last) + 1):
            grid[row(level.value)][at] = _LEVEL
    for place, value in enumerate(values):
        grid[row(value)][column(place)] = _DOT
    lines = [
        f"{labels.get(at, ''):>{margin}} {'┤' if at in labels else '│'} {''.join(line)}".rstrip()
        for at, line in enumerate(grid)
    ]
    foot = ["─"] * columns
    for place, mark in marks:
        foot[column(place - 0.5)] = mark
    return (*lines, f"{'':>{margin}} └─{''.join(foot)}")


def flat_ends(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the ends of the axis of a flat series, whose ticks would show digits without meaning.

    ``None``: the series is not flat, its values differ by more than 0.5 % of the largest.
    """
    low, high = min(values), max(values)
    if high - low > 0.005 * abs(high):
        return None
    room = 0.01 * abs(high) or 1.0
    return low - room, high + room


def _labels(low: float, high: float, height: int) -> dict[int, str]:
    """Return the text at some rows, with digits enough to tell them apart."""
    rows = sorted({round(at * (height - 1) / 3) for at in range(4)})
    amounts = [high - at * (high - low) / (height - 1) for at in rows]
    texts: list[str] = []
    for digits in (3, 4, 5, 6):
        texts = [format_significant(amount, digits) for amount in amounts]
        if len(set(texts)) == len(texts):
            break
    return dict(zip(rows, texts, strict=True))
