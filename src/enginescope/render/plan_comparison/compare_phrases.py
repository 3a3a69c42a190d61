"""A comparison of plans in words: the one voice of terminal, page and Markdown.

"Faster" is a word of verdicts, which measured requests decide. Layer times come from profiles: they
say which layers take less time, not which side is faster. Layers *differ* in how they are built; a
*difference* is one of times.
"""

from collections.abc import Iterable, Sequence

from enginescope.analysis.plan_comparison.comparison import (
    Comparison,
    LayerComparison,
    differing_modes,
    listed,
)
from enginescope.analysis.plan_comparison.layer_changes import (
    Cause,
    Change,
    ComparedLayers,
    Explanation,
    Relation,
)
from enginescope.analysis.plan_comparison.plans_overview import LatencyFigure, PlanSummary
from enginescope.analysis.verdicts.measured_sides import MeasuredComparison
from enginescope.core.units import format_bytes
from enginescope.judge.units import counted, format_ms, format_significant, range_text
from enginescope.judge.verdict import VerdictKind
from enginescope.records.plan.plan import Evidence
from enginescope.render.base.data_table import UNKNOWN, number_text, or_dash
from enginescope.render.base.phrases import in_text, metric_title, within_sentence

_CAUSES = {
    Cause.ONE_SIDED: "timed on one side only",
    Cause.REFORMAT_LOST: "lost",
    Cause.REFORMAT_ADDED: "added",
    Cause.ONLY_A: "only in A",
    Cause.ONLY_B: "only in B",
    Cause.FUSION: "fused otherwise",
    Cause.SHAPES: "other shapes",
    Cause.BATCH: "other batch",
    Cause.PRECISION: "other precision",
    Cause.TACTIC: "other tactic",
    Cause.FORMAT: "other format",
    Cause.KIND: "another kind of layer",
    Cause.NOTHING: "cause unknown: only times differ",
    Cause.OUTSIDE: "not assigned to a layer that launches work",
}


def answer(
    found: Comparison, threshold_pct: float, measured: MeasuredComparison | None = None
) -> str:
    """Say which layers take less time in the profiles, and whether they were measured alike.

    Args:
        measured: Verdicts on the runs, if all sides were measured.
    """
    text = _layers_sentence(found, threshold_pct)
    mark = "" if measured else network_mark(found)
    text = f"{mark}{within_sentence(text)}" if mark else text
    pairs = measured.pairs if measured is not None else ()
    is_unlike = any(pair.headline.kind is VerdictKind.INCOMPARABLE for pair in pairs)
    unlike = {"W-OTHER-GPU", "W-OTHER-MODE", "W-OTHER-PROFILE"}  # profiles of other conditions
    if is_unlike or any(notice.code in unlike for notice in found.notices):
        text = f"{text}; the runs were not measured alike"
    return f"{text}."


def network_mark(found: Comparison) -> str:
    """Return what an answer begins with where the sides may be two networks; else nothing."""
    doubt = next((one.evidence for one in found.notices if one.code == "W-OTHER-NETWORK"), None)
    if doubt is None:
        return ""
    return f"Perhaps two networks ({doubt['paired']:,} of {doubt['of']:,} layers are paired): "


def _layers_sentence(found: Comparison, threshold_pct: float) -> str:
    plans, layers = found.overview.plans, found.layers
    times = [plan.sum_ms for plan in plans]
    if layers is None:
        return _least(plans)
    a_ms, b_ms = times
    if not a_ms or b_ms is None:
        missing = "the plans have" if a_ms is None and b_ms is None else "one plan has"
        return f"The layers' times cannot be compared: {missing} no layer times"
    per_item = [plan.sum_per_item_ms for plan in plans]
    if plans[0].batch == plans[1].batch or None in per_item:
        return f"The layers of {_compared(plans, times, threshold_pct)}"
    batches = (f"{format_ms(one.sum_ms)} for {one.label}'s batch of {one.batch}" for one in plans)
    text = f"Per item the layers of {_compared(plans, per_item, threshold_pct)}"
    return f"{text}; they take {' and '.join(batches)}"


