"""Verdicts in words: the one voice of terminal, page and Markdown.

What the sides of a comparison are called; a mean over models.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from string import ascii_uppercase

from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.runs.throughput import OF_MEAN
from enginescope.analysis.verdicts.comparability import IN_NAMES
from enginescope.analysis.verdicts.compared_figures import FIGURES, GATE_METRICS, TAILS
from enginescope.analysis.verdicts.evidence_levels import (
    ENQUEUE,
    GPU_COMPUTE,
    THROUGHPUT,
    printed_cause,
)
from enginescope.analysis.verdicts.evidence_levels import change_pct as printed_change_pct
from enginescope.analysis.verdicts.measured_notices import instability_text
from enginescope.analysis.verdicts.measured_sides import (
    MeasuredComparison,
    MeasuredPair,
    MeasuredSide,
)
from enginescope.analysis.verdicts.model_mean import ModelMean
from enginescope.core.errors import UsageError
from enginescope.core.units import format_bytes
from enginescope.judge import verdict as judged
from enginescope.judge.comparison.looks import LOOK_CONFIDENCE, LOOKS
from enginescope.judge.comparison.ratio import FEWEST_TOGETHER
from enginescope.judge.samples import Interval
from enginescope.judge.units import counted, format_ms, format_significant, signed_pct
from enginescope.judge.verdict import RatioEstimate, Reason, Verdict, VerdictKind
from enginescope.records.progress import COMPARISON_TAG
from enginescope.records.run.job import Job
from enginescope.records.run.metric import METRICS
from enginescope.records.run.run import OutcomeKind
from enginescope.render.base.data_table import UNKNOWN, printable
from enginescope.render.base.facts import backend_text, subject_names
from enginescope.render.base.phrases import few, within_sentence

_FIGURES = {one.name: one for one in (*TAILS, *FIGURES)}
#: Unit -> words for less of it and for more.
_LESS_AND_MORE = {
    "ms": ("faster", "slower"),
    "/s": ("lower", "higher"),
    "B": ("smaller", "larger"),
    "J": ("less", "more"),
}
#: Stands behind a ratio that is not the quotient of the two medians beside it.
OTHER_RATIO = "*"
_OF_MEDIAN = "in the median round or pair; the two medians may differ by another amount"
#: What the sentence on printed figures names, and how.
_PRINTED = {THROUGHPUT: "throughput", GPU_COMPUTE: "GPU compute time", ENQUEUE: "enqueue time"}


def title_of(metric: str) -> str:
    """Return a metric's or figure's heading."""
    if metric in METRICS:
        return METRICS[metric].title
    return _FIGURES[metric].title if metric in _FIGURES else metric


def metric_words(metric: str) -> str:
    """Return a metric that a gate can check as it stands within a sentence."""
    return within_sentence(GATE_METRICS[metric])


def unit_of(metric: str) -> str:
    """Return ``ms``, ``/s``, ``B`` or ``J``."""
    return _FIGURES[metric].unit if metric in _FIGURES else "ms"


def value_text(metric: str, value: float | None) -> str:
    """Return a figure with its unit."""
    if value is None:
        return UNKNOWN
    unit = unit_of(metric)
    if unit == "ms":
        return format_ms(value)
    return format_bytes(round(value)) if unit == "B" else f"{format_significant(value, 4)} {unit}"


def kind_text(verdict: Verdict) -> str:
    """Return the verdict in the words of its unit: a size is smaller, a rate higher."""
    return judged.kind_text(verdict, *_LESS_AND_MORE[unit_of(verdict.metric)])


def ratio_text(estimate: RatioEstimate | None) -> str:
    """Return B ÷ A with the decimals of its interval."""
    return UNKNOWN if estimate is None else f"{estimate.ratio:,.{_places(estimate)}f}"


def range_of(estimate: RatioEstimate | None) -> str:
    """Return the ends of the interval; a dash without one."""
    if estimate is None or estimate.interval is None:
        return UNKNOWN
    places = _places(estimate)
    low, high = estimate.interval.low, estimate.interval.high
    return f"{low:,.{places}f} … {high:,.{places}f}"


def _places(estimate: RatioEstimate) -> int:
    """Return 3, fewer for large ratios, more where the interval's ends would look the same."""
    interval = estimate.interval
    places = 3 if estimate.ratio < 10 else 2 if estimate.ratio < 100 else 1
    while (
        interval is not None
        and interval.low < interval.high
        and places < 6
        and f"{interval.low:.{places}f}" == f"{interval.high:.{places}f}"
    ):
        places += 1
    return places


