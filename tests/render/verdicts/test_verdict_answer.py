"""Verdicts in words, on the terminal, as Markdown, JSON, CSV and on the page."""

import csv
import json
import operator
import re

import numpy as np
import pytest

from enginescope.analysis.plan_comparison.comparison import compare
from enginescope.analysis.verdicts.comparability import CompareConfig
from enginescope.analysis.verdicts.measured_sides import MeasuredPair, compare_sides
from enginescope.core.record import replace
from enginescope.judge.comparison.ratio import decide
from enginescope.judge.samples import Interval, Samples, frozen
from enginescope.judge.verdict import (
    DisturbedRounds,
    EvidenceLevel,
    RatioEstimate,
    Reason,
    Verdict,
    VerdictKind,
)
from enginescope.records.progress import Phase, RoundPlan
from enginescope.render.base.answer_tables import answer_markdown
from enginescope.render.base.palette import DARK, LIGHT, SIDES, channels_of
from enginescope.render.base.text import answer_lines, as_text
from enginescope.render.charts.overlay import process_medians, side_distributions
from enginescope.render.compare.compare_answer import compare_json
from enginescope.render.compare.compare_page import compare_page
from enginescope.render.plan_comparison.compare_tables import Chosen
from enginescope.render.verdicts import verdict_phrases
from enginescope.render.verdicts.verdict_answer import (
    settling_hints,
    tail_note,
    took_text,
    verdict_answer,
    verdict_csv,
    verdict_table,
)
from enginescope.services.explain import explain, shown_word
from tests.analysis.compared_plans import run_a, run_b
from tests.analysis.in_turn import in_turn, job, named, process
from tests.render.runs import EVIL


def screen_of(found, width: int = 80, *, is_whole: bool = False) -> str:
    answered = verdict_answer(found)
    lines = answer_lines(answered, width, is_whole=is_whole)
    return "".join(as_text(line, width=width) for line in (answered.answer, *lines))


def verdict_markdown(found) -> str:
    return answer_markdown(verdict_answer(found)).decode()


def verdict(
    kind: str = "faster", reason: str = "beyond-threshold", metric: str = "latency", **more
) -> Verdict:
    ends = more.pop("interval", (0.607, 0.619))
    estimate = RatioEstimate(
        ratio=more.pop("ratio", 0.613),
        interval=ends and Interval(low=ends[0], high=ends[1]),
        method=more.pop("method", "rounds"),
        n_a=more.pop("n_a", 8),
        n_b=more.pop("n_b", 8),
    )
    return Verdict(
        metric=metric, kind=VerdictKind(kind), reason=Reason(reason), estimate=estimate, **more
    )


def wide(**more) -> Verdict:
    return verdict("inconclusive", "interval-too-wide", **more)


def same() -> Verdict:
    return verdict("same", "within-threshold", ratio=1.0, interval=(0.99, 1.01))


def sentence(one: Verdict) -> str:
    return verdict_phrases.headline_sentence(MeasuredPair(a="A", b="B", verdicts=(one,)))


def test_the_total_time_of_each_side_is_shown() -> None:
    phases = (Phase(name="load", duration_ms=1500.0), Phase(name="steady_state", duration_ms=500.0))
    a, b = ([replace(run, phases=phases) for run in side] for side in in_turn(1.05, rounds=8))
    found = compare_sides(named(tuple(a), tuple(b)))
    told = "A 16.00 s, 4,000 ms of it timed · B 16.00 s, 4,000 ms of it timed"
    assert f"took {told}" in " ".join(screen_of(found, is_whole=True).split())
    assert "took" not in screen_of(found)
    assert f"- took: {told}" in verdict_markdown(found)
    assert took_text(compare_sides(named(tuple(a), in_turn(1.05, rounds=8)[1]))) is None


@pytest.mark.parametrize("metric", ["latency", "throughput", "peak_memory", "energy"])
@pytest.mark.parametrize("kind", [kind.value for kind in VerdictKind])
def test_explain_knows_each_word_of_a_verdict(metric, kind) -> None:
    one = verdict(kind, metric=metric, higher_is_better=metric == "throughput")
    assert explain(verdict_phrases.kind_text(one)).code == shown_word(kind)
    assert explain(verdict_phrases.kind_text(replace(one, is_tested=False))).meaning


