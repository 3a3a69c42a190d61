"""Figures as words: the one voice of terminal, page and Markdown; a reader's first figures."""

import math
from collections.abc import Iterable, Sequence

from enginescope.analysis.claims.layer_claims import Saving
from enginescope.analysis.layers.layer_sum import LayerSum
from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.runs.throughput import OF_MEAN, Pipeline, RoundTrip
from enginescope.core.record import Record, replace
from enginescope.judge.notice import Notice
from enginescope.judge.samples import Summary
from enginescope.judge.units import counted, format_ms, format_significant, range_text, with_sign
from enginescope.records.notice import is_unstable
from enginescope.records.run.metric import METRICS
from enginescope.records.run.rounds import RoundsReport
from enginescope.records.run.run import Outcome, StopReport, WarmUpReport


def stated(*facts: tuple[str, str | None]) -> tuple[tuple[str, str], ...]:
    """Return the facts that have a text."""
    return tuple((name, text) for name, text in facts if text)


def metric_title(tag: str) -> str:
    """Return a metric's heading, or its tag when it is not one of ours."""
    return METRICS[tag].title if tag in METRICS else tag


def in_text(tag: str) -> str:
    """Return a metric's heading as it stands within a sentence."""
    return within_sentence(metric_title(tag))


def few(names: Sequence[str], most: int, between: str = ", ") -> str:
    """Return ``a, b and 3 more``: at most so many names."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return between.join(names[:most]) + more


def within_sentence(text: str) -> str:
    """Return `text` as it stands within a sentence: ``GPU`` and ``H2D`` stay as they are."""
    return text if text[:2].isupper() else text[0].lower() + text[1:]


def metric_sentence(tag: str) -> str:
    """Say what a metric is: ``Latency (trtexec): H2D + GPU compute + D2H durations, summed; …``."""
    if tag not in METRICS:
        return f"{tag}, as its file names it"
    meaning = METRICS[tag].meaning.removesuffix(".")
    return f"{METRICS[tag].title}: {within_sentence(meaning)}"


def interval_text(summary: Summary) -> str:
    """Return the median's interval, or why there is none."""
    interval = summary.median_interval
    if interval is None:
        reason = "all samples are equal" if summary.std_ms == 0 else "too few independent samples"
        return f"no interval: {reason}"
    confidence = format_significant(100 * interval.confidence, 2)
    return f"{confidence} % CI {range_text(interval.low, interval.high)} ms"


def count_text(summary: Summary) -> str:
    """Return ``n 2,310 (effective 412)``."""
    return f"n {summary.n:,} (effective {math.floor(summary.effective_n):,})"


def unstable_mark(notices: Iterable[Notice]) -> str:
    """Return what an answer begins with where its figures are unstable; else nothing."""
    return "unstable measurement: " if any(map(is_unstable, notices)) else ""


def shared_notices(sides: Sequence[tuple[str, Iterable[Notice]]]) -> tuple[Notice, ...]:
    """Return each notice once; one that not every side has names those that have it.

    Args:
        sides: The label of each, and its notices.
    """
    held: dict[tuple[str, str], tuple[Notice, dict[int, str]]] = {}
    for at, (label, notices) in enumerate(sides):
        for notice in notices:
            held.setdefault((notice.code, notice.message), (notice, {}))[1][at] = label
    return tuple(
        notice
        if len(labels) == len(sides)
        else replace(notice, message=f"{', '.join(labels.values())}: {notice.message}")
        for notice, labels in held.values()
    )


def rounds_text(report: RoundsReport, noun: str = "round", plural: str | None = None) -> str:
    """Return the evidence of a report: ``interleaved processes, 8 rounds``."""
    disturbed = report.measured_rounds - report.rounds
    left_out = f", {disturbed} disturbed excluded" if disturbed > 0 else ""
    rounds = f"{counted(report.rounds, noun, plural)}{left_out}"
    return f"{report.evidence.value}, {rounds}" if report.evidence else rounds


def format_us(value_ms: float | None, digits: int = 3) -> str:
    """Return a layer's duration as ``62.5 µs``, or as `format_ms` does from a millisecond up."""
    if value_ms is None or value_ms >= 1 or value_ms == 0:
        return format_ms(value_ms, digits)
    return f"{format_significant(1e3 * value_ms, digits)} µs"


def profiler_part(profiler_ms: float) -> str:
    """Say that times are without what a profiler added to each layer."""
    cost = format_significant(1000 * profiler_ms, 2)
    return f"without what the profiler adds, about {cost} µs a layer"


