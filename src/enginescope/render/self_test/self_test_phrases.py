"""Phrase a self-test, for terminal, Markdown, page and JSON alike."""

from __future__ import annotations

from datetime import datetime, timezone

from enginescope.judge.difference import none_above
from enginescope.judge.units import counted, format_significant, format_span
from enginescope.judge.verdict import VerdictKind
from enginescope.records.progress import COMPARISON_TAG
from enginescope.records.verdict.self_test import Detection, SelfTest
from enginescope.render.base.data_table import UNKNOWN, printable
from enginescope.render.base.figures import TextTable

_VERDICTS = {
    VerdictKind.FASTER: "faster (false)",
    VerdictKind.SLOWER: "slower (false)",
    VerdictKind.INCONCLUSIVE: "inconclusive",
    None: "cut off by the time",
}


def answer_text(test: SelfTest) -> str:
    """Return which difference comparisons find in 95 of 100 cases, in one line."""
    if test.smallest_pct is None:
        return "comparisons on this machine miss even a difference of 100 % in over 5 of 100 cases"
    low, high = test.smallest_low_pct, test.smallest_high_pct
    ends = " … ".join("over 100" if end is None else _number(end) for end in (low, high))
    return (
        f"comparisons on this machine find a difference of {_number(test.smallest_pct)} % in 95 "
        f"of 100 cases (95 % CI {ends} %)"
    )


def scope_facts(test: SelfTest) -> tuple[tuple[str, str], ...]:
    """Return what was compared, what was measured, what was drawn from it, and when."""
    return (
        ("model", f"{printable(test.model)} on {test.backend}"),
        ("comparison", _comparison(test)),
        ("measured", _measured(test)),
        ("drawn", _drawn(test)),
        ("date", f"{test.created[:16].replace('T', ' ')} UTC"),
    )


def _comparison(test: SelfTest) -> str:
    return (
        f"at most {test.rounds} interleaved rounds ({format_span(test.rounds * test.round_s)}), "
        f"threshold {test.threshold_pct:g} %"
    )


def _measured(test: SelfTest) -> str:
    every = counted(len(test.comparisons), "comparison")
    cut = len(test.comparisons) - test.ended
    most = max(same.most for same in test.comparisons)
    text = (
        f"{every} of the model with itself, of at most {most} rounds, in "
        f"{format_span(test.duration_s)}"
    )
    text += f", {cut} cut off by the time" if cut else ""
    return f"{text}; {_false(test)}{_false_interval(test)}"


def _false(test: SelfTest) -> str:
    if not test.ended:
        return "none finished"
    return f"{test.false_verdicts} of {test.ended} false"


def _false_interval(test: SelfTest) -> str:
    low, high = test.false_low_pct, test.false_high_pct
    return "" if low is None or high is None else f" (95 % CI {low:.0f} … {high:.0f} %)"


def _drawn(test: SelfTest) -> str:
    none = test.curve[0]
    skipped = f", {test.skipped} skipped" if test.skipped else ""
    return (
        f"{test.drawn:,} comparisons from the {test.counted} measured rounds{skipped}: rounds and "
        "sides at random, times of B multiplied by the planted difference; of equal sides "
        f"{_share(none.found_pct)} false (95 % CI {_interval(none)})"
    )


def curve_table(test: SelfTest) -> TextTable:
    """Return the detection curve, a row for each planted difference."""
    headers = ("planted", "found", "95 % CI", "equal", "wrong side", "rounds")
    return TextTable(
        title="Detection curve",
        headers=headers,
        rows=tuple(map(_cells, test.curve)),
        numbers=headers,
        note="drawn comparisons; found without a planted difference: false verdicts; rounds: mean",
    )


def _cells(share: Detection) -> tuple[str, ...]:
    planted = f"{_number(share.difference_pct)} %" if share.difference_pct else "none"
    ends = (_share(share.same_pct), _share(share.wrong_pct), f"{share.rounds:.0f}")
    return (planted, _share(share.found_pct), _interval(share), *ends)


def comparison_table(test: SelfTest) -> TextTable:
    """Return the measured comparisons of the model with itself."""
    rows = tuple(
        (
            f"{COMPARISON_TAG}{same.comparison}",
            str(same.most),
            str(same.rounds),
            UNKNOWN if same.ratio is None else f"{same.ratio:.4f}",
            _VERDICTS.get(same.kind) or none_above(test.threshold_pct),
        )
        for same in test.comparisons
    )
    headers = ("comparison", "at most", "measured", "B ÷ A", "verdict")
    return TextTable(
        title="Measured comparisons of the model with itself",
        headers=headers,
        rows=rows,
        numbers=headers[1:4],
        note="at most: rounds that count; measured: with disturbed rounds, which do not count",
    )


def recorded_line(test: SelfTest, now: datetime | None = None) -> str:
    """Return a recorded self-test in one line, with its age.

    Args:
        now: By default the present.
    """
    smallest = "not even 100" if test.smallest_pct is None else _number(test.smallest_pct)
    return (
        f"self-test of {printable(test.model)} on {test.backend}: comparisons of {test.rounds} "
        f"rounds find {smallest} % in 95 of 100 cases (comparisons with itself: {_false(test)}), "
        f"{_age(test.created, now or datetime.now(timezone.utc))}"
    )


def _age(created: str, now: datetime) -> str:
    days = (now - datetime.fromisoformat(created)).days
    if days < 1:
        return "measured today"
    return f"measured {counted(days, 'day')} ago"


def _number(value: float) -> str:
    return format_significant(value, 2)


def _share(value: float) -> str:
    return f"{value:.1f} %"


def _interval(share: Detection) -> str:
    return f"{share.low_pct:.1f} … {share.high_pct:.1f} %"
