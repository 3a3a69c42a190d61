"""The tables of a comparison, as text cells; where they are shown they are fitted and styled."""

from collections.abc import Iterator, Sequence

from enginescope.analysis.plan_comparison.comparison import Comparison, LayerComparison
from enginescope.analysis.plan_comparison.layer_changes import ComparedLayers, share_of
from enginescope.analysis.plan_comparison.plans_overview import PlansOverview, ShareAcross
from enginescope.core.record import Record
from enginescope.core.units import sum_known
from enginescope.judge.units import counted
from enginescope.render.base.data_table import UNKNOWN, inert_text, number_column, number_text
from enginescope.render.base.figures import TextTable
from enginescope.render.base.short_names import shorten
from enginescope.render.plan_comparison.compare_phrases import (
    cause_text,
    changes_text,
    evidence_text,
    plan_facts,
)

EXPLAINED = "What explains the difference of the layer times"
_DIFFERENCE = "B − A ms"
_SHARE = "% of B − A"
#: Columns that narrow screens go without, by the ends of their headers, the first one first.
_SPARED = ("paired by", "type", "A ÷ B", " layers", _SHARE, _DIFFERENCE)


class Chosen(Record, frozen=True, kw_only=True):
    """Which layers to show.

    Attributes:
        only: ``"precision"``, ``"tactic"``, or a type of layer.
        top: Most rows of a table.
        threshold_pct: Times that differ by less are taken for equal.
    """

    only: str | None = None
    top: int = 10
    threshold_pct: float = 3.0

    def admits(self, one: ComparedLayers) -> bool:
        """Whether layers are among those asked for."""
        if self.only is None:
            return True
        if self.only in ("precision", "tactic"):
            return any(change.what == self.only for change in one.changes)
        return one.is_of_type(self.only)

    def is_shown(self, one: ComparedLayers) -> bool:
        """Whether layers differ, or their times do by more than the threshold."""
        return one.is_changed or one.differs_by(self.threshold_pct)


def pair_tables(found: Comparison, chosen: Chosen) -> Iterator[TextTable]:
    """Yield the tables about two plans in which there is something."""
    layers = found.pairs
    if layers.explanations:
        yield explanation_table(layers, chosen.top)
    yield layer_table(layers, chosen)
    yield from reformat_tables(layers, chosen.top)


def reformat_tables(layers: LayerComparison, top: int) -> Iterator[TextTable]:
    """Yield the reformats that were lost and that were added, the longest first."""
    for side, some in (("A", layers.reformats_lost), ("B", layers.reformats_added)):
        shown = some[:top]
        columns = {
            "ms": number_column([one.time_ms for one in shown]),
            "from → to": [one.conversion for one in shown],
            "layer": [one.name for one in shown],
        }
        if some:
            title = f"Reformats that only {side} has"
            yield _table(title, columns, numbers=("ms",), note=_more(some, top))


class Step(Record, frozen=True, kw_only=True):
    """A bar of the waterfall, and a row of its table: a reason, or the many small ones together.

    Attributes:
        difference_ms: B − A; ``None`` where a plan has no times.
        members: Positions in `LayerComparison.layers`; none of times that belong to no layer.
    """

    text: str
    difference_ms: float | None
    members: tuple[int, ...]


def steps_of(layers: LayerComparison, label: str = "B", most: int = 12) -> tuple[Step, ...]:
    """Return what leads from A's time to that of `label`, the largest first; steps add up to it.

    Args:
        most: Reasons that have a step of their own.
    """
    every = tuple(
        Step(text=cause_text(one, label), difference_ms=one.difference_ms, members=one.members)
        for one in layers.explanations
    )
    rest = every[most:]
    if len(rest) < 2:
        return every
    together = Step(
        text=f"{len(rest):,} more reasons",
        difference_ms=sum_known([step.difference_ms for step in rest]),
        members=tuple(at for step in rest for at in step.members),
    )
    return (*every[:most], together)


