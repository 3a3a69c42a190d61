"""``enginescope history`` on stored runs."""

import json
import re
from pathlib import Path

import pytest

from enginescope.cli.main import main
from enginescope.store.archive import Store
from tests.analysis.gated_runs import job, process
from tests.analysis.historic_runs import host, over_days

STEP = [4.0] * 12 + [4.4] * 12
NASTY = "<script>alert(1)</script>.onnx"


@pytest.fixture
def store(store) -> Store:
    environments = {0: host(tensorrt="10.3.0"), 12: host(tensorrt="10.4.0")}
    for run in over_days(STEP, environments=environments):
        store.save(run, tags=["nightly"])
    return store


def test_the_answer_the_plot_and_what_changed(store, capsys) -> None:
    assert main(["history", "net.onnx"]) == 0
    shown = capsys.readouterr().out
    lines = shown.splitlines()
    title = "latency of net.onnx · ort-cpu · batch 1: newest 4.407 ms (95 % CI 4.405 …"
    assert lines[:2] == [title, "4.408); 1 change of level, +9.9 % (worse) on 2026-01-13"]
    assert max(map(len, lines)) <= 80
    assert shown.count("•") >= 15
    assert next(line for line in lines if "└─" in line).count("A") == 1
    assert "TensorRT 10.3.0 → 10.4.0" in shown
    assert "commit 000000babc → 000000cabc" in shown
    assert "worse, 2026-01-13 10:00" in shown


@pytest.mark.parametrize("sessions", [1, 3])
def test_too_few_sessions_do_not_say_that_nothing_changed(store, capsys, sessions) -> None:
    """A history of one session said "no change of level"."""
    for run in over_days([4.0] * sessions, of=job("few.onnx")):
        store.save(run)
    main(["history", "few.onnx"])
    count = f"{sessions} session{'' if sessions == 1 else 's'}"
    title = f"change of level unknown ({count}, a change shows in 4 or more)"
    assert title in " ".join(capsys.readouterr().out.split())


