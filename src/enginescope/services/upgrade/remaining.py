"""How long an upgrade will probably still take, from what it took so far."""

from collections.abc import Sequence
from statistics import fmean, median
from time import perf_counter

from enginescope.analysis.verdicts.measured_sides import MeasuredComparison


class TimeLeft:
    """Estimates what is left: outputs of some models, and rounds of others.

    A model takes as many rounds as those before it; the first one so many as its interval needs to
    become narrow enough, and the second of the looks before there is an interval. Of each model,
    `processes` compute the outputs; those of a round are timed for `timed_s`. The whole upgrade may
    take `max_time_s`.
    """

    def __init__(
        self,
        models: int,
        looks: Sequence[int],
        *,
        timed_s: float,
        processes: int,
        max_time_s: float | None = None,
    ) -> None:
        self._looks, self._timed_s, self._processes = looks, timed_s, processes
        self._without_outputs = self._to_time = models
        self._outputs_s: list[float] = []
        self._process_s: list[float] = []
        self._rounds: list[float] = []
        self._measured, self._expected = 0.0, 0.0
        self._end = None if max_time_s is None else perf_counter() + max_time_s

    def outputs_ended(self, seconds: float, *, is_timed: bool) -> None:
        """Take the outputs of a model, and whether it will be timed."""
        self._outputs_s.append(seconds)
        self._without_outputs -= 1
        self._to_time -= not is_timed

    def model_started(self) -> float | None:
        """Take a model whose rounds start; return its share of the seconds until the limit."""
        limit_s, models = self.limit_s, self._to_time
        self._measured, self._expected = 0.0, self._usual
        self._to_time -= 1
        return None if limit_s is None else limit_s / models

    def process_ended(self, seconds: float) -> None:
        """Take a process of a round."""
        self._process_s.append(seconds)
        self._measured += 0.5

    def looked(self, comparison: MeasuredComparison) -> None:
        """Take the interim result of the model whose rounds are measured."""
        verdict = comparison.pairs[0].headline
        wanted = (verdict.estimate.n_a if verdict.estimate else 0) + (verdict.more or 1)
        self._expected = next((one for one in self._looks if one >= wanted), self._looks[-1])

    def model_ended(self) -> None:
        """Take the end of the rounds."""
        self._rounds.append(self._measured)
        self._measured = self._expected = 0.0

    @property
    def limit_s(self) -> float | None:
        """Seconds until the maximum time is over; ``None``: there is no limit."""
        return None if self._end is None else max(0.0, self._end - perf_counter())

    @property
    def seconds(self) -> float | None:
        """Seconds that are probably left; ``None`` before the outputs of a model are known."""
        if not self._outputs_s:
            return None
        outputs_s = fmean(self._outputs_s)
        start_s = outputs_s / self._processes + self._timed_s
        process_s = median(self._process_s) if self._process_s else start_s
        rounds = max(0.0, self._expected - self._measured) + self._to_time * self._usual
        left_s = self._without_outputs * outputs_s + 2 * rounds * process_s
        limit_s = self.limit_s
        return left_s if limit_s is None else min(left_s, limit_s)

    @property
    def _usual(self) -> float:
        if self._rounds:
            return fmean(self._rounds)
        return max(self._expected, float(self._looks[:2][-1]))
