"""What two runs must share before their figures are compared with each other.

What a comparison is checked against.
"""

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

from enginescope.analysis.runs.run_view import Runs
from enginescope.core.errors import UsageError
from enginescope.core.record import Record, replace
from enginescope.core.suggest import did_you_mean
from enginescope.judge.comparison.looks import THRESHOLD_PCT
from enginescope.judge.comparison.run_to_run import SessionShift
from enginescope.judge.units import shape_text
from enginescope.records.notice import NOT_FP16
from enginescope.records.run.run import Run
from enginescope.records.verdict.lottery import BuildSpread


class Condition(NamedTuple):
    """One thing that changes figures.

    Attributes:
        key: As ``--across`` has it.
        of: A run's value as text; ``None``: not known, and then no difference is seen.
    """

    key: str
    title: str
    of: Callable[[Run], str | None]


class Difference(Record, frozen=True, kw_only=True):
    """A condition that two sides do not share."""

    key: str
    title: str
    a: str
    b: str

    def __str__(self) -> str:
        """Return it for people."""
        return f"{self.title}: {self.a} → {self.b}"


def differences(a: Runs, b: Runs, *, across: Iterable[str] = ()) -> tuple[Difference, ...]:
    """Return the conditions in which `a` and `b` differ, but for those in `across`.

    Args:
        a, b: All processes of either side.
        across: Keys of conditions whose difference is meant.
    """
    meant = set(across)
    for key in sorted(meant - CONDITIONS.keys()):
        known = ", ".join(CONDITIONS)
        raise UsageError(
            f"--across {key}",
            why="no condition of that name",
            hint=did_you_mean(key, tuple(CONDITIONS)) or f"one of {known}",
        )
    found = []
    for one in CONDITIONS.values():
        first, second = _values(a, one), _values(b, one)
        if one.key not in meant and first and second and first != second:
            texts = [", ".join(sorted(side)) for side in (first, second)]
            found.append(Difference(key=one.key, title=one.title, a=texts[0], b=texts[1]))
    return tuple(found)


def same_computation(a: Runs, b: Runs) -> str | None:
    """Say that FP16 and FP32 of one model are the same computation; ``None`` where they are not.

    Known of a provider that has no FP16 kernels: its run has the notice W-NOT-FP16.
    """
    first, second = a[0].job, b[0].job
    lost = [one for one in (a[0], b[0]) if any(n.code == NOT_FP16 for n in one.notices)]
    if len(lost) != 1 or first.subject != second.subject:
        return None
    half = lost[0].job.backend
    full = (second if lost[0] is a[0] else first).backend
    if full.precision not in (None, "fp32") or replace(half, precision=full.precision) != full:
        return None
    advice = f"measure without :{half.precision}"
    return f"{half} computes in FP32, as {full} does ({NOT_FP16}); {advice}"


def varying_conditions(runs: Runs) -> dict[str, list[str | None]]:
    """Return each condition in which runs differ and that names do not show: title -> values."""
    hidden = (one for one in CONDITIONS.values() if one.key not in IN_NAMES)
    values = {one.title: [one.of(run) for run in runs] for one in hidden}
    return {title: each for title, each in values.items() if len({*each} - {None}) > 1}


def _values(runs: Runs, condition: Condition) -> set[str]:
    return {value for run in runs if (value := condition.of(run)) is not None}


def _gpu(run: Run) -> str | None:
    return " + ".join(device.name for device in run.environment.devices) or None


def _driver(run: Run) -> str | None:
    drivers = dict.fromkeys(device.driver for device in run.environment.devices if device.driver)
    return " + ".join(drivers) or None


def _clocks(run: Run) -> str | None:
    devices = run.environment.devices
    if not devices or run.origin == "imported" or {*run.providers} == {"CPUExecutionProvider"}:
        return None
    return " + ".join(str(device.clock_lock or "not locked") for device in devices)


def _cpu(run: Run) -> str | None:
    host = run.environment.host
    if host.cpu_model is None or run.origin == "imported":
        return None
    cores = f", {host.cores_usable} cores" if host.cores_usable else ""
    return f"{host.cpu_model}{cores}"


