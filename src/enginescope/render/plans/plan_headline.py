"""The first screen of a plan that was not measured as a whole: its layers, their time, its size."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePath

from enginescope.core.units import format_bytes, format_ms, format_significant
from enginescope.render.base.facts import inputs_text
from enginescope.render.base.headline import Figure, Headline
from enginescope.render.base.phrases import metric_title
from enginescope.render.plans.layer_counts import timed_at_rest
from enginescope.render.plans.page_subject import PageSubject
from enginescope.rules.base import Severity


def plan_title(subject: PageSubject) -> str:
    """Return ``resnet18 · plan · 1×3×224×224``."""
    run = subject.view.run
    parts = (run.job.subject.name, "plan" if run.plan else "layer times", inputs_text(run))
    return " · ".join(part for part in parts if part)


def plan_about(subject: PageSubject) -> tuple[str, ...]:
    """Return GPU, TensorRT and the files that were read."""
    run = subject.view.run
    version = subject.tensorrt_version
    names = [PurePath(artifact.path).name for artifact in run.artifacts]
    more = f" and {len(names) - 1} beside it" if len(names) > 1 else ""
    return (
        subject.made_on or "GPU not known",
        f"TensorRT {version}" if version else "version of TensorRT not known",
        *((f"from {names[0]}{more}",) if names else ()),
    )


def plan_headline(subject: PageSubject) -> Headline:
    """Return the sum of layer times, then layers, weights, activations, precisions, findings."""
    beside = (_layers(subject), *_sizes(subject), *_precisions(subject), *_findings(subject))
    main = _sum(subject)
    if main is None:
        return Headline(main=beside[0], beside=beside[1:])
    return Headline(main=main, beside=beside)


def _sum(subject: PageSubject) -> Figure | None:
    view = subject.view
    found = view.layer_sum
    if found is None:
        return None
    count = f" of {found.iterations:,} iterations" if found.iterations else ""
    printed = (
        f"{metric_title(one.metric)} without one: {format_ms(one.mean_ms)}"
        for one in (view.run.tool.summaries if view.run.tool else ())
        if one.metric == "gpu_compute" and one.mean_ms is not None
    )
    note = "\n".join((f"{found.statistic}s{count}, under a profiler", *printed))
    return Figure(label="layer times, sum", value=format_ms(found.sum_ms), note=note)


def _layers(subject: PageSubject) -> Figure:
    totals = subject.view.plan_totals
    if totals is None:
        return Figure(label="layers", value=f"{len(subject.layers):,}", note="times, no plan")
    note = f"{totals.active_layers:,} do work"
    timed = timed_at_rest(subject.layers)
    if timed:
        note += f"\n{timed:,} that {'launches' if timed == 1 else 'launch'} no kernel took time"
    if subject.view.run.profile is None:
        is_foreign = subject.view.given.profile is not None
        why = (
            "those given are of another build"
            if is_foreign
            else "none were given or found beside the plan"
        )
        note += f"\nno layer times: {why}"
    return Figure(label="layers", value=f"{totals.layers:,}", note=note)


def _sizes(subject: PageSubject) -> tuple[Figure, ...]:
    totals = subject.view.plan_totals
    if totals is None or subject.view.run.plan is None:
        return ()
    if subject.view.run.plan.source_schema == "names-only":
        return ()
    moved = format_bytes(totals.activation_bytes)
    parts = totals.whole_parts
    inside = f"without those inside {parts:,} {'layer' if parts == 1 else 'layers'}"
    return (
        Figure(
            label="weights",
            value=format_bytes(totals.weights_bytes),
            note=inside if parts else None,
        ),
        Figure(label="activations", value=moved, note="read and written"),
    )


def _precisions(subject: PageSubject) -> tuple[Figure, ...]:
    """How the time, or without times the layers that work, are split; the two greatest parts."""
    shares = [one for one in subject.view.time_by_precision if one.share_pct and one.key]
    if shares:
        parts = [(share.key or "", share.share_pct or 0.0) for share in shares]
        return _split(parts, "of the time")
    known = [row.precision for row in subject.layers if row.precision and not row.is_inert]
    counts = Counter(known).most_common()
    return _split([(name, 100 * count / len(known)) for name, count in counts], "of the layers")


def _split(parts: list[tuple[str, float]], of_what: str) -> tuple[Figure, ...]:
    texts = [f"{name} {format_significant(share)} %" for name, share in parts]
    if not texts:
        return ()
    note = "\n".join((of_what, *((", ".join(texts[1:3]),) if texts[1:] else ())))
    return (Figure(label="precision", value=texts[0], note=note),)


def _findings(subject: PageSubject) -> tuple[Figure, ...]:
    report = subject.findings
    if report is None:
        return ()
    warnings = sum(finding.severity is not Severity.INFO for finding in report.findings)
    note = f"{warnings:,} {'warning' if warnings == 1 else 'warnings'}"
    return (Figure(label="findings", value=f"{len(report.findings):,}", note=note),)
