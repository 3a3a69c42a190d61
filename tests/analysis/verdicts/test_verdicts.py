import math

import numpy as np
import pytest

from enginescope.analysis.verdicts.comparability import CONDITIONS, CompareConfig, differences
from enginescope.analysis.verdicts.verdicts import verdicts
from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from enginescope.judge.comparison.ratio import more_needed
from enginescope.judge.comparison.run_to_run import SessionShift
from enginescope.judge.samples import Samples, frozen
from enginescope.judge.verdict import Reason, VerdictKind
from enginescope.records.environment import Device, Environment, Host
from enginescope.records.plan.build import BuildReport
from enginescope.records.progress import RoundPosition
from enginescope.records.run.run import Outcome, OutcomeKind, Phase, Run
from enginescope.records.tensor import DataType, Tensor
from tests.analysis.gated_runs import job

DRAW = np.random.default_rng(0)


def process(median_ms: float, *, n: int = 400, turn: RoundPosition | None = None, **more) -> Run:
    values = median_ms * (1 + 0.002 * DRAW.standard_normal(n))
    more.setdefault("job", job())
    return Run(
        id="0123456789abcdef",
        created="2026-01-01T00:00:00.000000Z",
        origin="measured",
        samples=(Samples(metric="latency", values_ms=frozen(values)),),
        turn=turn,
        **more,
    )


def sampled(values: np.ndarray, run: Run | None = None) -> Run:
    samples = (Samples(metric="latency", values_ms=frozen(values)),)
    return replace(run or process(1.0), samples=samples)


def sides(ratio: float, *, rounds: int = 10, noise: float = 0.01, shared: float = 0.0):
    a, b = [], []
    for number in range(rounds):
        level = np.exp(shared * DRAW.standard_normal())
        for side, runs, factor in (("A", a, 1.0), ("B", b, ratio)):
            turn = RoundPosition(comparison="c0", side=side, round=number, place=0)
            runs.append(process(factor * level * np.exp(noise * DRAW.standard_normal()), turn=turn))
    return a, b


def headline(a, b, **terms):
    return verdicts(a, b, CompareConfig(**terms))[0]


def test_rounds_are_paired_and_a_round_that_one_side_lost_is_left_out() -> None:
    found = headline(*sides(1.05, shared=0.3))
    assert (found.kind, found.estimate.method) == (VerdictKind.SLOWER, "rounds")
    assert found.estimate.ratio == pytest.approx(1.05, rel=0.02)
    assert (found.processes_a, found.processes_b) == (10, 10)
    assert found.samples_a == 4000
    assert found.effective_a > 1000
    a, b = sides(1.0, noise=0.001)
    failed = replace(a[3], outcome=Outcome(kind=OutcomeKind.CRASHED, message="gone"))
    found = headline([*a[:3], failed, *a[4:]], b)
    assert (found.estimate.n_a, found.kind) == (9, VerdictKind.SAME)


def test_processes_without_turns_are_two_groups_of_their_own_or_an_assumed_scatter() -> None:
    a = [process(one) for one in (1.0, 1.001, 0.999, 1.002, 1.0)]
    found = headline(a, [process(one) for one in (0.95, 0.951, 0.949, 0.952, 0.95)])
    assert (found.estimate.method, found.kind) == ("processes", VerdictKind.FASTER)
    twice = [headline([process(1.0)] * 2, [process(one)] * 2) for one in (1.06, 1.1)]
    assert [one.kind for one in twice] == [VerdictKind.INCONCLUSIVE, VerdictKind.SLOWER]
    assert {(one.estimate.method, one.processes_a) for one in twice} == {("samples", 2)}
    known = headline([process(1.0)] * 2, [process(1.04)] * 2, scatter_pct=1.0)
    assert known.kind is VerdictKind.SLOWER
    five = [process(1.03 * one) for one in (1.0, 1.002, 0.998, 1.001, 0.999)]
    found = headline([process(1.0)], five)
    assert (found.kind, found.estimate.is_student) == (VerdictKind.SLOWER, True)
    assert headline([process(1.0)], five[:4]).kind is VerdictKind.INCONCLUSIVE  # assumed again


