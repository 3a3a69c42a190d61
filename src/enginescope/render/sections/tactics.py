"""Which tactics the layers run, and what they take."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.analysis.layers.layer_table import TacticShare, tactic_shares
from enginescope.core.units import format_significant
from enginescope.render.base.data_table import column, data_table
from enginescope.render.charts.card.registry import charts_of
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.sections.section import Section

KEY = "tactics"


def _answer(shares: Sequence[TacticShare]) -> str:
    first = shares[0].share_pct
    count = f"{len(shares):,} {'tactic' if len(shares) == 1 else 'tactics'}"
    return count if first is None else f"{count}, the first {format_significant(first, 3)} %"


def tactics(subject: PageSubject) -> Section | None:
    """Tactics by time; ``None`` where the plan names none."""
    shares = tactic_shares(subject.view.layers)
    if not any(share.tactic for share in shares):
        return None

    columns = (
        column("Tactic", (share.tactic or "not named" for share in shares)),
        column("Mean ms", (share.mean_ms for share in shares), 5),
        column("Share %", (share.share_pct for share in shares), 2, is_share=True),
        column("Layers", (share.layers for share in shares), 0),
        column(
            "Names",
            (share.variants for share in shares),
            0,
            meaning="kernels that differ in the hash at the end of their names only",
        ),
        column("Types", (", ".join(share.types) or None for share in shares)),
    )
    table = data_table(KEY, "Tactics, most time first", ("tactic", "tactics"), columns)
    return Section(
        key=KEY,
        title="Tactics",
        answer=_answer(shares),
        charts=charts_of(subject.plan, "latency-per-tactic") if subject.plan else (),
        tables=(table,) if table else (),
    )
