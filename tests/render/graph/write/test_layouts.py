from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from enginescope.analysis.graph.layout.layered import Boxes
from enginescope.core.errors import MissingDependencyError, UsageError
from enginescope.render.graph.write import picture
from enginescope.render.graph.write import picture as module
from enginescope.render.graph.write.picture import GraphvizError, graphviz_layout, laid_out_by


def boxes(count: int, *edges: tuple[int, int]) -> Boxes:
    return Boxes(
        widths=np.linspace(90, 180, count),
        heights=np.full(count, 44.0),
        edges=np.array(edges, dtype=np.int64).reshape(len(edges), 2),
    )


CYCLE = boxes(4, (0, 1), (1, 2), (2, 1), (2, 3), (3, 3), (0, 1))


@pytest.fixture
def there() -> None:
    pytest.importorskip("pygraphviz")


@pytest.fixture
def child(monkeypatch):
    """Make the child run some other Python."""

    def run(code: str) -> None:
        real = subprocess.run

        def other(_command: list[str], **options: object) -> object:
            return real([sys.executable, "-c", code], **options)

        monkeypatch.setattr(module.subprocess, "run", other)
        monkeypatch.setattr(picture, "is_installed", lambda _: True)

    return run


def test_graphviz_places_everything(there) -> None:
    found = graphviz_layout(CYCLE, 60)
    assert found.is_curved
    assert found.crossings is None
    left, right = found.x - found.widths / 2, found.x + found.widths / 2
    assert left.min() >= -1
    assert right.max() <= found.width + 1
    assert (np.diff(found.y) > 0).all()  # 0 above 1 above 2 above 3
    assert found.is_back.tolist() == [False, False, True, False, True, False]
    for edge, (source, target) in enumerate(CYCLE.edges.tolist()):
        route = found.route(edge)
        assert len(route) % 3 == 1
        for point, node in ((route[0], source), (route[-1], target)):
            assert abs(point[0] - found.x[node]) <= found.widths[node] / 2 + 2
            assert abs(point[1] - found.y[node]) <= found.heights[node] / 2 + 2


def test_nothing_to_lay_out(there) -> None:
    for one in (boxes(0), boxes(1)):
        found = graphviz_layout(one, 60)
        assert len(found.x) == len(one.widths)
        assert found.points.shape == (0, 2)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import os; os.kill(os.getpid(), 9)", "signal 9"),
        ("raise SystemExit('malloc(): corrupted top size')", "corrupted top size"),
        ("print('no JSON')", "malformed"),
        ("import time; time.sleep(60)", "not within 0.5 s"),
    ],
)
def test_a_child_that_fails_does_not_take_the_picture_with_it(child, code, message) -> None:
    child(code)
    with pytest.raises(GraphvizError) as caught:
        graphviz_layout(CYCLE, 0.5)
    assert message in str(caught.value)


def test_our_own_layout_takes_over_and_says_so(child) -> None:
    child("raise SystemExit(3)")
    for name in ("dot", "auto"):
        found, notice = laid_out_by(name, CYCLE)
        assert not found.is_curved
        assert notice is not None
        assert (notice.code, "exit 3" in notice.message) == ("W-GRAPHVIZ", True)
    assert laid_out_by("own", CYCLE)[1] is None


def test_graphviz_is_not_tried_where_it_would_take_long(child) -> None:
    child("raise SystemExit(3)")
    long = boxes(400, *((one, one + 1) for one in range(399)), *((0, one) for one in range(2, 400)))
    assert laid_out_by("auto", long)[1] is None
    assert laid_out_by("dot", long)[1] is not None


def test_without_graphviz(monkeypatch) -> None:
    monkeypatch.setattr(picture, "is_installed", lambda _: False)
    assert laid_out_by("auto", CYCLE)[1] is None
    with pytest.raises(MissingDependencyError) as caught:
        laid_out_by("dot", CYCLE)
    assert "enginescope[graphviz]" in (caught.value.hint or "")


def test_no_such_layout() -> None:
    with pytest.raises(UsageError, match="'neato'"):
        laid_out_by("neato", CYCLE)


def test_own_and_graphviz_turn_the_same_edges(there) -> None:
    own, _ = laid_out_by("own", CYCLE)
    theirs, _ = laid_out_by("dot", CYCLE)
    assert own.is_back.tolist() == theirs.is_back.tolist()
