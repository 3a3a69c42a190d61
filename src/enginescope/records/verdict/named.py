"""Benchmarks of two files, compared by their names."""

from enginescope.core.record import Record
from enginescope.judge.verdict import Verdict


class NamedVerdict(Record, frozen=True, kw_only=True):
    """One benchmark of both files: B against A."""

    name: str
    verdict: Verdict

    @property
    def change_pct(self) -> float | None:
        """B against A, in percent; ``None`` where a figure is missing or 0."""
        a, b = self.verdict.a, self.verdict.b
        return 100 * (b / a - 1) if a and b is not None else None


class NamedComparison(Record, frozen=True, kw_only=True):
    """Benchmarks of two files.

    Attributes:
        only_a, only_b: Names that the other file lacks.
        without_figures: Names that have no figure on a side, such as skipped ones.
    """

    rows: tuple[NamedVerdict, ...]
    only_a: tuple[str, ...] = ()
    only_b: tuple[str, ...] = ()
    without_figures: tuple[str, ...] = ()