def explanation_table(layers: LayerComparison, top: int, label: str = "B") -> TextTable:
    """Return what explains the difference, the largest first; its last row is the whole.

    Args:
        label: Of the plan that is compared with A.
    """
    whole, steps = layers.difference_ms, steps_of(layers, label, top)
    if whole is not None:
        members = tuple(range(len(layers.layers)))
        steps += (Step(text="the whole difference", difference_ms=whole, members=members),)
    header = f"{label} − A ms"
    columns = {
        header: number_column([step.difference_ms for step in steps], signed=True),
        _SHARE: [number_text(share_of(step.difference_ms, whole), 1) for step in steps],
        "pairs": [f"{len(step.members):,}" if step.members else UNKNOWN for step in steps],
        "what differs": [step.text for step in steps],
    }
    title = EXPLAINED if whole is not None else "What differs"
    return _table(title, columns, numbers=(header, _SHARE, "pairs"))


def leading_table(layers: LayerComparison) -> TextTable | None:
    """Return the layers that make 80 % of all differences; ``None`` without known differences."""
    leading, share_pct = layers.leading()
    if not leading:
        return None
    count = f"{len(leading):,} of {counted(len(layers.layers), 'pair')}"
    make = "makes" if len(leading) == 1 else "make"
    title = f"{count} {make} {share_pct:.0f} % of all differences, more and less time alike"
    return _layer_table(title, leading[:8], note=_more(leading, 8), is_brief=True)


def layer_table(layers: LayerComparison, chosen: Chosen) -> TextTable:
    """Return the layers that differ or take another time, the largest difference first."""
    admitted = [one for one in layers.in_order() if chosen.admits(one)]
    differing = [one for one in admitted if chosen.is_shown(one)]
    what = f" ({chosen.only})" if chosen.only else ""
    title = f"Layers{what} by difference in time, the largest first"
    note = _left_out(_more(differing, chosen.top), admitted, chosen)
    return _layer_table(title, differing[: chosen.top], note=note)


def _layer_table(
    title: str, shown: Sequence[ComparedLayers], *, note: str | None, is_brief: bool = False
) -> TextTable:
    times = number_column([one.a_ms for one in shown] + [one.b_ms for one in shown])
    columns = {
        "A ms": times[: len(shown)],
        "B ms": times[len(shown) :],
        _DIFFERENCE: number_column([one.difference_ms for one in shown], signed=True),
        _SHARE: [number_text(one.share_pct, 1) for one in shown],
        "A ÷ B": [number_text(one.speedup, 2) for one in shown],
        "type": [one.type for one in shown],
        "paired by": [evidence_text(one) for one in shown],
        "differs in": [changes_text(one) for one in shown],
        "layer": [one.name for one in shown],
    }
    if is_brief:
        columns = {name: columns[name] for name in columns if name not in _SPARED[:3]}
    numbers = ("A ms", "B ms", _DIFFERENCE, _SHARE, "A ÷ B")
    return _table(title, columns, numbers=numbers, note=note)


def share_tables(found: Comparison, top: int) -> Iterator[TextTable]:
    """Yield the time, else the layers, by type and by precisions, plan by plan."""
    overview = found.overview
    for title, name, rows in (
        ("by type", "type", overview.by_type),
        ("by precision of the first input", "precision", overview.by_precision),
        ("by precision of the first output", "precision", overview.by_output_precision),
    ):
        if rows:
            yield _share_table(title, name, rows, overview, top)


def memory_tables(overview: PlansOverview) -> Iterator[TextTable]:
    """Yield what takes memory at the peak of each plan, where the plans tell their tensors."""
    if not overview.memory:
        return
    columns: dict[str, list[str]] = {}
    sizes = number_column([_mib(size) for row in overview.memory for size in row.nbytes])
    for at, plan in enumerate(overview.plans):
        columns[f"{plan.label} MiB"] = sizes[at :: len(overview.plans)]
    if len(overview.plans) == 2:
        differences = [_mib(row.difference_bytes(1)) for row in overview.memory]
        columns["B − A MiB"] = number_column(differences, signed=True)
    numbers = tuple(columns)
    columns["what"] = [f"tensors of {r.type}" if r.type else r.part for r in overview.memory]
    peaks = [(plan.label, plan.memory) for plan in overview.plans if plan.memory]
    note = "; ".join(f"peak of {label}: {shorten(peak.layer, 44)}" for label, peak in peaks)
    for label, peak in peaks:
        if peak.unknown:
            note += f"; {label}: {counted(peak.unknown, 'tensor')} of unknown size not counted"
    yield _table("Memory at the peak by type", columns, numbers=numbers, note=note)


def _mib(nbytes: int | None) -> float | None:
    return None if nbytes is None else nbytes / (1 << 20)


