"""The sitting on a Ray cluster, on a stand-in of Ray; the real one: tests/cli/test_suite_ray.py."""

import itertools
import sys
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from enginescope.core.errors import BackendError
from enginescope.records.suite.suite import Cell
from enginescope.runner.fleet import machines, ray_fleet
from tests.runner.fleet.cells import Heard, cell, row


class RayError(Exception):
    pass


class NodeDiedError(RayError):
    pass


class TaskUnschedulableError(RayError):
    pass


class RayTaskError(RayError):
    cause = None


def node(name: str, *, alive: bool = True, **resources: float) -> dict[str, Any]:
    return {"NodeID": name, "NodeName": name, "Alive": alive, "Resources": {"CPU": 4, **resources}}


class FakeRay:
    def __init__(self, *nodes: dict[str, Any], ends: dict[str, list[Any]] | None = None) -> None:
        self._nodes = list(nodes)
        self._ends = ends or {}
        self._numbers = itertools.count()
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.cancelled: list[int] = []
        self.exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)
        self._results: dict[int, Any] = {}

    def nodes(self):
        return self._nodes

    def remote(self, **options):
        assert options == {"max_calls": 1}
        return lambda _doing: SimpleNamespace(options=self._options)

    def _options(self, **options):
        return SimpleNamespace(remote=lambda data: self._submit(data, options))

    def _submit(self, data, options):
        one = machines.unpacked_task(data).cell
        self.asked.append((one.key, options))
        number = next(self._numbers)
        ends = self._ends.get(one.key, [])
        self._results[number] = (
            ends.pop(0) if ends else machines.packed_returned(machines.CellTaskResult(row=row(one)))
        )
        return number

    def wait(self, references, num_returns, timeout):
        return references[:1], references[1:]

    def get(self, reference):
        found = self._results[reference]
        if isinstance(found, BaseException):
            raise found
        return found

    def cancel(self, reference, *, force):
        assert force
        self.cancelled.append(reference)

    def get_runtime_context(self):
        return SimpleNamespace(gcs_address="h:1")


@pytest.fixture(autouse=True)
def affinity(monkeypatch):
    """The one thing that is imported from Ray itself."""
    made = SimpleNamespace(NodeAffinitySchedulingStrategy=lambda node, soft: (node, soft))
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "ray.util", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "ray.util.scheduling_strategies", made)
    monkeypatch.setattr(ray_fleet, "_LOOK_S", 0.01)


def sit(ray: FakeRay, *cells: Cell) -> Heard:
    heard, pack = Heard(), partial(machines.packed_task, command="cmd")
    ray_fleet._Sitting(ray, lambda data: data, cells, pack, heard.watch).run()
    return heard


def test_every_cell_comes_back_though_machines_are_lost() -> None:
    ray = FakeRay(node("a"), node("b"), node("dead", alive=False))
    heard = sit(ray, *(cell(f"k{number}") for number in range(5)))
    assert sorted(one.row.cell.key for one in heard.returned) == [f"k{n}" for n in range(5)]
    assert {place for _, place in heard.started} == {"a", "b"}
    for _, options in ray.asked:
        assert (options["num_cpus"], options["max_retries"]) == (4, 0)
        assert options["scheduling_strategy"][1] is False
    ray = FakeRay(node("a"), node("b"), ends={"k0": [NodeDiedError("gone")]})
    heard = sit(ray, cell("k0"))
    assert [place for _, place in heard.started] == ["a", "b"]
    assert heard.again == [("k0", "a was lost (NodeDiedError)")]
    assert [one.row.cell.key for one in heard.returned] == ["k0"]
    assert heard.lost == []
    ends = {"k0": [NodeDiedError("gone"), NodeDiedError("gone")]}
    heard = sit(FakeRay(node("a"), node("b"), ends=ends), cell("k0"), cell("k1"))
    (lost,) = heard.lost
    assert lost.cell.key == "k0"
    assert lost.is_fault
    assert lost.attempts == 2
    assert "lost 2 times: a and a" in lost.reason
    assert [one.row.cell.key for one in heard.returned] == ["k1"]
    gone = [TaskUnschedulableError("gone") for _ in range(4)]
    heard = sit(FakeRay(node("a"), ends={"k0": [*gone, NodeDiedError("gone")]}), cell("k0"))
    assert (len(heard.again), heard.lost) == (5, [])
    endless = FakeRay(node("a"), ends={"k0": [TaskUnschedulableError("gone")] * 9})
    assert sit(endless, cell("k0")).lost[0].attempts == 5


def test_an_error_in_the_task_is_that_cell_s_end_and_the_sitting_s_end_is_its_end() -> None:
    heard = sit(FakeRay(node("a"), ends={"k0": [RayTaskError("No module named enginescope\n…")]}),
                cell("k0"), cell("k1"))  # fmt: skip
    assert heard.lost[0].reason == "it failed on a: No module named enginescope"
    assert len(heard.returned) == 1
    ray = FakeRay(node("a"), node("b"), ends={"k0": [KeyboardInterrupt()]})
    with pytest.raises(KeyboardInterrupt):
        sit(ray, cell("k0"), cell("k1"))
    assert ray.cancelled == [1]


def test_a_kind_that_no_machine_has_is_said_and_labels_tell_a_kind() -> None:
    ray = FakeRay(node("a", GPU=1, **{"accelerator_type:T4": 1}), node("b"))
    heard = sit(ray, cell("k0", "trt", gpu="H200"), cell("k1", "trt", gpu="t4"), cell("k2", "trt"))
    (lost,) = heard.lost
    assert not lost.is_fault
    assert lost.reason == "no machine of the cluster has a GPU of kind H200; there are T4"
    assert [place for _, place in heard.started] == ["a", "a"]
    none = sit(FakeRay(node("b")), cell("k0", "trt"), cell("k1", gpu="H200"))
    assert [one.reason for one in none.lost] == [
        "no machine of the cluster has a GPU",
        "no machine of the cluster has a GPU of kind H200; no machine reports its resources",
    ]
    nodes = [
        node("a", GPU=2, **{"gpu_type:H200": 2}),
        {**node("b", GPU=1), "Labels": {"ray.io/accelerator-type": "A100"}},
    ]
    assert [one.kinds for one in ray_fleet.machines_of(nodes)] == [("H200",), ("A100",)]
    assert sit(FakeRay(node("gpu", GPU=1), node("plain")), cell("k0")).started == [("k0", "plain")]


def test_a_cluster_without_machines_is_waited_for_and_given_up(monkeypatch) -> None:
    monkeypatch.setattr(ray_fleet, "PATIENCE_S", 0.05)
    with pytest.raises(BackendError, match="has no machine left") as caught:
        sit(FakeRay(node("a", alive=False)), cell("k0"))
    assert caught.value.why == "1 cells did not run"
