import pytest

from enginescope.analysis.verdicts.comparability import CompareConfig
from enginescope.analysis.verdicts.measured_notices import measured_notices
from enginescope.analysis.verdicts.measured_sides import compare_sides, fitting_floor, floor_pct
from enginescope.analysis.verdicts.noise_floor import noise_floor
from enginescope.core.errors import UsageError
from enginescope.core.jsonio import decode, encode
from enginescope.core.record import replace
from enginescope.judge.comparison.looks import LOOK_CONFIDENCE, LOOKS
from enginescope.judge.notice import Notice
from enginescope.judge.verdict import DisturbedRounds, RatioEstimate, VerdictKind
from enginescope.records.environment import Device, Environment
from enginescope.records.notice import is_unstable, most_severe
from enginescope.records.plan.build import BuildReport
from enginescope.records.verdict.noise import Decidable, NoiseFloor
from enginescope.render.verdicts.verdict_phrases import headline_sentence
from tests.analysis.in_turn import COMPARISON, HOST, crashed, in_turn, job, named, process
from tests.analysis.runs.test_gpu_state import sampled, telemetry

FLOOR = NoiseFloor(
    environment=Environment(host=HOST).comparable_key(),
    backend="ort-cpu",
    model="net.onnx",
    created="2026-01-01T00:00:00+00:00",
    comparison="c0",
    rounds=20,
    round_s=3.0,
    scatter_pct=5.0,
    decidable=(Decidable(duration_s=60, rounds=LOOKS[-1], difference_pct=1.5),),
)


def codes(found) -> dict[str, str]:
    return {one.code: one.message for one in measured_notices(found)}


def test_all_sides_are_held_against_the_first_at_the_confidence_of_their_looks() -> None:
    found = compare_sides(named(*in_turn(1.05)), CompareConfig(confidence=0.5))
    headline = found.pairs[0].headline
    assert headline.kind is VerdictKind.SLOWER
    assert headline.estimate.interval.confidence == LOOK_CONFIDENCE
    assert found.comparison == COMPARISON
    assert found.is_decided
    a, b = in_turn(1.05)
    found = compare_sides(named(a, b, a))
    assert [(one.a, one.b) for one in found.pairs] == [("A", "B"), ("A", "C")]
    assert [one.headline.kind for one in found.pairs] == [VerdictKind.SLOWER, VerdictKind.SAME]


@pytest.mark.parametrize(
    ("jobs", "keys"),
    [
        ((job("fake"), job("fake")), []),
        ((job("trt", "fp32"), job("trt", "fp16")), ["precision"]),
        ((job("ort-cpu"), job("trt", "fp16")), ["backend"]),
        ((job("ort-cuda", "fp32"), job("trt", "fp16")), ["backend", "precision"]),
    ],
)
def test_what_the_command_line_put_side_by_side_is_meant(jobs, keys) -> None:
    a, b = in_turn(1.05, jobs=jobs)
    (pair,) = compare_sides(named(a, b)).pairs
    assert pair.headline.kind is VerdictKind.SLOWER
    assert [one.key for one in pair.meant] == keys
    apart = [[replace(run, turn=None) for run in side] for side in (a, b)]
    (pair,) = compare_sides(named(*apart)).pairs
    assert (pair.headline.kind is VerdictKind.INCOMPARABLE) is ("backend" in keys)


def test_everything_else_that_differs_is_incomparable_in_turn_too() -> None:
    a, b = in_turn(1.0, jobs=(job("trt", "fp32"), job("trt", "fp16")))
    gpu = Environment(host=HOST, devices=(Device(name="H200"),))
    other = [replace(run, environment=gpu) for run in b]
    first = [replace(run, environment=replace(gpu, devices=(Device(name="A100"),))) for run in a]
    (pair,) = compare_sides(named(tuple(first), tuple(other))).pairs
    assert (pair.headline.kind, pair.headline.more) == (VerdictKind.INCOMPARABLE, None)
    assert "GPU" in pair.headline.detail
    keys = [[one.key for one in some] for some in (pair.meant, pair.differing)]
    assert keys == [["precision"], ["gpu"]]
    (pair,) = compare_sides(named(tuple(first), tuple(other)), CompareConfig(across=("gpu",))).pairs
    assert pair.headline.kind is VerdictKind.SAME
    assert [one.key for one in pair.meant] == ["gpu", "precision"]
    assert headline_sentence(pair).endswith("; conditions differ: GPU")


