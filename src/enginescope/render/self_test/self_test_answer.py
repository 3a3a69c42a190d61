"""The answer of a self-test, for terminal, Markdown, page and JSON alike."""

from datetime import datetime, timezone

from enginescope.judge.units import counted, format_significant, format_span
from enginescope.judge.verdict import VerdictKind, none_above
from enginescope.records.progress import COMPARISON_TAG
from enginescope.records.verdict.noise import Detection, SelfTest
from enginescope.render.base.data_table import UNKNOWN, printable
from enginescope.render.base.figures import TextTable
from enginescope.render.html.answer_page import Answer
from enginescope.render.html.images import Chart, marks, quantity, tooltip


def self_test_answer(test: SelfTest) -> Answer:
    """Return the answer, its facts, the curve and the measured comparisons."""
    return Answer(
        verb="self-test",
        title="Self-test",
        answer=answer_text(test),
        facts=scope_facts(test),
        tables=(curve_table(test), comparison_table(test)),
        notices=test.notices,
        report=test,
        charts=(detection_chart(test),),
    )


def answer_text(test: SelfTest) -> str:
    """Return which difference comparisons find in 95 of 100 cases, in one line."""
    if test.smallest_pct is None:
        return "comparisons on this machine miss even a difference of 100 % in over 5 of 100 cases"
    low, high = test.smallest_low_pct, test.smallest_high_pct
    ends = " … ".join("over 100" if end is None else _number(end) for end in (low, high))
    found = f"a difference of {_number(test.smallest_pct)} % in 95 of 100 cases"
    return f"comparisons on this machine find {found} (95 % CI {ends} %)"


def scope_facts(test: SelfTest) -> tuple[tuple[str, str], ...]:
    """Return what was compared, what was measured, what was drawn from it, and when."""
    span, none = format_span(test.rounds * test.round_s), test.curve[0]
    rounds = f"at most {test.rounds} interleaved rounds ({span})"
    skipped = f", {test.skipped} skipped" if test.skipped else ""
    drawn = (
        f"{test.drawn:,} comparisons from the {test.counted} measured rounds{skipped}: rounds and "
        "sides at random, times of B multiplied by the planted difference; of equal sides "
        f"{_share(none.found_pct)} false (95 % CI {_interval(none)})"
    )
    return (
        ("model", f"{printable(test.model)} on {test.backend}"),
        ("comparison", f"{rounds}, threshold {test.threshold_pct:g} %"),
        ("measured", _measured(test)),
        ("drawn", drawn),
        ("date", f"{test.created[:16].replace('T', ' ')} UTC"),
    )


def _measured(test: SelfTest) -> str:
    every = counted(len(test.comparisons), "comparison")
    cut = len(test.comparisons) - test.ended
    most = max(same.most for same in test.comparisons)
    duration = f"{format_span(test.duration_s)}{f', {cut} cut off by the time' if cut else ''}"
    low, high = test.false_low_pct, test.false_high_pct
    ends = "" if low is None or high is None else f" (95 % CI {low:.0f} … {high:.0f} %)"
    text = f"{every} of the model with itself, of at most {most} rounds, in {duration}"
    return f"{text}; {_false(test)}{ends}"


def _false(test: SelfTest) -> str:
    return f"{test.false_verdicts} of {test.ended} false" if test.ended else "none finished"


def curve_table(test: SelfTest) -> TextTable:
    """Return the detection curve, a row for each planted difference."""
    headers = ("planted", "found", "95 % CI", "equal", "wrong side", "rounds")
    rows = tuple(
        (
            f"{_number(share.difference_pct)} %" if share.difference_pct else "none",
            *(_share(share.found_pct), _interval(share)),
            *(_share(share.same_pct), _share(share.wrong_pct), f"{share.rounds:.0f}"),
        )
        for share in test.curve
    )
    note = "drawn comparisons; found without a planted difference: false verdicts; rounds: mean"
    return TextTable(
        title="Detection curve", headers=headers, rows=rows, numbers=headers, note=note
    )


def comparison_table(test: SelfTest) -> TextTable:
    """Return the measured comparisons of the model with itself."""
    verdicts = {
        VerdictKind.FASTER: "faster (false)",
        VerdictKind.SLOWER: "slower (false)",
        VerdictKind.INCONCLUSIVE: "inconclusive",
        None: "cut off by the time",
    }
    rows = tuple(
        (
            f"{COMPARISON_TAG}{same.comparison}",
            str(same.most),
            str(same.rounds),
            UNKNOWN if same.ratio is None else f"{same.ratio:.4f}",
            verdicts.get(same.kind) or none_above(test.threshold_pct),
        )
        for same in test.comparisons
    )
    headers = ("comparison", "at most", "measured", "B ÷ A", "verdict")
    title = "Measured comparisons of the model with itself"
    note = "at most: rounds that count; measured: with disturbed rounds, which do not count"
    return TextTable(title=title, headers=headers, rows=rows, numbers=headers[1:4], note=note)


def recorded_line(test: SelfTest, now: datetime | None = None) -> str:
    """Return a recorded self-test in one line, with its age.

    Args:
        now: By default the present.
    """
    smallest = "not even 100" if test.smallest_pct is None else _number(test.smallest_pct)
    days = ((now or datetime.now(timezone.utc)) - datetime.fromisoformat(test.created)).days
    age = "today" if days < 1 else f"{counted(days, 'day')} ago"
    return (
        f"self-test of {printable(test.model)} on {test.backend}: comparisons of {test.rounds} "
        f"rounds find {smallest} % in 95 of 100 cases (comparisons with itself: {_false(test)}), "
        f"measured {age}"
    )


def _number(value: float) -> str:
    return format_significant(value, 2)


def _share(value: float) -> str:
    return f"{value:.1f} %"


def _interval(share: Detection) -> str:
    return f"{share.low_pct:.1f} … {share.high_pct:.1f} %"


def detection_chart(test: SelfTest) -> Chart:
    """Return the detection curve with its 95 % interval, and a line at 95 %."""
    rows = [
        {"x": one.difference_pct, "y": one.found_pct, "low": one.low_pct, "high": one.high_pct}
        for one in test.curve
    ]
    height = quantity("y", "comparisons that find it, %", scale={"domain": [0, 100]})
    planted = quantity("x", "planted difference, %", axis={"grid": False})
    tips = tooltip(x="planted, %#", y="found, %#", low="from, %#", high="to, %#")
    line = marks(None, {"type": "line", "point": True}, x=planted, y=height, tooltip=tips)
    ends = {"y": {**height, "field": "low"}, "y2": {"field": "high"}}
    band = marks(None, {"type": "area", "opacity": 0.25}, x=planted, **ends)
    goal = marks([{"y": 95}], {"type": "rule", "strokeDash": [6, 3]}, y=height)
    return Chart(
        key="detection",
        title="Share of comparisons that find a difference",
        subtitle=("The dashed line is at 95 %; the band is the 95 % interval",),
        spec={"data": {"values": rows}, "layer": [band, line, goal]},
        is_wide=True,
    )
