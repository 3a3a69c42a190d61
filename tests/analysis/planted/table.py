"""Planted errors and honest noise, judged by the comparison; and what it gets wrong."""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from enginescope.analysis.accuracy.output_diff import SideDiff
from tests.analysis.answers import codes, side
from tests.analysis.planted.errors import ERRORS
from tests.analysis.planted.kinds import KINDS, NOISE, Kind
from tests.analysis.planted.views import Arrays

ROWS = tuple(NOISE)
#: Honest runs whose views set what a user sees of honest noise.
_DRAWS = 10
#: A change is visible from so many times the honest noise on: a figure's error, or the noise that
#: would change a decision.
_BEYOND = 4.0


@dataclass(frozen=True)
class Case:
    """One kind, row and error, with what the comparison says.

    Attributes:
        is_visible: Whether a user sees more than honest noise.
        codes: Reasons why it fails.
    """

    kind: str
    row: str
    error: str
    is_visible: bool
    passes: bool
    codes: frozenset[str]

    @property
    def is_false_pass(self) -> bool:
        return self.is_visible and self.passes


def _seed(*parts: Any) -> int:
    return zlib.crc32(repr(parts).encode())


@lru_cache(maxsize=64)
def outputs(name: str, seed: int) -> tuple[Arrays, Arrays]:
    kind = KINDS[name]
    latent = kind.draw(np.random.default_rng(_seed(name, seed)))
    return latent, kind.reference(latent)


def honest(name: str, row: str, seed: int, draw: int = -1, gain: float = 1.0) -> Arrays:
    latent, _ = outputs(name, seed)
    rng = np.random.default_rng(_seed(name, row, seed, draw, gain))
    return KINDS[name].noisy(latent, row, rng, gain)


@lru_cache(maxsize=256)
def _honest_view(name: str, row: str, seed: int) -> tuple[Any, Any, Any, Any]:
    """Return the reference's view, decisions that noise does not reach, and figures' errors."""
    kind, (_, reference) = KINDS[name], outputs(name, seed)
    right = kind.view(reference, reference)
    stable, errors = np.ones(right.decisions.shape, dtype=bool), _figure_errors(right, right)
    for draw in range(1 if kind.is_exact else _DRAWS):
        seen = kind.view(reference, honest(name, row, seed, draw))
        errors = np.maximum(errors, _figure_errors(right, seen))
        louder = kind.view(reference, honest(name, row, seed, draw, _BEYOND))
        stable &= louder.decisions == right.decisions
    return right, stable, errors, 1e-9 * np.abs(right.figures).max(initial=0.0)


def _figure_errors(right: Any, seen: Any) -> Any:
    if not right.figures.size:
        return np.zeros(0)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.sqrt(np.square(seen.figures.astype(np.float64) - right.figures).mean(1))


def is_visible(kind: Kind, row: str, seed: int, candidate: Arrays) -> bool:
    """Whether a user sees more of a candidate than honest noise of the row."""
    _, reference = outputs(kind.name, seed)
    if any(a.shape != b.shape for a, b in zip(reference, candidate, strict=True)):
        return True
    right, stable, errors, floor = _honest_view(kind.name, row, seed)
    with np.errstate(invalid="ignore", over="ignore"):
        seen = kind.view(reference, candidate)
    changed = bool((stable & (seen.decisions != right.decisions)).any())
    return changed or bool((~(_figure_errors(right, seen) <= _BEYOND * errors + floor)).any())


def planted(kind: Kind, row: str, error: str, seed: int) -> Arrays | None:
    """Return an honest run with an error in it; None where that changes nothing."""
    _, reference = outputs(kind.name, seed)
    right = honest(kind.name, row, seed)
    made = ERRORS[error](kind, reference, right, np.random.default_rng(_seed(error, seed)))
    if made is None or all(np.array_equal(a, b) for a, b in zip(made, right, strict=True)):
        return None
    return made


def judged(name: str, row: str, seed: int, candidate: Arrays, *, with_noise: bool) -> SideDiff:
    """Return the comparison's verdict.

    Args:
        with_noise: Whether the rounded reference is known: an honest run that shares no noise with
            others.
    """
    _, reference = outputs(name, seed)
    orders = [honest(name, row, seed, _DRAWS)] if with_noise and row != "fp32" else []
    return side(reference, candidate, row, *orders)


def cases(kind: Kind, row: str, seed: int = 0, *, with_noise: bool = True) -> Iterator[Case]:
    for error in ERRORS:
        wrong = planted(kind, row, error, seed)
        if wrong is None:
            continue
        found = judged(kind.name, row, seed, wrong, with_noise=with_noise)
        yield Case(
            kind=kind.name,
            row=row,
            error=error,
            is_visible=is_visible(kind, row, seed, wrong),
            passes=found.passes,
            codes=frozenset(codes(found)),
        )


def honest_failures(
    kind: Kind, row: str, seeds: int, *, with_noise: bool = True
) -> list[tuple[int, frozenset[str]]]:
    failures = []
    for seed in range(seeds):
        found = judged(kind.name, row, seed, honest(kind.name, row, seed), with_noise=with_noise)
        if not found.passes:
            failures.append((seed, frozenset(codes(found))))
    return failures
