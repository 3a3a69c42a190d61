from itertools import combinations, pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from enginescope.analysis.plan_comparison.alignment_side import Matching, Side
from enginescope.records.plan.plan import Evidence, Layer, Plan


def matching(size: int) -> Matching:
    layers = tuple(Layer(index=one, name=f"l{one}", type="conv") for one in range(size))
    side = Side(Plan(name="p", layers=layers))
    return Matching(side, side)


def test_groups_and_what_is_free() -> None:
    found = matching(4)
    found.add([2, 1], [0], Evidence.NAME, 1.0)
    assert (found.groups[0].a, found.groups[0].b) == ([1, 2], [0])
    assert (found.of_a, found.of_b) == ([-1, 0, 0, -1], [0, -1, -1, -1])
    assert (found.free_a(), found.free_b()) == ([0, 3], [1, 2, 3])
    assert matching(2).backbone() == []


def rising(run: list[tuple[int, int]]) -> bool:
    return all(one[0] < two[0] and one[1] < two[1] for one, two in pairwise(run))


@settings(deadline=None)
@given(st.permutations(range(7)))
def test_the_backbone_is_the_longest_rising_run(order: list[int]) -> None:
    found = matching(len(order))
    for one, other in enumerate(order):
        found.add([one], [other], Evidence.NAME, 1.0)
    backbone = found.backbone()
    pairs = list(enumerate(order))
    assert rising(backbone)
    assert set(backbone) <= set(pairs)
    longest = max(
        size for size in range(8) if any(rising(list(one)) for one in combinations(pairs, size))
    )
    assert len(backbone) == longest
