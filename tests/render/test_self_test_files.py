import json
from datetime import datetime, timedelta

import pytest

from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.judge.verdict import VerdictKind
from enginescope.records.verdict.noise import Detection, SameComparison, SelfTest
from enginescope.render.self_test.self_test_answer import (
    answer_text,
    comparison_table,
    curve_table,
    recorded_line,
    scope_facts,
    self_test_answer,
)
from tests.render.outputs import outputs

self_test_json, self_test_markdown, self_test_page, _ = outputs(self_test_answer)


def detection(planted: float, found: float) -> Detection:
    return Detection(
        difference_pct=planted,
        found_pct=found,
        low_pct=max(found - 4, 0),
        high_pct=min(found + 3, 100),
        same_pct=0.0 if planted else 60.0,
        wrong_pct=0.0,
        rounds=60.0 - planted * 10,
    )


TEST = SelfTest(
    environment=("Xeon", "2", None),
    backend="ort-cpu",
    model="net.onnx",
    created="2026-01-01T10:20:30+00:00",
    rounds=60,
    threshold_pct=1.0,
    duration_s=118.0,
    round_s=2.7,
    comparisons=(
        SameComparison(
            comparison="0a1b2c3d", most=60, rounds=16, kind=VerdictKind.SAME, ratio=1.0012
        ),
        SameComparison(
            comparison="1a1b2c3d", most=60, rounds=8, kind=VerdictKind.FASTER, ratio=0.98
        ),
        SameComparison(
            comparison="2a1b2c3d", most=60, rounds=60, kind=VerdictKind.INCONCLUSIVE, ratio=1.01
        ),
        SameComparison(comparison="3a1b2c3d", most=60, rounds=1),
    ),
    ended=3,
    false_verdicts=1,
    false_low_pct=0.8,
    false_high_pct=90.6,
    counted=84,
    skipped=1,
    drawn=4_000,
    curve=(detection(0.0, 1.2), detection(1.1, 40.0), detection(2.1, 95.4), detection(4.2, 100.0)),
    smallest_pct=2.1,
    smallest_low_pct=1.6,
    smallest_high_pct=2.9,
    is_recorded=True,
)


def test_the_answer_is_the_difference_that_is_found() -> None:
    assert "a difference of 2.1 % in 95 of 100 cases (95 % CI 1.6 … 2.9 %)" in answer_text(TEST)
    assert "(95 % CI 1.6 … over 100 %)" in answer_text(replace(TEST, smallest_high_pct=None))
    none = replace(TEST, smallest_pct=None, smallest_low_pct=None, smallest_high_pct=None)
    assert "miss even a difference of 100 %" in answer_text(none)


def test_what_is_measured_and_what_is_drawn_are_told_apart() -> None:
    facts = dict(scope_facts(TEST))
    assert facts["measured"] == (
        "4 comparisons of the model with itself, of at most 60 rounds, in 2.0 min, 1 cut off by "
        "the time; 1 of 3 false (95 % CI 1 … 91 %)"
    )
    assert facts["drawn"].startswith("4,000 comparisons from the 84 measured rounds, 1 skipped: ")
    assert "of equal sides 1.2 % false (95 % CI 0.0 … 4.2 %)" in facts["drawn"]
    assert facts["comparison"] == "at most 60 interleaved rounds (2.7 min), threshold 1 %"
    assert facts["date"] == "2026-01-01 10:20 UTC"
    none = replace(TEST, comparisons=TEST.comparisons[3:], ended=0, false_low_pct=None)
    assert dict(scope_facts(none))["measured"].endswith("; none finished")


def test_tables_and_files_have_the_curve_the_notices_and_the_comparisons() -> None:
    first, *_, last = curve_table(TEST).rows
    assert first == ("none", "1.2 %", "0.0 … 4.2 %", "60.0 %", "0.0 %", "60")
    assert last[:3] == ("4.2 %", "100.0 %", "96.0 … 100.0 %")
    assert [row[-1] for row in comparison_table(TEST).rows] == [
        "no difference above 1.0 %",
        "faster (false)",
        "inconclusive",
        "cut off by the time",
    ]
    assert comparison_table(TEST).rows[0][:4] == ("cmp-0a1b2c3d", "60", "16", "1.0012")
    test = replace(TEST, notices=(Notice(code="W-LOAD", message="busy"),))
    assert json.loads(self_test_json(test))["report"]["curve"][2]["found_pct"] == 95.4
    assert "(W-LOAD)" in self_test_markdown(test).decode()
    assert "cmp-0a1b2c3d" in self_test_page(test).decode()


@pytest.mark.parametrize(("days", "age"), [(0, "today"), (1, "1 day ago"), (40, "40 days ago")])
def test_a_recorded_test_has_its_age(days, age) -> None:
    now = datetime.fromisoformat(TEST.created) + timedelta(days=days, hours=1)
    line = recorded_line(TEST, now)
    assert line.endswith(f", measured {age}")
    assert "find 2.1 % in 95 of 100 cases (comparisons with itself: 1 of 3 false)" in line
