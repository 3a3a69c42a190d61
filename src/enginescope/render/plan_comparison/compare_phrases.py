"""A comparison of plans in words: the one voice of terminal and page."""

from __future__ import annotations

from enginescope.analysis.plan_comparison.comparison import Comparison
from enginescope.analysis.plan_comparison.difference_causes import Cause, Explanation
from enginescope.analysis.plan_comparison.layer_changes import Change, ComparedLayers, Relation
from enginescope.analysis.plan_comparison.layer_comparison import LayerComparison
from enginescope.analysis.plan_comparison.plan_summary import LatencyFigure, PlanSummary
from enginescope.core.units import format_bytes, format_ms, format_significant
from enginescope.records.plan.plan import Evidence
from enginescope.render.base.data_table import UNKNOWN, number_text
from enginescope.render.base.phrases import in_text, metric_title, range_text

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
    Cause.NOTHING: "nothing but the time",
    Cause.OUTSIDE: "not assigned to a layer that launches work",
}
_EVIDENCE = {
    Evidence.NAME: "same name",
    Evidence.ONNX_NODES: "same ONNX nodes",
    Evidence.STRUCTURE: "same structure, in order",
    Evidence.NEIGHBOURHOOD: "same neighbors",
}
_SHARES_SHOWN = 3


def answer(found: Comparison, threshold_pct: float) -> str:
    """Say which of the plans is faster, by the sum of their layers."""
    layers = found.layers
    if layers is None:
        return _fastest(found)
    if layers.difference_ms is None or layers.difference_pct is None:
        known = [one for one in (layers.a_ms, layers.b_ms) if one is not None]
        missing = "one plan has" if known else "the plans have"
        return f"Which is faster is not known: {missing} no layer times."
    per_item = _per_item(found.overview.plans, threshold_pct)
    if per_item is not None:
        return per_item
    percent = abs(layers.difference_pct)
    times = f"{format_ms(layers.a_ms)} in A and {format_ms(layers.b_ms)} in B"
    amount = format_ms(abs(layers.difference_ms), 3)
    share = format_significant(percent)
    if percent <= threshold_pct:
        within = f"{threshold_pct:g} %"
        return f"A and B differ by less than {within}: the layers add up to {times}."
    word, less = ("faster", "less") if layers.difference_ms < 0 else ("slower", "more")
    return (
        f"B is {word}: its layers add up to {format_ms(layers.b_ms)}, {amount} ({share} %) "
        f"{less} than A's {format_ms(layers.a_ms)}."
    )


def _fastest(found: Comparison) -> str:
    timed = [plan for plan in found.overview.plans if plan.sum_ms is not None]
    if not timed:
        return "Which is fastest is not known: the plans have no layer times."
    per_item = len({one.batch for one in timed}) > 1 and all(one.sum_per_item_ms for one in timed)
    unit = " per item" if per_item else ""

    def time(one: PlanSummary) -> float:
        return (one.sum_per_item_ms if per_item else one.sum_ms) or 0.0

    best = min(timed, key=time)
    base = found.overview.plans[0]
    text = f"{best.label} is fastest: its layers add up to {format_ms(time(best))}{unit}"
    if best is base or base.sum_ms is None or not time(base):
        return f"{text}."
    less = format_significant(100 * (1 - time(best) / time(base)))
    return f"{text}, {less} % less than those of A, {format_ms(time(base))}."


def against_first(plans: tuple[PlanSummary, ...], threshold_pct: float) -> tuple[str, ...]:
    """Say of each further plan how the sum of its layers differs from that of the first."""
    base, *others = plans
    is_per_item = len({one.batch for one in plans}) > 1
    times = [one.sum_per_item_ms if is_per_item else one.sum_ms for one in plans]
    unit = " per item" if is_per_item else ""
    return tuple(
        f"{one.label} {_than(second / first, base.label, threshold_pct)}, "
        f"{format_ms(second)}{unit} against {format_ms(first)}."
        for one, first, second in zip(others, times[:1] * len(others), times[1:], strict=True)
        if first and second is not None
    )


def _than(ratio: float, base: str, threshold_pct: float) -> str:
    percent = 100 * (ratio - 1)
    if abs(percent) <= threshold_pct:
        return f"and {base} differ by less than {threshold_pct:g} %"
    word, less = ("faster", "less") if percent < 0 else ("slower", "more")
    return f"is {word} than {base}: {format_significant(abs(percent))} % {less} time"


