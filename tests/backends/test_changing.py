"""Changes between shapes in one session: order, first visits, what a failure leaves."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from enginescope.backends.base import Feeds, InputSpec
from enginescope.backends.loop import StepRecorder
from enginescope.backends.varying_shapes import Choice, measure_changes, visit_order
from enginescope.core.errors import BackendError
from enginescope.records.run.job import ShapePoint, ShapeRule, Workload
from enginescope.records.tensor import DataType


def rule(points: int, **more: object) -> ShapeRule:
    made = tuple(
        ShapePoint(label=str(at), size=at + 1, items=at + 1, workload=Workload())
        for at in range(points)
    )
    return ShapeRule(points=made, **more)


class Session:
    """Remembers what was asked of it; some points fail, some have no profile."""

    input_specs = (
        InputSpec(name="x", dtype=DataType.FP32, shape=("n", 4), type_text="tensor(float)"),
        InputSpec(name="w", dtype=DataType.FP32, shape=(4,), type_text="tensor(float)"),
    )
    providers = ("Planted",)
    why_no_graph = None

    def __init__(self, failing: Sequence[int] = (), outside: Sequence[int] = ()) -> None:
        self._failing, self._outside = failing, outside
        self.changes: list[int] = []
        self.requests = 0

    def choice(self, feeds: Feeds) -> Choice:
        at = feeds.batch - 1
        return Choice(why="outside") if at in self._outside else Choice(profile=at % 2)

    def change(self, point: int, feeds: Feeds) -> dict[str, float]:
        assert feeds.batch == point + 1
        self.changes.append(point)
        if point in self._failing:
            raise BackendError("running the model", why="planted")
        return {"bind": 0.5}

    def first(self) -> float:
        return 3.0

    def settle(self) -> dict[str, float]:
        return {"graph": 0.25}

    def recorder(self) -> StepRecorder:
        def request() -> None:
            self.requests += 1

        return StepRecorder(request)

    def notices(self) -> tuple[()]:
        return ()


def measured(session: Session, asked: ShapeRule):
    fed = [
        Feeds(arrays={"x": np.zeros((n, 4))}, batch=n, shapes={"x": (n, 4), "w": (4,)})
        for n in range(1, len(asked.points) + 1)
    ]
    shapes = measure_changes(asked, session, fed, lambda _progress: None).shapes
    assert shapes is not None
    return shapes


@pytest.mark.parametrize("points", [1, 2, 3, 8])
def test_every_shape_is_visited_equally_and_none_twice_in_a_row(points) -> None:
    orders = {tuple(visit_order(points, rule(points, visits=4, seed=seed))) for seed in range(9)}
    for order in orders:
        assert sorted(order) == sorted([*range(points)] * 4)
        assert points == 1 or all(a != b for a, b in pairwise(order))
    assert points < 3 or len(orders) == 9  # of other seeds


def test_a_visit_has_its_parts_its_first_request_and_later_ones() -> None:
    session = Session()
    found = measured(session, rule(3, visits=2, requests=10, visit_ms=1e6))
    assert len(found.visits) == 6
    assert session.changes[1:] == [visit.point for visit in found.visits]
    visit = found.visits[0]
    assert visit.parts_ms == {"bind": 0.5, "graph": 0.25}
    assert visit.first_ms == 3
    assert len(visit.later_ms) == 9
    assert visit.change_ms == pytest.approx(3.75 - visit.same_ms)
    assert session.requests == 7 * 10
    assert [shape.name for shape in found.inputs[0]] == ["x"]
    assert found.profiles == (0, 1, 0)
    found = measured(Session(), rule(2, requests=500, visit_ms=0.0))
    assert {len(visit.later_ms) for visit in found.visits} == {3}  # slow requests are fewer


def test_the_first_inference_of_a_process_is_no_visit() -> None:
    """Its shape is not new afterwards; each other shape is new once."""
    session = Session()
    found = measured(session, rule(4, visits=3))
    warm = session.changes[0]
    new = [visit.point for visit in found.visits if visit.is_new]
    assert sorted(new) == sorted({*range(4)} - {warm})
    assert all(visit.is_change for visit in found.visits)


def test_a_shape_that_fails_is_named_and_not_tried_again() -> None:
    session = Session(failing=(1,), outside=(2,))
    found = measured(session, rule(4))
    assert found.why[0] is None
    assert "planted" in str(found.why[1])
    assert found.why[2] == "outside"
    assert session.changes.count(1) == 1
    assert 2 not in session.changes
    assert {visit.point for visit in found.visits} == {0, 3}
    with pytest.raises(BackendError, match="no shape of the sweep can be run"):
        measured(Session(failing=(0, 1)), rule(2))