def test_one_verdict_has_one_wording_and_what_is_not_tested_says_why() -> None:
    one = same()
    said = "No difference above 1.0 % between A and B is detected: 1.000 × A"
    assert sentence(one).startswith(said)
    assert verdict_phrases.kind_text(one) == "no difference above 1.0 %"
    assert explain(verdict_phrases.kind_text(one)) == explain("same")
    one_value = verdict("inconclusive", "one-value", "build", interval=None, is_tested=False)
    others = (verdict(metric="gpu_compute", is_tested=False), one_value)
    pair = MeasuredPair(a="A", b="B", verdicts=(verdict(), *others))
    assert [row[-2:] for row in verdict_table(pair).rows] == [
        ("faster", "beyond the threshold"),
        ("not tested", "its interval says better; only latency is tested"),
        ("not tested", "one value a side"),
    ]


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (verdict(), "B is faster: 0.613 × A (95 % CI 0.607 … 0.619), 8 rounds, interleaved"),
        (
            verdict("slower", ratio=12.3456, interval=(12.1, 12.6)),
            "B is slower: 12.35 × A (95 % CI 12.10 … 12.60), 8 rounds, interleaved",
        ),
        (same(), "No difference above 1.0 % between A and B is detected: 1.000 × A (95 % CI 0.990"),
        (
            wide(method="samples", ratio=1.05, interval=(0.9, 1.2)),
            "Inconclusive whether B is faster than A: 1.050 × A (95 % CI 0.900 … 1.200), one",
        ),
        (
            wide(ratio=1.008, interval=(1.002, 1.014)),
            "B is slower; inconclusive whether by more than 1 %: 1.008 × A (95 % CI 1.002 … 1.014)",
        ),
        (
            wide(metric="throughput", ratio=0.992, interval=(0.98, 0.999)),
            "B is lower; inconclusive whether by more than 1 %: 0.992 × A",
        ),
        (
            verdict("inconclusive", "no-interval", interval=None, method="processes", n_a=2, n_b=3),
            "Inconclusive whether B is faster than A: 0.613 × A, no interval, 2 and 3 processes",
        ),
        (
            verdict("incomparable", "different-conditions", detail="GPU: A100 against H200"),
            "A and B are not comparable: GPU: A100 against H200",
        ),
    ],
)
def test_the_headline(one, said) -> None:
    assert sentence(one).startswith(said)


@pytest.mark.parametrize(
    ("metric", "kind", "higher", "word"),
    [
        ("latency", "faster", False, "faster"),
        ("load", "slower", False, "slower"),
        ("throughput", "faster", True, "higher"),
        ("throughput", "slower", True, "lower"),
        ("engine_size", "faster", False, "smaller"),
        ("peak_memory", "slower", False, "larger"),
        ("engine_size", "same", False, "no difference above 40 %"),
    ],
)
def test_words_by_unit(metric, kind, higher, word) -> None:
    assert verdict_phrases.kind_text(verdict(kind, metric=metric, higher_is_better=higher)) == word


