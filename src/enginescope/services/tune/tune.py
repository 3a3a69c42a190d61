"""``tune``: which options make a model fastest, and is the winner real?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import Any

from enginescope.analysis.verdicts.comparability import THRESHOLD_PCT
from enginescope.judge.comparison.ratio import LOOKS
from enginescope.judge.notice import Notice
from enginescope.records.run.job import Limits, Workload
from enginescope.records.verdict.tune import TuneMetric, TuneReport
from enginescope.services.accuracy.request import SampleRequest
from enginescope.services.measurement.interleaved import paced_workload
from enginescope.services.own_command import stored_fields
from enginescope.services.store_access import writable_store
from enginescope.services.tune.alternatives import alternatives_of
from enginescope.services.tune.confirmation import confirm
from enginescope.services.tune.outputs import check_outputs
from enginescope.services.tune.request import (
    ROUNDS,
    TuneObserver,
    TuneRequest,
    check_tune_request,
)
from enginescope.services.tune.search import Search

#: Share of the maximum time in which outputs are checked.
_CHECKING_SHARE = 0.4


def tune_options(request: TuneRequest, observer: TuneObserver) -> TuneReport:
    """Search the alternatives of a request, and confirm the one that leads.

    Raises:
        UsageError, MissingDependencyError: The request contradicts itself or the model, or as
            `alternatives_of`.
        UnsupportedError, BackendError: The default does not run.
        StoreError: The store cannot be written; nothing is measured then.
    """
    check_tune_request(request)
    store = writable_store(request.store)
    begin = perf_counter()
    alternatives = alternatives_of(request, store)
    most_s = math.inf if request.max_time_s is None else request.max_time_s
    deadline = begin + _CHECKING_SHARE * most_s
    candidates = alternatives.candidates
    outputs = check_outputs(request, candidates, observer.process_started, deadline)
    search = Search(request, candidates, outputs, store, observer, begin)
    search.run()
    leader, confirmation, notices = search.leader, None, list(search.notices())
    if leader is not None and observer.interruption is None:
        confirmation, carried = confirm(request, search, store, observer, begin)
        notices += carried if confirmation is not None else [_unconfirmed(request)]
    return TuneReport(
        model=candidates[0].job.subject.name,
        metric=request.metric,
        alternatives=search.outcome(),
        invalid=alternatives.invalid,
        candidate=None if leader is None else leader.number,
        confirmation=confirmation,
        threshold_pct=request.threshold_pct,
        rounds=search.rounds,
        duration_s=perf_counter() - begin,
        comparison=search.comparison,
        unsearched_routes=alternatives.unsearched_routes,
        notices=tuple(notices),
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        command=request.command,
    )


def _unconfirmed(request: TuneRequest) -> Notice:
    return Notice(
        code="W-NOT-CONFIRMED",
        message=f"{request.max_time_s or 0.0:.0f} s leave no time for {LOOKS[0]} rounds of the "
        "leader and the default: it is not confirmed; allow more time",
        evidence={"max_time_s": request.max_time_s},
    )


def tune(
    model: str | PathLike[str],
    *,
    on: str | Sequence[str] = (),
    options: Mapping[str, Sequence[Any]] | None = None,
    batch: int | Sequence[int] = (),
    routes: str | PathLike[str] | None = None,
    metric: TuneMetric = "latency",
    data: Sequence[str | PathLike[str]] = (),
    samples: int | None = None,
    tolerance: str | None = None,
    workload: Workload | None = None,
    rounds: int = ROUNDS,
    threshold_pct: float = THRESHOLD_PCT,
    max_time_s: float | None = None,
    limits: Limits | None = None,
    tags: Sequence[str] = (),
    store: str | PathLike[str] | None = None,
) -> TuneReport:
    """Search for the options that make a model fastest, and measure the winner anew.

    Successive halving over all combinations finds a leader. Fresh builds, processes and inputs
    then compare it with the default; the claim comes from them alone.

    Args:
        model: An ONNX model, or an engine for options that need no build.
        on: Backends; the first is the default. By default the usual one.
        options: Option of the backends -> values to try: ``{"intra_op_num_threads": (1, 2)}``.
        batch: Sizes of dynamic first dimensions; the first is the default's. Figures are per item.
        routes: A file of trtexec's ``--tuningCacheFile``; its fastest build routes are tried.
        metric: ``"latency"``: one request in flight; ``"throughput"``: several.
        data: Samples whose outputs are compared with the default's, as for `validate`.
        samples: So many random ones (8), or the first of the data (all).
        tolerance: A row of limits, as for `validate`.
        workload: As for `bench_interleaved`; its batch and mode are not used where `batch` and
            `metric` set them.
        rounds: Rounds of the confirmation that count, at most: 8 to 1,000.
        threshold_pct: Smaller differences do not matter.
        max_time_s: Measure fewer rounds rather than take longer; without time for a confirmation
            there is no winner.
        limits: Of each process.
        tags: Names for the runs in the store.
        store: Where the runs are stored.

    Returns:
        ``report.winner`` is the confirmed alternative, or ``None``.

    Raises:
        UsageError: A request that contradicts itself or the model, or no alternative is valid.
        UnsupportedError, BackendError: The default does not run.
    """
    request = TuneRequest(
        model=Path(model),
        backends=(on,) if isinstance(on, str) else tuple(on),
        options={name: tuple(map(str, values)) for name, values in (options or {}).items()},
        batches=(batch,) if isinstance(batch, int) else tuple(batch),
        routes=None if routes is None else Path(routes),
        metric=metric,
        samples=SampleRequest(data=tuple(map(Path, data)), count=samples),
        tolerance=tolerance,
        workload=paced_workload(workload),
        rounds=rounds,
        threshold_pct=threshold_pct,
        max_time_s=max_time_s,
        process_limits=limits,
        **stored_fields(tags, store),
    )
    return tune_options(request, TuneObserver())
