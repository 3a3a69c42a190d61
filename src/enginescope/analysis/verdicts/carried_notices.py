"""Warnings of the runs of a comparison, each code in one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.verdicts.measured_sides import MeasuredComparison
from enginescope.judge.notice import Notice
from enginescope.judge.units import listed
from enginescope.records.notice import is_unstable, most_severe


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
    text = _of_each(those) if is_single else _of_worst(those, process_counts(found))
    return Notice(code=code, message=text, evidence=evidence)


def _of_each(those: Sequence[tuple[str, Notice]]) -> str:
    """Return the message of each side; sides of one message share it, with their labels."""
    return _of_sides({label: notice.message for label, notice in those}, labels_all=True)


def _of_worst(those: Sequence[tuple[str, Notice]], sizes: Mapping[str, int]) -> str:
    """Return the gravest message of each side, and in how many processes there is one."""
    sides: dict[str, list[Notice]] = {}
    for label, notice in those:
        sides.setdefault(label, []).append(notice)
    text = _of_sides({label: most_severe(some).message for label, some in sides.items()})
    differ = any(len({one.message for one in some}) > 1 for some in sides.values())
    where = _where({label: len(some) for label, some in sides.items()}, sizes)
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


def _where(of: Mapping[str, int], sizes: Mapping[str, int]) -> str:
    """Return ``all processes`` or ``3 of 8 processes of B``."""
    if of == sizes:
        return "all processes"
    return listed(
        [f"{count} of {sizes[label]} processes of {label}" for label, count in of.items()]
    )
