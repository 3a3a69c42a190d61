"""Where the time goes, by tactic."""

from __future__ import annotations

import re
from collections.abc import Iterable

from enginescope.analysis.layers.layer_table import LayerRow
from enginescope.core.record import Record

# Myelin ends a kernel's name in the hash of its code: one build's, and no other's.
_HASH = re.compile(r"_0x[0-9a-fA-F]+$")


class TacticShare(Record, frozen=True, kw_only=True):
    """Layers that run the same tactic, and their time.

    Attributes:
        tactic: Without the hash at its end; ``None``: the plan names none.
        types: Types of these layers, each once, sorted.
        variants: How many names there are, hashes included; 0 where there is no name.
        mean_ms: Sum of the layers' mean times; ``None`` if none of them has one.
        share_pct: Of the sum over all layers.
    """

    tactic: str | None
    types: tuple[str, ...]
    layers: int
    variants: int
    mean_ms: float | None
    share_pct: float | None


def tactic_family(name: str) -> str:
    """Return a tactic's name without the hash at its end.

    >>> tactic_family("__myl_Res_0x63adb2bae59ff89a94fc133e2755c132")
    '__myl_Res'
    """
    return _HASH.sub("", name) or name


def tactic_shares(rows: Iterable[LayerRow]) -> tuple[TacticShare, ...]:
    """Return the tactics of the plan's layers that launch work, by time, then by layers."""
    whole_ms = 0.0
    groups: dict[str | None, list[LayerRow]] = {}
    for row in rows:
        if row.mean_ms is not None and not row.is_container:
            whole_ms += row.mean_ms
        if not row.in_plan or row.is_inert:
            continue
        key = tactic_family(row.tactic) if row.tactic is not None else None
        groups.setdefault(key, []).append(row)
    shares = [_share(name, members, whole_ms) for name, members in groups.items()]
    return tuple(
        sorted(shares, key=lambda one: (-(one.mean_ms or 0.0), -one.layers, one.tactic or ""))
    )


def _share(tactic: str | None, rows: list[LayerRow], whole_ms: float) -> TacticShare:
    times = [row.mean_ms for row in rows if row.mean_ms is not None]
    mean_ms = sum(times) if times else None
    return TacticShare(
        tactic=tactic,
        types=tuple(sorted({row.type for row in rows if row.type is not None})),
        layers=len(rows),
        variants=len({row.tactic for row in rows if row.tactic is not None}),
        mean_ms=mean_ms,
        share_pct=100 * mean_ms / whole_ms if mean_ms is not None and whole_ms else None,
    )