def test_lost_processes_are_left_out_and_exact_figures_tested() -> None:
    a, b = in_turn(1.05)
    found = compare_sides(named(a, (*b[:4], crashed(b[4]), *b[5:])))
    assert found.pairs[0].headline.estimate.n_a == 11
    assert codes(found)["W-LOST-PROCESSES"] == (
        "1 of 12 processes of B failed; they and their rounds are skipped: died of SIGSEGV"
    )
    apart = compare_sides(named((process(1.0),), (process(1.0), crashed(process(1.0)))))
    assert codes(apart)["W-LOST-PROCESSES"].endswith("failed; they are skipped: died of SIGSEGV")
    built = BuildReport(engine="e", engine_bytes=1000)
    side = tuple(replace(run, build=built) for run in in_turn(1.0)[0])
    (pair,) = compare_sides(named(side, side)).pairs
    assert {one.metric for one in pair.verdicts if one.is_tested} == {"latency", "engine_size"}
    assert len(pair.verdicts) > 2


def test_warnings_of_the_runs_are_carried_with_how_many_have_them() -> None:
    load = Notice(code="W-LOAD", message="other load: 0.9 of 2 cores busy")
    info = Notice(code="I-DYNAMIC-SHAPE", message="batch became 1", level="info")
    a, b = in_turn(1.0)
    loud = tuple(replace(run, notices=(load, info)) for run in b)
    some = named(a, (*loud[:2], *b[2:]))
    said = "other load: 0.9 of 2 cores busy"
    assert codes(compare_sides(some))["W-LOAD"] == f"{said} (in 2 of 12 processes of B)"
    found = codes(compare_sides(named(tuple(replace(run, notices=(load,)) for run in a), loud)))
    assert found["W-LOAD"] == f"{said} (in all processes)"
    assert "I-DYNAMIC-SHAPE" not in found
    single = codes(compare_sides(named((process(1.0),), (replace(process(1.2), notices=(load,)),))))
    assert single["W-LOAD"] == "B: other load: 0.9 of 2 cores busy"


def load(cores: float, advice: str = "") -> Notice:
    unstable = cores >= 0.5
    text = f"other load: {cores} of 2 cores busy{advice}"
    return Notice(
        code="W-LOAD",
        message=f"busy machine: {text}" if unstable else text,
        evidence={"other_cores": cores, "unstable": unstable},
    )


@pytest.mark.parametrize("severe", [1, 11])
def test_a_mild_warning_does_not_hide_the_gravest_of_its_kind(severe: int) -> None:
    a, b = in_turn(1.0)
    cores = [0.2, *[1.8] * severe, *[0.3] * (11 - severe)]
    loud = tuple(replace(run, notices=(load(one),)) for run, one in zip(b, cores, strict=True))
    (told,) = [it for it in measured_notices(compare_sides(named(a, loud))) if it.code == "W-LOAD"]
    assert told.message == (
        "busy machine: other load: 1.8 of 2 cores busy "
        f"(at worst, in 12 of 12 processes of B, {severe} on a busy machine)"
    )
    counts = {"processes": {"B": 12}, "unstable_processes": {"B": severe}}
    assert told.evidence == {**counts, "unstable": severe == 11}
    assert is_unstable(told) is (severe == 11)


def test_each_side_has_its_own_figures() -> None:
    """ "A and B and C" stood before the figure of one of them."""

    def loaded(*loads: float):
        runs = (replace(process(1.0 + at), notices=(load(one),)) for at, one in enumerate(loads))
        return codes(compare_sides(named(*((run,) for run in runs))))["W-LOAD"]

    assert loaded(0.2, 0.4, 1.8) == (
        "A: other load: 0.2 of 2 cores busy; B: other load: 0.4 of 2 cores busy; "
        "C: busy machine: other load: 1.8 of 2 cores busy"
    )
    assert loaded(0.2, 0.2, 0.2) == "A, B and C: other load: 0.2 of 2 cores busy"


