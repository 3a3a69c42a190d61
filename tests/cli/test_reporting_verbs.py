"""Verbs that measure and report, on the command line: the answer, its files, and mistakes."""

import json
import re
from pathlib import Path

import pytest

from enginescope.cli.main import main
from tests.fakes import models
from tests.fakes.oip_server import oip_server
from tests.plants.in_process import workers_in_process

#: Options that end a verb soon.
SHORT = {
    "contend": ("--rounds", 3, "--duration", "100ms", "--on", "fake?latency_us=2000"),
    "ladder": ("--rounds", 3, "--iterations", 20),
    "load": ("--on", "fake?latency_us=1000"),
    "sensitivity": ("--iterations", 5, "--samples", 1, "--rounds", 3),
    "shapes": ("--rounds", 3, "--visits", 2, "--requests", 4, "--batch", "1:3"),
    "tune": ("--iterations", 5, "--samples", 1, "--max-time", "1s"),
}
THREADS = ("--option", "intra_op_num_threads=1,2")


@pytest.fixture
def model(tmp_path) -> Path:
    return models.perceptron(tmp_path / "net.onnx")


@pytest.mark.parametrize(
    ("name", "first", "screen", "notes", "page", "text", "lines"),
    [
        (
            "contend",
            r"(unstable measurement: )?(sharing slows |inconclusive: A |no contender is slowed)",
            ("Slowed", "beside A", "A beside B"),
            ("runs list",),
            "beside A",
            "### enginescope: ",
            3,
        ),
        (
            "sensitivity",
            "every layer of net.onnx is harmless in fp16",
            ("use --on ort-cpu:fp16",),
            ("open: ", "cmp-", "layers, round 2 of 3, at most "),
            "Every layer of net.onnx",
            "### enginescope: every layer",
            None,
        ),
        (
            "shapes",
            "",
            ("build for ", "min 1, opt ", "first request of a new shape"),
            ("build: enginescope build ", "net.onnx --min-shape x:1x4"),
            "<h1>",
            "### enginescope: ",
            4,
        ),
    ],
)
def test_the_answer_and_its_files(
    verb, model, tmp_path, name, first, screen, notes, page, text, lines
) -> None:
    files = {kind: tmp_path / f"report.{kind}" for kind in ("html", "markdown", "csv")}
    asked = [part for kind, path in files.items() for part in (f"--{kind}", path)]
    several = (model, model) if name == "contend" else (model,)
    with workers_in_process():
        code, out, err = verb(name, *several, *SHORT[name], *asked)
    assert code == 0, err
    assert re.match(first, out)
    shown = " ".join(out.split())
    if name != "shapes" or "unstable measurement" not in out:  # which proposes no profile
        assert [word for word in screen if word not in shown] == []
        assert [word for word in notes if word not in err] == []
    assert page in files["html"].read_text(encoding="utf-8")
    assert files["markdown"].read_text(encoding="utf-8").startswith(text)
    assert len(files["csv"].read_text().splitlines()) == lines or lines is None


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("contend", ("MODEL", "--rounds", "2"), "--rounds"),
        ("contend", ("MODEL", "--share", "mps"), "--share"),
        ("contend", ("MODEL", *("--on", "fake") * 3), "3 backends for 2 models"),
        ("contend", ("MODEL", "--on", "nobody"), "nobody"),
        ("contend", (), "name a model twice"),
        ("ladder", ("--mine", "fast"), "'fast' is not a duration"),
        ("ladder", ("--mine", "0ms"), "--mine 0ms"),
        ("ladder", ("--on", "fake"), "fake has no ladder"),
        ("ladder", ("--rounds", "2"), "--rounds"),
        ("load", ("--on", "fake", "--find-max"), "--find-max without --slo"),
        ("load", ("--on", "fake", "--trace", "times.txt", "--rate", "5"), "--rate and --trace"),
        ("load", ("--on", "fake", "--warmup", "0"), "--rate"),
        ("sensitivity", ("--on", "ort-cpu:fp16"), "--on ort-cpu:fp16"),
        ("sensitivity", ("--to", "fp4"), "fp4"),
        ("sensitivity", ("--max-error", "0"), "--max-error"),
        ("shapes", ("--batch", "4"), "a sweep has 2 to 64"),
        ("shapes", ("--batch", "4", "--sweep", "n=1,2"), "--batch and --sweep"),
        ("shapes", ("--batch", "fast"), "'fast' is not a list of sizes"),
        ("shapes", ("--sweep", "seq"), "'seq' is not NAME=SIZES"),
        ("shapes", ("--weight", "7=1"), "weight of shape 7"),
        ("shapes", ("--sweep", "seq=1,2"), "dimension seq=1"),
        ("shapes", ("--graph", "off"), "ort-cpu has no --graph"),
        ("shapes", ("--on", "fake"), "fake cannot change shapes"),
        ("tune", (), "no alternative to the default"),
        ("tune", ("--option", "intra_op_num_threads"), "is not NAME=V1,V2"),
        ("tune", ("--option", "intra_op_num_threads=1,"), "is not NAME=V1,V2"),
        ("tune", ("--batch", "1,x"), "is not a list of sizes"),
        (
            "tune",
            ("--on", "ort-cpu?intra_op_num_threads=1", *THREADS),
            "--option intra_op_num_threads",
        ),
        ("tune", ("--option", "intra_op_num_threads=many"), "intra_op_num_threads=many"),
    ],
)
def test_mistakes_are_named(verb, model, tmp_path, monkeypatch, name, arguments, words) -> None:
    monkeypatch.chdir(tmp_path)
    Path("times.txt").write_text("0\n1\n")
    more = [model if part == "MODEL" else part for part in arguments]
    code, out, err = verb(name, model, *more)
    assert (code, out) == (2, "")
    assert words in " ".join(err.split())


