"""The answer on a machine's noise, for terminal, JSON and notebook alike."""

import math

from enginescope.analysis.verdicts.measured_notices import measured_notices
from enginescope.analysis.verdicts.measured_sides import MeasuredComparison
from enginescope.core.jsonio import encode
from enginescope.judge.comparison.looks import LOOKS
from enginescope.judge.comparison.run_to_run import POWER
from enginescope.judge.units import format_significant, format_span
from enginescope.judge.verdict import VerdictKind
from enginescope.records.verdict.noise import NoiseFloor
from enginescope.render.base.answer_tables import stated
from enginescope.render.base.data_table import UNKNOWN, printable
from enginescope.render.base.figures import TextTable
from enginescope.render.html.answer_page import Answer
from enginescope.render.verdicts.verdict_answer import measured_data, place_facts
from enginescope.render.verdicts.verdict_phrases import headline_sentence


def noise_answer(floor: NoiseFloor, found: MeasuredComparison | None = None) -> Answer:
    """Return what this machine can decide, and how that was derived.

    Args:
        found: The comparison of a model with itself, where it is at hand.
    """
    data = {} if found is None else {"measured": measured_data(found)}
    notices = floor.notices if found is None else measured_notices(found)
    rows = tuple(
        (
            format_span(entry.duration_s),
            f"{entry.rounds:,}",
            UNKNOWN if entry.difference_pct is None else _percent(entry.difference_pct),
        )
        for entry in floor.decidable
    )
    headers = ("time", "rounds", "smallest difference")
    table = TextTable(title="Differences", headers=headers, rows=rows, numbers=headers)
    of_floors = ("W-BELOW-FLOOR", "W-LOADED-FLOOR")  # against a recorded floor: this one is it
    return Answer(
        verb="noise",
        title="Noise",
        report=floor,
        document=encode({"noise_floor": floor, **data}),
        answer=noise_sentence(floor),
        facts=(
            ("model", f"{printable(floor.model)} · {floor.backend} against itself"),
            ("rounds", f"{floor.rounds}"),
            *(place_facts(found) if found is not None else ()),
            *_facts(floor),
            *stated(("itself", None if found is None else _itself(found))),
        ),
        tables=(table,),
        notices=tuple(notice for notice in notices if notice.code not in of_floors),
    )


def noise_sentence(floor: NoiseFloor) -> str:
    """Return which difference the usual number of rounds can decide."""
    usual = next((one for one in floor.decidable if one.rounds == LOOKS[-1]), None)
    if usual is None or usual.difference_pct is None:
        return "The smallest detectable difference is unknown: too few rounds."
    span = f"{format_span(usual.duration_s)}, the usual {usual.rounds} rounds"
    return f"This machine can detect differences from {_percent(usual.difference_pct)} in {span}"


def _facts(floor: NoiseFloor) -> tuple[tuple[str, str], ...]:
    apart = 100 * math.expm1(math.sqrt(2) * math.log1p(floor.scatter_pct / 100))
    within, cores = floor.within_pct, floor.other_cores
    between = (
        f"run-to-run variation ±{_percent(floor.scatter_pct)} (95 %): with one process a side, "
        f"differences below {_percent(apart)} are noise"
    )
    known = "" if within is None else f"the median is known to ±{_percent(within)} (95 %)"
    derived = (
        "simulated comparisons from the measured rounds, with random signs; "
        f"{100 * POWER:.0f} of 100 detect a difference of that size"
    )
    return stated(
        ("between", between),
        ("within", known and f"within a process, {known}"),
        ("other load", None if cores is None else f"{cores:.1f} cores, median of the processes"),
        ("derived", derived),
    )


def _itself(found: MeasuredComparison) -> str:
    pair = found.pairs[0]
    text = headline_sentence(pair)
    if pair.headline.kind in (VerdictKind.FASTER, VerdictKind.SLOWER):
        return f"{text}. That is a false alarm: at most 5 of 100 comparisons end so by chance"
    return text


def _percent(value: float) -> str:
    return f"{format_significant(value, 2)} %"
