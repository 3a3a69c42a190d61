"""What makes plans hard to compare, as notices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from enginescope.analysis.layer_comparison import LayerComparison
from enginescope.analysis.plan_summary import ComparedPlan, PlanSummary
from enginescope.model.notice import Notice

#: Mean times over fewer iterations than this are hardly means.
_FEW_ITERATIONS = 10
#: Plans of which a smaller part than this is paired may be of two networks.
_LEAST_PAIRED = 0.5
#: Field of a run's mode -> what it is called.
_MODES = {
    "kind": "measured for",
    "in_flight": "in flight",
    "transfers": "host-device copies",
    "cuda_graph": "CUDA graph",
    "spin_wait": "spin wait",
    "streams": "streams",
    "cold": "L2 cache flushed",
}


def comparison_notices(
    plans: Sequence[ComparedPlan], found: LayerComparison | None
) -> tuple[Notice, ...]:
    """Return what must be known before the differences are believed, the weightiest first."""
    summaries = [one.summary for one in plans]
    return (
        *_conditions(summaries),
        *_modes(summaries),
        *_times(summaries),
        *(_networks(summaries, found) if found else ()),
        *(_labelled(one.label, notice) for one in plans for notice in one.view.notices),
    )


def _conditions(plans: Sequence[PlanSummary]) -> Iterator[Notice]:
    facts: tuple[tuple[str, str, Callable[[PlanSummary], object], str], ...] = (
        ("W-OTHER-GPU", "GPU", lambda one: one.gpu, "part of the difference is the GPU's"),
        (
            "W-OTHER-TENSORRT",
            "TensorRT version",
            lambda one: one.tensorrt,
            "part of the difference is TensorRT's",
        ),
        ("W-OTHER-BATCH", "batch", lambda one: one.batch, "compare the times per item"),
    )
    unknown = []
    for code, what, fact, so in facts:
        values = {one.label: fact(one) for one in plans}
        known = {label: value for label, value in values.items() if value is not None}
        if len(set(known.values())) > 1:
            message = f"not the same {what} ({_listed(known)}): {so}"
            yield Notice(code=code, message=message, evidence=known)
        if len(known) < len(values):
            missing = ", ".join(label for label in values if label not in known)
            unknown.append(f"{what} of {missing if known else 'any plan'}")
    if unknown:
        yield Notice(
            code="I-CONDITIONS-UNKNOWN",
            message=f"the files do not say: {'; '.join(unknown)}",
            evidence={"unknown": unknown},
            level="info",
        )


def _modes(plans: Sequence[PlanSummary]) -> Iterator[Notice]:
    """Ways in which the requests were issued that are known and not the same."""
    timed = [one for one in plans if one.latencies]
    differing = {}
    for field, name in _MODES.items():
        values = {one.label: getattr(one.mode, field) for one in timed}
        known = {label: value for label, value in values.items() if value is not None}
        if len(set(known.values())) > 1:
            differing[name] = known
    if differing:
        listed = "; ".join(f"{name}: {_listed(known)}" for name, known in differing.items())
        yield Notice(
            code="W-OTHER-MODE",
            message=f"requests were not issued alike ({listed}): their times differ by that too",
            evidence=differing,
        )


def _listed(known: Mapping[str, object]) -> str:
    """Return each value with the plans that have it: ``A, B yes, C no``."""
    groups: dict[str, list[str]] = {}
    for label, value in known.items():
        groups.setdefault(_word(value), []).append(label)
    return ", ".join(f"{', '.join(labels)} {value}" for value, labels in groups.items())


def _word(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _times(plans: Sequence[PlanSummary]) -> Iterator[Notice]:
    untimed = [one.label for one in plans if one.sum_ms is None]
    if untimed:
        yield Notice(
            code="W-NO-LAYER-TIMES",
            message=f"no layer times of {', '.join(untimed)}: only the structure is compared; "
            "trtexec --exportProfile writes them",
            evidence={"plans": untimed},
        )
    few = {one.label: one.iterations for one in plans if _is_few(one.iterations)}
    if few:
        yield Notice(
            code="W-FEW-ITERATIONS",
            message=f"layer times are means of few iterations ({_listed(few)}): small differences "
            "may be chance",
            evidence=few,
        )


def _is_few(iterations: int | None) -> bool:
    return iterations is not None and iterations < _FEW_ITERATIONS


def _networks(plans: Sequence[PlanSummary], found: LayerComparison) -> Iterator[Notice]:
    smaller = min(one.totals.active_layers for one in plans)
    paired = sum(
        min(len(one.a.layers), len(one.b.layers)) for one in found.layers if one.a and one.b
    )
    if smaller and paired < _LEAST_PAIRED * smaller:
        yield Notice(
            code="W-OTHER-NETWORK",
            message=f"only {paired:,} of {smaller:,} layers have a counterpart: these may be two "
            "networks",
            evidence={"paired": paired, "of": smaller},
        )


def _labelled(label: str, notice: Notice) -> Notice:
    return Notice(
        code=notice.code,
        message=f"{label}: {notice.message}",
        evidence={"plan": label, **notice.evidence},
        level=notice.level,
    )