def test_streams_of_one_process_contend(verb, model) -> None:
    with workers_in_process():
        code, out, _ = verb(
            *("contend", model, model, *SHORT["contend"], "--share", "streams", "--json")
        )
    assert code == 0
    document = json.loads(out)
    assert document["report"]["share"] == "streams"
    assert document["verdict"] == document["report"]["kind"]


def test_a_ladder_has_the_own_figure(verb, model, tmp_path) -> None:
    page = tmp_path / "ladder.html"
    with workers_in_process():
        code, out, err = verb("ladder", model, *SHORT["ladder"], "--mine", "500ms", "--html", page)
    assert code == 0
    assert "500ms " in out.splitlines()[0]
    for word in ("  meaning ", "► yours", "call with NumPy arrays"):
        assert word in out
    step = re.search(r"its runs: (enginescope runs list .*)", err)[1]
    text = re.sub("</?span>", "", page.read_text())
    assert f"<strong>Next</strong> its runs: <code>{step}</code>" in text
    assert "► yours" not in page.read_text()
    assert "500ms" in page.read_text()


def test_json_of_shapes_with_weights_and_profiles(verb, model) -> None:
    more = ("--weight", "1=3", "--weight", "3=1", "--profiles", 2, "--gain", 1)
    with workers_in_process():
        code, out, _ = verb("shapes", model, *SHORT["shapes"], *more, "--json")
    report = json.loads(out)["report"]
    assert code == 0
    assert [level["weight"] for level in report["levels"]] == [0.75, 0, 0.25]
    assert [profile["opt"] for profile in report["profiles"]] == ["1", "3"]
    assert report["knee"]["gain_pct"] == 1


def test_tune_in_processes_answers_on_one_screen(verb, model, tmp_path) -> None:
    page, table, text = (tmp_path / f"tune.{suffix}" for suffix in ("html", "csv", "md"))
    files = ("--html", page, "--csv", table, "--markdown", text)
    one = ("--option", "intra_op_num_threads=1")
    code, out, err = verb("tune", model, *one, *SHORT["tune"], *files)
    assert code == 0, err
    assert "no winner for net.onnx" in out.splitlines()[0]
    assert "open: " in err
    assert "cmp-" in err
    assert "No winner for net.onnx" in page.read_text(encoding="utf-8")
    assert "### enginescope: no winner" in text.read_text(encoding="utf-8")
    assert table.read_text(encoding="utf-8-sig").startswith("backend,batch,state")


