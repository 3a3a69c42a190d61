from __future__ import annotations

import pytest

from enginescope.analysis.tasks.base import TASKS, load_task, parse_task
from enginescope.analysis.tasks.depth import DepthTask
from enginescope.core.errors import PluginError, UsageError
from tests.plants.packages import installed, write_package


def test_tasks_of_other_packages(tmp_path) -> None:
    points = {"mine": "enginescope.analysis.tasks.depth:DepthTask", "broken": "no_package:Task"}
    with installed(write_package(tmp_path, {}, {"task": points})):
        assert isinstance(parse_task("mine?align=none"), DepthTask)
        with pytest.raises(PluginError, match=r"task broken of outside 1\.5 failed"):
            load_task("broken", {})


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


def test_near_names_are_suggested() -> None:
    with pytest.raises(UsageError) as caught:
        parse_task("segmentatoin")
    assert caught.value.hint == "did you mean segmentation?"


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