def saving_text(saving: Saving) -> str | None:
    """Return ``at most 0.083 ms, 4.1 %``, and the other kinds there are; ``None``: no time.

    Where other findings may save much of the same time, it says that theirs is not in it.
    """
    beyond = " beyond other findings" if saving.shared_alone_ms else ""
    parts = []
    if saving.bound_ms is not None:
        bound = saved_time_text(saving, saving.bound_ms)
        parts.append(
            f"at most {bound}{beyond}" if saving.bound_ms else "nothing beyond other findings"
        )
    if saving.item_ms is not None:
        item = saved_time_text(saving, saving.item_ms)
        parts.append(f"at most {item} per item of a larger batch{beyond}")
    if saving.unknown_of_ms is not None:
        parts.append(f"an unknown part of {saved_time_text(saving, saving.unknown_of_ms)}")
    return " and ".join(parts) or None


def saved_time_text(saving: Saving, time_ms: float) -> str:
    """Return ``0.083 ms, 4.1 %``."""
    share_pct = saving.share_pct(time_ms)
    share = f", {format_significant(share_pct, 2)} %" if share_pct is not None else ""
    return f"{format_ms(time_ms, 3)}{share}"


def layer_sum_sentence(found: LayerSum) -> str:
    """State the sum of the layers, how it differs from the whole, and why."""
    if found.is_own:
        return _bridge_sentence(found)
    if found.profiler_ms is not None:
        metric = in_text(found.whole_metric or "")
        how = f"own times, fitted to the {metric}: {profiler_part(found.profiler_ms)}"
        text = f"Layers {format_ms(found.sum_ms)} ({how}); the profiler reported "
        text += f"{format_ms(found.raw_ms)} ({_how_added(found)})"
        return f"{text}; {metric} {format_ms(found.whole_ms)}."
    text = f"The {found.part}s add up to {format_ms(found.sum_ms)} ({_how_added(found)})"
    ratio, difference = found.ratio, found.difference_ms
    if ratio is None or difference is None or found.whole_metric is None:
        return f"{text}; no time of whole requests is known to compare with."
    whole = f"the {found.statistic} {in_text(found.whole_metric)} of {format_ms(found.whole_ms)}"
    if found.is_same:
        return f"{text}, the same as {whole} within 0.5 %."
    direction = "more" if difference > 0 else "less"
    amount = f"{format_ms(abs(difference), 3)} ({format_significant(100 * abs(ratio - 1))} %)"
    factor = format_significant(ratio)
    return f"{text}, {amount} {direction} than {whole} ({factor} ×): {_sum_reason(found)}."


def layer_sum_note(found: LayerSum) -> str | None:
    """Say beside a sum of layers what part of the whole it is; ``None`` where it is the whole."""
    ratio, difference = found.ratio, found.difference_ms
    if found.is_same is not False or ratio is None or difference is None:
        return None
    whole = f"the {in_text(found.whole_metric or '')}, {format_ms(found.whole_ms)}"
    if difference > 0:
        return f"{format_significant(ratio)} × {whole}: {_sum_reason(found)}"
    in_layers, rest = (f"{format_significant(100 * one, 2)} %" for one in (ratio, 1 - ratio))
    return f"{in_layers} of {whole}\nunexplained: {format_ms(-difference, 3)} ({rest}), in no layer"


def _sum_reason(found: LayerSum) -> str:
    if found.is_host:
        return "they are times in which the host enqueued the layers; the GPU ran them later"
    if (found.difference_ms or 0.0) < 0:
        return "they come from a separate pass, without the time between layers"
    if found.is_own and found.is_graph:
        return "a CUDA graph hides launches"
    return "timing each layer adds to it and keeps layers from overlapping"


def _bridge_sentence(found: LayerSum) -> str:
    """Go from the layers' own times to the whole in steps that add up."""
    difference = found.difference_ms
    text = f"Layers {format_ms(found.sum_ms)} (own times, {_how_added(found)})"
    if difference is None or found.whole_metric is None:
        return f"{text}; no time of whole requests is known to compare with."
    if found.is_graph and difference > 0:
        step = "launches hidden by the CUDA graph"
    elif difference < 0:
        step = "the GPU waiting between launches"
    else:
        step = "difference between the two passes"
    amount = with_sign(-difference, lambda size_ms: format_ms(size_ms, 3))
    whole = f"{in_text(found.whole_metric)} {format_ms(found.whole_ms)}"
    return f"{text}; {step} {amount}; {whole}."


def _how_added(found: LayerSum) -> str:
    text = f"sum of {found.part} {found.statistic}s"
    if found.iterations is not None:
        text += f", {counted(found.iterations, 'iteration')}"
    return f"{text}, {sum_interval_text(found)}"


def sum_interval_text(found: LayerSum) -> str:
    """Return the interval of a sum of layers, or why there is none."""
    if found.interval is not None:
        return f"95 % CI {range_text(found.interval.low, found.interval.high)} ms"
    why = "too few iterations" if found.profiler_ms is None else "the profiler's part is estimated"
    return f"no interval: {'the profile holds means alone' if found.statistic == 'mean' else why}"


def path_sentence(view: RunView) -> str | None:
    """Say what a request's time consists of, where its parts were timed."""
    if view.round_trip is not None:
        return round_trip_sentence(view.round_trip)
    return pipeline_sentence(view.pipeline) if view.pipeline is not None else None


