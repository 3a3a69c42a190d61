"""The memory of an engine in words: parts, the peak, its tensors, findings, and what fits."""

from rich.console import Group, RenderableType
from rich.text import Text

from enginescope.analysis.memory.buffers import Buffer
from enginescope.analysis.memory.findings import MemoryFinding, memory_findings
from enginescope.analysis.memory.fit import Fit
from enginescope.analysis.memory.memory_view import MemoryView
from enginescope.core.units import format_bytes
from enginescope.judge.units import counted
from enginescope.render.base.facts import shape_text
from enginescope.render.base.figures import TextTable
from enginescope.render.base.phrases import stated
from enginescope.render.base.short_names import shorten
from enginescope.render.base.text import label_row, screen_width, stacked

#: Part -> its name, and what it is.
_PARTS = {
    "runtime": ("runtime itself", "a process with an empty model"),
    "weights": ("weights", "constants that stay as they are"),
    "packed": ("packed weights", "weights in the order of the kernels, which replace the others"),
    "activations": ("activations", "tensors alive at the peak"),
    "workspace": ("workspace", "what the layer at the peak needs beside its tensors"),
    "arena": ("arena waste", "held by the allocator, and unused at the peak"),
    "rest": ("rest", "copies made while loading; below 0: held and never used"),
}
_NAME = 44


def peak_sentence(view: MemoryView) -> str:
    """Return where the peak of the tensors is, and how large it is."""
    layer, extra = view.peak_layer, view.workspace_bytes[view.peak_at]
    more = f", and {format_bytes(extra)} of workspace" if extra else ""
    need = f"{format_bytes(view.live_bytes[view.peak_at])}{more}"
    at = f"({layer.type}, {view.peak_at + 1:,} of {len(view.layers):,})"
    return f"tensors need {need} while {shorten(layer.name, _NAME)} runs {at}"


def parts_table(view: MemoryView) -> TextTable:
    return TextTable(
        title="What the memory consists of",
        headers=("Part", "Size", "Known by", "What it is"),
        rows=tuple(
            (name, format_bytes(part.nbytes), "measured" if part.is_measured else "sizes", what)
            for part in view.parts
            for name, what in (_PARTS[part.kind],)
        ),
        numbers=("Size",),
        spared=("What it is",),
    )


def tensors_table(view: MemoryView, top: int) -> TextTable:
    """Return the tensors alive at the peak, the largest first."""
    known = [one for one in view.peak_buffers if one.nbytes]
    return TextTable(
        title="Tensors alive at the peak",
        headers=("Tensor", "Size", "Share %", "Shape", "Written by", "Needed until"),
        rows=tuple(_row(view, one) for one in known[:top]),
        numbers=("Size", "Share %"),
        left_out=max(0, len(known) - top),
        shortened={"Tensor": 0, "Written by": 24, "Needed until": 24},
        spared=("Shape", "Written by"),
    )


def _row(view: MemoryView, buffer: Buffer) -> tuple[str, ...]:
    whole = view.live_bytes[view.peak_at]
    share = 100 * (buffer.nbytes or 0) / whole if whole else 0.0
    return (
        buffer.tensor.name,
        format_bytes(buffer.nbytes),
        f"{share:.1f}",
        shape_text(buffer.tensor.shape),
        view.layers[buffer.first].name,
        "the end" if buffer.last >= len(view.layers) else view.layers[buffer.last].name,
    )


def forecast_sentence(view: MemoryView) -> str:
    """Compare the arena predicted from sizes with what the runtime reported."""
    made, use, replayed = view.predicted, view.arena, view.replayed
    if made is None:
        block, reported = format_bytes(view.block_bytes), view.reported_block_bytes
        text = f"packed into one block, the tensors need {block} (estimate)"
        return text if reported is None else f"{text}; reported: {format_bytes(reported)}"
    ruled = len(view.predicted_workspaces)
    more = f", and the workspace of {counted(ruled, 'kernel')}" if ruled else ""
    text = f"predicted from sizes{more}: {_arena_text(made.peak_bytes, made.held_bytes)}"
    if use is None:
        return text + "; the runtime did not report its allocator"
    text += f"; reported: {_arena_text(use.in_use_peak_bytes, use.held_bytes)}"
    if replayed is None or replayed == made:
        return text
    again = _arena_text(replayed.peak_bytes, replayed.held_bytes)
    return f"{text}; with the reported workspace and packed weights, the rules give {again}"


def _arena_text(peak_bytes: int, held_bytes: int | None) -> str:
    held = "unknown" if held_bytes is None else format_bytes(held_bytes)
    return f"{format_bytes(peak_bytes)} in use, {held} held"


def finding_text(view: MemoryView, finding: MemoryFinding) -> str:
    name = shorten(view.layers[finding.layer].name, _NAME) if finding.layer is not None else None
    size = format_bytes(finding.nbytes)
    texts = {
        "two-copies": f"{name} ({finding.detail}) writes a second copy of {size} at the peak",
        "output-kept": f"output {finding.detail} ({size}) is kept from {name} until the end",
        "one-tensor": f"{finding.detail} alone is {size}, more than half of the peak",
        "loading": f"loading the model took {size} that no inference needs",
        "arena-waste": f"the arena holds {size} that no tensor uses at the peak",
    }
    return texts[finding.kind]


def fit_sentence(fit: Fit) -> str:
    limit = format_bytes(fit.limit_bytes)
    sizes = {probe.size: format_bytes(probe.process_bytes, 4) for probe in fit.probes}
    beyond = next((one for one in sorted(sizes) if one > fit.size), None)
    after = f"; {fit.dim} {beyond:,} takes {sizes[beyond]}" if beyond is not None else ""
    if not fit.size:
        return f"no {fit.dim} fits {limit}{after}"
    peak = f"{sizes[fit.size]} at the peak of its process{after}"
    count = counted(len(fit.probes), "size")
    return f"{fit.dim} {fit.size:,} fits {limit}: {peak} ({count} measured)"


def memory_text(
    name: str, backend: str | None, view: MemoryView, fit: Fit | None, *, top: int
) -> RenderableType:
    """Return the memory on one screen."""
    process = view.process_bytes
    facts = stated(
        ("fits", fit_sentence(fit) if fit else None),
        ("process", None if process is None else f"{format_bytes(process)} peak of the process"),
        ("peak", peak_sentence(view)),
        ("arena" if view.predicted else "block", forecast_sentence(view)),
        ("unknown", f"{counted(view.unknown, 'tensor')} of unknown size" if view.unknown else None),
    )
    return Group(
        Text(" · ".join(filter(None, (name, backend))), style="bold"),
        Text(),
        *(label_row(*fact) for fact in facts),
        Text(),
        *stacked(memory_tables(view, top), screen_width()),
        *(Text(f"! {text}") for text in finding_sentences(view)),
    )


def memory_sentences(view: MemoryView) -> tuple[str, ...]:
    """Return the peak, the allocator, and the findings as sentences for a page."""
    texts = (peak_sentence(view), forecast_sentence(view), *finding_sentences(view))
    return tuple(f"{text[:1].upper()}{text[1:]}." for text in texts)


def memory_tables(view: MemoryView, top: int) -> tuple[TextTable, ...]:
    return (parts_table(view), tensors_table(view, top))


def finding_sentences(view: MemoryView) -> tuple[str, ...]:
    return tuple(finding_text(view, one) for one in memory_findings(view))
