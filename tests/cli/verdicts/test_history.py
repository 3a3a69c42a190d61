"""``enginescope history`` on stored runs."""

import json
import re
from pathlib import Path

import pytest

from enginescope.analysis.verdicts.history import histories
from enginescope.cli.main import main
from enginescope.core.record import replace
from enginescope.records.verdict.history import Level
from enginescope.render.verdicts.history_page import history_chart
from enginescope.render.verdicts.history_text import (
    dot_plot,
    flat_ends,
    letter,
    span_text,
    title_text,
)
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
    title = "latency of net.onnx · ort-cpu · batch 1: 4.407 ms (4.405 … 4.408); 1 change of"
    assert lines[:2] == [title, "level, +9.9 % (worse) on 2026-01-13"]
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
    assert re.search(rf"batch 1: \S+ ms \([^)]+\); {re.escape(said[1])}ions</h1>", page)
    assert "inconclusive after 2 sessions; TensorRT 10.3.0 → 10.4.0" in page
    for run in over_days([4.0] * 8, of=job("open.onnx", spec="trt")):
        store.save(run)
    main(["history", "open.onnx", "--html", "h.html"])
    title = f"2 histories of open.onnx: {said[1]}ions; no other change of level in 2 jobs"
    assert f"<h1>{title}</h1>" in Path("h.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["net.onnx", "some/where/net.onnx", "NET"])
def test_a_model_by_name_path_or_part(store, name, capsys) -> None:
    assert main(["history", name]) == 0
    assert "net.onnx" in capsys.readouterr().out


def test_the_exact_name_goes_before_a_part_of_one(store, capfdbinary) -> None:
    store.save(process(1.0, of=job("subnet.onnx")))
    main(["history", "net.onnx", "--json"])
    (one,) = json.loads(capfdbinary.readouterr().out)["series"]
    assert one["label"].startswith("net.onnx")


def test_a_screen_of_long_names_fits_and_says_how_many_are_left(store, capsys) -> None:
    for number in range(6):
        store.save(process(1.0, of=job(f"{'a_long_name_' * 6}{number}.onnx")))
    assert main(["history", "a_long"]) == 0
    shown = capsys.readouterr()
    assert max(map(len, shown.out.splitlines())) <= 80
    assert "… and 1 more job;" in shown.err


@pytest.mark.parametrize("name", ["one/model.onnx", "zoo/one/model.onnx"])
def test_models_that_are_all_called_model_onnx_are_told_apart(store, name, capfdbinary) -> None:
    for folder in ("one", "two"):
        store.save(process(1.0, of=job(f"{folder}/model.onnx")))
    main(["history", name, "--json"])
    (one,) = json.loads(capfdbinary.readouterr().out)["series"]
    assert one["label"].startswith("one/model.onnx")


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
    title = f"Latency of net.onnx · ort-cpu · batch 1: 4.407 ms (4.405 … 4.408); {change}"
    assert f"<h1>{title}</h1>" in text
    assert text.count(change) == 1  # the picture has another title than the page
    assert re.search(r"<h[23]>Latency of each session</h[23]>", text)
    assert "TensorRT 10.3.0 → 10.4.0" in text
    assert "default-src &#39;none&#39;" in text
    shown = capsys.readouterr().err
    assert "written: h.png" in shown
    step = re.search(r"compare across the change: (enginescope compare \w+ \w+)", shown)[1]
    assert f"<strong>Next</strong> compare across the change: <code>{step}</code>" in text


def test_without_a_change_the_next_step_is_to_measure_again(store, capsys) -> None:
    """A page of few sessions named no next step."""
    command = "enginescope bench 'few.onnx'"
    for at in range(3):
        store.save(process(4.0, at, of=job("few.onnx"), command=command))
    assert main(["history", "few.onnx", "--html", "h.html"]) == 0
    shown = capsys.readouterr().err
    assert f"measure again: {command}" in shown
    assert "each run on its own: enginescope history few.onnx --session 0" in shown
    assert main(["history", "few.onnx", "--session", "0", "--html", "h.html"]) == 0
    page = Path("h.html").read_text(encoding="utf-8")
    assert 'id="chart-history-1"' in page  # three sessions are drawn
    assert "each run on its own" not in page
    assert "Next</strong> measure again: <code>enginescope bench &#39;few.onnx&#39;</code>" in page
    assert page.count("enginescope bench &#39;few.onnx&#39;") == 1  # the table had it once more


def test_the_newest_figure_and_the_noise_are_said_and_drawn() -> None:
    """The axis of 0.9 % made noise look like jumps beside `no change of level`."""
    (found,) = histories(over_days([4.0] * 6))
    newest, values = found.points[-1], [point.value for point in found.points]
    assert f" batch 1: {newest.value:.3f} ms (" in title_text(found)
    spread = 100 * (max(values) / min(values) - 1)
    assert f"; sessions lie within {spread:.2g} %; changes of 2 % or less" in span_text(found)
    chart = history_chart([found])
    (band,) = (one for one in chart.spec["layer"] if one["mark"]["type"] == "rect")
    (row,) = band["data"]["values"]
    assert row["label"].startswith("level 4.0")
    assert (row["low"], row["high"]) == pytest.approx((row["value"] / 1.02, row["value"] * 1.02))
    assert "95 % CI" in chart.subtitle[1]


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


def test_one_run_alone(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("ENGINESCOPE_HOME", str(tmp_path))
    Store(tmp_path).save(process(4.0, n=12))
    assert main(["history", "net", "--html", "h.html"]) == 0
    page = Path("h.html").read_text(encoding="utf-8")
    assert "On</strong> Xeon" in page
    assert "W-FEW-SAMPLES in 1 of 1 newest run</td>" in page
    shown = capsys.readouterr().out
    assert "1 run in 1 session, 2026-01-01;" in shown
    assert "•" not in shown  # a chart of one point says nothing
    assert re.search(r"newest session\s+(3.9|4.0)\d+ ms", shown)
    assert "no change" not in shown
    assert re.search(r"warnings\s+W-FEW-SAMPLES in 1 of 1 newest run", shown)


@pytest.mark.parametrize("count", [1, 2, 7, 60, 1000])
@pytest.mark.parametrize("width", [30, 80])
def test_a_plot_keeps_its_width_and_shows_every_extreme(count, width) -> None:
    values = [4.0 + 0.001 * (at % 13) for at in range(count)]
    levels = [Level(first=0, last=count - 1, value=4.005)]
    lines = dot_plot(values, levels=levels, marks=[(count // 2, "A")], width=width)
    assert max(map(len, lines)) <= width
    assert "A" in lines[-1]
    assert any("•" in line for line in lines)


@pytest.mark.parametrize("value", [1.5, 0.0])
def test_a_flat_series_has_ticks_with_digits_that_it_carries(value: float) -> None:
    """Its axis had 1.500000 at every tick."""
    ends = flat_ends([value, value * (1 + 1e-7)])
    assert ends[1] - ends[0] >= 0.02 * value
    ticks = [line.split("┤")[0].strip() for line in dot_plot([value] * 9) if "┤" in line]
    assert all(len(one.strip("-−")) <= 5 for one in ticks), ticks
    assert flat_ends([1.5, 1.51]) is None
    (found,) = histories(over_days([1.5] * 8))
    alike = [replace(one, value=1.5, lowest=1.5, highest=1.5) for one in found.points]
    flat = replace(found, points=tuple(alike))
    assert '"domain": [1.485, 1.515]' in json.dumps(history_chart([flat, flat]).spec)


def test_letters_go_on_after_z_and_stay_inside_the_picture() -> None:
    """They stood above its upper edge, and were cut off."""
    assert [letter(at) for at in (0, 25, 26, 51, 52)] == ["A", "Z", "AA", "AZ", "BA"]
    (found,) = histories(over_days(STEP))
    texts = [
        one
        for one in history_chart([found]).spec["layer"]
        if one["mark"]["type"] == "text" and "letter" in one["data"]["values"][0]
    ]
    assert [one["data"]["values"][0]["letter"] for one in texts] == ["A"]
    assert all(one["encoding"]["y"] == {"value": 0} and one["mark"]["dy"] > 0 for one in texts)
