import numpy as np

from enginescope.analysis.contend.slow_downs import contention_of, sets_of
from enginescope.judge.samples import Samples
from enginescope.judge.verdict import EvidenceLevel
from enginescope.records.run.load_and_contention import ContentionOutcome
from enginescope.records.run.run import Outcome, OutcomeKind, Run
from enginescope.records.verdict.contend import Contender
from tests.analysis.gated_runs import job, process

BASE_MS = {"A": 2.0, "B": 5.0, "C": 1.0}
ROUNDS = 8
ON_CPU = {"backend": "ort-cpu", "threads": "2 (default)"}
#: Of a report, where contenders are not named.
FIELDS = {"threshold_pct": 1.0, "contenders": (), "share": "processes"}


def run(name: str, values_ms: np.ndarray, kind: OutcomeKind = OutcomeKind.OK) -> Run:
    return process(
        1.0,
        of=job(f"{name}.onnx", "fake"),
        outcome=Outcome(kind=kind),
        samples=(Samples(metric="latency", values_ms=values_ms),),
        contention=ContentionOutcome(window_ms=1000.0, before=3, after=1),
    )


def rounds(
    factors: dict[tuple[str, str], float] | None = None,
    *,
    count: int = 2,
    requests: int = 200,
    number: int = ROUNDS,
    scatter: float = 0.002,
):
    """Return the runs of all sets.

    Args:
        factors: (slowed, beside) -> how many times longer a request takes.
        scatter: Standard deviation of the logarithm of a process's level; each request has as much.
    """
    draw = np.random.default_rng(7)
    slower = factors or {}

    def one_run(name: str, members: tuple[str, ...]) -> Run:
        level = BASE_MS[name] * np.prod([slower.get((name, other), 1.0) for other in members])
        level *= np.exp(scatter * draw.standard_normal())
        return run(name, level * np.exp(scatter * draw.standard_normal(requests)))

    return {
        members: [{name: one_run(name, members) for name in members} for _ in range(number)]
        for members in sets_of(count)
    }


def report(factors: dict[tuple[str, str], float] | None = None, *, count: int = 2, **more):
    sets = rounds(factors, count=count, **more)
    return contention_of(
        sets,
        range(len(sets[("A",)])),
        threshold_pct=1.0,
        contenders=tuple(
            Contender(name=one, model=f"{one.lower()}.onnx", **ON_CPU) for one in "ABC"[:count]
        ),
        share="processes",
        measured_rounds=ROUNDS,
        evidence=EvidenceLevel.INTERLEAVED,
        comparison="c0ffee00",
    )