def facts_table(overview: PlansOverview) -> TextTable:
    """Return what is known of each plan, a column each."""
    plans = overview.plans
    names = ("name", tuple(plan.name for plan in plans))
    rows = [names, *plan_facts(plans), *_against_first(overview)]
    return TextTable(
        title="Plans",
        headers=("plan", *(plan.label for plan in plans)),
        rows=tuple((name, *map(inert_text, cells)) for name, cells in rows),
        is_divided=True,
    )


def _against_first(overview: PlansOverview) -> Iterator[tuple[str, tuple[str, ...]]]:
    base = overview.plans[0]
    positions = range(1, len(overview.plans))
    differences = [overview.difference_ms(at) for at in positions]
    if base.sum_ms is None or not set(differences) - {None}:
        return
    amounts = number_column(differences, signed=True)
    speedups = [_ratio_text(overview, at) for at in positions]
    cells = (amount if amount == UNKNOWN else f"{amount} ms" for amount in amounts)
    yield f"sum less {base.label}'s", (UNKNOWN, *cells)
    yield (f"{base.label} ÷ it", (UNKNOWN, *speedups))


def _ratio_text(overview: PlansOverview, at: int) -> str:
    """Return the ratio to the first plan; of other batches it says that it is per item."""
    ratio = number_text(overview.speedup(at), 2)
    if ratio == UNKNOWN:
        return ratio
    base, other = overview.plans[0], overview.plans[at]
    is_per_item = None not in (base.sum_per_item_ms, other.sum_per_item_ms)
    return f"{ratio} × per item" if is_per_item and base.batch != other.batch else f"{ratio} ×"


def _share_table(
    title: str, name: str, rows: Sequence[ShareAcross], overview: PlansOverview, top: int
) -> TextTable:
    plans, shown = overview.plans, rows[:top]
    timed = any(one.sum_ms is not None for one in plans)
    columns: dict[str, list[str]] = {}
    if timed:
        cells = number_column([ms for one in shown for ms in one.time_ms])
        for at, plan in enumerate(plans):
            columns[f"{plan.label} ms"] = cells[at :: len(plans)]
    if len(plans) == 2 and timed:
        differences = [one.difference_ms(1) for one in shown]
        columns[_DIFFERENCE] = number_column(differences, signed=True)
        whole = overview.difference_ms(1)
        columns[_SHARE] = [number_text(share_of(one, whole), 1) for one in differences]
    if len(plans) == 2 or not timed:
        for at, plan in enumerate(plans):
            columns[f"{plan.label} layers"] = [f"{one.layers[at]:,}" for one in shown]
    numbers = tuple(columns)
    columns[name] = [one.key or "not known" for one in shown]
    name = f"{'Time' if timed else 'Layers'} {title}"
    return _table(name, columns, numbers=numbers, note=_more(rows, top))


def _more(rows: Sequence[object], top: int) -> str | None:
    return f"and {len(rows) - top:,} more" if len(rows) > top else None


def _left_out(more: str | None, admitted: Sequence[ComparedLayers], chosen: Chosen) -> str | None:
    alike = [one for one in admitted if not chosen.is_shown(one)]
    parts = [more] if more else []
    if alike:
        times = (sum_known([one.a_ms for one in alike]), sum_known([one.b_ms for one in alike]))
        does, takes = ("does", "takes") if len(alike) == 1 else ("do", "take")
        words = f"{len(alike):,} {does} not differ"
        known = sum(None not in (pair.a_ms, pair.b_ms) for pair in alike)
        if known:
            words += f" and {takes} the same time within {chosen.threshold_pct:g} %"
            words += "" if known == len(alike) else " where it is known"
        if None not in times:
            a, b = number_column(times)
            words += f": {a} ms in A, {b} ms in B"
        parts.append(words)
    return "; ".join(parts) or None


def _table(
    title: str, columns: dict[str, list[str]], *, numbers: Sequence[str], note: str | None = None
) -> TextTable:
    rows = tuple(tuple(map(inert_text, row)) for row in zip(*columns.values(), strict=True))
    *others, last = columns
    # most columns of a terminal for texts; the last one takes those that are left
    return TextTable(
        title=title,
        headers=tuple(columns),
        rows=rows,
        numbers=tuple(numbers),
        note=note if rows or note else "none",
        shortened={"differs in": 24, "from → to": 34, "type": 28, last: 0},
        spared=tuple(name for end in _SPARED for name in others if name.endswith(end)),
        is_titled=True,
    )
