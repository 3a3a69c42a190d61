"""How many layers launch kernels, and what of the others took time, in words."""

from __future__ import annotations

from collections.abc import Iterable

from enginescope.analysis.layers.layer_table import LayerRow


def timed_at_rest(rows: Iterable[LayerRow]) -> int:
    """Count the layers that launch no kernel and took time: shape calls, which run on the host."""
    return sum(row.is_inert and bool(row.mean_ms) for row in rows)


def others_text(others: int, timed: int) -> str:
    """Return what the layers that do not work are: ``11 that launch nothing``.

    Args:
        others: Layers of the plan that launch no kernel.
        timed: Those of them that took time.
    """
    launch = "launches" if others == 1 else "launch"
    if not timed:
        return f"{others:,} that {launch} nothing"
    return f"{others:,} that {launch} no kernel, {timed:,} of which took time"
