from __future__ import annotations

from enginescope.analysis.graph.layout.layered import connected_parts, shelves


def test_parts() -> None:
    assert connected_parts(5, [(3, 1), (0, 4), (4, 0)]) == [
        ([0, 4], [1, 2]),
        ([1, 3], [0]),
        ([2], []),
    ]
    assert connected_parts(0, []) == []


def test_shelves_do_not_overlap_and_keep_a_shape() -> None:
    sizes = [(100.0, 40.0 + index) for index in range(20)]
    corners = shelves(sizes, 10.0)
    boxes = [(x, y, x + w, y + h) for (x, y), (w, h) in zip(corners, sizes, strict=True)]
    for index, a in enumerate(boxes):
        for b in boxes[:index]:
            assert a[0] >= b[2] or b[0] >= a[2] or a[1] >= b[3] or b[1] >= a[3]
    width, height = max(one[2] for one in boxes), max(one[3] for one in boxes)
    assert 0.5 < width / height < 4