def test_each_side_of_many_processes_has_its_own_figures() -> None:
    """The worst of all stood for both: that B's clock fell less was not said."""
    a, b = in_turn(1.0)

    def of(side, *drops):
        notices = [
            Notice(code="W-CLOCK-DROP", message=f"fell by {drop} %", evidence={"drop_pct": drop})
            for drop in drops
        ]
        return (
            *(replace(run, notices=(one,)) for run, one in zip(side, notices, strict=False)),
            *side[len(notices) :],
        )

    assert codes(compare_sides(named(of(a, 6, 12, 9), of(b, *[3] * 12))))["W-CLOCK-DROP"] == (
        "fell by 12 % (A) and 3 % (B) "
        "(at worst, in 3 of 12 processes of A and 12 of 12 processes of B)"
    )
    alike = codes(compare_sides(named(of(a, 3, 3), of(b, 3))))["W-CLOCK-DROP"]
    assert alike == "fell by 3 % (in 2 of 12 processes of A and 1 of 12 processes of B)"


def test_figures_of_both_sides_and_the_same_advice_stand_in_one_sentence() -> None:
    a, b = in_turn(1.0)
    advice = "; measure again when the machine is idle"
    sides = [
        [replace(run, notices=(load(cores - at / 100, advice),)) for at, run in enumerate(side)]
        for side, cores in ((a, 1.3), (b, 1.5))
    ]
    assert codes(compare_sides(named(*sides)))["W-LOAD"] == (
        "busy machine: other load: 1.3 (A) and 1.5 (B) of 2 cores busy; measure again when the "
        "machine is idle (at worst, in all processes)"
    )
    sides = ((replace(process(at), notices=(load(at, "; measure again"),)),) for at in (1.0, 1.5))
    assert codes(compare_sides(named(*sides)))["W-LOAD"].count("measure again") == 1


def test_an_early_end_says_the_corrected_ratio_and_samples_weaken_single_processes() -> None:
    found = compare_sides(named(*in_turn(1.015, rounds=8, noise=0.008, seed=0)))
    verdict = found.pairs[0].headline
    assert verdict.corrected_ratio is not None
    ratios = verdict.corrected_ratio, verdict.estimate.ratio
    (notice,) = (one for one in measured_notices(found) if one.code == "I-OVERSTATED")
    assert notice.message.endswith("B is {:.3f} × A, not {:.3f} × A".format(*ratios))
    assert notice.evidence == {"b": "B", "corrected_ratio": ratios[0], "ratio": ratios[1]}
    assert "W-FEW-SAMPLES" in codes(compare_sides(named((process(1.0, n=20),), (process(1.2),))))
    a, b = in_turn(1.0)
    short = tuple(replace(run, samples=process(2.0, n=20).samples) for run in b)
    assert "W-FEW-SAMPLES" not in codes(compare_sides(named(a, short)))


@pytest.mark.parametrize(
    ("code", "evidence", "gravest"),
    [
        ("W-CLOCK-DROP", [{"drop_pct": drop} for drop in (6, 30, 9)], 1),
        ("W-STOPPED-SHORT", [{"samples": count} for count in (6, 3, 9)], 1),
        ("W-GPU-SILENT", [{"last_ms": last} for last in (6, 3)], 1),
        ("W-LOAD", [{}, load(0.0).evidence], 1),
        ("W-GPU-SHARED", [{"processes": [{}] * count} for count in (1, 2)], 1),
        ("W-THROTTLED", [{"timed": {"a": 20.0}}, {"pass": {"a": 30.0}}, {"no": {"a": 90.0}}], 1),
        ("W-THROTTLED", [{"timed": {"a": 20.0}, "pass": {}}, {"timed": {"b": 80.0}}], 1),
        ("W-GOVERNOR", [{}, {}], 0),
    ],
)
def test_the_gravest_is_by_what_makes_it_grave(code, evidence, gravest) -> None:
    notices = [Notice(code=code, message="", evidence=one) for one in evidence]
    assert most_severe(notices) is notices[gravest]


def test_a_floor_measured_under_load_says_so_where_it_is_used() -> None:
    a, b = in_turn(1.0, rounds=20)
    quiet = noise_floor(named(a, b))
    assert (quiet.notices, quiet.other_cores) == ((), None)
    cores = [0.2, 0.3, 1.8] * 7

    def loud(side):
        pairs = zip(side, cores, strict=False)
        return tuple(replace(run, notices=(load(n),), other_load_cores=n) for run, n in pairs)

    floor = noise_floor(named(loud(a), loud(b)))
    assert [it.message for it in floor.notices] == ["busy machine: other load: 1.8 of 2 cores busy"]
    assert floor.other_cores == 0.3
    assert decode(encode(floor), NoiseFloor, source="floor") == floor
    notices = measured_notices(compare_sides(named(*in_turn(1.0)), floors=(floor,)))
    (told,) = (one for one in notices if one.code == "W-LOADED-FLOOR")
    assert "measured under load: busy machine: other load: 1.8 of 2 cores busy" in told.message
    assert told.evidence == {"code": "W-LOAD", "other_cores": 1.8, "unstable": False}
    assert "W-LOADED-FLOOR" not in codes(compare_sides(named(a, b), floors=(quiet,)))
    assert noise_floor(named(*[(*loud(a)[:9], *a[9:]), b])).notices == ()


