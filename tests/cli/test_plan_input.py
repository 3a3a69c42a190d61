"""Every reading verb takes the same names, and each name means the same to all of them."""

import json
from pathlib import Path

import pytest

from enginescope.cli.main import main
from enginescope.core.errors import UsageError
from enginescope.services.plans.plan_input import CompanionFiles, PlanInput
from enginescope.services.plans.report import short_name
from enginescope.services.plans.resolve_plan import resolve_inputs, resolve_plan, resolve_plans
from enginescope.store.archive import Store
from tests.formats import plans
from tests.formats.importing.test_plan_files import TIMES
from tests.render.runs import imported_run
from tests.store.test_archive import a_run

SUMMARY = {"performance_summary": {"GPU Compute Time": [1.0, 2.0, 1.5, 1.5, 1.9]}}


@pytest.fixture
def folder(store, tmp_path) -> Path:
    """An engine's plan, profile and metadata; the working directory is above it."""
    made = tmp_path / "engines"
    made.mkdir()
    (made / "net.graph.json").write_bytes(plans.encoded(plans.tensorrt_8_4()))
    (made / "net.profile.json").write_text(json.dumps(TIMES))
    (made / "net.profile.metadata.json").write_text(json.dumps(SUMMARY))
    return made


@pytest.fixture
def stored(folder) -> str:
    run = imported_run()
    Store().save(run, tags=("mine",))
    return run.id


def test_a_plan_file_with_what_is_named_like_it_is_a_run_that_can_be_stored(folder) -> None:
    found = resolve_plan("engines/net.graph.json")
    assert (found.kind, found.where, found.name) == ("file", "engines/net.graph.json", "net")
    assert found.plan is not None
    assert found.profile is not None
    assert (found.whole.metric, found.whole.mean_ms) == ("gpu_compute", 1.5)
    assert [Path(one.path).name for one in found.artifacts] == [
        "net.graph.json",
        "net.profile.json",
        "net.profile.metadata.json",
    ]
    source = resolve_plan("engines/net.graph.json")
    run = source.as_run()
    assert (run.origin, run.job.subject.name, run.job.subject.kind) == ("imported", "net", "engine")
    assert (run.plan, run.profile, run.tool) == (source.plan, source.profile, source.report)
    Store().save(run)
    kept = Store().load(run.id).artifacts
    assert [one.kind for one in kept] == ["plan", "trtexec_profile", "trex_metadata"]
    assert all(one.sha256 for one in kept)


def test_a_folder_gives_every_engine_and_plans_those_with_one(folder) -> None:
    (folder / "other.profile.json").write_text(json.dumps(TIMES))
    assert sorted(one.name for one in resolve_inputs("engines")) == ["net", "other"]
    (found,) = resolve_plans("engines")
    assert found.where == str(folder / "net.graph.json")
    assert found.run is not None
    assert found.as_run() is found.run
    assert resolve_plan("engines").name == "net"


def test_one_plan_is_wanted_and_there_are_several(folder) -> None:
    (folder / "other.graph.json").write_bytes(plans.encoded(plans.tensorrt_10()))
    with pytest.raises(UsageError, match="engines holds 2 plans: net, other"):
        resolve_plan("engines")
    for number in range(8):
        (folder / f"other{number}.graph.json").write_bytes(plans.encoded(plans.tensorrt_10()))
    with pytest.raises(UsageError, match=r"engines holds 10 plans: net, .* other5 and 2 more\n"):
        resolve_plan("engines")


def test_a_folder_with_nothing_to_read_is_no_question_of_importing(tmp_path, capsys) -> None:
    (tmp_path / "net.onnx").write_bytes(b"no log")
    assert main(["explore", str(tmp_path)]) == 2
    assert f"nothing that can be read in {tmp_path}" in capsys.readouterr().err


def test_a_run_has_many_names_and_goes_with_every_verb(stored, capsys) -> None:
    place = Store().folder_of(stored)
    for name in ("mine", stored[:6], str(place), str(place / "run.json"), "latest"):
        assert resolve_plan(name).where == stored
    for verb in ("explore", "lint", "report"):
        assert main([verb, "mine"]) in (0, 1)
        assert capsys.readouterr().out


def test_every_path_goes_with_every_verb(folder, capsys) -> None:
    for verb, name in (
        ("explore", "engines/net.graph.json"),
        ("lint", "engines/net.graph.json"),
        *((verb, "engines") for verb in ("explore", "lint", "report")),
    ):
        assert main([verb, name]) in (0, 1)
        assert "net" in capsys.readouterr().out
    assert (Path("report") / "net" / "report.html").is_file()
    assert not Store().rows()  # nothing is stored unasked


def test_a_path_goes_before_a_run_of_the_same_name(folder) -> None:
    Store().save(a_run(id="abc123"), tags=("engines",))
    assert resolve_plan("engines").kind == "folder"


def test_what_is_not_there_is_said_alike(folder, tmp_path, capsys) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "empty").mkdir()
    for name, message in (
        ("absent.json", "absent.json does not exist"),
        ("absent", "there is none in"),
        ("notes.txt", "notes.txt is not a JSON file"),
        ("empty", "there are no files"),
    ):
        for verb in ("explore", "lint", "report"):
            assert main([verb, name]) == 2
            shown = capsys.readouterr().err
            assert message in shown
            assert "Traceback" not in shown
            assert verb == "explore" or "explore" not in shown


@pytest.mark.parametrize("name", ["engines", "latest"])
def test_files_beside_go_with_a_plan_file(folder, name) -> None:
    beside = CompanionFiles(profile=folder / "net.profile.json")
    with pytest.raises(UsageError, match=f"{name} is not a plan file"):
        resolve_plan(name, beside)


@pytest.mark.parametrize(
    ("name", "made"), [("../up", "up"), ("..", "plan"), ("a b/ü", "a_b_ü"), ("net.v2", "net.v2")]
)
def test_the_folder_of_a_report_is_named_like_the_engine(name, made) -> None:
    found = short_name(PlanInput(kind="folder", where="x", name=name))
    assert found.lstrip("_") == made
    assert "/" not in found
