"""Record a search for the fastest options of a model, and the confirmation of its winner."""

from __future__ import annotations

from typing import Literal

from enginescope.core.record import Record, Result
from enginescope.judge.samples import Interval
from enginescope.judge.verdict import EvidenceLevel, RatioEstimate, Reason, VerdictKind
from enginescope.records.run.rounds import StoredReport

#: What is to be best: time per item with one request in flight, or items per second.
TuneMetric = Literal["latency", "throughput"]
#: What became of an alternative in the search.
AlternativeState = Literal["default", "candidate", "left", "dropped", "wrong", "failed"]


class Alternative(Record, frozen=True, kw_only=True):
    """One combination of backend, options and batch.

    Attributes:
        number: From 0, the default.
        backend: As it is typed.
        batch: ``None``: the model's own.
        state: ``left``: no evidence that it is slower than the first, and not the first.
        value: Median over its processes: milliseconds per item, or items per second; ``None``: not
            measured.
        interval: 95 % interval of the level that its processes scatter about.
        ratio: Its value ÷ the default's, over the rounds of both; nothing corrects it for the
            selection of the fastest.
        rounds: Of the search, with a process of it.
        dropped_after: Rounds after which it was dropped as slower; ``None``: it was not.
        trtexec_ms: GPU time that trtexec's tuner recorded for its build route.
        why: Why it cannot win.
        runs: Its processes in the search.
    """

    number: int
    backend: str
    batch: int | None = None
    state: AlternativeState = "left"
    value: float | None = None
    interval: Interval | None = None
    ratio: RatioEstimate | None = None
    rounds: int = 0
    dropped_after: int | None = None
    trtexec_ms: float | None = None
    why: str | None = None
    runs: tuple[str, ...] = ()


class InvalidAlternative(Record, frozen=True, kw_only=True):
    """A combination that is not measured, and why."""

    backend: str
    batch: int | None = None
    why: str


class Confirmation(Record, frozen=True, kw_only=True):
    """The candidate measured anew against the default.

    Attributes:
        kind: Of the candidate against the default; `inconclusive` also where nothing was measured.
        ratio: Candidate ÷ default; ``None``: a side has no figures.
        corrected_ratio: `ratio` without the overstatement of a comparison that ends once it can
            decide; ``None`` where it decided nothing.
        default, candidate: Medians over the processes, in the unit of `Alternative.value`.
        rounds: Rounds that count.
        seed: Of the inputs; the search had other ones.
        comparison: Of the stored runs, whose tag is ``cmp-`` and this id.
        why: Why a side has no figures.
    """

    kind: VerdictKind
    reason: Reason
    ratio: RatioEstimate | None = None
    corrected_ratio: float | None = None
    default: float | None = None
    candidate: float | None = None
    rounds: int = 0
    seed: int = 0
    evidence: EvidenceLevel | None = None
    comparison: str | None = None
    why: str | None = None


class TuneReport(Result, StoredReport, frozen=True, kw_only=True):
    """Alternatives of a model's options, searched, and the fastest one confirmed.

    Attributes:
        alternatives: The default first, then the fastest first.
        candidate: Number of the alternative that led the search; ``None``: the default did, or no
            alternative was measured.
        confirmation: ``None``: there is no candidate, or no time was left.
        rounds: Of the search.
        unsearched_routes: Build routes of trtexec's file that were slower there and left out.
    """

    model: str
    metric: TuneMetric
    alternatives: tuple[Alternative, ...]
    invalid: tuple[InvalidAlternative, ...] = ()
    candidate: int | None = None
    confirmation: Confirmation | None = None
    threshold_pct: float
    rounds: int = 0
    duration_s: float = 0.0
    unsearched_routes: int = 0

    @property
    def default(self) -> Alternative:
        """What the candidate is compared with."""
        return self.alternatives[0]

    @property
    def leader(self) -> Alternative | None:
        """The alternative that led the search, whether it was confirmed or not."""
        return next((one for one in self.alternatives if one.number == self.candidate), None)

    @property
    def winner(self) -> Alternative | None:
        """The alternative that the confirmation found faster than the default."""
        confirmed = self.confirmation
        is_faster = confirmed is not None and confirmed.kind is VerdictKind.FASTER
        return self.leader if is_faster else None