def headline_sentence(pair: MeasuredPair) -> str:
    """Say which side is faster, by how much, how that was measured, and what differs on purpose."""
    verdict = pair.headline
    if verdict.kind is VerdictKind.INCOMPARABLE:
        return f"{pair.a} and {pair.b} are not comparable: {verdict.detail}"
    meant = [one.title for one in pair.meant if one.key not in IN_NAMES]
    conditions = f"; conditions differ: {', '.join(meant)}" if meant else ""
    return f"{_comparable_sentence(pair)}{conditions}"


def _comparable_sentence(pair: MeasuredPair) -> str:
    verdict = pair.headline
    a, b = pair.a, pair.b
    if verdict.reason is Reason.PRINTED_ONLY:
        return _printed_sentence(pair)
    interval, amount = interval_of(verdict), f"{ratio_text(verdict.estimate)} × {a}"
    amount += _of_median(verdict.estimate) if is_other_ratio(verdict) else ""
    if interval is None:
        amount += ", no interval"
    else:
        amount += f" ({confidence_text(interval)} CI {range_of(verdict.estimate)})"
    how = "; ".join(filter(None, (_how(verdict), instability_text(pair))))
    if verdict.kind is VerdictKind.SAME:
        none = judged.same_text(verdict)
        return f"N{none[1:]} between {a} and {b} is detected: {amount}, {how}"
    if verdict.is_decided:
        return f"{b} is {kind_text(verdict)}: {amount}, {how}"
    direction = _direction(verdict)
    if direction is not None:
        most = f"{verdict.threshold_pct:g} %"
        return f"{b} is {direction}; inconclusive whether by more than {most}: {amount}, {how}"
    return f"Inconclusive whether {b} is faster than {a}: {amount}, {how}"


def _direction(verdict: Verdict) -> str | None:
    """Return ``slower`` where the interval excludes 1 and only the threshold leaves it open.

    Not where `Verdict.detail` says that builds of one side differ by as much.
    """
    interval = interval_of(verdict)
    if verdict.reason is not Reason.INTERVAL_TOO_WIDE or interval is None or verdict.detail:
        return None
    if interval.low <= 1 <= interval.high:
        return None
    return _LESS_AND_MORE[unit_of(verdict.metric)][interval.low > 1]


def _printed_sentence(pair: MeasuredPair) -> str:
    """Return ``Printed figures of B against A: throughput −12.7 %, …: the host is slower, …``."""
    rows = [verdict for verdict in pair.verdicts if verdict.metric in _PRINTED] or pair.verdicts
    changes = ", ".join(
        f"{_PRINTED.get(verdict.metric, title_of(verdict.metric))} {signed_pct(change)} %"
        for verdict in rows
        if (change := printed_change_pct(verdict)) is not None
    )
    cause = printed_cause(pair.verdicts)
    text = f"Printed figures of {pair.b} against {pair.a}: {changes}"
    return f"{text}: {cause}" if cause else text


def interval_of(verdict: Verdict) -> Interval | None:
    """Return the interval of a verdict's ratio; ``None`` without one."""
    return verdict.estimate.interval if verdict.estimate else None


def confidence_text(interval: Interval) -> str:
    """Return ``99 %``."""
    return f"{100 * interval.confidence:.4g} %"


def interval_header(estimates: Iterable[RatioEstimate | ModelMean | None]) -> str:
    """Return ``99 % CI``, the heading of a column of intervals."""
    intervals = (one.interval for one in estimates if one)
    levels = dict.fromkeys(confidence_text(one) for one in intervals if one)
    return f"{' or '.join(levels)} CI".lstrip()


def change_pct(verdict: Verdict | None) -> float | None:
    """Return by how much B's figure is above A's, in percent."""
    if verdict is not None and verdict.estimate is not None:
        return 100 * (verdict.estimate.ratio - 1)
    return printed_change_pct(verdict) if verdict is not None else None


def change_text(verdict: Verdict | None, *, is_cell: bool = False) -> str:
    """Return ``+6.9 %``; where the two medians differ by another amount, which change it is.

    Args:
        is_cell: A mark stands for that, which `change_note` explains.
    """
    change = change_pct(verdict)
    if verdict is None or change is None:
        return UNKNOWN
    text, between = f"{signed_pct(change)} %", printed_change_pct(verdict)
    whose = _of_median(verdict.estimate)
    if not whose or (between is not None and text == f"{signed_pct(between)} %"):
        return text
    return f"{text}{OTHER_RATIO if is_cell else whose}"


def _of_median(estimate: RatioEstimate | None) -> str:
    basis = estimate.basis if estimate else None
    return f" in the median {'pair of processes' if basis == 'pair' else basis}" if basis else ""


def change_note(rows: Iterable[Sequence[str]]) -> str:
    """Say what the mark of `change_text` means; empty where no cell has it."""
    is_marked = any(cell.endswith(f"%{OTHER_RATIO}") for row in rows for cell in row)
    return f"{OTHER_RATIO} {_OF_MEDIAN}" if is_marked else ""


