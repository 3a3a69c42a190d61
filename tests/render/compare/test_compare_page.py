"""The page of a comparison as a parser sees it."""

import gzip
import json
import re

import pytest

from enginescope.analysis.build_log.build_log_summary import compare_choices
from enginescope.analysis.plan_comparison.comparison import compare
from enginescope.core.record import replace
from enginescope.formats.build_log.build_log import build_story_of
from enginescope.records.run.run import Run
from enginescope.render.compare import compare_page as module
from enginescope.render.compare.compare_page import compare_page
from enginescope.render.html.page_frame import scripts
from enginescope.render.plan_comparison.compare_tables import Chosen
from tests.analysis.compared_plans import EVIL, network_a, network_b, run_a, run_b
from tests.render.page.test_page import Page


def page_of(*runs: Run, **chosen) -> Page:
    return Page(compare_page(compare(runs), Chosen(**chosen)).decode())


def evil_run() -> Run:
    b = network_b()
    b.layers[0] = replace(b.layers[0], name=EVIL, tactic_name=EVIL)
    return b.run(EVIL)


def test_the_answer_is_the_heading_and_next_steps_are_those_of_the_terminal() -> None:
    page = page_of(run_a(), run_b())
    assert page.headings[0].startswith("The layers of B take 28.7 % less time in the profiles")
    for words in (
        "What explains the difference of the layer times",
        "Convolution: FP32 → FP16",
        "Reformats that only A",
    ):
        assert words in page.words
    steps = (("over time", "enginescope history"),)
    page = compare_page(compare([run_a(), run_b()]), Chosen(), steps=steps).decode()
    assert "over time: <code><span>enginescope</span> <span>history</span></code>" in page


def test_nothing_from_outside_nothing_twice_and_names_are_text() -> None:
    page = page_of(run_a(), evil_run())
    assert (page.loads, page.handlers) == ([], [])
    assert all(link.startswith(("#", "data:")) for link in page.links)
    ids = [one for one in page.ids if one != "end"]  # each picture of a graph is a shadow root
    assert len(set(ids)) == len(ids)
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)
    assert page.captions == page.tables
    for one in scripts("pairs", "graph"):
        assert one.csp_source in page.policy
    assert len(page.scripts) == len(scripts("pairs", "graph"))
    assert EVIL in page.words
    assert EVIL in json.dumps(page.data["tables"], ensure_ascii=False)


def test_the_waterfall_leads_from_a_to_b_with_room_for_figures_above_the_layers_that_lead() -> None:
    page = page_of(run_a(), run_b())
    assert set(page.data["charts"]) == {"chart-waterfall"}
    assert set(page.data["charts"]) <= set(page.ids)
    chart = page.data["charts"]["chart-waterfall"]
    rows = chart["data"]["values"]
    first, *steps, last = rows
    assert (first["start"], last["start"]) == (5.875, 4.1875)
    reached = first["start"]
    for one in steps:
        down = one["kind"] == "less time"
        assert one["end" if down else "start"] == pytest.approx(reached)
        reached = one["start" if down else "end"]
    assert reached == pytest.approx(last["start"])
    # Two noisy runs of one engine had eight bars "cause unknown", one for each type.
    assert [row["what"] for row in rows].count("cause unknown: only times differ") == 1
    again = network_a()
    again.times = [1.1 * (ms or 0.0) for ms in again.times]
    noisy = page_of(run_a(), again.run("again"))
    assert not noisy.data["charts"]
    assert "cause unknown: only times differ, +0.5875 ms" in noisy.words
    # At 420 px a figure takes a quarter of the width; to the left are the names.
    low, high = chart["layer"][0]["encoding"]["x"]["scale"]["domain"]
    middle = (min(row["start"] for row in rows) + max(row["end"] for row in rows)) / 2
    right = [row["end"] for row in rows if row["start"] <= middle]
    left = [row["start"] for row in rows if row["start"] > middle]
    assert max(row["end"] - row["start"] for row in rows) > 0.4 * (high - low)
    assert (high - max(right)) / (high - low) > 0.25
    assert (min(left) - low) / (high - low) > 0.25
    (caption,) = re.findall(r"\d of 8 pairs make \d+ % of all differences", page.words)
    assert 80 <= int(caption.split()[5]) <= 100
    words = page.words
    assert re.search(r"From A's [\d.]+ ms to B's [\d.]+ ms, sums of layer times", words)
    assert words.index("From A's") < words.index(caption) < words.rindex("Layers side by side")


