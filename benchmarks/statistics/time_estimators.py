"""Print how far estimates of the autocorrelation time lie from the truth.

``python benchmarks/statistics/time_estimators.py``. Median of the estimates and, in brackets, the
root mean square of their relative error, over 300 AR(1) series a cell.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from series_kinds import autoregressive

from enginescope.judge.stats.autocorrelation import autoregressive_time, integrated_time

SERIES = 300


def autocorrelation(values: np.ndarray) -> np.ndarray:
    """Return ρ(k) of all lags."""
    distance = values - values.mean()
    spectrum = np.fft.rfft(distance, 2 * values.size)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2)[: values.size]
    return covariance / covariance[0]


def sokal(values: np.ndarray) -> float:
    """Return the sum up to the first lag that is five times it (Sokal 1989)."""
    times = 2 * np.cumsum(autocorrelation(values)) - 1
    enough = np.arange(times.size) >= 5 * times
    return max(1.0, float(times[np.argmax(enough)]))


def initial_positive(values: np.ndarray) -> float:
    """Return the sum of Geyer's pairs up to the first that is not positive."""
    pairs = autocorrelation(values)[: values.size // 2 * 2].reshape(-1, 2).sum(axis=1)
    end = int(np.argmax(pairs <= 0))
    return max(1.0, float(2 * pairs[:end].sum() - 1))


ESTIMATORS: dict[str, Callable[[np.ndarray], float]] = {
    "Geyer, monotone (`integrated_time`)": integrated_time,
    "Geyer, positive": initial_positive,
    "Sokal's window": sokal,
    "first order (`autoregressive_time`)": autoregressive_time,
}


def main() -> None:
    """Print the table."""
    cells = [(phi, n) for phi in (0.5, 0.9, 0.99) for n in (300, 3_000)]
    heads = [f"φ {phi}: {(1 + phi) / (1 - phi):.0f}, n = {n:,}" for phi, n in cells]
    print(f"| estimator | {' | '.join(heads)} |")
    print("|---" * (len(cells) + 1) + "|")
    for name, estimate in ESTIMATORS.items():
        texts = []
        for phi, n in cells:
            rng = np.random.default_rng([9, n])
            found = np.array([estimate(one) for one in autoregressive(rng, SERIES, n, phi)])
            error = np.sqrt(np.mean((found * (1 - phi) / (1 + phi) - 1) ** 2))
            texts.append(f"{np.median(found):.1f} ({100 * error:.0f} %)")
        print(f"| {name} | {' | '.join(texts)} |", flush=True)


if __name__ == "__main__":
    main()
