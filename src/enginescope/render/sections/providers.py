"""Which execution provider did what, and what it left."""

from __future__ import annotations

from enginescope.analysis.runs.provider_work import ProviderWork, is_shared, provider_work
from enginescope.analysis.runs.run_view import RunView
from enginescope.render.base.data_table import DataTable, column, data_table
from enginescope.render.base.provider_phrases import caveat, provider_facts
from enginescope.render.sections.section import Section

KEY = "providers"
_NOT_SAID = (
    "This ONNX Runtime does not say which nodes it gave to whom (1.24 and later do); kernels are "
    "counted after they were fused."
)


def providers(view: RunView) -> Section | None:
    """Shares, what is left over with the reason, copies; ``None`` where one CPU did it all."""
    work, facts = provider_work(view.run), provider_facts(view)
    prepared = view.run.preparation
    if not is_shared(work) and prepared is None:
        return None
    tables = (_shares(work), _leftovers(work))
    has_nodes = any(one.nodes is not None for one in work)
    return Section(
        key=KEY,
        title="Execution providers",
        tables=tuple(table for table in tables if table is not None),
        facts={"pairs": facts, "about": (caveat(work), None if has_nodes else _NOT_SAID)},
    )


def _shares(work: tuple[ProviderWork, ...]) -> DataTable | None:
    columns = (
        column("Provider", (one.provider for one in work)),
        column("Nodes", (one.nodes for one in work), 0, meaning="before they were fused"),
        column("Nodes %", (one.nodes_pct for one in work), 1, is_share=True),
        column(
            "Subgraphs",
            (one.subgraphs for one in work),
            0,
            meaning="a provider that compiles makes an engine of each; others count every node",
        ),
        column("Kernels", (one.kernels for one in work), 0, meaning="that ran, after fusion"),
        column("Kernel ms", (one.time_ms for one in work), 4),
        column("Time %", (one.time_pct for one in work), 1, is_share=True),
    )
    title = "Nodes and kernel time by provider"
    return data_table(f"{KEY}-shares", title, ("provider", "providers"), columns)


def _leftovers(work: tuple[ProviderWork, ...]) -> DataTable | None:
    rows = [
        (one.provider, operator, count, one.reasons.get(operator))
        for one in work[1:]
        for operator, count in one.operators.items()
    ]
    if not rows:
        return None
    columns = (
        column("Operator", (row[1] for row in rows)),
        column("Nodes", (row[2] for row in rows), 0),
        column("Runs on", (row[0] for row in rows)),
        column("Why", (row[3] for row in rows), meaning="by ONNX Runtime's log, where it says"),
    )
    title = f"What {work[0].provider} left"
    return data_table(f"{KEY}-left", title, ("operator", "operators"), columns)