def test_values_and_ratios_have_units_and_decimals() -> None:
    assert verdict_phrases.value_text("latency", 1.37) == "1.370 ms"
    assert verdict_phrases.value_text("throughput", 708.8) == "708.8 /s"
    assert verdict_phrases.value_text("peak_memory", 96 << 20) == "96.0 MiB"
    assert verdict_phrases.value_text("latency", None) == "—"
    close = verdict(ratio=1.00012, interval=(1.00011, 1.00013)).estimate
    assert verdict_phrases.range_of(close) == "1.00011 … 1.00013"
    assert verdict_phrases.ratio_text(close) == "1.00012"
    assert (
        verdict_phrases.range_of(replace(close, interval=Interval(low=1.0, high=1.0)))
        == "1.000 … 1.000"
    )


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (verdict(), None),
        (verdict("incomparable", "different-conditions"), None),
        (wide(more=12), "about 12 more rounds would probably"),
        (wide(more=1), "about 1 more round would"),
        (wide(method="processes", more=3), "about 3 more processes a side"),
        (wide(), "no realistic number of runs"),
        (wide(method="samples"), "more samples would not settle it; more processes may"),
        (verdict("inconclusive", "one-value"), "one value a side"),
        (verdict("inconclusive", "no-interval", method="processes"), "needs 3 processes a side"),
        (verdict("inconclusive", "no-interval", method="samples"), "size of a side is too small"),
        (verdict("inconclusive", "clock-step", detail="the clock has steps"), "clock has steps"),
    ],
)
def test_what_is_open_says_what_would_decide_it(one, said) -> None:
    why = verdict_phrases.why_text(one)
    assert why is None if said is None else said in why


@pytest.mark.parametrize(
    ("one", "comparison", "most", "across", "step"),
    [
        (wide(more=12), None, None, (), "more: enginescope bench … --compare --rounds 20"),
        # To continue it would keep the conditions of its start, and add no round.
        (
            verdict("inconclusive", "no-interval", interval=None),
            *("12ab", 60, ["shapes"], "again: enginescope bench … --compare --across shapes"),
        ),
        *(
            (
                wide(more=12, interval=None),
                *("12ab", most, (), f"more: enginescope compare cmp-12ab --continue{rounds}"),
            )
            for most, rounds in ((60, ""), (10, ""), (9, " --rounds 20"))
        ),
    ],
)
def test_what_can_be_continued_is_not_begun_anew(one, comparison, most, across, step) -> None:
    plan = most and RoundPlan(rounds=most, threshold_pct=1.0)
    pair = MeasuredPair(a="A", b="B", verdicts=(one,))
    assert list(settling_hints(pair, comparison, plan, across)) == [f"measure {step}"]


@pytest.mark.parametrize("unstable", [None, "a", "b"])
def test_an_unstable_comparison_says_what_to_do_next(unstable: str | None) -> None:
    one = verdict("inconclusive", "unstable")
    disturbed = DisturbedRounds(a=9, b=9, both=1, unstable=unstable)
    one = replace(one, estimate=replace(one.estimate, disturbed=disturbed))
    pair = MeasuredPair(a="A", b="B", verdicts=(one,))
    (hint,) = settling_hints(pair, "12ab", RoundPlan(rounds=60, threshold_pct=1.0))
    if unstable is None:
        said = "find what keeps the machine busy, then measure again: enginescope doctor"
    else:
        processes = f"look at the processes of {unstable.upper()}"
        said = f"{processes}: enginescope compare cmp-12ab --html compare.html"
    assert hint.startswith(said)


@pytest.mark.parametrize(
    ("low", "high", "threshold"), [(0.996, 1.014, 2), (0.97, 1.01, 4), (0.9, 1.2, None)]
)
def test_a_threshold_that_settles_it(low: float, high: float, threshold: int | None) -> None:
    """More rounds are not the only way: 2 % may not matter."""
    one = wide(ratio=1.004, interval=(low, high), more=141)
    found = list(settling_hints(MeasuredPair(a="A", b="B", verdicts=(one,)), "12ab"))
    assert found[-1].endswith("--rounds 149")
    assert len(found) == 1 + (threshold is not None)
    if threshold is not None:
        assert found[0].endswith(f"matter: enginescope compare cmp-12ab --threshold {threshold}")
        assert one.estimate is not None
        assert decide(one.estimate, threshold)[0] is VerdictKind.SAME
        assert decide(one.estimate, threshold - 1)[0] is VerdictKind.INCONCLUSIVE


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_screen_fits(width) -> None:
    a, b = in_turn(1.004, noise=0.01)
    evil = replace(named(a, b)[1], name=EVIL + "\x1b[31m" + "x" * 200)
    text = screen_of(compare_sides((named(a, b)[0], evil)), width)
    assert max(map(len, text.splitlines())) <= width
    assert "\x1b" not in text
    assert "Latency" in text
    assert "n 2,400 (effective" in text
    assert ("interval too wide" in text.split("\n\n")[1]) is (width >= 100)


