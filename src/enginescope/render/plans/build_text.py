"""A build on one screen."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from enginescope.core.units import format_bytes
from enginescope.records.plan.build import BuildReport
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.render.base.facts import place_line, subject_line
from enginescope.render.base.text import failure_lines, label_row, notice_lines


def build_text(run: Run) -> RenderableType:
    """Return what was built, how long it took and what it takes; or why it failed."""
    title = Text(subject_line(run), style="bold")
    place = place_line(run)
    lines: list[RenderableType] = [title, *([Text(place, style="dim")] if place else []), Text()]
    if run.outcome.kind is not OutcomeKind.OK:
        lines += [*failure_lines(run), Text()]
    if run.build is not None:
        lines += [label_row(name, value) for name, value in build_facts(run.build)]
        lines.append(Text())
    return Group(*lines, *notice_lines(run.notices))


def build_facts(report: BuildReport) -> tuple[tuple[str, str], ...]:
    """Return a build as (name, value) pairs."""
    times = f"{_seconds(report.build_ms)}, parsing {_seconds(report.parse_ms)}"
    kept = " (then; taken from the cache now)" if report.from_cache else ""
    pairs = (
        ("engine", f"{format_bytes(report.engine_bytes)}, TensorRT {report.tensorrt}"),
        ("built in", f"{times}{kept}"),
        ("network", f"{report.layers:,} layers before fusion" if report.layers else None),
        ("peak", _peaks(report)),
    )
    return tuple((name, value) for name, value in pairs if value)


def _peaks(report: BuildReport) -> str | None:
    parts = (
        (report.peak_host_bytes, "of the host"),
        (report.peak_device_bytes, "of the GPU"),
    )
    return ", ".join(f"{format_bytes(size)} {where}" for size, where in parts if size) or None


def _seconds(value_ms: float | None) -> str:
    return "not known" if value_ms is None else f"{value_ms / 1e3:.1f} s"
