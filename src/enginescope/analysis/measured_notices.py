"""What weakens a comparison of measured sides."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from enginescope.analysis.fitting_floor import floor_pct
from enginescope.analysis.measured_sides import MeasuredComparison, MeasuredSide
from enginescope.analysis.run_view import RunView
from enginescope.analysis.terms import ASSUMED_SCATTER_PCT
from enginescope.core.units import format_significant
from enginescope.model.notice import Notice

Found = Iterator[Notice]


def measured_notices(found: MeasuredComparison) -> tuple[Notice, ...]:
    """Return what must be known before the verdicts are believed; warnings first."""
    every = [notice for rule in RULES for notice in rule(found)]
    return tuple(sorted(every, key=lambda one: one.level != "warning"))


def _carried(found: MeasuredComparison) -> Found:
    """Yield the warnings of the runs, each code once, with the processes that have it.

    What is derived from samples is of one process, and weakens a side of a single one alone.
    """
    texts: dict[str, str] = {}
    counts: dict[str, dict[str, int]] = {}
    for side in found.sides:
        single = len(side.measured) == 1
        for run in side.measured:
            notices = RunView(run).notices if single else run.notices
            for one in {one.code: one for one in notices if one.level == "warning"}.values():
                texts.setdefault(one.code, one.message)
                of = counts.setdefault(one.code, {})
                of[side.label] = of.get(side.label, 0) + 1
    for code, of in counts.items():
        message = f"{_where(of, found)}: {texts[code]}"
        yield Notice(code=code, message=message, evidence={"processes": of})


def _where(of: dict[str, int], found: MeasuredComparison) -> str:
    """Return ``A and B``, ``all processes, such as``, ``3 of 8 processes of B, such as``."""
    sizes = {side.label: len(side.measured) for side in found.sides}
    if max(sizes.values()) == 1:
        return " and ".join(of)
    if of == sizes:
        return "all processes, such as"
    shares = [f"{count} of {sizes[label]} processes of {label}" for label, count in of.items()]
    return f"{', '.join(shares)}, such as" if sum(of.values()) > 1 else shares[0]


def _lost(found: MeasuredComparison) -> Found:
    for side in found.sides:
        lost = [one for one in side.runs if one not in side.measured]
        if lost:
            outcome = lost[0].outcome
            rounds = ", and so are their rounds" if found.comparison else ""
            yield Notice(
                code="W-LOST-PROCESSES",
                message=f"{len(lost)} of {len(side.runs)} processes of {side.label} failed and are "
                f"left out{rounds}: {outcome.message or outcome.kind.value}",
                evidence={"side": side.label, "runs": [one.id for one in lost]},
            )


def _disturbed(found: MeasuredComparison) -> Found:
    """Yield how many rounds of the headline do not count, and why."""
    for pair in found.pairs:
        estimate = pair.headline.estimate
        if estimate is None or not estimate.left_out:
            continue
        every = estimate.n_a + estimate.left_out
        yield Notice(
            code="W-DISTURBED-ROUNDS",
            message=f"{estimate.left_out} of {every} rounds of {pair.a} and {pair.b} are left out: "
            "something disturbed a process, and its median is hardly known",
            evidence={"b": pair.b, "left_out": estimate.left_out, "rounds": every},
        )


def _below_floor(found: MeasuredComparison) -> Found:
    estimate = found.pairs[0].headline.estimate
    floor = found.floor
    least = floor_pct(floor, estimate) if floor and estimate else None
    if floor is None or least is None or found.threshold_pct >= least:
        return
    yield Notice(
        code="W-BELOW-FLOOR",
        message=f"the threshold of {found.threshold_pct:g} % is below what this machine can decide "
        f"so: {format_significant(least, 2)} % (enginescope noise, {floor.model}, "
        f"{floor.created[:10]})",
        evidence={"floor_pct": least, "threshold_pct": found.threshold_pct},
    )


def _assumed_scatter(found: MeasuredComparison) -> Found:
    methods = {one.headline.estimate.method for one in found.pairs if one.headline.estimate}
    if "samples" not in methods or found.floor is not None:
        return
    yield Notice(
        code="I-ASSUMED-SCATTER",
        message="one process a side: two of the same work are taken to differ by as much as a "
        f"scatter of ±{ASSUMED_SCATTER_PCT:g} % makes them; enginescope noise measures it here",
        evidence={"scatter_pct": ASSUMED_SCATTER_PCT},
        level="info",
    )


def _not_in_turn(found: MeasuredComparison) -> Found:
    if found.comparison is None and all(_is_ours(side) for side in found.sides):
        yield Notice(
            code="I-NOT-IN-TURN",
            message="the sides were not measured in turn: what drifted between them counts as a "
            "difference; enginescope bench A B --compare measures them so",
            level="info",
        )


def _is_ours(side: MeasuredSide) -> bool:
    return all(one.origin == "measured" for one in side.runs)


def _meant(found: MeasuredComparison) -> Found:
    for pair in found.pairs:
        for one in pair.meant:
            yield Notice(
                code="I-MEANT",
                message=f"{pair.b} differs from {pair.a} in {one}",
                evidence={"key": one.key, "a": one.a, "b": one.b},
                level="info",
            )


def _versions(found: MeasuredComparison) -> Found:
    base, *others = ({**side.measured[0].environment.versions} for side in found.sides)
    for label, versions in zip((one.b for one in found.pairs), others, strict=True):
        pairs = {
            name: (base[name], versions[name])
            for name in base
            if name in versions and base[name] != versions[name]
        }
        if pairs:
            texts = ", ".join(f"{name} {a} and {b}" for name, (a, b) in pairs.items())
            yield Notice(
                code="I-OTHER-VERSIONS",
                message=f"A and {label} ran on other versions: {texts}",
                evidence={"versions": pairs},
                level="info",
            )


RULES: tuple[Callable[[MeasuredComparison], Found], ...] = (
    _lost,
    _disturbed,
    _carried,
    _below_floor,
    _assumed_scatter,
    _not_in_turn,
    _meant,
    _versions,
)
