"""Processes doing the same work: what their levels scatter by, and the series within each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from series_kinds import KINDS

Array = np.ndarray
#: (generator, comparisons, rounds) to logarithms of levels in units of the scatter, of the shape
#: (comparisons, rounds, 2): the processes of a round in the order in which they were measured.
Levels = Callable[[np.random.Generator, int, int], Array]

SAMPLES = 400
#: Of the samples within a process: a standard deviation of 1 %.
WITHIN = 0.01
#: How the samples within a process follow each other; each comparison has one kind.
WITHIN_KINDS = (
    "normal",
    "AR(1) 0.5",
    "AR(1) 0.9",
    "AR(1) 0.99",
    "Student t, 2 degrees",
    "two levels, 35 samples a visit",
)


@dataclass(frozen=True)
class ProcessKind:
    """A way in which processes of the same work differ.

    Attributes:
    ----------
    name : str
    levels : callable
    """

    name: str
    levels: Levels


def _normal(rng: np.random.Generator, m: int, rounds: int) -> Array:
    return rng.standard_normal((m, rounds, 2))


def _contaminated(rng: np.random.Generator, m: int, rounds: int) -> Array:
    """A tenth of the processes is disturbed, and slower by up to many times the scatter."""
    levels = rng.standard_normal((m, rounds, 2))
    disturbed = rng.random(levels.shape) < 0.1
    return levels + disturbed * np.abs(8 * rng.standard_normal(levels.shape))


def _two_levels(rng: np.random.Generator, m: int, rounds: int) -> Array:
    """Two levels, each as likely, two scatters apart, as of how memory came to lie."""
    high = rng.random((m, rounds, 2)) < 0.5
    return 2.0 * high + 0.3 * rng.standard_normal(high.shape)


def _heavy(rng: np.random.Generator, m: int, rounds: int) -> Array:
    """Student's t of 2 degrees, with the quartiles of a normal of the scatter."""
    return 0.826 * rng.standard_t(2, (m, rounds, 2))


def _drifting(rng: np.random.Generator, m: int, rounds: int) -> Array:
    """All grow slower by a scatter a process, and wander by as much from round to round."""
    walk = np.cumsum(rng.standard_normal((m, rounds)), axis=1)[:, :, None]
    return rng.standard_normal((m, rounds, 2)) + np.arange(2 * rounds).reshape(rounds, 2) + walk


PROCESS_KINDS = (
    ProcessKind("normal", _normal),
    ProcessKind("a tenth disturbed", _contaminated),
    ProcessKind("two levels", _two_levels),
    ProcessKind("Student t, 2 degrees", _heavy),
    ProcessKind("drifting", _drifting),
)


def processes(
    rng: np.random.Generator, kind: ProcessKind, scatter: float, comparisons: int, rounds: int
) -> tuple[Array, Array]:
    """Return the samples of both sides, each process of the same work.

    Parameters
    ----------
    scatter : float
        Of processes; 0.01 is 1 %.

    Returns:
    -------
    tuple of numpy.ndarray, shape (comparisons, rounds, SAMPLES)
        A and B; in each round it is drawn which of them comes first.
    """
    levels = scatter * kind.levels(rng, comparisons, rounds)
    a_first = rng.random((comparisons, rounds, 1)) < 0.5
    levels = np.where(a_first, levels, levels[:, :, ::-1])
    series = np.concatenate(
        [
            series_about_0(rng, name, part * rounds * 2).reshape(part, rounds, 2, SAMPLES)
            for name, part in zip(WITHIN_KINDS, _parts(comparisons), strict=True)
        ]
    )
    values = np.exp(levels[..., None] + series)
    return values[:, :, 0], values[:, :, 1]


def _parts(comparisons: int) -> list[int]:
    edges = np.linspace(0, comparisons, len(WITHIN_KINDS) + 1).round().astype(int)
    return [int(one) for one in np.diff(edges)]


def series_about_0(
    rng: np.random.Generator, name: str, count: int, samples: int = SAMPLES
) -> Array:
    """Return the logarithms of series with a median of 1."""
    kind = next(one for one in KINDS if one.name == name)
    drawn = kind.draw(rng, count, samples) if count else np.empty((0, samples))
    middle = kind.quantile(0.5)
    # the two levels are 5 % apart already
    return np.log(drawn / middle) / 2 if name.startswith("two levels") else WITHIN * drawn
