"""What each execution provider did: nodes, subgraphs, time of its kernels."""

from enginescope.analysis.claims.layer_claims import layer_times
from enginescope.core.record import Record, copied, replace
from enginescope.records.run.run import Run


class ProviderWork(Record, frozen=True, kw_only=True):
    """One provider's part of a model.

    Attributes:
        nodes: As they were shared out, before they were fused; ``None`` where the runtime does not
            say.
        nodes_pct: Of all nodes.
        subgraphs: Pieces that the provider was given; those that compile make an engine of each.
        kernels: Nodes that ran, in the pass that profiles them; ``None`` without one.
        time_ms: Of its kernels in a request, nodes that hold other nodes left out.
        time_pct: Of the time of all kernels.
        operators: Nodes by operator.
        reasons: By operator, why the provider that was asked for did not take it.
    """

    provider: str
    nodes: int | None = None
    nodes_pct: float | None = None
    subgraphs: int | None = None
    kernels: int | None = None
    time_ms: float | None = None
    time_pct: float | None = None
    operators: dict[str, int] = {}  # noqa: RUF012 - msgspec copies empty defaults
    reasons: dict[str, str] = {}  # noqa: RUF012


def provider_work(run: Run) -> tuple[ProviderWork, ...]:
    """Return the work of each provider that did some, in the session's order."""
    shares = {one.provider: one for one in run.placement}
    times = _times_ms(run)
    whole = sum(ms for ms, _ in times.values())
    nodes = sum(one.nodes for one in run.placement)
    work = []
    for name in dict.fromkeys((*run.providers, *shares, *times)):
        share, (ms, kernels) = shares.get(name), times.get(name, (None, None))
        if share is not None or ms is not None:
            own = copied(ProviderWork, share) if share else ProviderWork(provider=name)
            nodes_pct = 100 * share.nodes / nodes if share and nodes else None
            time_pct = 100 * ms / whole if ms is not None and whole else None
            timed = {"kernels": kernels, "time_ms": ms, "time_pct": time_pct}
            work.append(replace(own, nodes_pct=nodes_pct, **timed))
    return tuple(work)


def is_shared(work: tuple[ProviderWork, ...]) -> bool:
    """Whether there is something to tell: several providers, or one that is not the CPU's."""
    return len(work) > 1 or any(one.provider != "CPUExecutionProvider" for one in work)


def _times_ms(run: Run) -> dict[str, tuple[float, int]]:
    """Return time and number of the kernels of each provider."""
    if run.profile is None:
        return {}
    found: dict[str, tuple[float, int]] = {}
    for layer in layer_times(run.profile).layers:
        if layer.provider is None or layer.is_container or layer.time_ms is None:
            continue
        ms, count = found.get(layer.provider, (0.0, 0))
        found[layer.provider] = (ms + layer.time_ms, count + 1)
    return found
