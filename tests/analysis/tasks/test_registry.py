from __future__ import annotations

from importlib import metadata

import pytest

from enginescope.analysis.tasks import base
from enginescope.analysis.tasks.base import BUILT_IN, load_task, parse_task, task_names
from enginescope.analysis.tasks.depth import DepthTask
from enginescope.core.errors import MissingDependencyError, UsageError


def outside(monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    point = metadata.EntryPoint(name="mine", value=target, group=base.ENTRY_POINTS)
    monkeypatch.setattr(base.metadata, "entry_points", lambda group: [point])


def test_tasks_of_other_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    outside(monkeypatch, "enginescope.analysis.tasks.depth:DepthTask")
    assert "mine" in task_names()
    assert isinstance(parse_task("mine?align=none"), DepthTask)


def test_a_broken_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    outside(monkeypatch, "no_such_package:Task")
    with pytest.raises(MissingDependencyError, match="no_such_package:Task"):
        load_task("mine", {})


@pytest.mark.parametrize("name", sorted(set(BUILT_IN) - {"detection"}))
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
