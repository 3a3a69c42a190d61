"""A run as one line of a listing."""

from __future__ import annotations

import numpy as np

from enginescope.core.record import Record
from enginescope.model.run import Run


class RunRow(Record, frozen=True, kw_only=True):
    """What a listing shows of a run.

    Attributes
    ----------
    median_ms : float or None
        Of the headline metric, cached when the run was stored. The samples are the truth.
    """

    id: str
    created: str
    origin: str
    model: str
    backend: str
    outcome: str
    model_sha256: str | None = None
    batch: int | None = None
    metric: str | None = None
    samples: int | None = None
    median_ms: float | None = None
    host: str | None = None
    cpu: str | None = None
    gpu: str | None = None
    tags: tuple[str, ...] = ()


def row_of(run: Run) -> RunRow:
    """Return the line of a run."""
    headline = run.headline
    host = run.environment.host
    return RunRow(
        id=run.id,
        created=run.created,
        origin=run.origin,
        model=run.job.subject.name,
        model_sha256=run.job.subject.sha256,
        backend=str(run.job.backend),
        outcome=run.outcome.kind.value,
        batch=run.job.workload.batch,
        metric=headline.metric if headline else None,
        samples=len(headline) if headline else None,
        median_ms=float(np.median(headline.values_ms)) if headline else None,
        host=host.name,
        cpu=host.cpu_model,
        gpu=run.environment.devices[0].name if run.environment.devices else None,
        tags=run.tags,
    )
