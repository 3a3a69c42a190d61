"""Every planted error that a user would see fails; honest noise passes."""

import pytest

from tests.analysis.planted.errors import ERRORS
from tests.analysis.planted.kinds import KINDS
from tests.analysis.planted.table import ROWS, cases, honest, honest_failures, is_visible

#: An error of 13 × the honest noise in one of twelve numbers: visible, and within the limits.
MISSED = {("scalars", "fp16"): {"one item wrong"}}
#: Honest runs of each kind and row that are judged here; the benchmark judges more.
HONEST_RUNS = 5


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_no_visible_error_passes(kind, row) -> None:
    found = [*cases(kind, row)]
    passing = {case.error for case in found if case.is_false_pass}
    assert passing == MISSED.get((kind.name, row), set())
    # otherwise that would say nothing; texts have few errors
    assert sum(case.is_visible for case in found) >= (4 if kind.name == "string" else 7)


@pytest.mark.parametrize("with_noise", [True, False], ids=["model", "engine"])
@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_honest_noise_passes(kind, row, with_noise) -> None:
    assert honest_failures(kind, row, HONEST_RUNS, with_noise=with_noise) == []


@pytest.mark.parametrize("row", ROWS)
def test_honest_noise_is_not_visible(row) -> None:
    """Otherwise the harness would call honest runs wrong."""
    assert [
        kind.name for kind in KINDS.values() if is_visible(kind, row, 0, honest(kind.name, row, 0))
    ] == []


def test_there_are_errors_of_many_kinds() -> None:
    assert len(ERRORS) >= 16
