"""Whether the figures of a run can be used, and what harms them most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from enginescope.core.record import Record
from enginescope.judge.notice import Notice
from enginescope.judge.samples import Summary
from enginescope.judge.stats.stability import WIDE_PCT
from enginescope.judge.units import format_significant
from enginescope.records.notice import NOT_FP16, is_unstable

#: Beyond this ± percentage of the median, a run is too rough for differences of a few percent.
ROUGH_PCT = 1.0
#: A mean of so many medians, or a standard deviation of this share of the mean, and the median
#: does not stand for the requests.
ROUGH_MEAN, ROUGH_CV_PCT = 1.1, 50.0
#: Most of the time is then spent in requests that the median does not tell of.
UNUSABLE_MEAN = 2.0


class Harm(Record, frozen=True, kw_only=True):
    """One reason against a run.

    Attributes:
        message: Begun small and without a full stop.
        code: Of the notice that says the same; ``None``: no notice does.
        is_fatal: Whether it makes the figures worthless.
    """

    message: str
    code: str | None = None
    is_fatal: bool = False


class Usability(Record, frozen=True, kw_only=True):
    """What a run says of itself.

    Attributes:
        harms: The worst first; none of a usable run.
    """

    verdict: Literal["usable", "rough", "not usable"]
    harms: tuple[Harm, ...] = ()

    def __str__(self) -> str:
        """Return the verdict, its worst reason and how many others there are."""
        if not self.harms:
            return self.verdict
        worst, others = self.harms[0], len(self.harms) - 1
        more = f"; and {others} more" if others else ""
        return f"{self.verdict}: {worst.message}{more}"


def usability(latency: Summary, notices: Sequence[Notice]) -> Usability:
    """Judge a run by its headline and its notices.

    What makes figures worthless comes first: another precision than asked for, a busy machine, a
    median that is not known, a median that does not stand for the requests. Then warnings,
    in the order of the notices.
    """
    harms = sorted((*_of_figures(latency), *_of_notices(notices)), key=lambda one: not one.is_fatal)
    if not harms:
        return Usability(verdict="usable")
    return Usability(verdict="not usable" if harms[0].is_fatal else "rough", harms=tuple(harms))


def _of_figures(latency: Summary) -> Iterator[Harm]:
    interval = latency.median_interval
    half_pct = interval.half_width_pct if interval else None
    if half_pct is None and latency.std_ms != 0:
        yield Harm(message="the samples cannot tell how well the median is known", is_fatal=True)
    elif half_pct is not None and ROUGH_PCT < half_pct <= WIDE_PCT:
        yield Harm(message=f"the median is known to ±{format_significant(half_pct, 2)} %")
    if latency.median_ms <= 0:
        return
    medians, cv_pct = latency.mean_ms / latency.median_ms, latency.cv_pct or 0.0
    if medians > ROUGH_MEAN or cv_pct > ROUGH_CV_PCT:
        yield Harm(
            message=f"the latencies spread widely: the mean is {format_significant(medians, 2)} × "
            f"the median, the standard deviation {format_significant(cv_pct, 2)} % of the mean",
            is_fatal=medians > UNUSABLE_MEAN,
        )


#: The first makes a figure that of something else; of the second, nothing is known of the median.
_FATAL = (NOT_FP16, "W-NOT-CONVERGED")


def _of_notices(notices: Sequence[Notice]) -> Iterator[Harm]:
    for notice in notices:
        if notice.level == "warning":
            is_fatal = notice.code in _FATAL or is_unstable(notice)
            yield Harm(message=notice.message, code=notice.code, is_fatal=is_fatal)