def test_options_of_tune_repeat_and_combine(verb, model) -> None:
    options = ("intra_op_num_threads=1", "intra_op_num_threads=2", "enable_cpu_mem_arena=0")
    flags = [part for option in options for part in ("--option", option)]
    with workers_in_process():
        code, out, err = verb("tune", model, *flags, "--batch", "1,2", *SHORT["tune"], "--json")
    assert code == 0, err
    report = json.loads(out)["report"]
    assert len(report["alternatives"]) == 1 + 2 * 2
    assert {each["batch"] for each in report["alternatives"]} == {1, 2}
    assert "enable_cpu_mem_arena=0" in report["alternatives"][1]["backend"]


def test_an_interrupt_of_tune_says_what_stands(model, tmp_path, capfd, monkeypatch) -> None:
    def interrupted(request, observer):
        observer.stands("after 3 rounds: 2 alternatives left; x leads, not confirmed")
        raise KeyboardInterrupt

    monkeypatch.setattr("enginescope.cli.verdicts.tune.tune_options", interrupted)
    assert main(["tune", str(model), *THREADS, "--store", str(tmp_path / "store")]) == 130
    assert "x leads, not confirmed; 0 runs are stored" in " ".join(capfd.readouterr().err.split())


def test_the_answer_of_a_load_comes_first(verb, model, tmp_path) -> None:
    page = tmp_path / "load.html"
    more = ("--rate", 200, "--queries", 20, "--html", page)
    code, out, err = verb("load", model, *SHORT["load"], *more)
    assert code == 0
    assert re.match(r"(largest of 20 latencies|p50 latency) .*; p99 not stated: ", out)
    assert "Queueing" in out  # "time" is below it where figures are long
    assert "poisson" in out.lower()
    assert f"written: {page}" in err
    assert "p99 not stated: " in page.read_text()
    step = re.search(r"report: (enginescope report .*)", err)[1]  # the page has it too
    text = re.sub("</?span>", "", page.read_text())
    assert f"<strong>Next</strong> report: <code>{step}</code>" in text


def test_an_objective_that_is_not_met_ends_with_1(verb, model) -> None:
    arguments = ("--rate", 50, "--queries", 30, "--arrivals", "constant", "--slo", "p50<1us")
    code, out, _ = verb("load", model, *SHORT["load"], *arguments)
    assert out.startswith(("p50 < 0.00100 ms is missed", "inconclusive"))
    assert code == 1


def test_an_endpoint_needs_no_backend_and_fails_where_it_is_gone(verb) -> None:
    with oip_server() as server:
        code, out, _ = verb("load", server.model, "--rate", 100, "--queries", 10, "--json")
    document = json.loads(out)
    assert code == 0
    assert document["report"]["backend"] == "oip"
    assert document["report"]["target"] == server.model
    assert document["verdict"] == "measured"
    code, out, err = verb("load", server.model, "--rate", 100, "--queries", 10)
    assert (code, out) == (3, "")
    assert server.model in err


def test_a_search_shows_each_rate(verb, model) -> None:
    code, out, err = verb(
        *("load", model, "--on", "fake?latency_us=4000", "--find-max", "--slo", "p50<40ms"),
        *("--repeats", 1, "--queries", 60, "--arrivals", "constant", "--resolution", 90),
    )
    assert code == 0
    assert out.startswith("highest rate that meets p50 < 40.0 ms: ")
    assert "queries/s: met" in err
    assert "Slow" in out


def test_a_scenario_has_its_figures(verb, model) -> None:
    arguments = ("--scenario", "single-stream", "--queries", 70)
    code, out, _ = verb("load", model, *SHORT["load"], *arguments)
    assert code == 0
    assert out.startswith("single-stream: p90 latency ")
    assert "early-stopping p90" in out
