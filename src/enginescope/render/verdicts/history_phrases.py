"""A job's history in words: the one voice of terminal and page."""

from __future__ import annotations

from string import ascii_uppercase

from enginescope.analysis.verdicts.compared_figures import GATE_METRICS
from enginescope.core.units import format_significant
from enginescope.records.verdict.history import FactChange, JobHistory, LevelChange
from enginescope.render.verdicts.verdict_phrases import value_text

#: Facts of one change that are told; the page and JSON have all.
_FACTS_TOLD = 6


def title_text(found: JobHistory) -> str:
    """Return ``latency of net.onnx · ort-cpu: 2 changes of level in 34 sessions``."""
    count = len(found.sure)
    changes = "no change of level" if not count else f"{count} change{_s(count)} of level"
    return f"{_metric(found)} of {found.label}: {changes}"


def span_text(found: JobHistory) -> str:
    """Return how much there is, and from when to when."""
    runs = sum(len(point.runs) for point in found.points)
    sittings = len(found.points)
    first, last = found.points[0].created[:10], found.points[-1].created[:10]
    failed = f"; {found.failed:,} failed run{_s(found.failed)} skipped" if found.failed else ""
    when = first if first == last else f"{first} … {last}"
    return (
        f"{runs:,} run{_s(runs)} in {sittings:,} session{_s(sittings)}, {when}{failed}; changes of "
        f"{found.threshold_pct:g} % or less do not count"
    )


def letter(number: int) -> str:
    """Return what the change of that number is called: A … Z, then AA."""
    more, at = divmod(number, len(ascii_uppercase))
    return (letter(more - 1) if more else "") + ascii_uppercase[at]


def change_sentence(found: JobHistory, change: LevelChange) -> str:
    """Return by how much the level changed, with the interval, and when."""
    ends = interval_text(change)
    run = found.points[change.at].runs[0][:8]
    when = when_text(found, change)
    return f"{amount_text(change)} ({ends}), {way_text(change)}, {when}, run {run}"


def amount_text(change: LevelChange) -> str:
    """Return ``+6.9 %``."""
    return f"{_percent(change.estimate.ratio)} %"


def interval_text(change: LevelChange) -> str:
    """Return ``99 % CI +6.7 … +7.9 %``."""
    interval = change.estimate.interval
    if interval is None:
        return "no interval"
    low, high = (_percent(one) for one in (interval.low, interval.high))
    return f"{100 * interval.confidence:g} % CI {low} … {high} %"


def way_text(change: LevelChange) -> str:
    """Return whether it got better or worse."""
    return "worse" if change.is_worse else "better"


def when_text(found: JobHistory, change: LevelChange) -> str:
    """Return when the first run of the new level was made."""
    return found.points[change.at].created[:16].replace("T", " ")


def levels_sentence(found: JobHistory, change: LevelChange) -> str | None:
    """Return both levels and the sessions of each; ``None`` of a change that is not borne out."""
    before = next((level for level in found.levels if level.last == change.at - 1), None)
    after = next((level for level in found.levels if level.first == change.at), None)
    if before is None or after is None:
        return None
    counts = " and ".join(f"{one.last - one.first + 1:,}" for one in (before, after))
    texts = [value_text(found.metric, one.value) for one in (before, after)]
    return f"{texts[0]} → {texts[1]}, over {counts} sessions"


def cause_texts(change: LevelChange) -> tuple[str, ...]:
    """Return what changed first, likely causes first; a sentence where nothing is known to."""
    if not change.changed:
        return ("no recorded fact changed: load, temperature, clocks?",)
    told = [fact_text(one) for one in change.changed[:_FACTS_TOLD]]
    more = len(change.changed) - len(told)
    return (*told, *([f"… and {more} more"] if more else []))


def fact_text(one: FactChange) -> str:
    """Return a fact with both its values, and whether it also changed without effect."""
    if one.fact == "commit":  # that it changes is nothing special
        return str(one)
    times = "once" if one.elsewhere == 1 else f"{one.elsewhere:,} times"
    return f"{one}" + (f" (also changed {times} without effect)" if one.elsewhere else "")


def open_sentence(found: JobHistory, change: LevelChange) -> str:
    """Say what a change that is not borne out yet wants."""
    after = len(found.points) - change.at
    return (
        f"perhaps {_percent(change.estimate.ratio)} % since run "
        f"{found.points[change.at].runs[0][:8]}: inconclusive after {after} session{_s(after)}"
    )


def _metric(found: JobHistory) -> str:
    title = GATE_METRICS[found.metric]
    return title if title[:2].isupper() else title[0].lower() + title[1:]


def _percent(ratio: float) -> str:
    change = 100 * (ratio - 1)
    text = f"{abs(change):.1f}" if abs(change) < 100 else format_significant(abs(change), 3)
    if not text.strip("0.,"):
        return text
    return f"{'−' if change < 0 else '+'}{text}"


def _s(count: int) -> str:
    return "" if count == 1 else "s"
