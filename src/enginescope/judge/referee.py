"""A referee for searches: proposals against a champion, each accepted only by a verdict.

The error is held over the whole session: of sessions whose proposals are all no faster, at most
`ERROR` accept any. Each of the expected proposals may err by an equal share of half of it. Further
blocks of as many proposals share half of what is left, so that no number of proposals uses it up.
Within a proposal, its looks share its error alike.

A proposal ends early where a gain above the threshold is improbable: that costs no error, since
nothing is accepted.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from enginescope.judge.answer import Answer
from enginescope.judge.comparing import SECONDS, Comparison, verdict_of
from enginescope.judge.comparison.looks import LOOKS, THRESHOLD_PCT, looks_up_to
from enginescope.judge.errors import UsageError
from enginescope.judge.experiment import Ended, Experiment, Journal, Standing
from enginescope.judge.sources import Conditions, source_of
from enginescope.judge.verdict import Verdict, VerdictKind

#: Share of sessions without a real gain that accept any proposal, at most.
ERROR = 0.05
PROPOSALS = 100
#: A gain above the threshold is improbable where an interval of this confidence excludes it.
_FUTILITY_CONFIDENCE = 0.8


class Ruling(Enum):
    """What a session makes of a proposal."""

    ACCEPTED = "accepted"
    NOT_FASTER = "not faster"
    INCONCLUSIVE = "inconclusive"
    WRONG = "wrong outputs"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Proposal:
    """A proposal that was judged.

    Attributes:
        number: From 1.
        error: Its share of the session's error.
        champion: Name of the side that it was compared with.
        why: Of wrong outputs or a failure.
        answer: ``None`` where nothing was measured.
    """

    number: int
    name: str
    champion: str
    ruling: Ruling
    error: float
    why: str | None = None
    answer: Answer | None = None

    @property
    def is_accepted(self) -> bool:
        """Whether it is the new champion."""
        return self.ruling is Ruling.ACCEPTED


class Session:
    """Proposals against a champion, judged one after another.

    Args:
        champion: A side as `compare` takes it.
        proposals: How many are expected; more cost sensitivity, not correctness.
        threshold_pct: Smaller gains are not accepted.
        check: Called with a proposal before it is measured; returns why its outputs are wrong, or
            ``None``.
        keep: File with every ruling; if it exists, its session is continued. `champion` must then
            be the champion that the file has.
        rounds, seconds: As for `Comparison`.

    Attributes:
        champion: The newest side that was accepted.
    """

    def __init__(
        self,
        champion: object,
        *,
        proposals: int = PROPOSALS,
        threshold_pct: float = THRESHOLD_PCT,
        rounds: int = LOOKS[-1],
        seconds: float = SECONDS,
        seed: int = 0,
        check: Callable[[Any], str | None] = lambda _proposal: None,
        keep: str | os.PathLike[str] | None = None,
    ) -> None:
        if proposals < 1:
            raise UsageError(f"proposals: {proposals} is not above 0")
        self.champion, self._check = champion, check
        self._expected, self._threshold_pct = proposals, threshold_pct
        self._rounds, self._seconds, self._seed = rounds, seconds, seed
        self._journal: Journal | None = None
        self._count = 0
        if keep is not None:
            header = {
                "enginescope": "session",
                "proposals": proposals,
                "threshold_pct": threshold_pct,
                "rounds": rounds,
                "seconds": seconds,
            }
            self._journal = Journal(Path(keep), header)
            self._resume(self._journal)

    @property
    def champion_name(self) -> str:
        """Name of the champion."""
        return source_of(self.champion, 0).name

    def propose(self, proposal: object) -> Proposal:
        """Judge a proposal; an accepted one is the new champion.

        A proposal whose outputs are wrong, or that fails, spends no error.

        Raises:
            KeyboardInterrupt, SystemExit: It was interrupted; it is inconclusive then, and spends
                its error.
        """
        name, champion = source_of(proposal, 1).name, self.champion_name
        number, error = self._count + 1, error_of(self._count, self._expected)
        why = self._check(proposal)
        answer: Answer | None = None
        ruling = Ruling.WRONG
        if why is None:
            trial = _Trial(
                (self.champion, proposal),
                error=error,
                rounds=self._rounds,
                seconds=self._seconds,
                threshold_pct=self._threshold_pct,
                seed=self._seed + number,
            )
            answer = trial.run()
            ruling, why = _ruling(answer), answer.failures[1]
        judged = Proposal(
            number=number,
            name=name,
            champion=champion,
            ruling=ruling,
            error=error,
            why=why,
            answer=answer,
        )
        if ruling not in (Ruling.WRONG, Ruling.FAILED):
            self._count += 1
        if self._journal is not None:
            self._journal.append(_row(judged))
        if judged.is_accepted:
            self.champion = proposal
        if answer is not None and trial.experiment.interruption is not None:
            raise trial.experiment.interruption
        return judged

    def _resume(self, journal: Journal) -> None:
        name = self.champion_name
        names = [row["proposal"] for row in journal.rows if row["ruling"] == "accepted"]
        if names and names[-1] != name:
            raise UsageError(
                f"{name} is not the champion of {journal.path}",
                why=f"{names[-1]} was accepted last",
                hint=f"go on with {names[-1]}, or begin a new session in another file",
            )
        unspent = (Ruling.WRONG.value, Ruling.FAILED.value)
        self._count = sum(row["ruling"] not in unspent for row in journal.rows)


def error_of(before: int, expected: int) -> float:
    """Return the error that a proposal may spend.

    Args:
        before: Proposals that spent some before it.
        expected: How many are expected.
    """
    block = before // expected
    return float(ERROR * 0.5 ** (block + 1) / expected)


class _Trial(Comparison):
    """A comparison that asks one question: is the second side faster?"""

    def __init__(self, sides: tuple[object, object], *, error: float, **options: Any) -> None:
        looks = len(looks_up_to(options["rounds"]))
        # one-sided, so that both ends of the interval may err by the share of a planned look
        super().__init__(sides, confidence=1 - 2 * error / looks, **options)

    def _stands(self, experiment: Experiment[Conditions]) -> Standing:
        verdict = self.answer(Ended.INTERRUPTED).verdict
        if verdict.kind is VerdictKind.FASTER or self._is_futile(experiment):
            return Standing.DECIDED
        return Standing.GO_ON

    def _is_futile(self, experiment: Experiment[Conditions]) -> bool:
        rounds = [(a, b) for a, b in experiment.whole_rows() if a.is_measured and b.is_measured]
        estimate = verdict_of(rounds, self.threshold_pct, _FUTILITY_CONFIDENCE).estimate
        interval = None if estimate is None else estimate.interval
        return interval is not None and interval.low > 1 / (1 + self.threshold_pct / 100)


def _ruling(answer: Answer) -> Ruling:
    verdict: Verdict = answer.verdict
    if verdict.estimate is None:
        return Ruling.FAILED
    if answer.ended is Ended.INTERRUPTED:  # at no planned look, so that it may not accept
        return Ruling.INCONCLUSIVE
    if verdict.kind is VerdictKind.FASTER:
        return Ruling.ACCEPTED
    is_over = verdict.kind is VerdictKind.INCONCLUSIVE and answer.ended is Ended.LAST_LOOK
    return Ruling.INCONCLUSIVE if is_over else Ruling.NOT_FASTER


def _row(judged: Proposal) -> dict[str, Any]:
    estimate = judged.answer.verdict.estimate if judged.answer is not None else None
    interval = estimate.interval if estimate is not None else None
    return {
        "proposal": judged.name,
        "champion": judged.champion,
        "ruling": judged.ruling.value,
        "error": judged.error,
        "why": judged.why,
        "ratio": estimate.ratio if estimate is not None else None,
        "low": interval.low if interval is not None else None,
        "high": interval.high if interval is not None else None,
        "rounds": judged.answer.rounds if judged.answer is not None else 0,
    }
