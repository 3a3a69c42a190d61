import pytest

from enginescope.analysis.plan_comparison.alignment import untangle
from enginescope.analysis.plan_comparison.alignment_side import Matching, Side
from enginescope.records.plan.plan import Evidence
from tests.analysis.plan_comparison.test_alignment_neighbours import Row, plan

START: Row = ("/start", "Convolution", ("in",), "s")
MIDDLE: Row = ("/middle", "Convolution", ("s",), "m")
END: Row = ("/end", "PointWise", ("p", "q"), "w")
A = Side(plan({}, START, MIDDLE, ("x", "gemm", ("m",), "p"), ("y", "gemm", ("s",), "q"), END))
B = Side(plan({}, START, MIDDLE, ("y2", "gemm", ("s",), "q"), ("x2", "gemm", ("m",), "p"), END))


def matching(evidence: Evidence, *pairs: tuple[int, int]) -> Matching:
    found = Matching(A, B)
    for one in (0, 1, 4):
        found.add([one], [one], Evidence.NAME, 1.0)
    for one, other in pairs:
        found.add([one], [other], evidence, 0.8)
    return found


def partners(found: Matching) -> dict[int, int]:
    assert [found.groups[found.of_b[one.b[0]]] for one in found.groups] == found.groups
    return {one.a[0]: one.b[0] for one in found.groups if one.a[0] in (2, 3)}


@pytest.mark.parametrize(
    ("evidence", "groups", "expected"),
    [
        (Evidence.STRUCTURE, ((2, 2), (3, 3)), {2: 3, 3: 2}),  # what a layer reads tells it
        (Evidence.STRUCTURE, ((2, 3), (3, 2)), {2: 3, 3: 2}),  # pairs that fit stay
        (Evidence.NAME, ((2, 2), (3, 3)), {2: 2, 3: 3}),  # names are not put in question
    ],
)
def test_equal_layers_are_told_apart_by_what_they_read(evidence, groups, expected) -> None:
    found = matching(evidence, *groups)
    untangle(found)
    assert partners(found) == expected
