"""What a report over several runs begins with: all of them over each other, and the fastest."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from enginescope.analysis.claims import run_claims
from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.verdicts.comparability import differences, varying_conditions
from enginescope.judge.units import format_ms
from enginescope.render.base.facts import backend_text
from enginescope.render.base.figures import UNKNOWN, TextTable, cells_without_samples, interval_cell
from enginescope.render.base.phrases import in_text, outcome_text
from enginescope.render.base.short_names import BETWEEN, told_apart
from enginescope.render.charts.estimates import latency_medians
from enginescope.render.charts.overlay import MOST_OVERLAID, overlay
from enginescope.render.html.images import Chart
from enginescope.render.verdicts.verdict_phrases import side_names


def overview(views: Sequence[RunView], anchors: tuple[str, ...]) -> dict[str, Any]:
    """Return what the page's template shows before the runs, by its names."""
    return {
        "names": told_apart(side_names([view.run.job for view in views])).labels,
        "overview": overview_rows(views, anchors),
        "fastest": overview_sentence(views),
        "laid_over": overview_chart(views),
    }


def overview_rows(views: Sequence[RunView], anchors: tuple[str, ...] = ()) -> TextTable:
    """Return one row per run; its first cell leads to the run's place in a page."""
    apart = told_apart([backend_text(view.run.job.backend) for view in views])
    varying = varying_conditions([view.run for view in views])
    rows = tuple(
        (
            view.id[:8],
            view.run.job.subject.name,
            backend,
            UNKNOWN if view.run.job.workload.batch is None else str(view.run.job.workload.batch),
            *_cells(view),
            outcome_text(view.run.outcome),
            *(values[at] or UNKNOWN for values in varying.values()),
        )
        for at, (view, backend) in enumerate(zip(views, apart.labels, strict=True))
    )
    headers = (
        *("Run", "Subject", "Backend", "Batch", "Median", "95 % CI ms", "p99", "n", "Outcome"),
        *(f"{title[:1].upper()}{title[1:]}" for title in varying),
    )
    return TextTable(
        title=f"All runs of this report; {run_claims.MARKED}"
        + (f"; conditions differ: {', '.join(varying)}" if varying else "")
        + (f"; {apart.shared}" if apart.shared else ""),
        headers=headers,
        rows=rows,
        numbers=headers[3:8],
        links=tuple(f"#{one}" for one in anchors),
    )


def _cells(view: RunView) -> tuple[str, str, str, str]:
    latency = view.latency
    if latency is None:
        return cells_without_samples(view, format_ms)
    return (
        format_ms(latency.median_ms),
        interval_cell(latency.median_interval),
        run_claims.cell(latency.percentile(99), format_ms),
        f"{latency.n:,}",
    )


def overview_chart(views: Sequence[RunView]) -> Chart | None:
    """Return the runs on one scale: their distributions, medians where there are many.

    Of the metric that most runs have; ``None`` where no two have one in common.
    """
    labelled = _alike(views)
    if len(labelled) < 2:
        return None
    samples = [(label, view.run.headline) for label, view in labelled]
    series = [(label, found.values_ms) for label, found in samples if found is not None]
    latency = labelled[0][1].latency
    metric = in_text(latency.metric) if latency else "latency"
    title = f"{metric[:1].upper()}{metric[1:]} of all runs, on one scale"
    if len(series) > MOST_OVERLAID:
        return latency_medians(labelled, key="all_runs", title=title)
    medians = [view.latency.median_ms if view.latency else None for _, view in labelled]
    lines = ("Vertical lines are medians; a name in the legend shows its run alone",)
    return overlay("run", series, medians).chart("all_runs", title, lines)


def overview_sentence(views: Sequence[RunView]) -> str | None:
    """Return which run has the lowest median.

    Returns:
        ``None``: no two can be compared, or some have other input shapes, so other work.
    """
    medians = [
        (view.latency.median_ms, label, view)
        for label, view in _alike(views)
        if view.latency is not None
    ]
    if len(medians) < 2:
        return None
    (least, label, first), *others = sorted(medians, key=lambda one: one[0])
    apart = [one.key for _, _, view in others for one in differences((first.run,), (view.run,))]
    if "shapes" in apart:
        return None
    most, _, last = others[-1]
    between = f"the {'highest is' if len(others) > 1 else 'other has'} {format_ms(most)}"
    return (
        f"{label} has the lowest median, {format_ms(least)}; {between}. "
        f"For a verdict with an interval: enginescope compare {last.id[:8]} {first.id[:8]}"
    )


def _alike(views: Sequence[RunView]) -> list[tuple[str, RunView]]:
    """Return the runs of the commonest metric under names that differ."""
    metrics = Counter(view.latency.metric for view in views if view.latency is not None)
    if not metrics:
        return []
    (metric, _), *_ = metrics.most_common(1)
    alike = [view for view in views if view.latency is not None and view.latency.metric == metric]
    names = told_apart(side_names([view.run.job for view in alike])).labels
    if len({name.rpartition(BETWEEN)[0] for name in names}) == 1:
        names = tuple(name.rpartition(BETWEEN)[2] for name in names)
    if len(set(names)) < len(names):
        names = tuple(f"{name} ({view.id[:6]})" for name, view in zip(names, alike, strict=True))
    return list(zip(names, alike, strict=True))
