"""A build on one screen; formats and evidence of a builder's choices, in words."""

import re
from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from enginescope.analysis.build_log.build_log_summary import (
    Choice,
    ChoicePair,
    choices,
    fusion_groups,
    reformat_costs,
    step_changes,
    tuning_costs,
    tuning_total_s,
)
from enginescope.core.record import replace
from enginescope.core.units import format_bytes
from enginescope.formats.plan.tensor_format import parse_dtype
from enginescope.judge.units import format_significant, signed, with_sign
from enginescope.records.plan.build import BuildReport, LogMessage
from enginescope.records.plan.build_trace import BuildTrace, ChosenTensor
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.render.base.data_table import (
    UNKNOWN,
    DataTable,
    column,
    data_table,
    number_column,
    or_dash,
)
from enginescope.render.base.facts import Facts, options_line, place_line, subject_line
from enginescope.render.base.figures import TextTable
from enginescope.render.base.phrases import stated
from enginescope.render.base.text import failure_lines, label_row, notice_lines
from enginescope.render.plans.plan_tables import LAYER, text_table


def build_text(run: Run) -> RenderableType:
    """Return what was built, how long it took and what it takes; or why it failed."""
    title = Text(subject_line(run), style="bold")
    about = filter(None, (place_line(run), options_line(run)))
    lines: list[RenderableType] = [title, *(Text(text, style="dim") for text in about), Text()]
    if run.outcome.kind is not OutcomeKind.OK:
        lines += [*failure_lines(run), Text()]
    if run.build is not None:
        lines += [label_row(name, value) for name, value in build_facts(run.build)]
        lines.append(Text())
    return Group(*lines, *notice_lines(run.notices))


def build_facts(report: BuildReport) -> Facts:
    """Return a build as (name, value) pairs."""
    times = f"{_seconds(report.build_ms)}, parsing {_seconds(report.parse_ms)}"
    kept = " (at build time; the engine comes from the cache)" if report.from_cache else ""
    targets = report.compute_capabilities
    product = "TensorRT for RTX" if targets else "TensorRT"
    peaks = ((report.peak_host_bytes, "of the host"), (report.peak_device_bytes, "of the GPU"))
    return stated(
        ("engine", f"{format_bytes(report.engine_bytes)}, {product} {report.tensorrt}"),
        ("runs on", f"compute capability {', '.join(targets)}" if targets else None),
        ("built in", f"{times}{kept}"),
        ("network", f"{report.layers:,} layers before fusion" if report.layers else None),
        ("peak", ", ".join(f"{format_bytes(size)} {where}" for size, where in peaks if size)),
    )


def _seconds(value_ms: float | None) -> str:
    return "not known" if value_ms is None else f"{value_ms / 1e3:.1f} s"


def chosen_formats(choice: Choice) -> str:
    """Return the formats a layer ended up with: ``FP16:8``, or ``FP32 → FP16:8``."""
    return _arrow(map(_of, choice.layer.inputs), map(_of, choice.layer.outputs))


def _arrow(inputs: Iterable[str], outputs: Iterable[str]) -> str:
    """Formats of a layer, each once: its inputs usually share one."""
    sides = dict.fromkeys("+".join(dict.fromkeys(side)) for side in (inputs, outputs))
    return " → ".join(filter(None, sides))


def _of(tensor: ChosenTensor) -> str:
    name = tensor.dtype.value if tensor.dtype else tensor.format
    wide = tensor.vector_width is not None and tensor.vector_width > 1
    return f"{name}:{tensor.vector_width}" if wide else name


def brief_format(text: str) -> str:
    """``Half(25088,1:8,448,8)`` as ``FP16:8``: type and elements that lie together."""
    match = re.match(r"^(\w+)\(([^)]*)\)$", text)
    if match is None:
        return text
    dtype = parse_dtype(match[1])
    widths = [one.partition(":")[2].strip() for one in match[2].split(",") if ":" in one]
    name = dtype.value if dtype else match[1]
    return f"{name}:{widths[0]}" if widths else name


def build_tables(story: BuildTrace) -> tuple[DataTable | None, ...]:
    """Return the tables of single layers: fusions, choices, tuning, conversions."""
    return _fusions(story), _choices(story), _tuning(story), _conversions(story)


