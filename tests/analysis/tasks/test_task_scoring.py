import pytest

from enginescope.analysis.tasks.base import TASKS, load_task, parse_task
from enginescope.analysis.tasks.depth import DepthTask
from enginescope.analysis.tasks.task_scoring import paired
from enginescope.core.errors import PluginError, UsageError
from tests.plants.packages import installed, write_package


def test_names_pair_by_their_last_part_where_that_is_the_only_one() -> None:
    found = paired(["a.jpg", "b.png", "c.jpg"], ["c", "a", "z"])
    assert (found.pairs, found.without_target) == (((0, "a"), (2, "c")), ("b.png",))
    assert found.unused == ("z",)
    found = paired(["x/1.jpg", "y/1.jpg"], ["x/1", "y/1"])
    assert found.pairs == ((0, "x/1"), (1, "y/1"))
    found = paired(["x/1.jpg", "y/1.jpg"], ["1"])
    assert (found.pairs, found.without_target) == ((), ("x/1.jpg", "y/1.jpg"))
    assert paired(["rgb/1.jpg"], ["1"]).pairs == ((0, "1"),)
    assert paired(["1.jpg"], ["depth/1"]).pairs == ((0, "depth/1"),)
    assert paired(["1.jpg"], ["a/1", "b/1"]).unused == ("a/1", "b/1")
    assert paired(["0001.left.png"], ["0001.left"]).pairs == ((0, "0001.left"),)


def test_tasks_of_other_packages_and_near_names(tmp_path) -> None:
    points = {"mine": "enginescope.analysis.tasks.depth:DepthTask", "broken": "no_package:Task"}
    with installed(write_package(tmp_path, {}, {"task": points})):
        assert isinstance(parse_task("mine?align=none"), DepthTask)
        with pytest.raises(PluginError, match=r"task broken of outside 1\.5 failed"):
            load_task("broken", {})
    with pytest.raises(UsageError) as caught:
        parse_task("segmentatoin")
    assert caught.value.hint == "did you mean segmentation?"


@pytest.mark.parametrize("name", sorted(set(TASKS.built_in) - {"detection"}))
def test_every_task_says_what_it_states(name: str) -> None:
    task = load_task(name, {})
    assert task.name == name
    for metrics, scorer in (
        (task.metrics, task.against_targets()),
        (task.agreement_metrics, task.against_reference()),
    ):
        values = scorer.result().values
        assert {one.name for one in metrics} == set(values)
        assert set(values.values()) == {None}  # of nothing, nothing can be stated


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("depth?align=x", "option align=x of depth", "one of: 'median', 'none', 'scale-shift'"),
        ("depth?align=mediam", "option align=mediam of depth", "did you mean median?"),
        ("depth?max_depth=far", "option max_depth=far of depth", None),
    ],
)
def test_a_wrong_value_is_named_with_what_there_is(text: str, what: str, hint: str | None) -> None:
    with pytest.raises(UsageError) as caught:
        parse_task(text)
    assert (caught.value.what, caught.value.hint) == (what, hint)
