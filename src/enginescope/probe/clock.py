"""The host's clock."""

from __future__ import annotations

from time import perf_counter_ns


def timer_resolution_ms(readings: int = 2_000) -> float:
    """Return the smallest step seen between consecutive readings of the clock, in milliseconds.

    This is what the timed loop's clock can tell apart, its own cost included; the resolution that
    the platform claims is often finer than any two readings can be.
    """
    steps = []
    for _ in range(readings):
        before = perf_counter_ns()
        after = perf_counter_ns()
        if after > before:
            steps.append(after - before)
    return min(steps) / 1e6 if steps else 1e-6
