"""The largest size whose process stays within a limit: what was tried, and what to try next."""

from collections.abc import Mapping

from enginescope.core.record import Record


class Probe(Record, frozen=True, kw_only=True):
    """Peak memory of a process that ran one size; ``None``: not known."""

    size: int
    process_bytes: int | None


class Fit(Record, frozen=True, kw_only=True):
    """The largest size within a limit.

    Attributes:
        dim: ``"batch"``, or the name of a dimension.
        size: 0 if not even 1 fits.
        process_bytes: Peak of the process with this size.
        probes: All sizes that ran, in ascending order.
    """

    dim: str
    limit_bytes: int
    size: int
    process_bytes: int | None
    probes: tuple[Probe, ...]


def next_size(peaks: Mapping[int, int | None], low: int, high: int | None, limit: int) -> int:
    """Return the size to try: where a line through two sizes meets the limit.

    The two are the last that fits and the first that does not, else the two largest. Each third
    step halves the range, since a line may stay on one side of a bent curve.

    Args:
        peaks: Bytes of the sizes tried so far.
        low, high: The largest size that fits, 0 if none does; the smallest that does not.
    """
    known = sorted(size for size, peak in peaks.items() if peak is not None)
    if len(known) < 2:
        return low + 1
    a, b = (low, high) if low in known and high in known else known[-2:]
    first, second = peaks[a] or 0, peaks[b] or 0
    slope = (second - first) / (b - a)
    guess = a + int((limit - first) / slope) if slope > 0 else 2 * b
    if high is None:
        return max(low + 1, min(guess, 8 * low))
    if len(peaks) % 3 == 0:
        guess = (low + high) // 2
    return max(low + 1, min(guess, high - 1))
