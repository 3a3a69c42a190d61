"""What ``load`` is asked for, and what it reports while it works."""

import re
from os import fspath
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from enginescope.backends.open_loop import GRACE_MS
from enginescope.core.errors import UsageError
from enginescope.core.optional import require
from enginescope.core.record import replace
from enginescope.core.units import parse_duration_ms
from enginescope.formats.arrival_trace import read_arrival_trace
from enginescope.records.run.job import Conditions
from enginescope.records.run.load_and_contention import Arrivals, LoadRule, Scenario
from enginescope.records.verdict.load import Slo
from enginescope.services.declared import File, Param, existing
from enginescope.services.measurement.jobs import JobClock, JobConditions, MeasureRequest

#: Processes at each rate of a search.
REPEATS = 3
MOST_PER_S = 1_000_000
_GRPC = ("grpc://", "grpcs://")
_SLO = re.compile(r"^\s*p([0-9]+(?:\.[0-9]+)?)\s*<=?\s*(.+)$")


class _TargetRequest(MeasureRequest, frozen=True):
    target: Annotated[
        File,
        Param(
            "Model or engine; or a server's model, as http://HOST:PORT/v2/models/NAME or grpc://."
        ),
    ]


class LoadRequest(_TargetRequest, frozen=True, kw_only=True):
    """A load test of one target: the parameters of `load`; with `is_stored`, runs as they end."""

    on: Annotated[
        str | None,
        Param("Backend to measure on.", usual="ort-cpu; trt for an engine; oip for a URL"),
    ] = None
    rate: Annotated[
        float | None,
        Param(
            "Queries per second.",
            above=0,
            most=MOST_PER_S,
            usual="half the rate of the closed loop",
        ),
    ] = None
    arrivals: Annotated[
        Literal["poisson", "constant"],
        Param("Draw random gaps between queries, or use equal ones."),
    ] = "poisson"
    trace: Annotated[
        File | None, existing("Read arrival times in seconds from a file, one per line.")
    ] = None
    concurrency: Annotated[
        int, Param("Number of workers, each with its own session or connection.", least=1, most=256)
    ] = 1
    slo: Annotated[str | None, Param("Latency objective, such as p99<10ms.", metavar="pN<TIME")] = (
        None
    )
    find_max: Annotated[
        bool, Param("Search for the highest rate that meets the latency objective.")
    ] = False
    resolution_pct: Annotated[
        float,
        Param("End the search when the next rate is within this percentage.", least=0.1, most=100),
    ] = 5.0
    repeats: Annotated[
        int | None, Param("Processes at each rate.", least=1, usual=f"1; {REPEATS} in a search")
    ] = None
    scenario: Annotated[Scenario | None, Param("Issue queries as in MLPerf Inference.")] = None
    samples_per_query: Annotated[  # by MLPerf's rules
        int, Param("Requests per query in the scenario multi-stream.", least=1)
    ] = 8
    duration_ms: Annotated[
        float | None,
        Param(
            "Let queries arrive for this long.", above=0, usual=f"{LoadRule().duration_ms / 1e3:g}s"
        ),
    ] = None
    queries: Annotated[int | None, Param("Issue exactly this many queries.", least=1)] = None
    data: Annotated[str, Param("Data set folder, auto or none, as for bench.")] = "auto"
    conditions: JobConditions = Conditions()
    clock: JobClock = None
    is_stored: bool = True

    @property
    def address(self) -> str:
        return fspath(self.target)


def parse_slo(text: str) -> Slo:
    """Return the objective in ``p99<10ms``; a number without a unit is seconds."""
    match = _SLO.match(text)
    if not match:
        raise UsageError(f"{text!r} is not an objective", hint="as in p99<10ms or p99.9<50ms")
    slo = Slo(p=float(match[1]), limit_ms=parse_duration_ms(match[2]))
    if not 50 <= slo.p < 100 or slo.limit_ms <= 0:
        why = "the percentile is 50 to below 100, and the limit above 0"
        raise UsageError(f"objective {text!r}", why=why)
    return slo


