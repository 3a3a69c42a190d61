"""The tables of a plan looked into, as cells; where they are shown they are fitted and styled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from enginescope.analysis.layers.layer_table import TimeShare
from enginescope.analysis.layers.reformats import ReformatShare
from enginescope.analysis.plans.exploration import Exploration, ExploredLayer, ordered
from enginescope.core.record import Record
from enginescope.core.units import format_bytes

#: Milliseconds are numbers, until the column that they share the decimals of is known.
Cell: TypeAlias = str | float | None

UNKNOWN = "—"
_SIZES = ("weights", "act.", "both")
_SHARES = ("ms", "%", "layers")
#: Headers of columns of numbers; others hold names.
NUMBERS = (*_SHARES, *_SIZES)
_SIZE_SORTS = ("weights", "activations", "footprint")
_SORT_WORDS = {
    "plan": "their order in the plan",
    "weights": "bytes of weights",
    "activations": "bytes of activations",
    "footprint": "bytes of weights and activations",
}
_ORIGINS = {
    "QDQ": "QDQ: quantization in the model",
    "REFORMAT": "REFORMAT: inserted by TensorRT",
}


class PlanTable(Record, frozen=True, kw_only=True):
    """A table; its last column holds the longest names.

    Attributes:
        left_out: How many rows more there are.
    """

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    left_out: int = 0


def explore_tables(found: Exploration, *, top: int, sort: str, sized: bool) -> Iterator[PlanTable]:
    """Yield the tables in which something is known.

    Args:
        top: Most rows of a table.
        sort: Of the layers: a key of `ORDERS`.
        sized: Whether there is room for bytes beside the layers' times.
    """
    bare = found.plan_schema == "names-only"
    if not bare or found.time is not None:
        yield _layer_table(found, top, sort, sized=sized or sort in _SIZE_SORTS)
    if found.time is not None:
        yield _shares("Time by type", "type", found.by_type, top)
        yield _shares("Time by precision of the first input", "precision", found.by_precision, top)
    elif not bare:
        yield from _count_tables(found, top)
    if _has_sizes(found) and sort not in _SIZE_SORTS:
        headers = (*_SIZES, "type", "layer")
        yield _layers("Weights and activations, the largest", headers, found, top, "footprint")
    if any(tactic.tactic is not None for tactic in found.tactics):
        yield _tactic_table(found, top)
    if found.reformats:
        shown = tuple(_with_words(one) for one in found.reformats_by_origin)
        yield _shares("Reformats by origin", "origin", shown, len(shown))
        conversions = found.reformats_by_conversion
        yield _shares("Reformats by conversion", "from → to", conversions, top)


def _layer_table(found: Exploration, top: int, sort: str, *, sized: bool) -> PlanTable:
    if found.time is None and sort == "time":
        sort = "plan"
    timed = ("ms", "%") if found.time is not None else ()
    headers = (*timed, "type", "precision", *(_SIZES if sized else ()), "layer")
    title = "Slowest layers" if sort == "time" else f"Layers by {_SORT_WORDS.get(sort, sort)}"
    return _layers(title, headers, found, top, sort)


def _has_sizes(found: Exploration) -> bool:
    return any(layer.sizes and layer.sizes.footprint_bytes is not None for layer in found.layers)


def _layers(
    title: str, headers: tuple[str, ...], found: Exploration, top: int, sort: str
) -> PlanTable:
    shown = tuple(layer for layer in found.layers if layer.row.mean_ms or not layer.row.is_inert)
    rows = tuple(_layer_cells(one, headers, found) for one in ordered(shown, sort)[:top])
    return PlanTable(title=title, headers=headers, rows=rows, left_out=len(shown) - len(rows))


def _layer_cells(
    one: ExploredLayer, headers: Sequence[str], found: Exploration
) -> tuple[Cell, ...]:
    row, sizes = one.row, one.sizes
    is_stray = found.plan_schema is not None and not row.in_plan
    cells: dict[str, Cell] = {
        "ms": row.mean_ms,
        "%": _percent(row.share_pct),
        "type": row.type or UNKNOWN,
        "precision": _precisions(one),
        "weights": _bytes(sizes.weights_bytes if sizes else None),
        "act.": _bytes(sizes.activation_bytes if sizes else None),
        "both": _bytes(sizes.footprint_bytes if sizes else None),
        "layer": f"(not in the plan) {row.name}" if is_stray else row.name,
    }
    return tuple(cells[header] for header in headers)


def _precisions(one: ExploredLayer) -> str:
    before, after = one.row.precision, one.output_precision
    if before == after or after is None:
        return before or UNKNOWN
    return f"{before or '?'} → {after}"


def _shares(
    title: str, name: str, shares: Sequence[TimeShare | ReformatShare], top: int
) -> PlanTable:
    rows = tuple(
        (share.mean_ms, _percent(share.share_pct), f"{share.layers:,}", share.key or "not known")
        for share in shares[:top]
    )
    headers = (*_SHARES, name)
    return PlanTable(title=title, headers=headers, rows=rows, left_out=len(shares) - len(rows))


def _count_tables(found: Exploration, top: int) -> Iterator[PlanTable]:
    if found.totals is None:
        return
    for title, name, counts in (
        ("Layers by type", "type", found.totals.layers_by_type),
        ("Layers by precision of the first input", "precision", found.totals.layers_by_precision),
    ):
        rows = tuple((f"{count:,}", key) for key, count in list(counts.items())[:top])
        left_out = len(counts) - len(rows)
        yield PlanTable(title=title, headers=("layers", name), rows=rows, left_out=left_out)


def _tactic_table(found: Exploration, top: int) -> PlanTable:
    rows = tuple(
        (
            tactic.mean_ms,
            _percent(tactic.share_pct),
            f"{tactic.layers:,}",
            tactic.types[0] if len(tactic.types) == 1 else f"{len(tactic.types)} types",
            tactic.tactic or "none named",
        )
        for tactic in found.tactics[:top]
    )
    return PlanTable(
        title="Tactics",
        headers=(*_SHARES, "of type", "tactic, without hash"),
        rows=rows,
        left_out=len(found.tactics) - len(rows),
    )


def _with_words(one: ReformatShare) -> ReformatShare:
    words = _ORIGINS.get(one.key, one.key) if one.key is not None else "not in the plan"
    return ReformatShare(key=words, layers=one.layers, mean_ms=one.mean_ms, share_pct=one.share_pct)


def _percent(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.1f}"


def _bytes(value: int | None) -> str:
    return UNKNOWN if value is None else "0" if value == 0 else format_bytes(value)
