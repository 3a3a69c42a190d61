from __future__ import annotations

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


def test_what_a_layer_reads_tells_it_from_its_equal() -> None:
    found = matching(Evidence.STRUCTURE, (2, 2), (3, 3))
    untangle(found)
    assert partners(found) == {2: 3, 3: 2}


def test_pairs_that_fit_stay() -> None:
    found = matching(Evidence.STRUCTURE, (2, 3), (3, 2))
    untangle(found)
    assert partners(found) == {2: 3, 3: 2}


def test_names_are_not_put_in_question() -> None:
    found = matching(Evidence.NAME, (2, 2), (3, 3))
    untangle(found)
    assert partners(found) == {2: 2, 3: 3}