def test_one_process_a_side_uses_the_floor_or_says_what_is_assumed() -> None:
    loud = replace(FLOOR, scatter_pct=9.0)
    sides = named((process(1.0),), (process(1.1),))
    assumed = compare_sides(sides)
    assert assumed.pairs[0].headline.kind is VerdictKind.SLOWER
    assert codes(assumed)["I-ASSUMED-SCATTER"].startswith("one process a side: assuming ±5 %")
    (notice,) = (one for one in measured_notices(assumed) if one.code == "I-ASSUMED-SCATTER")
    assert (notice.level, notice.evidence) == ("info", {"scatter_pct": 5.0})
    few = compare_sides(named((process(1.0),), (process(1.0), process(1.1))))
    assert codes(few)["I-ASSUMED-SCATTER"].startswith("fewer than 6 processes in all: ")
    known = compare_sides(sides, floors=(loud,))
    assert (known.pairs[0].headline.kind, known.floor) == (VerdictKind.INCONCLUSIVE, loud)
    assert "I-ASSUMED-SCATTER" not in codes(known)
    said = codes(known)["W-BELOW-FLOOR"]
    assert "below the smallest difference this machine can detect: 13 %" in said
    told = compare_sides(sides, CompareConfig(scatter_pct=0.5), (loud,))
    assert told.pairs[0].headline.kind is VerdictKind.SLOWER


def test_the_threshold_is_held_to_the_floor_of_the_model_else_the_noisiest() -> None:
    assert "1.5 %" in codes(compare_sides(named(*in_turn(1.0)), floors=(FLOOR,)))["W-BELOW-FLOOR"]
    wide = compare_sides(named(*in_turn(1.0)), CompareConfig(threshold_pct=2), (FLOOR,))
    assert "W-BELOW-FLOOR" not in codes(wide)
    other = replace(FLOOR, model="big.onnx", scatter_pct=9.0)
    elsewhere = replace(FLOOR, environment=("Epyc", "8", None), scatter_pct=50.0)
    sides = [[process(1.0)], [process(1.0)]]
    assert fitting_floor(sides, (other, FLOOR, elsewhere)) == FLOOR
    assert fitting_floor(sides, (other, replace(FLOOR, model="x"))) == other
    assert fitting_floor(sides, (elsewhere,)) is None
    assert fitting_floor([[process(1.0)], [process(1.0, job=job("trt"))]], (FLOOR,)) is None
    for method, n, expected in (("rounds", 8, 1.5), ("samples", 400, 7.14), ("processes", 4, 3.51)):
        estimate = RatioEstimate(ratio=1.0, interval=None, method=method, n_a=n, n_b=n)
        assert floor_pct(FLOOR, estimate) == pytest.approx(expected, abs=0.01), method


def test_sides_apart_are_told_to_be_and_separate_commands_in_turn_are_interleaved() -> None:
    a = tuple(process(1.0, seed=one) for one in range(5))
    assert "I-NOT-IN-TURN" in codes(compare_sides(named(a, a)))
    assert "I-NOT-IN-TURN" not in codes(compare_sides(named(*in_turn(1.0))))
    b = tuple(process(1.0, seed=5 + one) for one in range(5))
    assert "I-NOT-IN-TURN" in codes(compare_sides(named(a, b)))
    files = tuple(replace(run, origin="imported") for run in a)
    assert "I-NOT-IN-TURN" not in codes(compare_sides(named(files, files)))
    # The GitHub Action measures so: baseline, current, current, baseline, …
    a = tuple(process(1.0, seed=one) for one in (0, 3, 4, 7))
    b = tuple(process(1.0, seed=one) for one in (1, 2, 5, 6))
    assert "I-NOT-IN-TURN" not in codes(compare_sides(named(a, b)))