@pytest.mark.parametrize(("width", "is_whole"), [(60, False), (80, False), (140, True)])
def test_options_that_all_sides_have_are_said_once(width, is_whole) -> None:
    options = "tactic_sources=-CUDNN,-CUBLAS,-CUBLAS_LT&builder_optimization_level=2"
    names = [f"depth_anything_small.onnx · {one}?{options}" for one in ("trt", "trt fp16")]
    sides = [
        replace(one, name=name) for one, name in zip(named(*in_turn(1.05)), names, strict=True)
    ]
    text = screen_of(compare_sides(sides), width, is_whole=is_whole)
    assert text.startswith("B is slower: 1.050")
    assert "  A          depth_anything_small.onnx · trt: 1.983 ms\n" in text
    assert "  B          depth_anything_small.onnx · trt fp16: 2.082 ms\n" in text
    assert text.count("tactic_sources=") == 1
    assert "  sides      options of all:" in text


def test_markdown_shows_names_as_they_are() -> None:
    a, b = in_turn(1.05)
    sides = (named(a, b)[0], replace(named(a, b)[1], name="a|b_*<i>"))
    text = verdict_markdown(compare_sides(sides))
    assert r"- B: a\|b\_\*\<i\>" in text
    assert "### enginescope: B is slower: 1.05" in text
    assert "| --- | ---: | ---: | ---: | ---: | --- | --- |" in text
    assert "- looks: the order of each round is random" in text
    assert "- evidence: interleaved processes" in text


def test_json_csv_and_facts_have_every_verdict_and_its_evidence() -> None:
    found = compare_sides(named(*in_turn(1.05)))
    assert verdict_phrases.levels_text(found.pairs[0].verdicts) == "interleaved processes"
    weaker = replace(found.pairs[0].headline, evidence=EvidenceLevel.SAMPLES)
    assert (
        verdict_phrases.levels_text([found.pairs[0].headline, weaker, weaker, None])
        == "interleaved processes (1), samples of one process (2)"
    )
    answered = verdict_answer(found)
    assert ("evidence", "interleaved processes") in answered.facts
    assert [name for name, _ in answered.facts][-2:] == ["samples", "evidence"]
    found = compare_sides(named(*in_turn(1.05), in_turn(0.9)[1]))
    made = json.loads(compare_json(None, Chosen(), measured=found))["measured"]
    assert [one["b"] for one in made["pairs"]] == ["B", "C"]
    first = made["pairs"][0]["verdicts"][0]
    assert first["kind"] == "slower"
    assert first["unit"] == "ms"
    assert first["evidence"] == "interleaved processes"
    assert first["estimate"]["interval"]["low"] > 1
    assert len(made["sides"][0]["runs"]) == 12
    assert made["sides"][0]["runs"][3]["round"] == 3
    rows = list(csv.DictReader(verdict_csv(found).decode().splitlines()))
    pairs = (*found.pairs, *found.other_pairs)
    assert [(one.a, one.b) for one in pairs] == [("A", "B"), ("A", "C"), ("B", "C")]
    assert len(rows) == sum(len(pair.verdicts) for pair in pairs)
    assert {row["evidence"] for row in rows} == {"interleaved processes"}
    assert float(rows[0]["ratio"]) == first["estimate"]["ratio"]


def test_both_sides_on_one_scale() -> None:
    a, b = in_turn(1.3)
    (chart,) = side_distributions(compare_sides(named(a, b)))
    rows = chart.spec["layer"][0]["data"]["values"]
    for label in "AB":
        of = [one for one in rows if one["side"] == label]
        assert sum(one["share"] for one in of) == pytest.approx(100, abs=1.2)
    edges = {label: [one["low"] for one in rows if one["side"] == label] for label in "AB"}
    assert edges["A"] == edges["B"]
    assert chart.table.headers == ("From, ms", "To, ms", "A, %", "B, %")
    assert re.fullmatch(r"A's median latency is 1\.98\d ms, B's is 2\.5\d+ ms", chart.title)