def rule_of(request: LoadRequest) -> LoadRule:
    """Return the rule of a request, with the arrivals of its trace or of its scenario.

    Only multi-stream has several requests a query.
    """
    scenario = request.scenario
    rule = LoadRule(
        arrivals=request.arrivals,
        rate_per_s=request.rate,
        duration_ms=float(request.duration_ms or LoadRule().duration_ms),
        queries=request.queries,
        seed=request.workload.seed,
        workers=request.concurrency,
    )
    if request.trace is not None:
        rule = replace(rule, arrivals="trace", times_ms=read_arrival_trace(Path(request.trace)))
    if scenario is None:
        return rule
    if scenario != "server" and (rule.rate_per_s is not None or rule.times_ms):
        why = "only the scenario server has a rate"
        raise UsageError(f"`rate` and `scenario` {scenario}", why=why)
    if scenario == "single-stream" and rule.workers > 1:
        raise UsageError("`concurrency`", why="the scenario single-stream has one query in flight")
    arrivals: Arrivals = "poisson"
    if scenario != "server":
        arrivals = "burst" if scenario == "offline" else "closed"
    per_query = request.samples_per_query if scenario == "multi-stream" else 1
    return replace(rule, arrivals=arrivals, scenario=scenario, samples_per_query=per_query)


def is_address(target: str) -> bool:
    return target.startswith(("http://", "https://", *_GRPC))


def check_load_request(request: LoadRequest, rule: LoadRule, slo: Slo | None) -> None:
    """Raise `UsageError` where a request contradicts itself."""
    has_rate = rule.arrivals in ("poisson", "constant")
    if rule.arrivals == "trace" and rule.rate_per_s is not None:
        raise UsageError("`rate` and `trace`", why="a trace has its own rate")
    if request.find_max and slo is None:
        raise UsageError("`find_max` without `slo`", hint="`slo` 'p99<10ms'")
    if request.find_max and (not has_rate or rule.scenario not in (None, "server")):
        raise UsageError("`find_max`", why="a search needs arrivals with a rate")
    if request.max_time_s is not None and not request.find_max:
        raise UsageError("`max_time` without `find_max`", hint="`duration` ends a load test")
    if slo and rule.is_open and slo.limit_ms > rule.duration_ms + GRACE_MS:
        why = "its limit is longer than the test"
        raise UsageError("`slo`", why=why, hint="a longer `duration`")
    if is_address(request.address):
        _check_address(request.address)
    mode, warmup = request.workload.mode, request.workload.warmup
    if mode.kind == "throughput" or mode.decode is not None:
        raise UsageError("`workload`", why="a load test issues single requests")
    is_warm = warmup.time_ms or warmup.iterations
    if not is_warm and has_rate and rule.rate_per_s is None:
        raise UsageError("no warm-up and no `rate`", why="the warm-up measures the usual rate")


def _check_address(address: str) -> None:
    try:
        parts = urlsplit(address)
        parts.port  # noqa: B018 - raises where it is no number
    except ValueError as error:
        raise UsageError(f"endpoint {address}", why=str(error)) from None
    if not parts.hostname or "/v2/models/" not in parts.path:
        hint = "http://localhost:8000/v2/models/NAME, or grpc://localhost:8001/v2/models/NAME"
        raise UsageError(f"endpoint {address}", why="it is not the address of a model", hint=hint)
    if parts.username or parts.password:
        raise UsageError("the endpoint's address holds credentials", hint="omit them")
    if address.startswith(_GRPC):
        if parts.port is None:
            hint = f"grpc://{parts.hostname}:8001{parts.path}"
            raise UsageError(f"endpoint {address}", why="gRPC has no usual port", hint=hint)
        require("grpc", purpose="load over gRPC", install="enginescope[grpc]")