def test_every_pair_is_in_the_data_once() -> None:
    pairs = page_of(run_a(), run_b()).data["tables"]["table-pairs"]
    columns = {one["key"]: one for one in pairs["columns"]}
    assert pairs["length"] == 8
    for one in columns.values():
        assert len(one.get("at", one.get("values"))) == 8
    shown = columns["difference_ms"]["values"]
    assert shown == sorted(shown, key=lambda ms: -abs(ms))
    assert len(pairs["aside"]) == 2
    only = page_of(run_a(), run_b(), only="precision").data["tables"]["table-pairs"]
    assert len(only["aside"]) == 7
    assert only["aside_words"] == "are unchanged or not precision"
    assert "aside" not in page_of(run_a(), run_a()).data["tables"]["table-pairs"]


def test_without_times_layers_are_counted() -> None:
    page = page_of(run_a(), run_b(timed=False))
    assert not page.data["charts"]
    assert "W-NO-LAYER-TIMES" in page.words
    assert "What differs" in page.words
    assert "Layers by type" in page_of(run_a(timed=False), run_b(timed=False)).words


def test_three_plans_are_small_multiples_on_one_scale() -> None:
    page = page_of(run_a(), run_b(), network_b().run("slower", extra_ms=3.6875))
    assert page.headings[0].startswith("The layers of B take the least time")
    told = "The layers of B take 28.7 % less time in the profiles than those of A: 4.188 ms against"
    assert told in page.words
    assert "The layers of C take 34.0 % more time" in page.words
    charts = page.data["charts"]
    falls = [charts[f"chart-waterfall_{label}"] for label in "BC"]
    assert set(charts) == {"chart-waterfall_B", "chart-waterfall_C"}
    scales = [fall["layer"][0]["encoding"]["x"]["scale"]["domain"] for fall in falls]
    assert scales[0] == scales[1]
    assert scales[0][0] < 4.1875
    assert scales[0][1] > 7.875
    found = [(end["what"], end["end"]) for fall in falls for end in fall["data"]["values"][-1:]]
    assert found == [("B, all its layers", 4.1875), ("C, all its layers", 7.875)]
    assert {"chart-waterfall_B", "chart-waterfall_C"} <= set(page.ids)
    assert page.data["tables"] == {}
    assert "graph" not in page.ids
    assert list(page.data["files"]) == ["comparison.json", "plans.csv"]


def test_files_are_those_of_the_command(monkeypatch) -> None:
    files = page_of(run_a(), run_b()).data["files"]
    made = json.loads(files["comparison.json"])
    assert len(made["layers"]) == files["pairs.csv"].count("\n") - 1 == 8
    monkeypatch.setattr(module, "MAX_CARRIED_PAIRS", 7)
    long = page_of(run_a(), run_b())
    assert long.data["files"] == {}
    assert "--csv and --json" in long.words


def test_choices_of_two_builds(data) -> None:
    log = data / "trt86-h200-process" / "small_convnet.onnx.engine.build.log.gz"
    story, _ = build_story_of(gzip.decompress(log.read_bytes()), "build.log")
    choices = compare_choices(story, replace(story, layers=story.layers[1:]))
    page = Page(compare_page(compare([run_a(), run_b()]), Chosen(), choices).decode())
    assert "choices" in page.ids
    assert "no such layer" in page.words
    assert json.loads(page.data["files"]["comparison.json"])["build_choices"]


def test_specifications_compile() -> None:
    converter = pytest.importorskip("vl_convert")
    runs = (network_a(1).run("a"), network_b(4).run("b"))
    for page in (page_of(*runs), page_of(*runs, *runs), page_of(runs[0], run_b(timed=False))):
        for spec in page.data["charts"].values():
            assert converter.vegalite_to_vega({**spec, "width": 600}, vl_version="6.1")["marks"]
