from __future__ import annotations

from enginescope.analysis.tasks.task_scoring import paired


def test_base_names_pair_and_the_rest_is_named() -> None:
    found = paired(["a.jpg", "b.png", "c.jpg"], ["c", "a", "z"])
    assert found.pairs == ((0, "a"), (2, "c"))
    assert found.without_target == ("b.png",)
    assert found.unused == ("z",)


def test_equal_names_in_several_folders_stay_apart() -> None:
    found = paired(["x/1.jpg", "y/1.jpg"], ["x/1", "y/1"])
    assert found.pairs == ((0, "x/1"), (1, "y/1"))
    found = paired(["x/1.jpg", "y/1.jpg"], ["1"])
    assert found.pairs == ()
    assert found.without_target == ("x/1.jpg", "y/1.jpg")


def test_the_last_part_is_enough_where_it_is_the_only_one() -> None:
    assert paired(["rgb/1.jpg"], ["1"]).pairs == ((0, "1"),)
    assert paired(["1.jpg"], ["depth/1"]).pairs == ((0, "depth/1"),)
    assert paired(["1.jpg"], ["a/1", "b/1"]).unused == ("a/1", "b/1")


def test_dots_within_names_stay() -> None:
    assert paired(["0001.left.png"], ["0001.left"]).pairs == ((0, "0001.left"),)