def test_other_versions_are_told_and_runs_without_common_samples_refused() -> None:
    versions = {"onnxruntime": "1.20", "numpy": "1"}, {"onnxruntime": "1.21", "numpy": "2"}
    older, newer = (
        (process(1.0, environment=Environment(host=HOST, versions=each)),) for each in versions
    )
    notices = measured_notices(compare_sides(named(older, newer)))
    (notice,) = (one for one in notices if one.code == "I-OTHER-VERSIONS")
    assert notice.message.endswith("onnxruntime 1.20 and 1.21, numpy 1 and 2")
    assert notice.evidence == {"versions": {"onnxruntime": ("1.20", "1.21"), "numpy": ("1", "2")}}
    bare = process(1.0, samples=(), phases=(), peak_memory_bytes=None)
    with pytest.raises(UsageError, match="no figure in common"):
        compare_sides(named((bare,), (bare,)))


@pytest.mark.parametrize(
    ("left_out", "said"),
    [
        (3, "3 of 12 rounds of A and B were noisy and do not count"),
        (0, "3 of 9 rounds of A and B were disturbed; all count"),
    ],
)
def test_disturbed_rounds_are_said_whether_they_count_or_not(left_out: int, said: str) -> None:
    a, b = in_turn(1.0)
    found = compare_sides(named(a, b))
    assert "W-DISTURBED-ROUNDS" not in codes(found)
    headline = found.pairs[0].headline
    disturbed = DisturbedRounds(a=0, b=1, both=2)
    estimate = replace(headline.estimate, n_a=9, n_b=9, left_out=left_out, disturbed=disturbed)
    verdicts = (replace(headline, estimate=estimate), *found.pairs[0].verdicts[1:])
    notices = measured_notices(replace(found, pairs=(replace(found.pairs[0], verdicts=verdicts),)))
    (notice,) = (one for one in notices if one.code == "W-DISTURBED-ROUNDS")
    assert notice.message.startswith(said)
    figures = {key: notice.evidence[key] for key in ("b", "left_out", "rounds")}
    assert figures == {"b": "B", "left_out": left_out, "rounds": 9 + left_out}


SETTLED, COLD, SHORT = 0.0, 30.0, None


def on_gpu(runs, c_per_min):
    """Give each run a GPU of known energy whose temperature rises by so much."""
    counted = telemetry("energy_mj", "power_w")
    found = []
    for run in runs:
        gpu = counted
        if c_per_min is not SHORT:
            hot = sampled(50, c_per_min)
            power = replace(hot.series.channels[0], name="power_w")
            gpu = replace(hot, series=replace(hot.series, channels=(*hot.series.channels, power)))
        found.append(replace(run, gpu=gpu))
    return tuple(found)


def said(a: float | None, b: float | None, *, apart: bool = False) -> dict[str, str]:
    first, second = in_turn(1.0, rounds=4)
    if apart:
        first, second = ((replace(side[0], turn=None),) for side in (first, second))
    return codes(compare_sides(named(on_gpu(first, a), on_gpu(second, b))))


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (SETTLED, COLD, ("A settled in 4 of 4", "B cold in 4 of 4")),
        (SETTLED, SHORT, ("A settled in 4 of 4", "B unknown in 4 of 4")),
        (SHORT, SHORT, ("A unknown in 4 of 4", "B unknown in 4 of 4")),
    ],
)
def test_states_that_differ_or_are_unknown_are_named(a, b, words) -> None:
    message = said(a, b)["W-THERMAL-STATE"]
    assert all(each in message for each in words)


def test_equal_states_need_no_word_and_single_runs_show_temperatures_if_there_is_energy() -> None:
    for state in (SETTLED, COLD):
        assert "W-THERMAL-STATE" not in said(state, state)
    found = said(SETTLED, COLD, apart=True)
    assert "A settled: 50 → 50 °C, 0 °C/min over 20.0 s; B cold: 51 → 5" in found["W-THERMAL-STATE"]
    assert "weaker evidence" in found["I-NOT-IN-TURN"]
    assert "heat left by one side" in found["I-NOT-IN-TURN"]
    first, second = (replace(side[0], turn=None) for side in in_turn(1.0, rounds=4))
    bare = codes(compare_sides(named((first,), (second,))))
    assert "W-THERMAL-STATE" not in bare
    assert "heat" not in bare["I-NOT-IN-TURN"]