def test_a_change_that_is_not_sure_is_the_headline_with_what_changed(store, capsys) -> None:
    """Its title was "no change of level", and what changed a session before was not shown."""
    environments = {0: host(tensorrt="10.3.0"), 12: host(tensorrt="10.4.0")}
    medians = [4.0] * 13 + [8.0] * 2
    for run in over_days(medians, of=job("open.onnx"), environments=environments):
        store.save(run)
    assert main(["history", "open.onnx", "--html", "h.html"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    said = re.search(r"(perhaps .+? % since run \w{8}, inconclusive after 2 sess)ions", shown)
    assert said, shown
    assert "no change of level" not in shown
    assert "TensorRT 10.3.0 → 10.4.0 " in shown
    page = Path("h.html").read_text(encoding="utf-8")
    assert re.search(rf"batch 1: newest \S+ ms \([^)]+\); {re.escape(said[1])}ions</h1>", page)
    assert "inconclusive after 2 sessions; TensorRT 10.3.0 → 10.4.0" in page
    for run in over_days([4.0] * 8, of=job("open.onnx", spec="trt")):
        store.save(run)
    main(["history", "open.onnx", "--html", "h.html"])
    title = f"2 histories of open.onnx: {said[1]}ions; no other change of level in 2 jobs"
    assert f"<h1>{title}</h1>" in Path("h.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "label"),
    [
        *((name, "net.onnx") for name in ("net.onnx", "some/where/net.onnx", "NET")),
        *((name, "one/model.onnx") for name in ("one/model.onnx", "zoo/one/model.onnx")),
    ],
)
def test_a_model_by_name_path_or_part(store, name, label, capfdbinary) -> None:
    """The exact name goes before a part of one, as of subnet.onnx."""
    for model in ("one/model.onnx", "two/model.onnx", *["subnet.onnx"] * (name != "NET")):
        store.save(process(1.0, of=job(model)))
    main(["history", name, "--json"])
    (one,) = json.loads(capfdbinary.readouterr().out)["series"]
    assert one["label"].startswith(label)


def test_a_screen_of_long_names_fits_and_says_how_many_are_left(store, capsys) -> None:
    for number in range(6):
        store.save(process(1.0, of=job(f"{'a_long_name_' * 6}{number}.onnx")))
    assert main(["history", "a_long"]) == 0
    shown = capsys.readouterr()
    assert max(map(len, shown.out.splitlines())) <= 80
    assert "… and 1 more job;" in shown.err


def test_a_damaged_run_is_named_and_left_out(store, capsys) -> None:
    damaged = store.rows()[0].id
    assert main(["history", "net.onnx"]) == 0  # the index knows it
    (store.runs_folder / damaged / "run.json").write_text("{")
    capsys.readouterr()
    assert main(["history", "net.onnx"]) == 0
    out, err = capsys.readouterr()
    assert "1 change of level" in " ".join(out.split())
    assert f"skipped: run {damaged}: " in err
    assert err.count(f"enginescope runs delete {damaged} removes it from the store") == 1


def test_json_has_every_point_and_the_newest_alone(store, capfdbinary) -> None:
    assert main(["history", "net.onnx", "--json"]) == 0
    document = json.loads(capfdbinary.readouterr().out)
    (one,) = document["series"]
    assert (document["schema"], len(one["points"]), one["unit"]) == (1, 24, "ms")
    (change,) = one["changes"]
    assert (change["at"], change["is_sure"], change["is_worse"]) == (12, True, True)
    assert change["changed"][0]["fact"] == "TensorRT"
    main(["history", "net.onnx", "--last", "12", "--json"])
    (one,) = json.loads(capfdbinary.readouterr().out)["series"]
    assert (len(one["points"]), one["changes"]) == (12, [])


def test_files(store, capsys) -> None:
    pytest.importorskip("vl_convert")
    assert main(["history", "net.onnx", "--html", "h.html", "--png", "h.png"]) == 0
    assert Path("h.png").read_bytes().startswith(b"\x89PNG")
    text = Path("h.html").read_text(encoding="utf-8")
    change = "1 change of level, +9.9 % (worse) on 2026-01-13"
    newest = "newest 4.407 ms (95 % CI 4.405 … 4.408)"
    assert f"<h1>Latency of net.onnx · ort-cpu · batch 1: {newest}; {change}</h1>" in text
    assert text.count(change) == 1  # the picture has another title than the page
    assert re.search(r"<h[23]>Latency of each session</h[23]>", text)
    assert "TensorRT 10.3.0 → 10.4.0" in text
    assert "default-src &#39;none&#39;" in text
    shown = capsys.readouterr().err
    assert "written: h.png" in shown
    step = re.search(r"compare across the change: (enginescope compare \w+ \w+)", shown)[1]
    step = f"compare across the change: <code>{step}</code>"
    assert f"<strong>Next</strong> {step}" in re.sub("</?span>", "", text)


def test_without_a_change_the_next_step_is_to_measure_another_session(store, capsys) -> None:
    """A page of few sessions named no next step."""
    command = "enginescope bench 'few.onnx'"
    for at in range(3):
        store.save(process(4.0, at, of=job("few.onnx"), command=command))
    assert main(["history", "few.onnx", "--html", "h.html"]) == 0
    shown = capsys.readouterr().err
    assert f"measure another session: {command}" in shown
    assert "each run on its own: enginescope history few.onnx --session 0" in shown
    assert main(["history", "few.onnx", "--session", "0", "--html", "h.html"]) == 0
    page = re.sub("</?span>", "", Path("h.html").read_text(encoding="utf-8"))
    assert 'id="chart-history-1"' in page  # three sessions are drawn
    assert "each run on its own" not in page
    step = "measure another session: <code>enginescope bench &#39;few.onnx&#39;</code>"
    assert f"Next</strong> {step}" in page
    assert page.count("enginescope bench &#39;few.onnx&#39;") == 1  # the table had it once more


def test_names_are_escaped_and_a_picture_is_of_one_job(store, capsys) -> None:
    for run in over_days([4.0] * 3, of=job(NASTY)):
        store.save(run)
    assert main(["history", "script", "--html", "h.html"]) == 0
    assert "<script>alert" not in Path("h.html").read_text(encoding="utf-8")
    store.save(process(1.0, of=job(spec="trt")))
    assert main(["history", "net.onnx", "--png", "h.png"]) == 2
    assert "--png draws one model on one backend, and there are 2" in capsys.readouterr().err
    assert not Path("h.png").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["other.onnx"], "no runs of other.onnx"),
        (["net.onnx", "--tag", "none"], "no runs of net.onnx"),
        (["net.onnx", "--metric", "latncy"], "did you mean latency?"),
        (["net.onnx", "--metric", "engine_size"], "no engine_size in the runs"),
        (["net.onnx", "--html", "no/such/folder"], "cannot write no/such/folder"),
        (["net.onnx", "--sitting", "x"], "not a duration"),
    ],
)
def test_mistakes_are_told(store, arguments, message, capsys) -> None:
    assert main(["history", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_one_run_alone(store, capsys) -> None:
    store.save(process(4.0, of=job("alone.onnx"), n=12))
    assert main(["history", "alone", "--html", "h.html"]) == 0
    page = Path("h.html").read_text(encoding="utf-8")
    assert "On</strong> Xeon" in page
    assert "samples; measure at least 100 (W-FEW-SAMPLES) in 1 of 1 newest run" in page
    shown = capsys.readouterr().out
    assert "1 run in 1 session, 2026-01-01;" in shown
    assert "•" not in shown  # a chart of one point says nothing
    assert re.search(r"newest session\s+(3.9|4.0)\d+ ms", shown)
    assert "no change" not in shown
    assert re.search(r"look +\d+ samples; .*100\s+\(W-FEW-SAMPLES\) in 1 of 1 newest", shown)