def build_story_rows(story: BuildTrace, *, limit: int = 15) -> tuple[TextTable, ...]:
    """Return the story as tables of so many rows; a part that the log does not have is left out."""
    costs = tuning_total_s(story)
    took = f"timing took {format_significant(costs)} s in all" if costs is not None else ""
    notes = ("", "the builder minimizes the sum, conversions included", took, "")
    pairs = zip(build_tables(story), notes, strict=True)
    texts = (text_table(table, limit, note=note) for table, note in pairs)
    overview, steps, memory = build_fact_rows(story)
    messages = text_table(message_table("build-messages", story.messages), limit)
    said = messages and replace(messages, has_long_names=False)
    every = (overview, steps, *texts, memory, said)
    return tuple(table for table in every if table and table.rows)


def build_fact_rows(story: BuildTrace) -> tuple[TextTable, TextTable, TextTable]:
    """Return the parts of the story that are not about single layers; they may be empty."""
    return _overview(story), _steps(story), _memory(story)


def message_table(key: str, messages: Sequence[LogMessage]) -> DataTable | None:
    """Return warnings and errors of a log."""
    columns = (
        column("Level", (one.level for one in messages), is_choice=True),
        column("Line", (one.line for one in messages), 0),
        column("Text", (one.text for one in messages)),
    )
    return data_table(key, "Warnings and errors", ("message", "messages"), columns)


def choice_table(pairs: Sequence[ChoicePair], limit: int = 15) -> TextTable:
    """Return the layers whose choice differs between two builds, and how."""
    differing = [pair for pair in pairs if pair.differs]
    rows = tuple(
        (
            one.name,
            ", ".join(one.differs),
            *(_side(choice) for choice in (one.a, one.b)),
            or_dash(one.change_ms, lambda ms: with_sign(1e3 * ms)),
        )
        for one in differing[:limit]
    )
    same = len(pairs) - len(differing)
    rest = f"{len(differing) - limit:,} more; " if len(differing) > limit else ""
    return TextTable(
        title="Choices that differ",
        headers=("layer", "differs in", "A", "B", "B − A µs"),
        rows=rows,
        numbers=("B − A µs",),
        note=f"{rest}{same:,} of {len(pairs):,} layers were chosen alike",
        shortened={"layer": 0},
        is_titled=True,
    )


def _overview(story: BuildTrace) -> TextTable:
    tried = [combination for block in story.tuned for combination in block.combinations]
    trials = sum(len(one.trials) for one in tried)
    pruned = sum(one.pruned or 0 for one in tried)
    ends, cache = (*story.steps[:1], *story.steps[1:][-1:]), story.cache
    cached = ((cache.loaded, "entries loaded"), (cache.stored, "stored"), (cache.hits, "hits"))
    rows = stated(
        *((f"{one.name} took", f"{format_significant(one.seconds)} s") for one in story.stages),
        ("layers", " → ".join(f"{end.layers:,}" for end in ends) or None),
        ("formats tried", f"{len(tried):,}" if tried else None),
        ("tactics timed", f"{trials:,}" if tried else None),
        ("tactics rejected", f"{pruned:,}" if pruned else None),
        ("timing cache", ", ".join(f"{n:,} {what}" for n, what in cached if n is not None)),
    )
    return TextTable(title="The build", headers=("what", "figure"), rows=rows)


def _steps(story: BuildTrace) -> TextTable:
    steps = step_changes(story)
    rows = tuple(
        (
            one.name,
            f"{one.layers:,}",
            UNKNOWN if one.change is None else signed(one.change, 0),
            *(f"{count:,}" for count in (one.fused, one.removed, one.retyped)),
        )
        for one in steps
        if one.change is None or one.change or one.fused or one.removed or one.retyped
    )
    left_out = len(steps) - len(rows)
    headers = ("after", "layers", "change", "fused", "removed", "retyped")
    title = "Layers after each step"
    note = f"skipped steps that changed nothing: {left_out:,}" if left_out else None
    return TextTable(title=title, headers=headers, rows=rows, numbers=headers[1:], note=note)


def _fusions(story: BuildTrace) -> DataTable | None:
    order = sorted(fusion_groups(story), key=lambda one: (not one.in_engine, -len(one.nodes)))
    became = ("a layer" if one.in_engine else "a part of others" for one in order)
    columns = (
        column("Layer", (one.name for one in order)),
        column("Nodes", (len(one.nodes) for one in order), 0),
        column("By", (", ".join(dict.fromkeys(one.rules)) or None for one in order)),
        column("Became", became, is_choice=True),
    )
    return data_table("build-fusions", "Fusions", ("fusion", "fusions"), columns)


