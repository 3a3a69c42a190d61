"""Which provider really runs the model.

``get_available_providers`` lists what a wheel was built with, not what can load here; a session
asked for CUDA may come back on the CPU with a line on standard error, or none. So a figure is
labelled with a provider only after the session itself, and where it can say so its node
assignment, have confirmed it.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from enginescope.core.errors import UnsupportedError
from enginescope.model.run import ProviderShare

#: Session configuration that makes ONNX Runtime (1.24 and later) remember its node assignment.
RECORD_ASSIGNMENT = "session.record_ep_graph_assignment_info"


def request_assignment(options: Any) -> None:
    """Ask the session to remember which provider took which node."""
    options.add_session_config_entry(RECORD_ASSIGNMENT, "1")


def read_placement(session: Any) -> tuple[ProviderShare, ...]:
    """Return nodes and subgraphs per provider; empty before ONNX Runtime 1.24."""
    ask = getattr(session, "get_provider_graph_assignment_info", None)
    if ask is None:
        return ()
    nodes: Counter[str] = Counter()
    subgraphs: Counter[str] = Counter()
    for part in ask():
        nodes[part.ep_name] += len(part.get_nodes())
        subgraphs[part.ep_name] += 1
    return tuple(
        ProviderShare(provider=name, nodes=count, subgraphs=subgraphs[name])
        for name, count in nodes.most_common()
    )


def require_provider(session: Any, provider: str, placement: tuple[ProviderShare, ...]) -> None:
    """Raise `UnsupportedError` unless `provider` is in the session and took at least one node."""
    active = tuple(session.get_providers())
    if provider not in active:
        raise UnsupportedError(
            f"{provider} did not start",
            why=f"ONNX Runtime fell back to {', '.join(active) or 'nothing'}",
            hint="its libraries are missing or do not match this build: enginescope doctor",
        )
    if placement and not any(share.provider == provider for share in placement):
        took = ", ".join(f"{share.provider} {share.nodes}" for share in placement)
        raise UnsupportedError(
            f"{provider} took no node of this model",
            why=f"nodes were placed on: {took}",
            hint="measure it with the backend that runs it, such as --on ort-cpu",
        )
