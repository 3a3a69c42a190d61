"""Tables as the simulations print them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np


def share(found: Iterable[bool]) -> str:
    """Return how many of a hundred were so, to one decimal; ``none`` where there were none."""
    values = list(found)
    return f"{100 * np.mean(values):.1f}" if values else "none"


def print_table(title: str, heads: Sequence[str], rows: Iterable[str]) -> None:
    """Print a Markdown table, each row as soon as it is there."""
    print(f"\n{title}\n")
    print(f"| {' | '.join(heads)} |")
    print("|---" * len(heads) + "|")
    for one in rows:
        print(one, flush=True)