def pass_sentence(found: LayerSum) -> str | None:
    """Say how long a whole iteration took in the profiling pass, where that was seen."""
    if found.pass_whole_ms is None:
        return None
    return f"In the profiling pass itself a whole iteration took {format_ms(found.pass_whole_ms)}."


def round_trip_sentence(found: RoundTrip) -> str:
    """Say what a round trip consists of, and what of it is not the GPU's work."""
    names = {"h2d": "H2D", "gpu_compute": "GPU compute", "d2h": "D2H"}
    parts = ", ".join(f"{names[name]} {format_ms(ms, 3)}" for name, ms in found.parts)
    share = format_significant(100 * found.outside_ms / found.whole_ms, 2)
    text = (
        f"A round trip of {format_ms(found.whole_ms)} is {parts} on the GPU's clock, and "
        f"{format_ms(found.outside_ms, 3)} ({share} %) outside it: launching, recording events and "
        f"waiting{', as Python does it' if found.loop == 'python' else ''}"
    )
    return f"{text}{_enqueue_text(found.enqueue_ms)}."


def pipeline_sentence(found: Pipeline) -> str:
    """Say how queries follow each other, and what the GPU waits for."""
    text = f"Queries are enqueued ahead: one follows another every {format_ms(found.period_ms)}"
    compute = f"GPU compute time of {format_ms(found.compute_ms)} (mean)"
    if found.gap_ms < 0:
        return f"{text}, less than the {compute}: they run at the same time."
    share = format_significant(100 * found.gap_ms / found.period_ms, 2)
    gap = f"{format_ms(found.gap_ms, 3)} ({share} %) between them"
    text = f"{text}, a {compute} and {gap}{_enqueue_text(found.enqueue_ms)}"
    if found.loop_ms:
        text += f", Python's other calls {format_ms(found.loop_ms, 3)}"
        host_ms = None if found.enqueue_ms is None else found.enqueue_ms + found.loop_ms
        if host_ms is not None and host_ms >= found.compute_ms:
            text += ": no less than the GPU computes, so the host limits the throughput"
    return f"{text}."


def _enqueue_text(ms: float | None) -> str:
    return "" if ms is None else f"; the enqueue call takes the host {format_ms(ms, 3)}"


def stop_sentence(stop: StopReport) -> str:
    """Say which rule ended the timed loop."""
    span = f"{stop.iterations:,} iterations in {format_ms(stop.duration_ms, 3)}"
    if stop.half_width_pct is not None:
        span += f"; interval ± {format_significant(stop.half_width_pct, 2)} %"
    rules = {
        "iterations": "the requested number of iterations was reached",
        "duration": "the requested time was over",
        "precision": "the median was known to the requested precision",
        "max_time": "the time limit was reached before the requested precision",
        "hard_limit": "the hard time limit was reached before the requested number of samples",
    }
    return f"{rules[stop.rule]} ({span})"


def warm_up_sentence(report: WarmUpReport) -> str:
    """Say how long the warm-up was and what ended it."""
    span = f"{report.iterations:,} iterations, {format_ms(report.duration_ms, 3)}"
    ends = {
        "steady": "ended when the two halves of its last part agreed",
        "limit": "ended by its time limit, not yet steady",
        "fixed": "of a fixed length",
    }
    return f"{span}, {ends[report.ended_by]}"


def outcome_text(outcome: Outcome) -> str:
    """Return ``crashed (signal 11)``, ``failed (exit code 3)`` or the bare kind."""
    kind = outcome.kind.value.replace("_", " ")
    if outcome.signal is not None:
        return f"{kind} (signal {outcome.signal})"
    return f"{kind} (exit code {outcome.exit_code})" if outcome.exit_code else kind


class Figure(Record, frozen=True, kw_only=True):
    """One figure: what it is, its value with unit, and what qualifies it.

    Attributes:
        leads_to: Anchor of the section that explains it.
    """

    label: str
    value: str
    note: str | None = None
    is_weak: bool = False
    leads_to: str | None = None


class Headline(Record, frozen=True, kw_only=True):
    """The main figure, ``None`` without samples, and those beside it."""

    main: Figure | None
    beside: tuple[Figure, ...] = ()


def rate_formula(view: RunView) -> str:
    """Return how the throughput was arrived at: ``batch ÷ mean latency, 0.5595 ms``."""
    definition, latency = view.throughput.definition if view.throughput else "", view.latency
    mean = f", {format_ms(latency.mean_ms)}" if latency and definition == OF_MEAN else ""
    return f"{definition}{mean}"


def throughput_text(view: RunView) -> str | None:
    """Return ``1,234 queries/s``; ``None`` without a rate."""
    rate = view.throughput
    return f"{format_significant(rate.per_s, 4)} {rate.unit}/s" if rate else None