def change_interval(verdict: Verdict | None) -> str:
    """Return ``+5.8 … +8.1 %``; a dash without an interval."""
    return _ends(interval_of(verdict) if verdict else None)


def _ends(interval: Interval | None) -> str:
    if interval is None:
        return UNKNOWN
    return f"{signed_pct(100 * (interval.low - 1))} … {signed_pct(100 * (interval.high - 1))} %"


def is_other_ratio(verdict: Verdict) -> bool:
    """Whether the ratio looks different from the quotient of the two medians beside it."""
    estimate = verdict.estimate
    if estimate is None or not verdict.a or verdict.b is None:
        return False
    return f"{verdict.b / verdict.a:,.{_places(estimate)}f}" != ratio_text(estimate)


def ratio_note(pair: MeasuredPair) -> str | None:
    """Say why the ratios marked `OTHER_RATIO` are not the quotients; ``None`` without any."""
    return _OF_MEDIAN if any(map(is_other_ratio, pair.verdicts)) else None


def rate_note(comparison: MeasuredComparison) -> str | None:
    """Say how the throughput is computed; ``None`` where none is shown."""
    if all(verdict.metric != THROUGHPUT for pair in comparison.pairs for verdict in pair.verdicts):
        return None
    rates = [RunView(side.measured[0]).throughput for side in comparison.sides if side.measured]
    definitions = dict.fromkeys(rate.definition for rate in rates if rate is not None)
    median = "; latency is the median" if OF_MEAN in definitions else ""
    return f"{' or '.join(definitions)}{median}" if definitions else None


def _how(verdict: Verdict) -> str:
    estimate, counts = verdict.estimate, (verdict.processes_a, verdict.processes_b)
    if estimate is None or (estimate.method == "samples" and max(counts) == 1):
        return "one process a side"
    if estimate.method == "rounds":
        again = f", {counted(estimate.left_out, 'noisy round')} left out"
        repeated = again if estimate.left_out else ""
        return f"{counted(estimate.n_a, 'round')}, interleaved{repeated}"
    if estimate.method == "processes":
        counts = (estimate.n_a, estimate.n_b)
    if counts[0] == counts[1]:
        return f"{counts[0]} processes a side"
    return f"{counts[0]} and {counts[1]} processes"


#: Reason -> why a verdict is open, and what would decide it.
_WHY = {
    Reason.CLOCK_STEP: "{detail}, more than the difference; shorter runs have finer steps",
    Reason.FEW_SAMPLES: "{detail}",
    Reason.PROCESS_STATES: "{detail}, no less than the difference; measure more rounds",
    Reason.BUILD_SPREAD: "{detail}; compare several builds of each side",
    Reason.PRINTED_ONLY: "printed figures have no interval; export times with --exportTimes, or "
    "bench both",
    Reason.ONE_VALUE: "one value a side does not show the run-to-run variation; measure more "
    "processes",
    Reason.UNSTABLE: "most medians are uncertain; measure again on an idle machine",
    Reason.SESSIONS: "sessions of the same work may differ as much; measure both sides in one "
    "session",
}


def why_text(verdict: Verdict) -> str | None:
    """Say why a verdict is open and what would decide it; ``None`` of others."""
    reason, is_open = verdict.reason, verdict.kind is VerdictKind.INCONCLUSIVE
    if not is_open or not (verdict.is_tested or reason is Reason.FEW_SAMPLES):
        return None
    disturbed = verdict.estimate.disturbed if verdict.estimate else None
    if reason is Reason.UNSTABLE and disturbed and disturbed.unstable:
        return "one side is unstable; look for the cause, more rounds would not help"
    if reason in _WHY:
        return _WHY[reason].format(detail=verdict.detail)
    if reason is Reason.NO_INTERVAL:
        return _no_interval(verdict)
    if _direction(verdict) is not None:
        most = f"{verdict.threshold_pct:g} %"
        return f"the interval excludes 1 and holds the threshold of {most}; {more_text(verdict)}"
    return f"inconclusive: the interval is too wide; {more_text(verdict)}"


def _no_interval(verdict: Verdict) -> str:
    estimate = verdict.estimate
    if estimate is None or estimate.method == "samples":
        return "the effective sample size of a side is too small; measure longer"
    if estimate.method == "rounds":
        return f"an interval needs {LOOKS[0]} valid rounds; there are {estimate.n_a}"
    return f"an interval needs {FEWEST_TOGETHER // 2} processes a side"