def test_processes_say_themselves_how_they_scatter_or_have_to_differ_by_more() -> None:
    levels = (1.0, 1.005, 0.995)
    a, b = ([process(level * one) for one in levels] for level in (1.0, 1.03))
    found = headline(a, b)
    assert (found.kind, found.estimate.method) == (VerdictKind.SLOWER, "processes")
    assert found.estimate.is_student
    far = [process(level) for level in (1.0, 1.03, 1.06)]
    assert headline(a, far).kind is VerdictKind.INCONCLUSIVE
    more = headline([*a, process(1.0)], [*b, process(1.03)])
    assert more.kind is VerdictKind.SLOWER
    assert not more.estimate.is_student  # ranks tell
    assert headline([process(1.0)], [process(1.02)]).kind is VerdictKind.INCONCLUSIVE
    assert headline([process(1.0)], [process(1.1)]).kind is VerdictKind.SLOWER
    assert headline([process(1.0)], [process(1.02)], scatter_pct=0.1).kind is VerdictKind.SLOWER
    assert headline([process(1.0)], [process(1.02)]).more is None


HERE = Environment(
    host=Host(cpu_model="Xeon", cores_usable=2), devices=(Device(name="A100", driver="580"),)
)
BASE = {
    "job": job(spec="ort-cpu:fp32", cuda_graph=False),
    "environment": HERE,
    "inputs": (Tensor(name="x", dtype=DataType.FP32, shape=(1, 3)),),
}


@pytest.mark.parametrize(
    ("key", "change"),
    [
        ("precision", {"job": job(spec="ort-cpu:fp16", cuda_graph=False)}),
        ("graph", {"job": job(spec="ort-cpu:fp32", cuda_graph=True)}),
        ("gpu", {"environment": replace(HERE, devices=(Device(name="H200", driver="580"),))}),
        ("cpu", {"environment": replace(HERE, host=Host(cpu_model="Other", cores_usable=2))}),
        ("shapes", {"inputs": (Tensor(name="x", dtype=DataType.FP32, shape=(8, 3)),)}),
    ],
)
def test_other_conditions_are_incomparable_unless_meant(key, change) -> None:
    a, b = [process(1.0, **BASE)], [process(2.0, **BASE | change)]
    found = headline(a, b)
    assert (found.kind, found.reason) == (VerdictKind.INCOMPARABLE, Reason.DIFFERENT)
    assert CONDITIONS[key].title in found.detail
    assert found.estimate.ratio == pytest.approx(2, rel=0.01)
    assert [one.key for one in differences(a, b)] == [key]
    assert headline(a, b, across=(key,)).kind is VerdictKind.SLOWER


def test_unknown_conditions_are_named_and_a_side_without_a_good_run_is_an_error() -> None:
    a = [process(1.0, environment=Environment(host=Host(cpu_model="Xeon")))]
    assert differences(a, [process(1.0)]) == ()
    with pytest.raises(UsageError, match="--across drivr"):
        headline([process(1.0)], [process(1.0)], across=("drivr",))
    failed = replace(process(1.0), outcome=Outcome(kind=OutcomeKind.FAILED, message="no memory"))
    for label, sides in (("A", ([failed], [process(1.0)])), ("B", ([process(1.0)], [failed]))):
        with pytest.raises(UsageError, match=f"nothing of {label} to compare") as caught:
            verdicts(*sides)
        assert caught.value.why == "no memory"
    hosts = [Environment(host=Host(cpu_model=name)) for name in ("Xeon", "Epyc")]
    (found,) = differences(*([process(1.0, environment=host)] for host in hosts))
    assert (found.a, found.b) == ("Xeon", "Epyc")