def _per_item(plans: tuple[PlanSummary, ...], threshold_pct: float) -> str | None:
    """Answer per item where the batches are known and not the same."""
    a, b = plans[:2]
    first, second = a.sum_per_item_ms, b.sum_per_item_ms
    if a.batch == b.batch or not first or not second:
        return None
    whole = f"{format_ms(a.sum_ms)} for A's batch of {a.batch} and {format_ms(b.sum_ms)} for B's "
    whole += f"batch of {b.batch}"
    percent = 100 * (second / first - 1)
    each = f"the layers add up to {format_ms(first)} in A and {format_ms(second)} in B: {whole}"
    if abs(percent) <= threshold_pct:
        return f"Per item A and B differ by less than {threshold_pct:g} %: {each}."
    word, less = ("faster", "less") if percent < 0 else ("slower", "more")
    share = format_significant(abs(percent))
    return (
        f"Per item B is {word}: its layers add up to {format_ms(second)}, {share} % {less} than "
        f"A's {format_ms(first)}; it is {whole}."
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
    differing = ", ".join(f"{what} {count:,}" for what, count in counts.items() if count)
    text = f"{len(paired):,} {'pair' if len(paired) == 1 else 'pairs'}"
    text += f" among {a.totals.active_layers:,} and {b.totals.active_layers:,} layers"
    text += f", {groups:,} of them fused otherwise" if groups else ""
    return f"{text}; another {differing}" if differing else f"{text}; none differs"


def cause_text(one: Explanation, label: str = "B") -> str:
    """Return ``Convolution: FP32 → FP16``; `label` is the plan that is compared with A."""
    words = f"only in {label}" if one.cause is Cause.ONLY_B else _CAUSES[one.cause]
    if one.cause is Cause.PRECISION and one.detail:
        words = one.detail
    elif one.detail:
        words = f"{words}, {one.detail}"
    return f"{one.kind}: {words}" if one.kind else words


def evidence_text(one: ComparedLayers) -> str:
    """Return why layers are paired, with the score."""
    if one.evidence is None or one.score is None:
        return UNKNOWN
    return f"{_EVIDENCE[one.evidence]}, {one.score:.2g}"


def relation_text(one: ComparedLayers) -> str | None:
    """Return how the sides stand to each other; ``None`` for one layer and one."""
    if one.relation is Relation.ONLY_A:
        return "only in A"
    if one.relation is Relation.ONLY_B:
        return "only in B"
    if one.a is None or one.b is None or one.relation is Relation.PAIR:
        return None
    return f"fused {len(one.a.layers)} → {len(one.b.layers)}"


def change_text(one: Change) -> str:
    """Return a change with its two sides: ``FP32 → FP16``."""
    if " → " in one.a or " → " in one.b:
        return f"({one.a}) to ({one.b})"
    return f"{one.a} → {one.b}"


def changes_text(one: ComparedLayers, *, brief: bool = False) -> str:
    """Return in a few words what differs: a precision with both, others by name.

    `brief`: what follows from another precision, as another tactic does, is left out.
    """
    precision = one.change("precision")
    rest = [change.what for change in one.changes if change.what != "precision"]
    if brief and precision:
        rest = [what for what in rest if what in ("shapes", "batch")]
    words = [relation_text(one), change_text(precision) if precision else None, *rest]
    return ", ".join(word for word in words if word) or "the time"


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


def requests_sentence(plans: tuple[PlanSummary, ...]) -> str | None:
    """Set the times of whole requests side by side; ``None`` where not all plans have one."""
    for metric in ("gpu_compute", "latency", "trtexec_latency"):
        figures = [plan.latency(metric) for plan in plans]
        if all(figures):
            each = (
                f"{one.label} {latency_text(figure)}"
                for one, figure in zip(plans, figures, strict=True)
            )
            return f"{in_text(metric)}: {'; '.join(each)}"
    return None


def plan_facts(plans: tuple[PlanSummary, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return what is known of plans: rows of a name and a text for each plan."""
    metrics = dict.fromkeys(latency.metric for plan in plans for latency in plan.latencies)
    if "gpu_compute" in metrics:  # of trtexec's, the latency without transfers is the same
        metrics.pop("trtexec_latency", None) if _same_latencies(plans) else None
    rows: list[tuple[str, tuple[str, ...]]] = [
        ("GPU", tuple(one.gpu or UNKNOWN for one in plans)),
        ("TensorRT", tuple(one.tensorrt or UNKNOWN for one in plans)),
        ("batch", tuple(UNKNOWN if one.batch is None else f"{one.batch:,}" for one in plans)),
        ("layers", tuple(f"{one.totals.active_layers:,}" for one in plans)),
        ("sum of layers", tuple(_ms(one.sum_ms) for one in plans)),
        ("… per item", tuple(_ms(one.sum_per_item_ms) for one in plans)),
        *(
            (metric_title(metric), tuple(latency_text(one.latency(metric)) for one in plans))
            for metric in metrics
        ),
        ("throughput", tuple(_rate(one) for one in plans)),
        ("weights", tuple(_bytes(one.totals.weights_bytes) for one in plans)),
        ("activations", tuple(_bytes(one.totals.activation_bytes) for one in plans)),
        ("precision", tuple(_precisions(one) for one in plans)),
    ]
    return tuple((name, cells) for name, cells in rows if set(cells) - {UNKNOWN})


def _same_latencies(plans: tuple[PlanSummary, ...]) -> bool:
    pairs = ((plan.latency("trtexec_latency"), plan.latency("gpu_compute")) for plan in plans)
    return all(a and b and a.mean_ms == b.mean_ms for a, b in pairs)


def _ms(value: float | None) -> str:
    return UNKNOWN if value is None else format_ms(value)


def _bytes(value: int | None) -> str:
    return UNKNOWN if value is None else format_bytes(value)


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
    amounts = [(share.key, share.mean_ms if timed else share.layers) for share in one.by_precision]
    shown = [(key or "not known", 100 * (of or 0.0) / whole) for key, of in amounts if whole]
    shown = [pair for pair in shown if pair[1] >= 0.05][:_SHARES_SHOWN]
    text = ", ".join(f"{key} {number_text(part, 0)} %" for key, part in shown)
    return (f"{text} of time" if timed else f"{text} of layers") if text else UNKNOWN