def test_an_axis_leaves_out_the_gap_between_sides_that_are_far_apart() -> None:
    """Two hairlines stood in a picture that was four fifths empty."""
    (chart,) = side_distributions(compare_sides(named((process(1.0),), (process(2.0),))))
    scale = chart.spec["layer"][0]["encoding"]["x"]["scale"]
    low, cut, again, high = scale["domain"]
    assert 2.0 * (cut - low + high - again) < again - cut
    assert [float(one["expr"].split()[0]) for one in scale["range"]] == [0, 0.48, 0.52, 1]
    assert "The axis leaves out" in " ".join(chart.subtitle)
    rows = chart.spec["layer"][0]["data"]["values"]
    for label in "AB":
        assert len([row for row in rows if row["side"] == label and row["share"] > 1]) > 4
    assert not any(row["share"] for row in rows if cut <= row["low"] < again)


def test_the_line_of_a_side_is_seen_on_its_own_fill_in_both_themes() -> None:
    """That of A had a contrast of 3.0 in the dark; the legend had a ragged circle for dashes."""
    (chart,) = side_distributions(compare_sides(named(*in_turn(1.3))))
    area, line, _ = chart.spec["layer"]
    opacity = area["mark"]["fillOpacity"]
    for color in SIDES[:2]:
        for theme in (LIGHT, DARK):
            pairs = zip(channels_of(color), channels_of(theme.background), strict=True)
            fill = [opacity * one + (1 - opacity) * other for one, other in pairs]
            lighter, darker = sorted(map(_luminance, (channels_of(color), fill)), reverse=True)
            assert (lighter + 0.05) / (darker + 0.05) > 3.4
    assert line["encoding"]["strokeDash"]["legend"]["symbolType"] == "stroke"


def _luminance(channels) -> float:
    """As WCAG 2.2 has it."""
    parts = [one / 255 for one in channels]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return sum(map(operator.mul, (0.2126, 0.7152, 0.0722), linear))


def test_sides_lie_over_each_other_and_processes_round_by_round(monkeypatch) -> None:
    found = compare_sides(named((process(1.0),), (process(1.1),), (process(1.3),)))
    (chart,) = side_distributions(found)
    assert {row["side"] for row in chart.spec["layer"][0]["data"]["values"]} == set("ABC")
    assert re.fullmatch(r"A's median latency is .* ms, B's is .* ms, C's is .* ms", chart.title)
    monkeypatch.setattr("enginescope.render.charts.overlay.MOST_OVERLAID", 2)
    assert side_distributions(found) == ()
    chart = process_medians(compare_sides(named(*in_turn(1.05))))
    rows = chart.spec["data"]["values"]
    assert len(rows) == 24
    assert {one["x"] for one in rows} == set(range(1, 13))
    assert "round by round" in chart.title
    assert process_medians(compare_sides(named((process(1.0),), (process(1.1),)))) is None


def test_samples_outside_the_scale_are_counted_and_do_not_flatten_the_picture() -> None:
    def chart_of(*parts: np.ndarray):
        samples = Samples(metric="latency", values_ms=frozen(np.concatenate(parts)))
        far = process(1.0, samples=(samples,))
        (chart,) = side_distributions(compare_sides(named((far,), (process(1.01),))))
        return chart, " ".join(chart.subtitle)

    random = np.random.default_rng(0)
    _, said = chart_of(random.normal(1.0, 0.01, 1_000), [50.0])
    assert re.search(r"Samples outside the scale: \d+ of A", said)
    random = np.random.default_rng(1)
    chart, said = chart_of(random.normal(1.0, 0.01, 2_000), random.uniform(2.0, 90.0, 20))
    rows = [one for one in chart.spec["layer"][0]["data"]["values"] if one["side"] == "A"]
    assert sum(one["share"] > 1 for one in rows) > 8
    assert "20 of A" in said


