import sys

import pytest

from enginescope.records.verdict.upgrade import Stack
from enginescope.services.upgrade.checks import library_memory
from enginescope.services.upgrade.request import UpgradeRequest
from enginescope.services.upgrade.stacks import StackRunner
from enginescope.store.archive import Store


@pytest.mark.slow
def test_a_process_of_each_stack_runs_an_empty_model(tmp_path) -> None:
    pytest.importorskip("onnxruntime")
    stacks = Stack(name="old", python=sys.executable), Stack(name="new", python=sys.executable)
    store = Store(tmp_path)
    request = UpgradeRequest(old="old", new="new", store=store.place)
    runner = StackRunner(stacks, None)
    old, new = library_memory(request, ("ort-cpu", "ort-cpu"), stacks, runner, store)["peak_memory"]
    assert 20 << 20 < old < 500 << 20
    assert new == pytest.approx(old, rel=0.1)
    assert store.rows() == ()
