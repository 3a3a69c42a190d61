import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginescope.analysis.graph.folding.fold import Run, repeats


def of(text: str, cuts: list[int] | None = None) -> list[tuple[int, int, int]]:
    return [(one.start, one.period, one.copies) for one in repeats([*map(ord, text)], cuts)]


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("", []),
        ("abcdefg", []),
        ("xabcabcabcy", [(1, 3, 3)]),
        ("aaaaaa", [(0, 1, 6)]),
        ("ababab", [(0, 2, 3)]),
        ("abab", []),  # only two would be spared
        ("xabcabcabcyyyyyz", [(1, 3, 3), (10, 1, 5)]),
        ("aabaabaab", [(0, 3, 3)]),
    ],
)
def test_runs(text: str, runs: list[tuple[int, int, int]]) -> None:
    assert of(text) == runs


def test_it_begins_where_least_is_cut_whatever_comes_often() -> None:
    text = "abcd" * 5 + "ab"
    assert of(text) == [(0, 4, 5)]
    cuts = [1 if at % 4 == 2 else 3 for at in range(len(text) + 1)]
    assert (of(text, cuts), of("aabab" * 40)) == ([(2, 4, 5)], [(0, 5, 40)])


@given(st.lists(st.integers(0, 2), max_size=60))
def test_runs_do_not_overlap_and_do_repeat(signature: list[int]) -> None:
    end = 0
    for run in repeats(signature):
        assert run.start >= end
        end = run.stop
        copies = [
            signature[run.start + copy * run.period :][: run.period] for copy in range(run.copies)
        ]
        assert all(one == copies[0] for one in copies)
        assert run.copies >= 2
    assert end <= len(signature)


def test_many_small_runs_stay_cheap() -> None:
    signature = np.repeat(np.random.default_rng(1).integers(0, 50, 20_000), 5)[:50_000].tolist()
    found = repeats(signature)
    assert len(found) > 5_000
    assert found[0] == Run(start=0, period=1, copies=5)