def test_the_page_of_what_has_no_plans() -> None:
    a, b = in_turn(1.05, jobs=(job(), job(intra_op_num_threads="1")))
    sides = (named(a, b)[0], replace(named(a, b)[1], name=EVIL))
    page = compare_page(None, Chosen(), measured=compare_sides(sides)).decode()
    plans = compare([run_a(), run_b()])
    whole = compare_page(plans, Chosen(), measured=compare_sides(sides)).decode()
    assert "<strong>Where</strong> The layers of B take 28.7 % less time" in whole
    assert "<h1>B is slower: 1.05" in page
    assert EVIL not in page
    assert page.index('<th scope="row">Latency') < page.index("chart-sides_hist")
    assert "verdicts.csv" in page
    assert "By type and precision" not in page
    assert page.count('id="summary"') == 1
    plain = compare_sides(named((process(1.0),), (process(1.2),)), CompareConfig(threshold_pct=2))
    assert "one process a side" in compare_page(None, Chosen(), measured=plain).decode()


def test_each_ratio_that_is_not_the_quotient_of_the_two_medians_is_marked() -> None:
    """Load 61.15 ms → 63.32 ms stood beside the ratio 0.975, and only latency had a note."""
    rows = (
        verdict(ratio=0.9104, interval=None, a=2.0, b=2.0 * 0.9104),
        verdict(metric="load", ratio=0.975, interval=None, a=61.15, b=63.32),
        verdict(metric="first_inference", ratio=1.02, interval=None, a=5.0, b=5.2),
        replace(verdict(metric="build", a=2.0, b=3.0), estimate=None),
    )
    pair = MeasuredPair(a="A", b="B", verdicts=rows)
    table = verdict_table(pair)
    assert table.headers[3] == "B ÷ A"
    assert [row[3].strip() for row in table.rows] == ["0.910", "0.975*", "1.020*", "1.500"]
    assert len({len(row[3]) for row in table.rows}) == 1
    note = "in the median round or pair; the two medians may differ by another amount"
    assert verdict_phrases.ratio_note(pair) == note
    alone = replace(pair, verdicts=rows[:1])
    assert verdict_phrases.ratio_note(alone) is None
    assert verdict_table(alone).rows[0][3] == "0.910"
    # The mark and its sentence are in every form.
    found = compare_sides(named(*in_turn(1.05, noise=0.03, rounds=9)))
    assert any(map(verdict_phrases.is_other_ratio, found.pairs[0].verdicts))
    screen = " ".join(screen_of(found, is_whole=True).split())
    page = compare_page(None, Chosen(), measured=found).decode()
    (made,) = json.loads(compare_json(None, Chosen(), measured=found))["measured"]["pairs"]
    assert note in screen
    assert re.search(r"\d\.\d+\* ", screen)
    assert f"\\* {note}." in verdict_markdown(found)
    assert f"* {note}." in page
    assert made["ratio_note"] == note
    marks = [one["is_other_ratio"] for one in made["verdicts"]]
    assert marks == list(map(verdict_phrases.is_other_ratio, found.pairs[0].verdicts))
    for text in (screen, verdict_markdown(found), page):
        assert "batch ÷ mean latency; latency is the median" in text


def test_noisy_rounds_are_counted_in_rounds() -> None:
    for count, said in ((3, "3 noisy rounds"), (1, "1 noisy round")):
        noisy = verdict(n_a=60)
        noisy = replace(noisy, estimate=replace(noisy.estimate, left_out=count))
        assert sentence(noisy).endswith(f"60 rounds, interleaved, {said} left out")
    screen = screen_of(compare_sides(named(*in_turn(1.05))))
    assert "A 12 processes, n 2,400" in screen
    assert screen.count("12 rounds") == 1


def test_percentiles_of_sides_with_other_numbers_of_samples_are_of_stretches() -> None:
    """The p99 of one engine depended on the side that it was compared with."""
    assert tail_note(compare_sides(named((process(1.0),), (process(1.2, seed=1),)))) is None
    found = compare_sides(named((process(1.0, n=600),), (process(1.2, seed=1),)))
    assert str(tail_note(found)).startswith("of stretches of 200 samples")
    assert "percentiles" in screen_of(found, is_whole=True)
