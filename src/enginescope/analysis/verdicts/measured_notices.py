"""Warnings and notes on a comparison: of its sides, and of the runs below them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import to_builtins

from enginescope.analysis.runs.build_differences import build_notices
from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.verdicts.comparability import ASSUMED_SCATTER_PCT
from enginescope.analysis.verdicts.evidence_levels import GPU_COMPUTE, change_pct, printed_value
from enginescope.analysis.verdicts.measured_sides import (
    MeasuredComparison,
    MeasuredPair,
    MeasuredSide,
    floor_pct,
)
from enginescope.judge.comparison.hodges_lehmann import processes_needed, rounds_needed
from enginescope.judge.comparison.ratio import FEWEST_TOGETHER
from enginescope.judge.notice import Notice
from enginescope.judge.units import format_significant, listed, signed_pct
from enginescope.judge.verdict import Reason
from enginescope.records.notice import is_unstable, most_severe, weightiest


def carried_notices(found: MeasuredComparison) -> Iterator[Notice]:
    """Yield the warnings of the runs, each code once: the gravest, with the processes that have it.

    What is derived from samples is of one process, and weakens a side of a single one alone.
    """
    carried: dict[str, list[tuple[str, Notice]]] = {}
    for side in found.sides:
        single = len(side.measured) == 1
        for run in side.measured:
            notices = RunView(run).notices if single else run.notices
            warnings = [notice for notice in notices if notice.level == "warning"]
            for code in dict.fromkeys(warning.code for warning in warnings):
                worst = most_severe([warning for warning in warnings if warning.code == code])
                carried.setdefault(code, []).append((side.label, worst))
    for code, those in carried.items():
        yield _together(code, those, found)


def _together(code: str, those: Sequence[tuple[str, Notice]], found: MeasuredComparison) -> Notice:
    """Merge the notices of one code, each with the label of its side, into one.

    A figure stands behind the label of the side that it belongs to.
    """
    of = Counter(label for label, _ in those)
    unstable = Counter(label for label, notice in those if is_unstable(notice))
    evidence: dict[str, Any] = {"processes": dict(of)}
    if unstable:
        evidence["unstable_processes"] = dict(unstable)
        evidence["unstable"] = any(
            2 * unstable[label] >= size for label, size in process_counts(found).items()
        )
    is_single = max(process_counts(found).values()) == 1
    if is_single:
        text = _of_sides({label: notice.message for label, notice in those}, labels_all=True)
    else:
        text = _of_worst(those, process_counts(found))
    return Notice(code, text, evidence)


def _of_worst(those: Sequence[tuple[str, Notice]], sizes: Mapping[str, int]) -> str:
    """Return the gravest message of each side, and in how many processes there is one."""
    sides: dict[str, list[Notice]] = {}
    for label, notice in those:
        sides.setdefault(label, []).append(notice)
    text = _of_sides({label: most_severe(some).message for label, some in sides.items()})
    differ = any(len({one.message for one in some}) > 1 for some in sides.values())
    counts = {label: len(some) for label, some in sides.items()}
    where = "all processes"
    if counts != sizes:
        where = listed(
            [f"{count} of {sizes[label]} processes of {label}" for label, count in counts.items()]
        )
    unstable = sum(is_unstable(notice) for _, notice in those)
    busy = f", {unstable} on a busy machine" if 0 < unstable < len(those) else ""
    return f"{text} ({'at worst, ' if differ else ''}in {where}{busy})"


def _of_sides(messages: Mapping[str, str], *, labels_all: bool = False) -> str:
    """Return the messages of sides as one text: one that all share, or that differs in a figure.

    Args:
        messages: By the label of the side.
        labels_all: Name the sides also where all share one message.
    """
    labels: dict[str, list[str]] = {}
    for label, message in messages.items():
        labels.setdefault(message, []).append(label)
    if len(labels) == 1 and not labels_all:
        return next(iter(labels))
    named = {message: listed(some) for message, some in labels.items()}
    return _in_one(named) or _joined([f"{some}: {message}" for message, some in named.items()])


def _in_one(named: Mapping[str, str]) -> str | None:
    """Return ``kept 1.3 (A) and 1.5 (B) of 2 cores``; ``None``: they differ in more than a figure.

    Args:
        named: The sides of each message.
    """
    rows = [message.split(" ") for message in named]
    if len(rows) < 2 or len({*map(len, rows)}) > 1:
        return None
    differing = [at for at, words in enumerate(zip(*rows, strict=True)) if len({*words}) > 1]
    if len(differing) != 1 or not all(row[differing[0]][-1].isdigit() for row in rows):
        return None
    (at,) = differing
    end = at + 2 if rows[0][at + 1 : at + 2] in (["%"], ["ms"]) else at + 1
    figures = [
        f"{' '.join(row[at:end])} ({some})" for row, some in zip(rows, named.values(), strict=True)
    ]
    return " ".join((*rows[0][:at], listed(figures), *rows[0][end:]))


def _joined(texts: Sequence[str]) -> str:
    """Join the texts of sides; an advice that ends all of them comes once, at the end."""
    parts = [text.rpartition("; ") for text in texts]
    if len({advice for _, _, advice in parts}) > 1:
        return "; ".join(texts)
    return "; ".join((*(first for first, _, _ in parts[:-1]), texts[-1]))


def process_counts(found: MeasuredComparison) -> dict[str, int]:
    """Return how many processes of each side went well, by label."""
    return {side.label: len(side.measured) for side in found.sides}


def thermal_states(found: MeasuredComparison) -> Iterator[Notice]:
    """Yield the thermal state of each side whose energy is compared, where they differ.

    An unknown state equals no other, so it counts as different.
    """
    if not compares_energy(found):
        return
    every = {it.label: [RunView(run).thermal_state for run in it.measured] for it in found.sides}
    states = {label: Counter(state.state for state in side) for label, side in every.items()}
    kinds = {frozenset(counted) for counted in states.values()}
    if len(kinds) == 1 and not any("unknown" in kind for kind in kinds):
        return
    texts = {
        label: ", ".join(
            f"{state} in {count} of {counted.total()} processes" for state, count in counted.items()
        )
        if len(every[label]) > 1
        else every[label][0].text
        for label, counted in states.items()
    }
    named = "; ".join(f"{label} {text}" for label, text in texts.items())
    yield Notice(
        "W-THERMAL-STATE",
        f"energy is compared across different or unknown thermal states: {named}",
        {"states": {label: dict(counted) for label, counted in states.items()}},
    )


def compares_energy(found: MeasuredComparison) -> bool:
    """Whether a pair of the comparison has a verdict on energy."""
    return any(verdict.metric == "energy" for pair in found.pairs for verdict in pair.verdicts)


Found = Iterable[Notice]


def measured_notices(found: MeasuredComparison) -> tuple[Notice, ...]:
    """Return what must be known before the verdicts are believed, the weightiest first."""
    return weightiest(notice for rule in RULES for notice in rule(found))


def _lost(found: MeasuredComparison) -> Found:
    for side in found.sides:
        lost = [run for run in side.runs if run not in side.measured]
        if lost:
            outcome = lost[0].outcome
            skipped = "they and their rounds are" if found.comparison else "they are"
            yield Notice(
                "W-LOST-PROCESSES",
                f"{len(lost)} of {len(side.runs)} processes of {side.label} failed; "
                f"{skipped} skipped: {outcome.message or outcome.kind.value}",
                {"side": side.label, "runs": [one.id for one in lost]},
            )


def _disturbed(found: MeasuredComparison) -> Found:
    for pair in found.pairs:
        estimate = pair.headline.estimate
        if estimate is None:
            continue
        every = estimate.n_a + estimate.left_out
        evidence = {"b": pair.b, "left_out": estimate.left_out, "rounds": every}
        if estimate.disturbed is not None:
            evidence["disturbed"] = to_builtins(estimate.disturbed)
        unstable = instability_text(pair)
        if unstable is not None:
            yield Notice(
                "W-UNSTABLE-SIDE",
                f"{unstable}, more than chance allows, so these rounds count; look for "
                "the cause on that side, an idle machine would not help",
                evidence,
            )
        by_side = estimate.disturbed
        count = by_side.a + by_side.b + by_side.both if by_side is not None else 0
        so = "disturbed; all count, since the difference is obvious or no round is steady"
        if estimate.left_out:
            count = estimate.left_out
            so = "noisy and do not count: a process was disturbed, and its median is uncertain"
        if estimate.left_out or (count and unstable is None):
            yield Notice(
                "W-DISTURBED-ROUNDS",
                f"{count} of {every} rounds of {pair.a} and {pair.b} were {so}",
                evidence,
            )


def instability_text(pair: MeasuredPair) -> str | None:
    """Return ``B is unstable: 14 of 14 disturbed rounds are its own``, where a side is."""
    disturbed = pair.headline.estimate.disturbed if pair.headline.estimate else None
    if disturbed is None or disturbed.unstable is None:
        return None
    is_b = disturbed.unstable == "b"
    label, own = (pair.b, disturbed.b) if is_b else (pair.a, disturbed.a)
    total = disturbed.a + disturbed.b + disturbed.both
    return f"{label} is unstable: {own} of {total} disturbed rounds are its own"


def _overstated(found: MeasuredComparison) -> Found:
    for pair in found.pairs:
        estimate, corrected = pair.headline.estimate, pair.headline.corrected_ratio
        if estimate is None or corrected is None:
            continue
        if f"{corrected:.3f}" != f"{estimate.ratio:.3f}":
            yield Notice(
                "I-OVERSTATED",
                f"the difference of {pair.b} is probably smaller: the comparison ended as "
                f"soon as it was decided, which overstates it; corrected, {pair.b} is "
                f"{corrected:.3f} × {pair.a}, not {estimate.ratio:.3f} × {pair.a}",
                {"b": pair.b, "ratio": estimate.ratio, "corrected_ratio": corrected},
            )


def _build_spread(found: MeasuredComparison) -> Found:
    for pair in found.pairs:
        verdict = pair.headline
        if verdict.reason is Reason.BUILD_SPREAD and verdict.estimate is not None:
            yield Notice(
                "W-BUILD-SPREAD",
                f"{pair.b} is {verdict.estimate.ratio:.3f} × {pair.a}, but {verdict.detail}"
                "; enginescope upgrade --builds compares independent builds",
                {"b": pair.b, "ratio": verdict.estimate.ratio},
            )


def _below_floor(found: MeasuredComparison) -> Found:
    estimate, floor = found.pairs[0].headline.estimate, found.floor
    least = floor_pct(floor, estimate) if floor and estimate else None
    if floor and least is not None and found.threshold_pct < least:
        yield Notice(
            "W-BELOW-FLOOR",
            f"the threshold of {found.threshold_pct:g} % is below the smallest difference "
            f"this machine can detect: {format_significant(least, 2)} % (enginescope doctor "
            f"--noise, {floor.model}, {floor.created[:10]})",
            {"floor_pct": least, "threshold_pct": found.threshold_pct},
        )


def _disturbed_floor(found: MeasuredComparison) -> Found:
    floor = found.floor
    if floor is None:
        return
    for notice in floor.notices:
        yield Notice(
            "W-LOADED-FLOOR",
            f"the noise floor in use ({floor.model}, {floor.created[:10]}) was "
            f"measured under load: {notice.message}; run enginescope doctor --noise again",
            {"code": notice.code, **notice.evidence, "unstable": False},
        )


def _assumed_scatter(found: MeasuredComparison) -> Found:
    methods = {pair.headline.estimate.method for pair in found.pairs if pair.headline.estimate}
    if "samples" not in methods or found.floor is not None:
        return
    is_single = max(process_counts(found).values()) == 1
    few = "one process a side" if is_single else f"fewer than {FEWEST_TOGETHER} processes in all"
    yield Notice(
        "I-ASSUMED-SCATTER",
        f"{few}: assuming ±{ASSUMED_SCATTER_PCT:g} % run-to-run variation; "
        "enginescope doctor --noise measures it",
        {"scatter_pct": ASSUMED_SCATTER_PCT},
    )


def _few_processes(found: MeasuredComparison) -> Found:
    estimates = (pair.headline.estimate for pair in found.pairs)
    estimate = next((each for each in estimates if each and each.is_student), None)
    if estimate is None or estimate.interval is None:
        return
    confidence, count, ratio = estimate.interval.confidence, str(estimate.n_a), ""
    if estimate.method == "rounds":
        needed, units, assumed = rounds_needed(confidence), "rounds", "a normal distribution"
    else:
        needed, units = processes_needed(confidence), "processes a side"
        count += f" and {estimate.n_b}" if estimate.n_b != estimate.n_a else ""
        ratio = "the ratio is that of the two medians, and "
        assumed = "normal distributions of equal variance on both sides"
    yield Notice(
        "I-FEW-PROCESSES",
        f"{count} {units} are too few for {100 * confidence:.4g} % confidence by ranks: "
        f"{ratio}the interval assumes {assumed} (Student's t); {needed} {units} need "
        "no assumption",
        {"processes": process_counts(found), "needed": needed, "confidence": confidence},
    )


def _not_in_turn(found: MeasuredComparison) -> Found:
    if found.comparison is not None or _take_turns(found.sides):
        return
    if all(all(run.origin == "measured" for run in side.runs) for side in found.sides):
        heat = ", and heat left by one side changes the energy of the next"
        yield Notice(
            "I-NOT-IN-TURN",
            "weaker evidence, the sides were not interleaved: drift between them counts "
            f"as a difference{heat if compares_energy(found) else ''}; enginescope bench A B "
            "--compare interleaves them",
        )


def _take_turns(sides: Sequence[MeasuredSide]) -> bool:
    """Whether separate commands measured the sides in rounds, one process of each side a round."""
    created = sorted((run.created, side.label) for side in sides for run in side.runs)
    labels, size = [label for _, label in created], len(sides)
    rounds = [labels[at : at + size] for at in range(0, len(labels), size)]
    is_ordered = len({moment for moment, _ in created}) == len(created)
    return is_ordered and len(rounds) > 1 and all(len(set(each)) == size for each in rounds)


def _meant(found: MeasuredComparison) -> Found:
    for pair in found.pairs:
        for one in pair.meant:
            yield Notice(
                "I-MEANT",
                f"{pair.b} differs from {pair.a} in {one}",
                {"key": one.key, "a": one.a, "b": one.b},
            )


def _versions(found: MeasuredComparison) -> Found:
    base, *others = ({**side.measured[0].environment.versions} for side in found.sides)
    for label, versions in zip((pair.b for pair in found.pairs), others, strict=True):
        pairs = {
            name: (base[name], versions[name])
            for name in base
            if name in versions and base[name] != versions[name]
        }
        if pairs:
            texts = ", ".join(f"{name} {a} and {b}" for name, (a, b) in pairs.items())
            yield Notice(
                "I-OTHER-VERSIONS",
                f"{found.sides[0].label} and {label} ran with different versions: {texts}",
                {"versions": pairs},
            )


def _printed_tail(compared: MeasuredComparison) -> Found:
    for pair in compared.pairs:
        median = next((one for one in pair.verdicts if one.metric == GPU_COMPUTE), None)
        if median is None or median.reason is not Reason.PRINTED_ONLY:
            continue
        sides = [side.measured for side in compared.sides if side.label in (pair.a, pair.b)]
        if any(len(side) > 1 for side in sides):
            continue
        means = [printed_value(RunView(side[0]), GPU_COMPUTE, "mean_ms") for side in sides]
        typical = change_pct(median)
        if typical is None or means[0] is None or means[1] is None:
            continue
        mean = 100 * (means[1] / means[0] - 1)
        if abs(mean - typical) > compared.threshold_pct:
            yield Notice(
                "W-PRINTED-MEAN",
                f"GPU compute time of {pair.b}: median {signed_pct(typical)} %, mean "
                f"{signed_pct(mean)} %; a part of the queries changed more than the typical one",
                {"b": pair.b, "median_pct": typical, "mean_pct": mean},
            )


def _enqueue_bound(compared: MeasuredComparison) -> Found:
    tools = {side.label: side.measured[0].tool for side in compared.sides if side.measured}
    bound = [
        label
        for label, tool in tools.items()
        if tool and any("bound by Enqueue Time" in one.text for one in tool.messages)
    ]
    if bound:
        yield Notice(
            "I-ENQUEUE-BOUND",
            f"trtexec warned in {listed(bound)} that the enqueue may limit the "
            "throughput, not the GPU",
            {"sides": bound},
        )


RULES: tuple[Callable[[MeasuredComparison], Found], ...] = (
    _lost,
    _disturbed,
    _overstated,
    carried_notices,
    _build_spread,
    _below_floor,
    _disturbed_floor,
    _assumed_scatter,
    _few_processes,
    _not_in_turn,
    thermal_states,
    _meant,
    _versions,
    lambda found: build_notices({side.label: side.measured[0] for side in found.sides}),
    _printed_tail,
    _enqueue_bound,
)