def more_text(verdict: Verdict) -> str:
    """Say how many more rounds, processes or samples would probably decide a verdict."""
    estimate, more = verdict.estimate, verdict.more
    if estimate is not None and more is not None:
        noun = {"rounds": "round", "processes": "process", "samples": "sample"}[estimate.method]
        amount = counted(more, f"more {noun}", f"more {noun}es" if noun == "process" else None)
        each = "" if estimate.method == "rounds" else " a side"
        return f"about {amount}{each} would probably settle it"
    if estimate is not None and estimate.method == "samples":
        return "more samples would not settle it; more processes may"
    return "no realistic number of runs would settle it"


def across_text(keys: Iterable[str]) -> str:
    """Return what to add to compare in spite of these conditions."""
    return f"to compare different conditions on purpose, add --across {','.join(keys)}"


def counts_text(side: MeasuredSide, pair: MeasuredPair, *, is_base: bool) -> str:
    """Return ``A 7 processes, n 4,321 (effective 1,200)`` of the headline."""
    verdict = pair.headline
    samples = verdict.samples_a if is_base else verdict.samples_b
    effective = verdict.effective_a if is_base else verdict.effective_b
    count = sum(run.outcome.kind is OutcomeKind.OK for run in side.runs)
    text = f"{side.label} {counted(count, 'process', 'processes')}"
    if not samples:
        return text
    worth = f" (effective {int(effective):,})" if effective is not None else ""
    return f"{text}, n {samples:,}{worth}"


def looks_text(found: MeasuredComparison) -> str | None:
    """Say how sure each look of an interleaved comparison is; ``None`` of others."""
    interval = interval_of(found.pairs[0].headline)
    if found.comparison is None or interval is None:
        return None
    each = format_significant(100 * interval.confidence, 3)
    more = interval.confidence > LOOK_CONFIDENCE
    looks = "its looks, those of a continued comparison too" if more else "four looks"
    return (
        f"the order of each round is random; the comparison can stop after any of {looks}, "
        f"so each interval has {each} % confidence, and all together have at least 95 %"
    )


def side_names(jobs: Sequence[Job]) -> list[str]:
    """Return ``net.onnx · ort-cpu``; models of one name by where their paths part ways."""
    pairs = zip(subject_names(jobs), jobs, strict=True)
    return [f"{name} · {backend_text(job.backend)}" for name, job in pairs]


def side_labels(count: int) -> str:
    """Return the letters of `count` sides."""
    if count > len(ascii_uppercase):
        why = f"a comparison has at most {len(ascii_uppercase)}"
        hint = "split them into several comparisons with the same first side"
        raise UsageError(f"{count} sides to compare", why=why, hint=hint)
    return ascii_uppercase[:count]


def same_work_text(jobs: Sequence[Job], labels: str) -> str | None:
    """Say which sides do the same work as the first, so that only noise can differ.

    The file's content, the backend, its options, the workload and the conditions are the same.
    ``None``: no side does, or the content of the first is unknown.
    """
    first = jobs[0]
    same = [
        label
        for label, job in zip(labels, jobs, strict=True)
        if first.subject.sha256 == job.subject.sha256 is not None
        and (job.backend, job.workload, job.conditions)
        == (first.backend, first.workload, first.conditions)
    ]
    if len(same) < 2:
        return None
    return (
        f"{' and '.join(same)} are the same file with the same backend and options: their "
        "comparison measures the noise, as enginescope doctor --noise does"
    )


def comparison_tag(comparison: str) -> str:
    """Return the tag by which the runs of a comparison are found again."""
    return f"{COMPARISON_TAG}{comparison}"


def levels_text(verdicts: Iterable[Verdict | None]) -> str:
    """Return ``independent builds``; of several levels each with its number of verdicts."""
    counts = Counter(verdict.evidence.value for verdict in verdicts if verdict and verdict.evidence)
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{level} ({count:,})" for level, count in counts.items())


def mean_cells(mean: ModelMean, unit: str) -> tuple[str, ...]:
    """Return a row below the eight headers of a report: the change where a model has its own.

    Args:
        unit: ``"model"`` or ``"job"``.
    """
    who, why = f"{len(mean.models)} {unit}s", f"geometric mean{_without(mean)}"
    figures = (f"{signed_pct(100 * (mean.ratio - 1))} %", _ends(mean.interval))
    return ("mean", who, title_of(mean.metric), UNKNOWN, UNKNOWN, *figures, why)


def mean_lines(mean: ModelMean, unit: str) -> str:
    """Return the mean for a column of the terminal."""
    ends = mean.interval and f" ({confidence_text(mean.interval)} CI {_ends(mean.interval)})"
    text = f"{title_of(mean.metric)}, geometric mean of {len(mean.models)} {unit}s"
    change = f"{signed_pct(100 * (mean.ratio - 1))} %{ends or ', no interval'}"
    return f"{text}{_without(mean)}\n{change}"


def _without(mean: ModelMean) -> str:
    names = few([f"{name} ({why})" for name, why in mean.left_out], 3)  # the rows have each
    return f", without {printable(names)}" if names else ""