@pytest.mark.parametrize(
    ("step", "kind"), [(0.0005, VerdictKind.SAME), (0.012, VerdictKind.INCONCLUSIVE)]
)
def test_fine_steps_of_the_clock_leave_the_same_the_same(step: float, kind: VerdictKind) -> None:
    """What is the same never differs by a step; it need not, where steps are far below t."""

    def stepped(number: int) -> Run:
        return sampled(1.0 + step * np.random.default_rng(number).integers(-1, 2, 2_000))

    a, b = ([stepped(number) for number in range(first, first + 8)] for first in (0, 8))
    found = headline(a, b)
    assert found.kind is kind
    assert (found.reason is Reason.CLOCK_STEP) == (kind is VerdictKind.INCONCLUSIVE)


def test_steps_of_the_clock_decide_nothing_unless_the_interval_is_wider() -> None:
    coarse = [sampled(np.repeat([middle, middle + 0.05], 200)) for middle in (1.0, 1.02)]
    found = headline(coarse[:1], coarse[1:], scatter_pct=0.0)
    assert (found.kind, found.reason) == (VerdictKind.INCONCLUSIVE, Reason.CLOCK_STEP)
    assert found.detail == "the clock has steps of 4.9 % of the median"
    # A gate named steps of 0.23 % where the interval was from −1 to +12 %.

    def stepped(median: float) -> Run:
        return sampled(median + 0.0023 * np.random.default_rng(7).integers(-1, 2, 2_000))

    medians = (1.0, 1.08, 0.95, 1.05, 0.97, 1.03)
    a, b = ([stepped(one) for one in some] for some in (medians, medians[::-1]))
    open_ = {one.metric: one for one in verdicts(a, b) if one.metric in ("latency", "throughput")}
    assert {one.reason for one in open_.values()} == {Reason.INTERVAL_TOO_WIDE}
    assert len(open_) == sum(bool(one.more) for one in open_.values()) == 2
    # No number of processes settles what sessions leave open, or what is not comparable.
    shift = SessionShift(sd=0.05, sessions=5, weight=math.sqrt(2), freedom=5)
    for found in verdicts(*sides(1.05, noise=0.001), CompareConfig(sessions=shift)):
        assert (found.reason, found.more) == (Reason.SESSIONS, None), found.metric
    assert {one.more for one in verdicts(*sides(1.05, noise=0.001))} == {None}
    graph = [replace(run, job=job(cuda_graph=True)) for run in b]
    plain = [replace(run, job=job(cuda_graph=False)) for run in a]
    assert {(one.reason, one.more) for one in verdicts(plain, graph)} == {(Reason.DIFFERENT, None)}
    # Samples do not tell how processes scatter: √2 × the scatter stays, whatever their number.
    wide = [level * np.random.default_rng(7).normal(1, 0.2, 400) for level in (1.0, 1.02)]
    found = headline(*([sampled(values)] for values in wide), scatter_pct=1.0)
    known = math.sqrt(2) * math.log1p(0.01)
    assert found.more == more_needed(found.estimate, 1.0, scatter=known) > 100


def test_figures_that_each_process_or_build_has_one_of() -> None:
    built = BuildReport(engine="x", engine_bytes=1000, build_ms=5.0)
    a = [process(1.0, phases=(Phase(name="load", duration_ms=10.0),), build=built)]
    heavier = replace(built, engine_bytes=1100)
    b = [process(1.0, phases=(Phase(name="load", duration_ms=30.0),), build=heavier)]
    found = {one.metric: one for one in verdicts(a, b)}
    assert (found["load"].kind, found["load"].reason) == (
        VerdictKind.INCONCLUSIVE,
        Reason.ONE_VALUE,
    )
    assert found["load"].estimate.ratio == pytest.approx(3)
    assert found["engine_size"].kind is VerdictKind.SLOWER
    assert found["engine_size"].reason is Reason.EXACT
    assert "first_inference" not in found
    assert {one.metric: one.kind for one in verdicts(a * 5, b * 5)}["load"] is VerdictKind.SLOWER
    a, b = sides(1.0)

    def built(run: Run, build_ms: float) -> Run:
        report = BuildReport(engine=f"e{build_ms}", engine_bytes=100, build_ms=build_ms)
        return replace(run, build=replace(report, from_cache=run.turn.round > 0))

    found = verdicts([built(one, 900.0) for one in a], [built(one, 1800.0) for one in b])
    (build,) = (one for one in found if one.metric == "build")
    assert (build.kind, build.reason) == (VerdictKind.INCONCLUSIVE, Reason.ONE_VALUE)
    assert (build.a, build.b, build.processes_a) == (900.0, 1800.0, 1)
    assert build.estimate.ratio == pytest.approx(2.0)
    again = [built(one, 900.0 + one.turn.round) for one in a]
    (build,) = (one for one in verdicts(again, again) if one.metric == "build")
    assert build.processes_a == 10