def _backend(run: Run) -> str | None:
    return run.job.backend.name if run.origin == "measured" else None


def _precision(run: Run) -> str | None:
    built = run.build.precision if run.build else None
    return run.job.backend.precision or built or ("default" if run.build else None)


def fed_shapes(run: Run) -> str | None:
    """Return the shapes of a run's inputs as text; ``None``: one of them is not known."""
    known = [tensor.shape for tensor in run.inputs if tensor.shape is not None]
    # names may change from export to export; what is fed does not
    is_known = known and len(known) == len(run.inputs)
    return ", ".join(map(shape_text, known)) if is_known else None


def _metric(run: Run) -> str | None:
    return run.headline.metric if run.headline else None


def _mode(name: str, *words: str) -> Callable[[Run], str | None]:
    """Return what reads a field of a run's mode: in words for true and false, else as it is."""

    def of(run: Run) -> str | None:
        value = getattr(run.job.workload.mode, name)
        return None if value is None else words[not value] if words else str(value)

    return of


def _load(run: Run) -> str | None:
    rule = run.job.load
    usual = "closed loop" if run.origin == "measured" else None
    return rule.text if rule else usual


CONDITIONS: dict[str, Condition] = {
    one.key: one
    for one in (
        Condition("gpu", "GPU", _gpu),
        Condition("driver", "driver", _driver),
        Condition("clocks", "GPU clocks", _clocks),
        Condition("cpu", "processor", _cpu),
        Condition("governor", "CPU governor", lambda run: run.environment.host.governor),
        Condition("backend", "backend", _backend),
        Condition("precision", "precision", _precision),
        Condition("shapes", "input shapes", fed_shapes),
        Condition("metric", "what was timed", _metric),
        Condition("mode", "mode", _mode("kind")),
        Condition("in-flight", "queries in flight", _mode("in_flight")),
        Condition("streams", "streams", _mode("streams")),
        Condition("transfers", "transfers", _mode("transfers", "timed", "not timed")),
        Condition("graph", "CUDA graph", _mode("cuda_graph", "on", "off")),
        Condition("spin", "waiting", _mode("spin_wait", "spinning", "blocking")),
        Condition("cache", "L2 cache", _mode("cold", "flushed", "warm")),
        Condition("loop", "timing loop", _mode("loop")),
        Condition("load", "load", _load),
    )
}


#: Keys of conditions that the name of a job's backend shows.
IN_NAMES = frozenset({"backend", "precision"})
#: What two processes of the same work are taken to differ by where nothing is known of it: half the
#: width of a 95 % interval, in percent. It covers standard deviations of 2 %; with less, processes
#: of such a scatter differ in a quarter of comparisons. ``enginescope doctor --noise`` measures it.
ASSUMED_SCATTER_PCT = 5.0


def check_pct(name: str, value: float, most: float) -> None:
    """Raise unless `value` is a percentage from 0 to `most`.

    Raises:
        UsageError: It is not; NaN never is.
    """
    if not 0 <= value <= most:
        raise UsageError(f"{name} {value:g}", why=f"not a percentage from 0 to {most:,g}")


class CompareConfig(Record, frozen=True, kw_only=True):
    """What a comparison is checked against.

    Attributes:
        threshold_pct: Smaller differences do not matter.
        across: Conditions whose difference is meant.
        scatter_pct: What processes of the same work differ by, as measured on this machine;
            ``None``: assumed.
        confidence: Of each interval.
        sessions: Variation between the sessions of the two sides; ``None``: they share their
            sessions.
        spreads: Recorded variation between builds, of any machine and model.
    """

    threshold_pct: float = THRESHOLD_PCT
    across: tuple[str, ...] = ()
    scatter_pct: float | None = None
    confidence: float = 0.95
    sessions: SessionShift | None = None
    spreads: tuple[BuildSpread, ...] = ()

    @property
    def scatter(self) -> float:
        """What processes of the same work differ by, measured or assumed, in logarithms."""
        known = ASSUMED_SCATTER_PCT if self.scatter_pct is None else self.scatter_pct
        return math.log1p(known / 100)