def _compared(
    plans: Sequence[PlanSummary], times: Sequence[float | None], threshold_pct: float
) -> str:
    """Return ``B take 28.7 % less time in the profiles than those of A: 4.188 ms against …``."""
    (first, second), (a, b) = (time or 0.0 for time in times), (plan.label for plan in plans)
    percent = 100 * (second / first - 1)
    if abs(percent) <= threshold_pct:
        same = f"take the same time in the profiles within {threshold_pct:g} %"
        return f"{a} and {b} {same}: {format_ms(first)} and {format_ms(second)}"
    less = f"{format_significant(abs(percent))} % {'less' if percent < 0 else 'more'} time"
    text = f"{b} take {less} in the profiles than those of {a}"
    return f"{text}: {format_ms(second)} against {format_ms(first)}"


def _times(plans: Sequence[PlanSummary]) -> tuple[list[float | None], str]:
    """Return the times that can be compared, per item if batches vary, and their unit."""
    timed = [plan for plan in plans if plan.sum_ms is not None]
    if len({plan.batch for plan in timed}) > 1 and all(plan.sum_per_item_ms for plan in timed):
        return [plan.sum_per_item_ms for plan in plans], " per item"
    return [plan.sum_ms for plan in plans], ""


def _least(plans: Sequence[PlanSummary]) -> str:
    times, unit = _times(plans)
    known = [(time, at) for at, time in enumerate(times) if time]
    if not known:
        return "The layers' times cannot be compared: the plans have no layer times"
    (least, at), base = min(known), times[0]
    text = f"The layers of {plans[at].label} take the least time in the profiles"
    text += f": {format_ms(least)}{unit}"
    if at == 0 or not base:
        return text
    less = format_significant(100 * (1 - least / base))
    return f"{text}, {less} % less than those of {plans[0].label}, {format_ms(base)}"


def against_first(plans: tuple[PlanSummary, ...], threshold_pct: float) -> tuple[str, ...]:
    """Say of each further plan how much time its layers take against those of the first."""
    times, unit = _times(plans)
    return tuple(
        f"The layers of {_compared((plans[0], plan), (times[0], time), threshold_pct)}{unit}."
        for plan, time in zip(plans[1:], times[1:], strict=True)
        if times[0] and time
    )


def pairing_sentence(layers: LayerComparison, plans: tuple[PlanSummary, ...]) -> str:
    """Say how many layers have a counterpart, and what of these differs."""
    a, b = plans[:2]
    paired = [layer for layer in layers.layers if layer.a and layer.b]
    groups = sum(one.relation is not Relation.PAIR for one in paired)
    counts = {
        what: sum(one.change(what) is not None for one in paired)
        for what in ("precision", "tactic", "format")
    }
    text = f"{counted(len(paired), 'pair')} among {a.totals.active_layers:,} and "
    text += f"{b.totals.active_layers:,} layers"
    text += f", {groups:,} of them fused otherwise" if groups else ""
    differing = [f"{count:,} in {what}" for what, count in counts.items() if count]
    if not differing:
        return f"{text}; none differs in precision, tactic or format"
    return f"{text}; they differ: {', '.join(differing)}"


def cause_text(one: Explanation, label: str = "B") -> str:
    """Return ``Convolution: FP32 → FP16``; `label` is the plan that is compared with A."""
    return cause_words(one.cause, one.kind, one.detail, ("A", label))


def cause_words(cause: Cause, kind: str | None, detail: str | None, labels: tuple[str, str]) -> str:
    """Return the words of a cause; `labels` name both plans."""
    words = _CAUSES[cause]
    if cause in (Cause.ONLY_A, Cause.ONLY_B):
        words = f"only in {labels[cause is Cause.ONLY_B]}"
    if cause is Cause.PRECISION and detail:
        words = detail
    elif detail:
        words = f"{words}, {detail}"
    return f"{kind}: {words}" if kind else words


def evidence_text(one: ComparedLayers) -> str:
    """Return why layers are paired, with the score."""
    if one.evidence is None or one.score is None:
        return UNKNOWN
    words = {
        Evidence.NAME: "same name",
        Evidence.ONNX_NODES: "same ONNX nodes",
        Evidence.STRUCTURE: "same structure, in order",
        Evidence.NEIGHBOURHOOD: "same neighbors",
    }
    return f"{words[one.evidence]}, {one.score:.2g}"


def change_text(one: Change) -> str:
    """Return a change with its two sides: ``FP32 → FP16``."""
    return f"({one.a}) to ({one.b})" if " → " in one.a or " → " in one.b else f"{one.a} → {one.b}"


