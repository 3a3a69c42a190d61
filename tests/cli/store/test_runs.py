import io
import json
import sys

import pytest

from enginescope.cli.main import main
from enginescope.records.run.job import BackendSpec, Job, Subject
from enginescope.records.run.run import Artifact, Outcome, OutcomeKind, Phase
from enginescope.store.archive import Store
from tests.store.stored_runs import DAMAGE, a_run


@pytest.fixture
def store(store) -> Store:
    store.save(a_run("resnet18.onnx", id="abc111", at=1), tags=["baseline"])
    store.save(a_run("bert.onnx", id="def222", at=2))
    return store


def test_alone_it_lists_and_hints_at_a_longer_list(store, capsys) -> None:
    assert main(["runs"]) == 0
    shown = capsys.readouterr().out
    assert shown.index("def222") < shown.index("abc111")
    assert "resnet18.onnx" in shown
    assert "baseline" in shown
    assert main(["runs", "list", "--limit", "1"]) == 0
    shown = capsys.readouterr()
    assert "abc111" not in shown.out
    assert "more than 1; enginescope runs list --limit N" in shown.err
    assert main(["runs", "list", "--limit", "2"]) == 0
    assert capsys.readouterr().err == ""


def test_options_that_all_rows_share_are_said_once(tmp_path, monkeypatch, capsys) -> None:
    from enginescope.cli.store.runs_list import runs_list

    spec = "ort-trt?trt_timing=cache&device=1"
    made = Store(tmp_path / "own")
    for at, precision in enumerate((None, "fp16")):
        options = {"trt_timing": "cache", "device": "1"}
        backend = BackendSpec(name="ort-trt", precision=precision, options=options)
        job = Job(subject=Subject(name="net.onnx"), backend=backend)
        made.save(a_run(id=f"abc00{at}", at=at, job=job))
    text = runs_list(made.rows(), 120)
    assert text.count("trt_timing=cache") == 1, spec
    assert "options of all: trt_timing=cache & device=1" in text
    assert "ort-trt:fp16" in text


def test_rounds_of_a_comparison_are_one_row_a_side(store, capsys) -> None:
    for at in range(3, 9):
        backend = BackendSpec(name="ort-cpu", precision="fp16" if at % 2 else None)
        job = Job(subject=Subject(name="net.onnx"), backend=backend)
        store.save(a_run(id=f"cafe{at:02}", at=at, job=job), tags=["cmp-12ab34cd"])
    main(["runs"])
    lines = [line for line in capsys.readouterr().out.splitlines() if "cmp-12ab34cd" in line]
    assert len(lines) == 2
    assert all("done × 3" in line for line in lines)
    main(["runs", "list", "--limit", "1"])
    printed = capsys.readouterr()
    assert "cafe08" in printed.out
    assert "there are more than 1" in printed.err
    main(["runs", "list", "--tag", "cmp-12ab34cd"])
    assert capsys.readouterr().out.count("net.onnx") == 6
    main(["runs", "list", "--json"])
    assert len(json.loads(capsys.readouterr().out)) == 8