def _choices(story: BuildTrace) -> DataTable | None:
    found = [one for one in choices(story) if one.evidence != "inert"] if story.tuned else []
    order = sorted(found, key=lambda one: (-(one.gap_ms or 0.0), -(one.chosen_ms or 0.0)))
    chosen = _us(one.chosen_ms for one in order)
    words = {
        "timed": "timed",
        "ambiguous": "several times match",
        "not timed": "from the timing cache",
        "none": "not named in tuning",
        "inert": "does no work",
    }
    evidence = [words[one.evidence] for one in order]
    pairs = zip(number_column(chosen), chosen, evidence, strict=True)
    texts = tuple(why if value is None else text for text, value, why in pairs)
    options = [one.fastest for one in order]
    fastest = _us(option.tactic.time_ms if option else None for option in options)
    fastest_in = (
        _arrow(map(brief_format, option.inputs), map(brief_format, option.outputs))
        if option
        else UNKNOWN
        for option in options
    )
    columns = (
        column("Layer", (one.layer.name for one in order)),
        column("Formats", (chosen_formats(one) or None for one in order)),
        column("Chosen µs", chosen, 2, meaning="in tuning", texts=texts),
        column("Fastest µs", fastest, 2),
        column("Gap µs", _us(one.gap_ms for one in order), 2),
        column("Fastest in", fastest_in),
        column("Tried", (one.trials for one in order), 0, meaning="tactics timed"),
        column("Evidence", evidence, is_choice=True, is_hidden=True),
        column("Tactic", (one.kernel for one in order), is_hidden=True),
    )
    return data_table("build-choices", "Chosen against fastest tried", LAYER, columns)


def _tuning(story: BuildTrace) -> DataTable | None:
    costs = tuning_costs(story)
    columns = (
        column("Layer", (cost.name or f"unnamed: {cost.kind}s" for cost in costs)),
        column("Formats", (cost.combinations for cost in costs), 0),
        column("Tactics timed", (cost.trials for cost in costs), 0),
        column("Rejected", (cost.pruned for cost in costs), 0),
        column("Tuning s", (cost.tuning_s for cost in costs), 3),
        column("% of tuning", (cost.share_pct for cost in costs), 2, is_share=True),
        column("Kind", (cost.kind for cost in costs), is_choice=True, is_hidden=True),
    )
    return data_table("build-tuning", "What tuning cost", LAYER, columns)


def _conversions(story: BuildTrace) -> DataTable | None:
    costs = reformat_costs(story)
    order = sorted(costs, key=lambda one: (one.became == "NoOp", -(one.time_ms or 0.0)))
    took = _us(None if one.became == "NoOp" else one.time_ms for one in order)
    columns = (
        column("Conversion", (one.name.removeprefix("Reformatted ") for one in order)),
        column("From", (brief_format(one.source) for one in order)),
        column("To", (brief_format(one.target) for one in order)),
        column("Took µs", took, 2, meaning="in tuning"),
        column("Became", (one.became for one in order), is_choice=True),
        column("Tried", (len(one.tried) for one in order), 0, meaning="tactics timed"),
    )
    return data_table(
        "build-conversions", "Inserted conversions", ("conversion", "conversions"), columns
    )


def _us(values_ms: Iterable[float | None]) -> list[float | None]:
    return [None if value is None else 1e3 * value for value in values_ms]


def _memory(story: BuildTrace) -> TextTable:
    def change(value: int) -> str:
        return with_sign(value, format_bytes)

    stages = tuple(
        (
            one.name,
            or_dash(one.host_change_bytes, change),
            or_dash(one.host_bytes, format_bytes),
            or_dash(one.device_change_bytes, change),
            or_dash(one.device_bytes, format_bytes),
        )
        for one in story.memory
    )
    totals = ", ".join(f"{name} {format_bytes(size)}" for name, size in story.memory_totals.items())
    headers = ("stage", "host change", "host", "GPU change", "GPU")
    note, title = totals or None, "Memory by stage"
    return TextTable(title=title, headers=headers, rows=stages, numbers=headers[1:], note=note)


def _side(choice: Choice | None) -> str:
    if choice is None:
        return "no such layer"
    chosen_ms = choice.chosen_ms
    time = f" {format_significant(1e3 * chosen_ms)} µs" if chosen_ms is not None else ""
    return f"{choice.layer.type} {chosen_formats(choice)}{time}".strip()
