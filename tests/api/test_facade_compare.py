import json

import pytest

import enginescope as es
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.runs.run_view import RunView
from enginescope.core.errors import UsageError
from enginescope.store.archive import Store
from tests.analysis.compared_plans import network_a, network_b, run_a, run_b
from tests.formats import plans
from tests.formats.importing.test_plan_files import TIMES


def test_views_and_folders_of_plans_are_compared(tmp_path) -> None:
    assert es.compare_plans(RunView(run_a()), RunView(run_b())).pairs.difference_ms == -1.6875
    a, b = (PlanView(one.plan("x"), one.profile()) for one in (network_a(), network_b()))
    again = es.compare_plans(a, b, names=("old", "new"))
    assert again.pairs.difference_ms == -1.6875
    assert [one.name for one in again.overview.plans] == ["old", "new"]
    for name in ("one", "two"):
        (tmp_path / f"{name}.graph.json").write_bytes(plans.encoded(plans.tensorrt_8_4()))
    with pytest.raises(UsageError, match="holds 2 plans"):
        es.compare_plans(tmp_path, tmp_path)


def test_paths(tmp_path) -> None:
    folder = tmp_path / "engine"
    folder.mkdir()
    (folder / "net.graph.json").write_bytes(plans.encoded(plans.tensorrt_8_4()))
    (folder / "net.profile.json").write_text(json.dumps(TIMES))
    store = Store(tmp_path / "store")
    run = run_a()
    store.save(run)
    found = es.compare_plans(folder / "net.graph.json", str(folder), store.folder_of(run.id))
    assert [one.name for one in found.overview.plans] == [
        "net (engine/net.graph.json)",
        "net (engine)",
        f"net a ({run.id[:8]})",
    ]
    assert [one.sum_ms for one in found.overview.plans] == [1.0, 1.0, 5.875]
