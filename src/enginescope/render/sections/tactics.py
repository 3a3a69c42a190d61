"""Which tactics the layers run, and what they take."""

from __future__ import annotations

from enginescope.analysis.tactics import tactic_shares
from enginescope.render.charts.card.every import charts_of
from enginescope.render.data_table import column, data_table
from enginescope.render.page_subject import PageSubject
from enginescope.render.sections.section import Section

KEY = "tactics"


def tactics(subject: PageSubject) -> Section | None:
    """Tactics by time; ``None`` where the plan names none."""
    shares = tactic_shares(subject.view.layers)
    if not any(one.tactic for one in shares):
        return None

    columns = (
        column("Tactic", (one.tactic or "not named" for one in shares)),
        column("Mean ms", (one.mean_ms for one in shares), 5),
        column("Share %", (one.share_pct for one in shares), 2, is_share=True),
        column("Layers", (one.layers for one in shares), 0),
        column(
            "Names",
            (one.variants for one in shares),
            0,
            meaning="kernels that differ in the hash at the end of their names only",
        ),
        column("Types", (", ".join(one.types) or None for one in shares)),
    )
    table = data_table(KEY, "Tactics, most time first", ("tactic", "tactics"), columns)
    return Section(
        key=KEY,
        title="Tactics",
        charts=charts_of(subject.plan, "latency-per-tactic") if subject.plan else (),
        tables=(table,) if table else (),
    )
