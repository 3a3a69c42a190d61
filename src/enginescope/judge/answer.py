"""The answer of an experiment: pairs with verdicts, the table below them, and both as text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from enginescope.judge.experiment import Ended, Entry
from enginescope.judge.sources import Conditions
from enginescope.judge.units import counted, format_ms, format_significant
from enginescope.judge.verdict import (
    EvidenceLevel,
    Reason,
    Verdict,
    VerdictKind,
    kind_text,
    reason_text,
)

_HEADERS = ("side", "time", "÷ base", "interval", "verdict")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A side beside the base.

    Attributes:
        label: Letter of the side; the base is A.
    """

    label: str
    a: str
    b: str
    verdict: Verdict

    @property
    def sentence(self) -> str:
        """The verdict in one line: ``B is faster: 0.613 × A (99 % CI 0.607 … 0.619)``."""
        verdict, estimate = self.verdict, self.verdict.estimate
        if estimate is None:
            return f"{self.label} is not compared with A: no round has both"
        ratio = f"{format_significant(estimate.ratio)} × A"
        interval = estimate.interval
        if interval is not None:
            ratio += (
                f" ({100 * interval.confidence:g} % CI {format_significant(interval.low)} … "
                f"{format_significant(interval.high)})"
            )
        text = kind_text(verdict, "faster", "slower")
        if verdict.kind is VerdictKind.INCONCLUSIVE:
            return f"inconclusive whether {self.label} is faster: {ratio}"
        if verdict.kind is VerdictKind.SAME:
            return f"{self.label} and A: {text} detected, {ratio}"
        return f"{self.label} is {text}: {ratio}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answer:
    """What an experiment says; printed, it is a screen of text.

    Attributes:
        sides: Names; the first is the base.
        ended: Why no more rounds were measured.
        rounds: Those that count; ``measured_rounds`` includes disturbed and failed ones.
        repeated: Measurements that were taken again.
        failures: The last failure of each side; ``None``: it never failed.
        table: Every measurement, in order.
        conditions: Of the machine.
        kept: File that has the table; the same call continues it.
    """

    sides: tuple[str, ...]
    pairs: tuple[Pair, ...]
    ended: Ended
    evidence: EvidenceLevel
    rounds: int
    measured_rounds: int
    repeated: int
    failures: tuple[str | None, ...]
    table: tuple[Entry[Conditions], ...]
    conditions: dict[str, Any]
    kept: str | None = None

    @property
    def verdict(self) -> Verdict:
        """The verdict on the second side."""
        return self.pairs[0].verdict

    @property
    def next_step(self) -> str | None:
        """What would settle an open verdict; ``None``: all are decided, or nothing would."""
        open_pairs = [pair for pair in self.pairs if not pair.verdict.is_decided]
        if not open_pairs:
            return None
        if self.ended is Ended.GIVEN_UP:
            return "run the side that failed by itself, and mend it"
        is_cut_off = self.ended in (Ended.INTERRUPTED, Ended.LATE)
        if is_cut_off and self.kept is not None:
            return "the same call goes on where it ended"
        more = [pair.verdict.more for pair in open_pairs if pair.verdict.more is not None]
        if any(pair.verdict.reason is Reason.UNSTABLE for pair in open_pairs):
            return "stop what disturbs the unstable side, or measure longer in each round"
        if not more and is_cut_off:
            return "measure until the last round"
        if not more:
            return "no realistic number of rounds settles it; reduce the variation of the sides"
        return f"about {counted(max(more), 'more round')} would probably settle it"

    def __str__(self) -> str:
        """Return `text`."""
        return self.text()

    def text(self) -> str:
        """Return the answer as a screen of text, 80 columns or fewer where names allow it."""
        rows = [_HEADERS, *self._rows()]
        widths = [max(len(row[at]) for row in rows) for at in range(len(_HEADERS))]
        table = ["  ".join(cell.ljust(widths[at]) for at, cell in enumerate(row)) for row in rows]
        lines = [*self._sentences(), "", *(f"  {line.rstrip()}" for line in table), ""]
        return "\n".join([*lines, *(f"  {line}" for line in self._facts())])

    def markdown(self) -> str:
        """Return the answer as Markdown, for a pull request."""
        rows = ["| " + " | ".join(map(_escaped, row)) + " |" for row in self._rows()]
        head = ["| " + " | ".join(_HEADERS) + " |", "|---|---:|---:|---:|---|"]
        sentences = [f"**{_escaped(sentence)}**" for sentence in self._sentences()]
        facts = [f"- {_escaped(fact)}" for fact in self._facts()]
        return "\n".join(["  \n".join(sentences), "", *head, *rows, "", *facts, ""])

    def data(self) -> dict[str, Any]:
        """Return everything as plain values, the table included."""
        return {
            "schema": 1,
            "sides": list(self.sides),
            "pairs": [
                {"label": pair.label, "a": pair.a, "b": pair.b, "verdict": _plain(pair.verdict)}
                for pair in self.pairs
            ],
            "ended": self.ended.value,
            "evidence": self.evidence.value,
            "rounds": self.rounds,
            "measured_rounds": self.measured_rounds,
            "repeated": self.repeated,
            "failures": list(self.failures),
            "next_step": self.next_step,
            "conditions": self.conditions,
            "table": [_row(entry) for entry in self.table],
        }

    def json(self) -> str:
        """Return `data` as strict JSON."""
        return json.dumps(self.data(), allow_nan=False)

    def _sentences(self) -> list[str]:
        return [pair.sentence for pair in self.pairs]

    def _rows(self) -> Iterator[tuple[str, ...]]:
        yield f"A  {self.sides[0]}", format_ms(self.verdict.a), "", "", ""
        for pair in self.pairs:
            verdict, estimate = pair.verdict, pair.verdict.estimate
            interval = estimate.interval if estimate is not None else None
            ends = (interval.low, interval.high) if interval is not None else ()
            yield (
                f"{pair.label}  {pair.b}",
                format_ms(verdict.b),
                "" if estimate is None else format_significant(estimate.ratio, 4),
                " … ".join(format_significant(end, 4) for end in ends),
                kind_text(verdict, "faster", "slower"),
            )

    def _facts(self) -> Iterator[str]:
        rounds = counted(self.rounds, "round")
        if self.measured_rounds > self.rounds:
            rounds += f" of {self.measured_rounds} count"
        yield f"{rounds}; evidence: {self.evidence.value}; ended: {self.ended.value}"
        if self.repeated:
            yield f"{counted(self.repeated, 'disturbed or failed measurement')} measured again"
        for pair in self.pairs:
            if not pair.verdict.is_decided:
                yield f"{pair.label}: {reason_text(pair.verdict.reason)}"
        for name, failure in zip(self.sides, self.failures, strict=True):
            if failure is not None:
                yield f"{name} failed: {failure}"
        if self.next_step is not None:
            yield f"next: {self.next_step}"
        if self.kept is not None:
            yield f"every measurement: {self.kept}"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _row(entry: Entry[Conditions]) -> dict[str, Any]:
    values = entry.measured.values
    return {
        **asdict(entry.position),
        "values_ms": None if values is None else values.tolist(),
        "uncertainty_pct": entry.uncertainty_pct,
        "failure": entry.measured.failure,
        "seconds": entry.seconds,
        "conditions": entry.measured.source,
    }


def _plain(verdict: Verdict) -> dict[str, Any]:
    # members of enumerations as their values
    return asdict(verdict, dict_factory=lambda of: {k: getattr(it, "value", it) for k, it in of})
