"""What ``load`` is asked for, and what it reports while it works."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit

from enginescope.backends.open_loop import GRACE_MS
from enginescope.core.errors import UsageError
from enginescope.core.optional import require
from enginescope.core.record import replace
from enginescope.core.units import parse_duration_ms
from enginescope.formats.arrival_trace import read_arrival_trace
from enginescope.records.run.job import Workload
from enginescope.records.run.load import SCENARIOS, Arrivals, LoadRule, Scenario
from enginescope.records.verdict.load import Slo
from enginescope.services.measurement.jobs import JobRequest

#: Processes at each rate of a search.
REPEATS = 3
#: A search ends when the lowest rate that does not meet the objective is so close, in percent.
RESOLUTION_PCT = 5.0
MOST_WORKERS = 256
MOST_PER_S = 1_000_000
#: Requests of a query in the scenario multi-stream, by MLPerf's rules.
SAMPLES_PER_QUERY = 8
_GRPC = ("grpc://", "grpcs://")
_SLO = re.compile(r"^\s*p([0-9]+(?:\.[0-9]+)?)\s*<=?\s*(.+)$")


class LoadRequest(JobRequest, frozen=True, kw_only=True):
    """A load test of one target; the fields are the parameters of `load`.

    Attributes:
        is_stored: Store each run as soon as it ends.
    """

    target: str
    rule: LoadRule = LoadRule()
    slo: Slo | None = None
    is_search: bool = False
    repeats: int | None = None
    resolution_pct: float = RESOLUTION_PCT
    is_stored: bool = True


def parse_slo(text: str) -> Slo:
    """Return the objective in ``p99<10ms``; a number without a unit is seconds."""
    match = _SLO.match(text)
    if not match:
        raise UsageError(f"{text!r} is not an objective", hint="as in p99<10ms or p99.9<50ms")
    slo = Slo(p=float(match[1]), limit_ms=parse_duration_ms(match[2]))
    if not 50 <= slo.p < 100 or slo.limit_ms <= 0:
        raise UsageError(
            f"objective {text!r}", why="the percentile is 50 to below 100, and the limit above 0"
        )
    return slo


def asked_rule(
    scenario: Scenario | None, trace: Path | None, arrivals: Arrivals, **fields: Any
) -> LoadRule:
    """Return the rule with the arrivals of a trace or a scenario, which has one of MLPerf's names.

    Only multi-stream has several requests a query.
    """
    rule = LoadRule(arrivals=arrivals, **fields)
    if trace is not None:
        rule = replace(rule, arrivals="trace", times_ms=read_arrival_trace(trace))
    if scenario is None:
        return replace(rule, samples_per_query=1)
    if scenario not in SCENARIOS:
        raise UsageError(f"scenario {scenario!r}", hint=f"one of {', '.join(SCENARIOS)}")
    if scenario != "server" and (rule.rate_per_s is not None or rule.times_ms):
        raise UsageError(
            f"`rate` and `scenario` {scenario}", why="only the scenario server has a rate"
        )
    if scenario == "single-stream" and rule.workers > 1:
        raise UsageError("`concurrency`", why="the scenario single-stream has one query in flight")
    arrivals = "poisson"
    if scenario != "server":
        arrivals = "burst" if scenario == "offline" else "closed"
    per_query = rule.samples_per_query if scenario == "multi-stream" else 1
    return replace(rule, arrivals=arrivals, scenario=scenario, samples_per_query=per_query)


def is_address(target: str) -> bool:
    return target.startswith(("http://", "https://", *_GRPC))


def check_load_request(request: LoadRequest) -> None:
    _check_rule(request.rule)
    if request.is_search:
        _check_search(request)
    elif request.max_time_s is not None:
        raise UsageError("`max_time` without `find_max`", hint="`duration` ends a load test")
    if request.repeats is not None and request.repeats < 1:
        raise UsageError(f"`repeats` {request.repeats}", why="it is at least 1")
    longest_ms = request.rule.duration_ms + GRACE_MS
    if request.slo and request.rule.is_open and request.slo.limit_ms > longest_ms:
        why = "its limit is longer than the test"
        raise UsageError("`slo`", why=why, hint="a longer `duration`")
    if is_address(request.target):
        _check_address(request)
    _check_workload(request.workload, request.rule)


def _check_workload(workload: Workload, rule: LoadRule) -> None:
    mode, warmup = workload.mode, workload.warmup
    if mode.kind == "throughput" or mode.decode is not None:
        raise UsageError("`workload`", why="a load test issues single requests")
    is_warm = warmup.time_ms or warmup.iterations
    if not is_warm and rule.arrivals in ("poisson", "constant") and rule.rate_per_s is None:
        raise UsageError("no warm-up and no `rate`", why="the warm-up measures the usual rate")


def _check_rule(rule: LoadRule) -> None:
    if rule.arrivals not in get_args(Arrivals):
        raise UsageError(f"`arrivals` {rule.arrivals}", hint="poisson, constant or a trace")
    if rule.rate_per_s is not None and not 0 < rule.rate_per_s <= MOST_PER_S:
        raise UsageError(
            f"`rate` {rule.rate_per_s:g}", why=f"it is above 0, and at most {MOST_PER_S:,}"
        )
    if not 1 <= rule.workers <= MOST_WORKERS:
        raise UsageError(f"`concurrency` {rule.workers}", why=f"it is 1 to {MOST_WORKERS}")
    if rule.arrivals == "trace" and rule.rate_per_s is not None:
        raise UsageError("`rate` and `trace`", why="a trace has its own rate")


def _check_search(request: LoadRequest) -> None:
    rule = request.rule
    if request.slo is None:
        raise UsageError("`find_max` without `slo`", hint="`slo` 'p99<10ms'")
    if rule.arrivals not in ("poisson", "constant") or rule.scenario not in (None, "server"):
        raise UsageError("`find_max`", why="a search needs arrivals with a rate")
    if not 0.1 <= request.resolution_pct <= 100:
        raise UsageError(f"`resolution` {request.resolution_pct:g}", why="it is 0.1 to 100 percent")


def _check_address(request: LoadRequest) -> None:
    try:
        parts = urlsplit(request.target)
        parts.port  # noqa: B018 - raises where it is no number
    except ValueError as error:
        raise UsageError(f"endpoint {request.target}", why=str(error)) from None
    if not parts.hostname or "/v2/models/" not in parts.path:
        raise UsageError(
            f"endpoint {request.target}",
            why="it is not the address of a model",
            hint="http://localhost:8000/v2/models/NAME, or grpc://localhost:8001/v2/models/NAME",
        )
    if parts.username or parts.password:
        raise UsageError("the endpoint's address holds credentials", hint="omit them")
    if request.target.startswith(_GRPC):
        if parts.port is None:
            raise UsageError(
                f"endpoint {request.target}",
                why="gRPC has no usual port",
                hint=f"grpc://{parts.hostname}:8001{parts.path}",
            )
        require("grpc", purpose="load over gRPC", install="enginescope[grpc]")
