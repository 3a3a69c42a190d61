"""An engine file given to a reading verb, on the stand-in for TensorRT."""

import json
from pathlib import Path

import pytest

from enginescope.analysis.claims.layer_claims import layer_times
from enginescope.cli.main import main
from enginescope.core.errors import BackendError, UsageError
from enginescope.runner.inputs.collect_outputs import inspect_engine
from enginescope.services.plans.plan_input import CompanionFiles
from enginescope.services.plans.resolve_plan import resolve_plan
from enginescope.store.archive import Store
from tests.fakes import loading, models
from tests.fakes.driving import BATCHES, Build, plan_of

pytestmark = pytest.mark.usefixtures("store")

PROFILE = [
    {"count": 4},
    {"name": "product", "timeMs": 3.0, "averageMs": 0.75, "medianMs": 0.7, "percentage": 75},
    {"name": "activation", "timeMs": 1.0, "averageMs": 0.25, "medianMs": 0.2, "percentage": 25},
]


def made(fake, name: str = "net.engine") -> Path:
    """An engine of two layers whose input's first dimension is dynamic."""
    path = Path(name)
    path.write_bytes(plan_of(fake, models.perceptron(Path("net.onnx")), BATCHES))
    return path


@pytest.mark.parametrize("version", loading.VERSIONS)
def test_an_engine_is_asked_in_a_process_of_its_own(use, version, capfd) -> None:
    assert main(["explore", str(made(use(version)))]) == 0
    shown = capfd.readouterr()
    assert "net.engine" in shown.out
    assert "2 layers" in shown.out
    assert "Fake H200" in shown.out
    assert "x 2×4 FP32" in shown.out  # the optimum of 1, 2 and 8
    assert "I-OPTIMUM-SHAPES" in shown.out
    assert shown.err.startswith("asking TensorRT about net.engine …\n  one page: ")
    assert not Store().rows()


def test_an_engine_is_known_by_its_tag_and_json_by_its_content(use, data) -> None:
    assert resolve_plan(str(made(use(), "model.bin"))).kind == "engine"
    (plan,) = data.glob("trt86-h200-process/*.graph.json")
    Path("net.plan").write_bytes(plan.read_bytes())
    assert resolve_plan("net.plan").kind == "file"


def test_times_beside_an_engine_are_its_times_and_those_by_name_go_before(use) -> None:
    engine = made(use())
    for beside in ("net.profile.json", "net.engine.profile.json"):
        Path(beside).write_text(json.dumps(PROFILE))
        source = resolve_plan(str(engine))
        assert source.profile is not None
        assert layer_times(source.profile).sum_ms == 1.0
        assert [Path(one.path).name for one in source.artifacts] == [beside]
    Path("mine.json").write_text(json.dumps([PROFILE[0], PROFILE[1]]))
    source = resolve_plan(str(engine), CompanionFiles(profile=Path("mine.json")))
    assert [one.name for one in source.profile.layers] == ["product"]


def test_lint_and_report_take_it_too(use, capfd) -> None:
    engine = made(use())
    assert main(["lint", str(engine), "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["plans"][0]["source"] == "net.engine"
    assert main(["report", str(engine)]) == 0
    assert (Path("report") / "net.engine" / "report.html").is_file()


def test_a_version_compatible_engine_tells_nothing(use, capsys) -> None:
    fake = use()
    build = Build(fake, models.perceptron(Path("net.onnx")))
    build.config.set_flag(fake.trt.BuilderFlag.VERSION_COMPATIBLE)
    build.add_profile(BATCHES)
    Path("net.engine").write_bytes(build.plan() or b"")
    for verb in ("explore", "lint", "report"):
        assert main([verb, "net.engine"]) == 2
        shown = capsys.readouterr().err
        assert "net.engine has no plan to inspect" in shown
        assert "version-compatible" in shown
        assert "version_compatible=1" in shown


def test_without_tensorrt_one_line_says_what_is_missing(use, capsys, monkeypatch) -> None:
    engine = made(use())
    monkeypatch.setattr("enginescope.backends.tensorrt.libraries.is_installed", lambda _: False)
    for verb in ("explore", "lint", "report"):
        assert main([verb, str(engine)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert "TensorRT is not installed (looking into net.engine needs it)" in line
        assert "pip install tensorrt" in line
        assert "lies beside it" not in line


def test_without_tensorrt_the_json_beside_it_is_named(use, capsys, monkeypatch) -> None:
    engine = made(use())
    Path("net.engine.graph.json").write_text("{}")
    monkeypatch.setattr("enginescope.backends.tensorrt.libraries.is_installed", lambda _: False)
    assert main(["explore", str(engine)]) == 2
    assert "or give net.engine.graph.json, next to it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("fault", "status", "words"), [("no_gpu", 2, "no NVIDIA GPU"), ("oom_engine", 3, "memory")]
)
def test_where_it_cannot_be_loaded(use, fault, status, words, capsys) -> None:
    engine = made(use())
    use(fault=fault)
    assert main(["explore", str(engine)]) == status
    shown = capsys.readouterr().err
    assert words in shown
    assert "Traceback" not in shown


def test_what_is_no_engine_for_all_its_name(use, capsys) -> None:
    use()
    Path("net.engine").write_bytes(b"\x00\x01garbage")
    assert main(["explore", "net.engine"]) == 3
    assert "net.engine cannot be inspected" in capsys.readouterr().err


def test_a_backend_that_cannot_look_into_engines(use) -> None:
    engine = made(use())
    with pytest.raises(UsageError, match="ort-cpu cannot inspect an engine"):
        inspect_engine(engine, "ort-cpu")
    with pytest.raises(BackendError):
        inspect_engine(Path("net.onnx"))