@pytest.mark.parametrize("width", [55, 65, 80, 100])
def test_a_listing_fits_the_terminal(store, width, capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    name = "a_very_long_model_name_indeed_that_goes_on_and_on.onnx"
    backend = BackendSpec(name="ort-trt", precision="fp16", options={"trt_timing": "cache"})
    store.save(
        a_run(
            at=3,
            job=Job(subject=Subject(name=name), backend=backend),
            outcome=Outcome(kind=OutcomeKind.OUT_OF_MEMORY),
        )
    )
    main(["runs"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5  # nothing is folded
    assert max(map(len, lines)) <= width
    assert ("made" in lines[0], "tags" in lines[0]) == (width >= 100, width >= 65)


def test_names_have_the_room_there_is(store, capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    backend = BackendSpec(name="trtexec", precision="fp16")
    store.save(a_run(job=Job(subject=Subject(name="x" * 14), backend=backend)))
    main(["runs"])
    shown = capsys.readouterr().out
    assert "trtexec:fp16" in shown
    assert "x" * 14 in shown


@pytest.mark.parametrize("width", [60, 80, 120])
def test_ids_are_whole_and_names_differ(store, capsys, monkeypatch, width) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    tags = ["cmp-37c0e9c6", "nightly-on-the-big-machine"]
    for at in range(3):
        name = f"smart_network_of_many_blocks_{at}_fp16.onnx"
        backend = BackendSpec(name="ort-cpu", options={"intra_op_num_threads": str(at)})
        job = Job(subject=Subject(name=name), backend=backend)
        store.save(a_run(id=f"cafe{at:02}", at=9, job=job), tags=tags)
    main(["runs"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 7  # nothing is folded
    assert max(map(len, lines)) <= width
    rows = [line.split() for line in lines if "cafe" in line]
    assert len({row[-6 if "made" in lines[0] else 1] for row in rows}) == 3
    assert all(("cmp-37c0e9c6" in row) == ("tags" in lines[0]) for row in rows)
    assert ("tags" in lines[0]) == (width > 60)
    assert ("made" in lines[0]) == (width > 80)


def test_filters(store, capfdbinary) -> None:
    assert main(["runs", "list", "--model", "bert", "--json"]) == 0
    assert [row["id"] for row in json.loads(capfdbinary.readouterr().out)] == ["def222"]
    assert main(["runs", "list", "--tag", "baseline", "--json"]) == 0
    assert [row["id"] for row in json.loads(capfdbinary.readouterr().out)] == ["abc111"]
    assert main(["runs", "list", "--outcome", "crashed", "--json"]) == 0
    assert json.loads(capfdbinary.readouterr().out) == []
    assert main(["runs", "show", "abc", "--json"]) == 0
    (run,) = json.loads(capfdbinary.readouterr().out)["runs"]
    assert run["record"]["job"]["subject"]["name"] == "resnet18.onnx"


def test_nothing_fits_is_not_an_empty_store_and_outcomes_are_suggested(store, capsys) -> None:
    assert main(["runs", "list", "--outcome", "crash"]) == 2
    assert "did you mean crashed?" in capsys.readouterr().err
    assert main(["runs", "list", "--tag", "none"]) == 0
    assert capsys.readouterr().err == "no such runs\n"


def test_options_before_the_sub_command_count_and_an_empty_store_says_so(
    store, tmp_path, monkeypatch, capfdbinary
) -> None:
    monkeypatch.setenv("ENGINESCOPE_HOME", str(tmp_path / "elsewhere"))
    assert main(["runs", "--store", str(store.path), "--json", "list", "--limit", "1"]) == 0
    assert [row["id"] for row in json.loads(capfdbinary.readouterr().out)] == ["def222"]
    assert main(["runs", "--store", str(tmp_path / "none")]) == 0
    assert b"enginescope bench" in capfdbinary.readouterr().err


def test_show_has_the_folder_the_facts_and_the_next_step_of_the_same_store(
    store, tmp_path, capsys, monkeypatch
) -> None:
    (tmp_path / "worker.log").write_text("log")
    store.save(
        a_run(
            id="eee",
            command="enginescope bench m.onnx",
            phases=(Phase(name="load", duration_ms=12.5),),
            artifacts=(
                Artifact(kind="worker_log", path=str(tmp_path / "worker.log")),
                Artifact(kind="times", path="gone.json"),
            ),
        ),
        tags=["shown"],
    )
    assert main(["runs", "show", "shown"]) == 0
    shown = capsys.readouterr().out.replace("\n", " ")
    for fact in (
        *("m.onnx · ort-cpu", "enginescope bench m.onnx", "2026-01-01 00:00:00 UTC (measured)"),
        *("12.5 ms", "shown", "artifacts/worker.log (worker_log, 3.00 B)"),
        *("gone.json (times, not known)", "(W-ARTIFACT-LOST)"),
    ):
        assert fact in shown
    monkeypatch.setenv("COLUMNS", "300")
    assert main(["runs", "show", "abc"]) == 0
    assert str(store.runs_folder / "abc111") in capsys.readouterr().out
    monkeypatch.setenv("ENGINESCOPE_HOME", str(tmp_path / "another"))
    assert main(["runs", "show", "abc", "--store", str(store.path)]) == 0
    assert f"enginescope report --store {store.path} abc" in capsys.readouterr().err


def test_what_was_imported_before_a_bad_file_is_said(tmp_path, capsys) -> None:
    store = Store(tmp_path / "one")
    store.save(a_run(id="abc"))
    good, bad = store.export("abc", tmp_path / "good.zip"), tmp_path / "bad.zip"
    bad.write_text("x")
    taken = ["runs", "import-zip", str(good), str(bad), "--store", str(tmp_path / "two")]
    assert main(taken) == 2
    out, err = capsys.readouterr()
    assert out == "stored abc\n"
    assert "bad.zip" in err
    assert main(taken) == 2
    assert "a run of this id exists" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(
    ("arguments", "text", "answer"),
    [
        (
            ["tag", "abc", "x", "y"],
            "abc111: baseline x y",
            {"run": "abc111", "tags": ["baseline", "x", "y"]},
        ),
        (["untag", "abc", "baseline"], "abc111: no tags", {"run": "abc111", "tags": []}),
        (["export", "abc", "out.zip"], "out.zip", "out.zip"),
        (["import-zip", "given.zip"], "stored eee333", ["eee333"]),
        (["delete", "abc", "abc111", "--yes"], "deleted abc111", ["abc111"]),
        (["reindex"], "2 runs indexed", {"indexed": 2, "broken": []}),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_answer_of_every_sub_command(
    store, tmp_path, monkeypatch, capfdbinary, arguments, text, answer, form
) -> None:
    monkeypatch.chdir(tmp_path)
    other = Store(tmp_path / "other")
    other.save(a_run(id="eee333"))
    other.export("eee333", tmp_path / "given.zip")
    more = ["--json"] if form == "json" else []
    assert main(["runs", *arguments, *more]) == 0
    shown = capfdbinary.readouterr()
    assert (json.loads(shown.out) if more else shown.out.decode()) == (
        answer if more else f"{text}\n"
    )
    assert not more or shown.err == b""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("said", "left", "status"), [("y\n", 1, 0), ("n\n", 2, 130)])
def test_on_a_terminal_deleting_asks(store, monkeypatch, capsys, said, left, status) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(said))
    assert main(["runs", "delete", "abc"]) == status
    shown = capsys.readouterr()
    assert "delete abc111?" in shown.err
    assert "delete abc111?" not in shown.out
    assert len(store.rows()) == left


def test_deleting_asks_or_needs_yes_and_every_name_to_be_right(store, capsys, tmp_path) -> None:
    elsewhere = Store(tmp_path / "other").save(a_run(id="abc111"))
    for name in ("zzz", str(elsewhere)):
        assert main(["runs", "delete", "abc", name, "--yes"]) == 2
    assert main(["runs", "delete", str(elsewhere), "--yes"]) == 2
    assert elsewhere.is_dir()
    assert len(store.rows()) == 2
    capsys.readouterr()
    (store.runs_folder / ".part-1f").mkdir()
    assert main(["runs", "delete", ".part-1f", "--yes"]) == 0
    assert capsys.readouterr().out == "deleted .part-1f\n"
    assert main(["runs", "delete", "abc"]) == 2
    assert "--yes" in capsys.readouterr().err
    assert main(["runs", "delete", "abc", "def", "--yes"]) == 0
    assert capsys.readouterr().out == "deleted abc111\ndeleted def222\n"
    assert store.rows() == ()


def test_an_unknown_run_is_a_user_error(store, tmp_path, capsys) -> None:
    for verb, *more in (("show",), ("export", str(tmp_path / "x.zip")), ("tag", "t")):
        assert main(["runs", verb, "zzz", *more]) == 2
        shown = capsys.readouterr().err
        assert "run 'zzz'" in shown
        assert "Traceback" not in shown


def test_broken_runs_are_named(store, capsys) -> None:
    DAMAGE["half"](store.runs_folder / "abc111")
    (store.path / "index.sqlite").unlink()
    assert main(["runs", "--json"]) == 0
    shown = capsys.readouterr()
    assert [row["id"] for row in json.loads(shown.out)] == ["def222"]
    assert "Run abc111 was skipped" in shown.err
    assert main(["runs", "show", "abc"]) == 2
    assert "not valid JSON" in capsys.readouterr().err
    assert main(["runs", "reindex"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "1 run indexed\n"
    assert "skipped abc111: " in shown.err
