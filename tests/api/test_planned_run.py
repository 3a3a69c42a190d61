"""Functions on plans take from Python what ``explore`` takes on the command line."""

import json
from contextlib import ExitStack
from pathlib import Path

import pytest

import enginescope as es
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.runs.run_view import RunView
from enginescope.cli.main import main
from enginescope.core.errors import UsageError
from enginescope.store.archive import Store
from tests.analysis.compared_plans import network_a, network_b, run_a, run_b
from tests.fakes import loading, models
from tests.fakes.driving import BATCHES, plan_of
from tests.formats import plans
from tests.formats.importing.test_plan_files import TIMES


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """An engine's plan and profile; the working directory is above it."""
    monkeypatch.setenv("ENGINESCOPE_HOME", str(tmp_path / "store"))
    monkeypatch.chdir(tmp_path)
    made = tmp_path / "engines"
    made.mkdir()
    (made / "net.graph.json").write_bytes(plans.encoded(plans.tensorrt_8_4()))
    (made / "net.profile.json").write_text(json.dumps(TIMES))
    return made


@pytest.fixture
def archive(folder, capsys) -> str:
    assert main(["archive", "create", "net.tea", "engines"]) == 0
    capsys.readouterr()
    return "net.tea"


@pytest.mark.parametrize("what", ["engines/net.graph.json", Path("engines"), "net.tea"])
def test_a_file_a_folder_and_an_archive_are_one_plan(archive, what) -> None:
    view = es.open_plan(what)
    assert view.total_ms == pytest.approx(sum(one.get("averageMs", 0) for one in TIMES))
    assert len(view.all_layers) == len(plans.tensorrt_8_4()["Layers"])
    assert es.lint(what).sum_ms == view.total_ms
    assert es.compare_plans(what, "engines/net.graph.json").layers is not None


def test_an_engine_is_asked_without_a_word(folder, capfd) -> None:
    with ExitStack() as stack:
        fake = stack.enter_context(loading.loaded("10.16.1", ""))
        Path("net.engine").write_bytes(plan_of(fake, models.perceptron(Path("a.onnx")), BATCHES))
        view = es.open_plan("net.engine")
    assert len(view.all_layers) == 2
    assert capfd.readouterr() == ("", "")


A100_PLAN = "trex-examples/resnet18-a100-fp16.engine.graph.json"


@pytest.mark.parametrize("verb", ["explore", "lint", "report"])
def test_another_gpu_than_the_files_name_is_warned_of(shared, folder, capsys, verb: str) -> None:
    plan = str(shared / A100_PLAN)
    main([verb, plan, "--gpu", "H200"])
    captured = capsys.readouterr()
    page = Path("report").rglob("report.html") if verb == "report" else ()
    written = "".join(one.read_text(encoding="utf-8") for one in page)
    assert "W-GPU-DIFFERS" in captured.out + captured.err + written
    main(["explore", plan, "--gpu", "A100 80GB PCIe"])
    captured = capsys.readouterr()
    assert "W-GPU-DIFFERS" not in captured.out + captured.err


@pytest.mark.parametrize("read", [es.open_plan, es.lint])
def test_python_warns_of_another_gpu_too(shared, read) -> None:
    with pytest.warns(UserWarning, match="W-GPU-DIFFERS"):
        read(shared / A100_PLAN, gpu="H200")
    read(shared / A100_PLAN, gpu="A100 80GB PCIe")


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