def changes_text(one: ComparedLayers) -> str:
    """Return in a few words what differs: a precision with both, others by name."""
    precision, relation = one.change("precision"), None
    if one.relation in (Relation.ONLY_A, Relation.ONLY_B):
        relation = f"only in {'A' if one.relation is Relation.ONLY_A else 'B'}"
    elif one.a and one.b and one.relation is not Relation.PAIR:
        relation = f"fused {len(one.a.layers)} → {len(one.b.layers)}"
    rest = [change.what for change in one.changes if change.what != "precision"]
    words = [relation, change_text(precision) if precision else None, *rest]
    return ", ".join(filter(None, words)) or "nothing"


def latency_text(figure: LatencyFigure | None) -> str:
    """Return a median with its interval, or what the tool printed."""
    if figure is None:
        return UNKNOWN
    if figure.source == "printed":
        mean = format_ms(figure.mean_ms) if figure.mean_ms is not None else UNKNOWN
        return f"mean {mean} (printed)"
    median = f"median {format_ms(figure.median_ms)}"
    interval = figure.median_interval
    if interval is None:
        return f"{median}, no interval: too few samples"
    return f"{median}, 95 % CI {range_text(interval.low, interval.high)} ms"


def requests_text(plans: tuple[PlanSummary, ...]) -> str | None:
    """Return the times of whole requests, where all plans have one, and what mode differs."""
    texts = [f"{name}: {listed(known)}" for name, known in differing_modes(plans).items()]
    for metric in ("gpu_compute", "latency", "trtexec_latency"):
        figures = [(plan.label, plan.latency(metric)) for plan in plans]
        if all(figure for _, figure in figures):
            each = (f"{label} {latency_text(figure)}" for label, figure in figures)
            texts.insert(0, f"{in_text(metric)}: {'; '.join(each)}")
            break
    return "; ".join(texts) or None


def plan_facts(plans: tuple[PlanSummary, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return what is known of plans: rows of a name and a text for each plan."""
    metrics = dict.fromkeys(latency.metric for plan in plans for latency in plan.latencies)
    pairs = ((plan.latency("trtexec_latency"), plan.latency("gpu_compute")) for plan in plans)
    if all(a and b and a.mean_ms == b.mean_ms for a, b in pairs):
        metrics.pop("trtexec_latency", None)  # trtexec's is the same without transfers
    rows: list[tuple[str, tuple[str, ...]]] = [
        ("GPU", tuple(one.gpu or UNKNOWN for one in plans)),
        ("TensorRT", tuple(one.tensorrt or UNKNOWN for one in plans)),
        ("batch", tuple(UNKNOWN if one.batch is None else f"{one.batch:,}" for one in plans)),
        ("layers", tuple(f"{one.totals.active_layers:,}" for one in plans)),
        ("layer times, sum", tuple(or_dash(one.sum_ms, format_ms) for one in plans)),
        ("… per item", tuple(or_dash(one.sum_per_item_ms, format_ms) for one in plans)),
        *(
            (metric_title(metric), tuple(latency_text(one.latency(metric)) for one in plans))
            for metric in metrics
        ),
        ("throughput", tuple(_rate(one) for one in plans)),
        ("weights", _sizes(one.totals.weights_bytes for one in plans)),
        ("activations", _sizes(one.totals.activation_bytes for one in plans)),
        ("at the peak", _sizes(one.memory.nbytes if one.memory else None for one in plans)),
        ("precision", tuple(_precisions(one) for one in plans)),
    ]
    return tuple((name, cells) for name, cells in rows if set(cells) - {UNKNOWN})


def _sizes(values: Iterable[int | None]) -> tuple[str, ...]:
    return tuple(or_dash(value, format_bytes) for value in values)


def _rate(one: PlanSummary) -> str:
    if one.items_per_s is not None:
        return f"{format_significant(one.items_per_s, 4)} items/s"
    if one.throughput is not None:
        return f"{format_significant(one.throughput.per_s, 4)} queries/s"
    return UNKNOWN


def _precisions(one: PlanSummary) -> str:
    """Shares of the time by precision; of the layers where none is timed."""
    timed = one.sum_ms is not None
    whole = one.sum_ms if timed else one.totals.active_layers
    amounts = [(share.key, share.time_ms if timed else share.layers) for share in one.by_precision]
    shown = [(key or "not known", 100 * (of or 0.0) / whole) for key, of in amounts if whole]
    shown = [pair for pair in shown if pair[1] >= 0.05][:3]
    text = ", ".join(f"{key} {number_text(part, 0)} %" for key, part in shown)
    return (f"{text} of time" if timed else f"{text} of layers") if text else UNKNOWN
