import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginescope.analysis.plan_comparison import alignment_matching
from enginescope.analysis.plan_comparison.alignment import align
from enginescope.core.record import replace
from enginescope.records.plan.plan import Evidence, Layer, Plan
from enginescope.records.tensor import Tensor
from tests.analysis.plan_comparison.test_alignment import (
    chain,
    check_symmetric,
    check_whole,
    renamed,
    without,
)


def heaviest(score: list[list[int]]) -> int:
    """The largest sum of a rising path, by trying every cell."""
    best = [[0] * (len(score[0]) + 1) for _ in range(len(score) + 1)]
    for i, row in enumerate(score):
        for j, worth in enumerate(row):
            best[i + 1][j + 1] = max(best[i][j + 1], best[i + 1][j], best[i][j] + worth)
    return best[-1][-1]


@settings(deadline=None)
@given(
    st.integers(1, 6).flatmap(
        lambda width: st.lists(
            st.lists(st.sampled_from([0, 0, 40, 70, 80]), min_size=width, max_size=width),
            min_size=1,
            max_size=6,
        )
    )
)
def test_the_path_has_the_largest_sum(score: list[list[int]]) -> None:
    path = alignment_matching._best_path(np.array(score, dtype=np.int32))
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(path))
    assert all(score[row][column] > 0 for row, column in path)
    assert sum(score[row][column] for row, column in path) == heaviest(score)


@pytest.mark.parametrize("seed", [1, 2])
def test_windows_find_what_one_table_finds(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    drawn = random.Random(seed)
    widths = [drawn.choice([4, 8, 16, 32]) for _ in range(700)]
    plan = chain(widths)
    fewer = renamed(without(plan, *drawn.sample(range(700), 60)), "other")
    whole = align(plan, fewer)
    monkeypatch.setattr(alignment_matching, "WINDOW", 128)
    found = align(plan, fewer)
    check_whole(found)
    check_symmetric(plan, fewer)
    assert found.only_b == whole.only_b == ()
    assert sum(one.a == one.b for one in found.pairs) >= 0.98 * len(fewer.layers)


def test_a_long_run_that_one_side_lacks_and_no_likeness_are_no_pairs() -> None:
    tail = [8, 16] * 100
    found = align(chain([4] * 900 + tail), renamed(chain(tail), "other"))
    assert len(found.pairs) >= len(tail) - 1
    found = align(chain([4, 5]), renamed(chain([40, 50, 60]), "other"))
    assert found.pairs == ()


def test_repeated_names_count_in_order_and_other_resolutions_by_channels() -> None:
    plan = chain([4, 8, 16, 8])
    same = replace(plan, layers=tuple(replace(one, name="again/x") for one in plan.layers))
    found = align(same, without(same, 1))
    assert [(one.a, one.b) for one in found.pairs] == [((0,), (0,)), ((2,), (2,)), ((3,), (3,))]
    assert {one.evidence for one in found.pairs} == {Evidence.NAME}
    assert {one.score for one in found.pairs} == {0.9}
    found = align(sized(8), renamed(sized(16), "other"))
    assert [(one.a, one.b) for one in found.pairs] == [((0,), (0,)), ((1,), (1,))]
    assert all(one.score < 0.6 for one in found.pairs)


def fan(widths: list[int]) -> Plan:
    """Layers side by side, each of its own width."""
    image = Tensor(name="image", shape=(1, 3, 8, 8))
    return Plan(
        name="fan",
        layers=tuple(
            Layer(
                index=index,
                name=f"fan.{index}/x",
                type="Convolution",
                inputs=(image,),
                outputs=(Tensor(name=f"t{index}", shape=(1, width, 8, 8)),),
            )
            for index, width in enumerate(widths)
        ),
    )


@pytest.mark.parametrize(("away", "pairs"), [(alignment_matching.SLACK, 13), (12, 12)])
def test_what_moved_is_found_only_near(away: int, pairs: int) -> None:
    rest = list(range(4, 16))
    a, b = [99, *rest], [*rest[:away], 99, *rest[away:]]
    forth, back = ((fan(x), renamed(fan(y), "other")) for x, y in ((a, b), (b, a)))
    assert len(align(*forth).pairs) == len(align(*back).pairs) == pairs
    assert align(*forth).only_a == align(*back).only_b == ((0,) if pairs == 12 else ())


def sized(size: int) -> Plan:
    def resized(one: Tensor) -> Tensor:
        return replace(one, shape=(*one.shape[:2], size, size))

    plan = chain([4, 8])
    layers = tuple(
        replace(
            one, inputs=tuple(map(resized, one.inputs)), outputs=tuple(map(resized, one.outputs))
        )
        for one in plan.layers
    )
    return replace(plan, layers=layers)
