"""A build on one screen.

Formats and evidence of a builder's choices, in words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from enginescope.analysis.build_log.build_choices import Choice, ChoicePair, Option, choices
from enginescope.analysis.build_log.build_log_summary import (
    fusion_groups,
    reformat_costs,
    step_changes,
    tuning_costs,
    tuning_total_s,
)
from enginescope.core.units import format_bytes
from enginescope.formats.plan.tensor_format import parse_dtype
from enginescope.judge.units import format_significant, signed, with_sign
from enginescope.records.plan.build import BuildReport
from enginescope.records.plan.build_trace import (
    BuildTrace,
    ChosenTensor,
    OptimisationStep,
    TimingCacheUse,
)
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.render.base.facts import place_line, subject_line
from enginescope.render.base.figures import TextTable
from enginescope.render.base.short_names import column_apart
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
    kept = " (at build time; the engine comes from the cache)" if report.from_cache else ""
    targets = report.compute_capabilities
    product = "TensorRT for RTX" if targets else "TensorRT"
    pairs = (
        ("engine", f"{format_bytes(report.engine_bytes)}, {product} {report.tensorrt}"),
        ("runs on", f"compute capability {', '.join(targets)}" if targets else None),
        ("built in", f"{times}{kept}"),
        ("network", f"{report.layers:,} layers before fusion" if report.layers else None),
        ("peak", _peaks(report)),
    )
    return tuple((name, value) for name, value in pairs if value)


def _peaks(report: BuildReport) -> str | None:
    parts = ((report.peak_host_bytes, "of the host"), (report.peak_device_bytes, "of the GPU"))
    return ", ".join(f"{format_bytes(size)} {where}" for size, where in parts if size) or None


def _seconds(value_ms: float | None) -> str:
    return "not known" if value_ms is None else f"{value_ms / 1e3:.1f} s"


_UNKNOWN = "—"
_FORMAT = re.compile(r"^(\w+)\(([^)]*)\)$")
#: `Choice.evidence` in words.
EVIDENCE = {
    "timed": "timed",
    "ambiguous": "several times match",
    "not timed": "from the timing cache",
    "none": "not named in tuning",
    "inert": "does no work",
}


def chosen_formats(choice: Choice) -> str:
    """Return the formats a layer ended up with: ``FP16:8``, or ``FP32 → FP16:8``."""
    return _arrow([_of(one) for one in choice.layer.inputs], [_of(o) for o in choice.layer.outputs])


def option_formats(option: Option | None) -> str:
    """Return the formats of something that was tried; a dash for nothing."""
    if option is None:
        return _UNKNOWN
    return _arrow(
        [brief_format(one) for one in option.inputs],
        [brief_format(output) for output in option.outputs],
    )


def _arrow(inputs: list[str], outputs: list[str]) -> str:
    """Formats of a layer, each once: its inputs usually share one."""
    sides = ["+".join(dict.fromkeys(side)) for side in (inputs, outputs)]
    return sides[0] if sides[0] == sides[1] else " → ".join(one for one in sides if one)


def _of(tensor: ChosenTensor) -> str:
    name = tensor.dtype.value if tensor.dtype else tensor.format
    wide = tensor.vector_width is not None and tensor.vector_width > 1
    return f"{name}:{tensor.vector_width}" if wide else name


def brief_format(text: str) -> str:
    """``Half(25088,1:8,448,8)`` as ``FP16:8``: type and elements that lie together."""
    match = _FORMAT.match(text)
    if match is None:
        return text
    dtype = parse_dtype(match[1])
    widths = [one.partition(":")[2].strip() for one in match[2].split(",") if ":" in one]
    name = dtype.value if dtype else match[1]
    return f"{name}:{widths[0]}" if widths else name


_NAME = 44


def build_story_rows(
    story: BuildTrace, *, limit: int = 15, name_width: int = _NAME
) -> tuple[TextTable, ...]:
    """Return the story as tables; a part that the log does not have is left out.

    Args:
        limit: Rows of a table at most; a note says how many more there are.
        name_width: Columns of a layer's name, shortened in its middle.
    """
    tables = (
        _overview(story),
        _steps(story),
        _fusions(story, limit, name_width),
        _choices(story, limit, name_width),
        _tuning(story, limit, name_width),
        _reformats(story, limit, name_width),
        _memory(story),
        _messages(story, limit),
    )
    return tuple(table for table in tables if table.rows)


def build_fact_rows(story: BuildTrace, *, limit: int = 15) -> tuple[TextTable, ...]:
    """Return the parts of the story that are not about single layers, as `build_story_rows`."""
    tables = (_overview(story), _steps(story), _memory(story), _messages(story, limit))
    return tuple(table for table in tables if table.rows)


def comparison_rows(
    pairs: Sequence[ChoicePair], *, limit: int = 15, name_width: int = _NAME
) -> TextTable:
    """Return the layers whose choice differs between two builds, and how."""
    differing = [pair for pair in pairs if pair.differs]
    rows = [
        (
            one.name,
            ", ".join(one.differs),
            *(_side(choice) for choice in (one.a, one.b)),
            _us(one.change_ms, with_sign),
        )
        for one in differing[:limit]
    ]
    same = len(pairs) - len(differing)
    rest = _more(len(differing), limit)
    return TextTable(
        title="Choices that differ",
        headers=("layer", "differs in", "A", "B", "B − A µs"),
        rows=column_apart(rows, 0, name_width),
        numbers=("B − A µs",),
        note=_joined(rest, f"{same:,} of {len(pairs):,} layers were chosen alike"),
    )


def _overview(story: BuildTrace) -> TextTable:
    tried = [combination for block in story.tuned for combination in block.combinations]
    trials = sum(len(one.trials) for one in tried)
    pruned = sum(one.pruned or 0 for one in tried)
    figures = (
        *(
            (f"{stage.name} took", f"{format_significant(stage.seconds)} s")
            for stage in story.stages
        ),
        ("layers", " → ".join(f"{end.layers:,}" for end in _ends(story)) or None),
        ("formats tried", f"{len(tried):,}" if tried else None),
        ("tactics timed", f"{trials:,}" if tried else None),
        ("tactics rejected", f"{pruned:,}" if pruned else None),
        ("timing cache", _cache(story.cache)),
    )
    rows = tuple((name, value) for name, value in figures if value is not None)
    return TextTable(title="The build", headers=("what", "figure"), rows=rows)


def _cache(cache: TimingCacheUse) -> str | None:
    figures = ((cache.loaded, "entries loaded"), (cache.stored, "stored"), (cache.hits, "hits"))
    return ", ".join(f"{count:,} {what}" for count, what in figures if count is not None) or None


def _ends(story: BuildTrace) -> tuple[OptimisationStep, ...]:
    return (*story.steps[:1], *story.steps[1:][-1:])


def _steps(story: BuildTrace) -> TextTable:
    steps = step_changes(story)
    shown = [
        step
        for step in steps
        if step.change is None or step.change or step.fused or step.removed or step.retyped
    ]
    rows = tuple(
        (
            one.name,
            f"{one.layers:,}",
            _UNKNOWN if one.change is None else signed(one.change, 0),
            *(f"{count:,}" for count in (one.fused, one.removed, one.retyped)),
        )
        for one in shown
    )
    left_out = len(steps) - len(shown)
    headers = ("after", "layers", "change", "fused", "removed", "retyped")
    return TextTable(
        title="Layers after each step",
        headers=headers,
        rows=rows,
        numbers=headers[1:],
        note=f"skipped steps that changed nothing: {left_out:,}" if left_out else None,
    )


def _fusions(story: BuildTrace, limit: int, name_width: int) -> TextTable:
    groups = fusion_groups(story)
    kept = sorted((group for group in groups if group.in_engine), key=lambda one: -len(one.nodes))
    shown = kept or list(groups)
    rows = tuple(
        (one.name, f"{len(one.nodes):,}", ", ".join(dict.fromkeys(one.rules)))
        for one in shown[:limit]
    )
    inside = f"fusions that went into other layers: {len(groups) - len(kept):,}" if kept else None
    return TextTable(
        title="Fusions",
        headers=("layer", "nodes", "by"),
        rows=column_apart(rows, 0, name_width),
        numbers=("nodes",),
        note=_joined(_more(len(shown), limit), inside if len(groups) > len(kept) else None),
    )


def _choices(story: BuildTrace, limit: int, name_width: int) -> TextTable:
    found = (
        [choice for choice in choices(story) if choice.evidence != "inert"] if story.tuned else []
    )
    order = sorted(found, key=lambda one: (-(one.gap_ms or 0.0), -(one.chosen_ms or 0.0)))
    rows = tuple(
        (
            one.layer.name,
            chosen_formats(one),
            _us(one.chosen_ms) if one.chosen_ms is not None else EVIDENCE[one.evidence],
            _us(one.fastest.tactic.time_ms) if one.fastest else _UNKNOWN,
            _us(one.gap_ms),
            option_formats(one.fastest),
            f"{one.trials:,}",
        )
        for one in order[:limit]
    )
    counts = Counter(EVIDENCE[one.evidence] for one in found)
    counted = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    return TextTable(
        title="Chosen against fastest tried",
        headers=("layer", "formats", "chosen µs", "fastest µs", "gap µs", "fastest in", "tried"),
        rows=column_apart(rows, 0, name_width),
        numbers=("chosen µs", "fastest µs", "gap µs", "tried"),
        note=_joined(
            _more(len(order), limit),
            f"{counted}; the builder minimizes the sum, conversions included" if counted else None,
        ),
    )


def _tuning(story: BuildTrace, limit: int, name_width: int) -> TextTable:
    costs = tuning_costs(story)
    rows = tuple(
        (
            cost.name or f"unnamed: {cost.kind}s",
            f"{cost.combinations:,}",
            f"{cost.trials:,}",
            _UNKNOWN if cost.tuning_s is None else format_significant(cost.tuning_s),
            _UNKNOWN if cost.share_pct is None else f"{cost.share_pct:.1f}",
        )
        for cost in costs[:limit]
    )
    total_s = tuning_total_s(story)
    whole = f"timing took {format_significant(total_s)} s in all" if total_s is not None else None
    headers = ("layer", "formats", "tactics timed", "s", "%")
    return TextTable(
        title="What tuning cost",
        headers=headers,
        rows=column_apart(rows, 0, name_width),
        numbers=headers[1:],
        note=_joined(_more(len(costs), limit), whole),
    )


def _reformats(story: BuildTrace, limit: int, name_width: int) -> TextTable:
    costs = sorted(
        reformat_costs(story), key=lambda one: (one.became == "NoOp", -(one.time_ms or 0.0))
    )
    rows = tuple(
        (
            cost.name.removeprefix("Reformatted "),
            brief_format(cost.source),
            brief_format(cost.target),
            "none: a no-op" if cost.became == "NoOp" else _us(cost.time_ms),
            f"{len(cost.tried):,}",
        )
        for cost in costs[:limit]
    )
    return TextTable(
        title="Inserted conversions",
        headers=("conversion", "from", "to", "µs", "tried"),
        rows=column_apart(rows, 0, name_width),
        numbers=("µs", "tried"),
        note=_more(len(costs), limit),
    )


def _memory(story: BuildTrace) -> TextTable:
    stages = tuple(
        (
            one.name,
            _change(one.host_change_bytes),
            _bytes(one.host_bytes),
            _change(one.device_change_bytes),
            _bytes(one.device_bytes),
        )
        for one in story.memory
    )
    totals = ", ".join(f"{name} {format_bytes(size)}" for name, size in story.memory_totals.items())
    headers = ("stage", "host change", "host", "GPU change", "GPU")
    return TextTable(
        title="Memory by stage",
        headers=headers,
        rows=stages,
        numbers=headers[1:],
        note=totals or None,
    )


def _messages(story: BuildTrace, limit: int) -> TextTable:
    rows = tuple(
        (message.level, str(message.line), message.text) for message in story.messages[:limit]
    )
    return TextTable(
        title="Warnings and errors",
        headers=("level", "line", "text"),
        rows=rows,
        numbers=("line",),
        note=_more(len(story.messages), limit),
    )


def _side(choice: Choice | None) -> str:
    if choice is None:
        return "no such layer"
    time = f" {_us(choice.chosen_ms)} µs" if choice.chosen_ms is not None else ""
    return f"{choice.layer.type} {chosen_formats(choice)}{time}".strip()


def _us(value_ms: float | None, text: Callable[[float], str] = format_significant) -> str:
    return _UNKNOWN if value_ms is None else text(1e3 * value_ms)


def _bytes(value: int | None) -> str:
    return _UNKNOWN if value is None else format_bytes(value)


def _change(value: int | None) -> str:
    return _UNKNOWN if value is None else with_sign(value, format_bytes)


def _more(count: int, limit: int) -> str | None:
    return f"{count - limit:,} more" if count > limit else None


def _joined(*parts: str | None) -> str | None:
    return "; ".join(part for part in parts if part) or None