def test_a_smaller_engine_is_better_by_more_than_the_threshold() -> None:
    kinds = {900: "faster", 991: "same", 1000: "same", 1009: "same", 1011: "slower"}
    sides = {
        size: [process(1.0, build=BuildReport(engine="x", engine_bytes=size))] for size in kinds
    }
    for size, kind in kinds.items():
        (found,) = (it for it in verdicts(sides[1000], sides[size]) if it.metric == "engine_size")
        assert (found.kind.value, found.threshold_pct) == (kind, 1), size


def disturbed(run: Run) -> Run:
    """The run as the load of another process makes it: slower, its median known to ±10 % or so."""
    return sampled(run.samples[0].values_ms * (1.3 + DRAW.exponential(4.0, 400)), run)


def test_disturbed_rounds_do_not_count() -> None:
    a, b = sides(1.03, rounds=14, noise=0.005)
    found = headline([disturbed(a[2]), *a[:2], *a[3:]], [*b[:9], disturbed(b[9]), *b[10:]])
    assert found.kind is VerdictKind.SLOWER
    assert (found.estimate.n_a, found.estimate.left_out) == (12, 2)
    assert found.processes_a == 14
    disturbed_a = [disturbed(run) if run.turn.round in (2, 3, 7) else run for run in a]
    disturbed_b = [disturbed(run) if run.turn.round in (3, 5) else run for run in b]
    found = headline(disturbed_a, disturbed_b)
    kept = [at for at in range(14) if at not in (2, 3, 5, 7)]
    medians = [float(np.median(a[at].samples[0].values_ms)) for at in kept]
    assert found.estimate.left_out == 4
    assert found.a == pytest.approx(np.exp(np.median(np.log(medians))))
    assert found.estimate.basis == "round"
    a, b = sides(1.0, rounds=14)
    found = headline([*a[:6], *map(disturbed, a[6:])], b)
    assert (found.kind, found.reason) == (VerdictKind.INCONCLUSIVE, Reason.UNSTABLE)
    assert found.more is None


def test_a_side_that_is_unstable_is_reported_and_two_levels_are_inconclusive() -> None:
    """Half of B's processes are slower and unsure: B is slower, and was called inconclusive."""
    a, b = sides(1.0, rounds=30, noise=0.003)
    b = [disturbed(run) if run.turn.round % 2 else run for run in b]
    found = headline(a, b)
    assert (found.estimate.disturbed.a, found.estimate.disturbed.b) == (0, 15)
    assert found.estimate.disturbed.unstable == "b"
    assert (found.estimate.n_a, found.estimate.left_out) == (30, 0)
    assert found.kind is VerdictKind.SLOWER
    other = headline(b, a)
    assert (other.kind, other.estimate.disturbed.unstable) == (VerdictKind.FASTER, "a")
    a, b = sides(1.0, rounds=28, noise=0.003)
    b = [disturbed(run) if run.turn.round % 2 else run for run in b]
    found = headline(a, b)
    assert (found.kind, found.reason) == (VerdictKind.INCONCLUSIVE, Reason.PROCESS_STATES)
    assert "(14 and 14)" in found.detail


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_ratio_without_ranks_is_the_quotient_of_the_figures(count: int) -> None:
    a = [process(level) for level in (1.0, 1.04, 1.01)[:count]]
    found = headline(a, [process(level) for level in (1.2, 1.1, 1.17)[:count]])
    assert found.estimate.basis is None
    assert found.estimate.ratio == pytest.approx(found.b / found.a, rel=1e-12)
