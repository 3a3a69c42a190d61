"""A search for the fastest options as text, Markdown, CSV, JSON, page and notebook."""

import csv
import io
import json

import pytest

from enginescope.analysis.tune.halving import confirmed
from enginescope.core.record import replace
from enginescope.judge.comparison.ratio import ratio_of_few_rounds
from enginescope.judge.samples import Interval
from enginescope.judge.verdict import EvidenceLevel
from enginescope.notebook.html_fragments import answer_html
from enginescope.records.verdict.tune import Alternative, InvalidAlternative, TuneReport
from enginescope.render.tune.tune_answer import alternative_table, label_of, tune_answer
from tests.render.outputs import outputs, phrases

tune_json, _, tune_page, tune_csv = outputs(tune_answer)
answer_text, scope_facts = phrases(tune_answer)
BASE = tuple(2.0 * (1 + 0.002 * (at % 3)) for at in range(8))


def alternative(number: int, options: str, factor: float, **fields) -> Alternative:
    values = [factor * (1 + 0.004 * (at * number % 4)) * one for at, one in enumerate(BASE)]
    return Alternative(
        number=number,
        backend=f"ort-cpu{options}",
        value=values[0],
        interval=Interval(low=min(values), high=max(values), confidence=0.95),
        ratio=ratio_of_few_rounds(BASE, values) if number else None,
        **{"rounds": 8, **fields},
    )


def report(factor: float = 0.9, **fields) -> TuneReport:
    """A search of five, whose leader takes so much of the default's time when confirmed."""
    candidate = [factor * (1 + 0.001 * (at % 2)) * one for at, one in enumerate(BASE)]
    found, threads = confirmed(BASE, candidate, 1.0), "?intra_op_num_threads="
    made = TuneReport(
        model="net.onnx",
        metric="latency",
        alternatives=(
            alternative(0, "", 1.0, state="default"),
            alternative(2, f"{threads}2", 0.88, state="candidate"),
            alternative(3, f"{threads}3", 0.9),
            alternative(1, f"{threads}1", 1.5, state="dropped", rounds=3, dropped_after=3),
            Alternative(number=4, backend="ort-cpu:fp16", state="wrong", why="outputs: too large"),
        ),
        invalid=(InvalidAlternative(backend="ort-cpu?x=1", why="no option x"),),
        candidate=2,
        confirmation=replace(found, seed=1, evidence=EvidenceLevel.BUILDS, comparison="c"),
        threshold_pct=1.0,
        rounds=8,
        comparison="a",
    )
    return replace(made, **fields)


def test_the_answer_is_the_confirmed_winner_with_its_interval_and_facts() -> None:
    text = answer_text(report())
    assert text.startswith("winner for net.onnx: intra_op_num_threads=2, confirmed at 0.90")
    assert "× the default's latency, 99 % CI 0.9" in text
    assert dict(scope_facts(report()))["use"] == "--on 'ort-cpu?intra_op_num_threads=2'"
    facts = dict(scope_facts(report()))
    assert facts["selection"].startswith("0.88")
    assert facts["outputs"] == "1 of 4 alternatives give other outputs than the default"
    assert facts["confirmed"].startswith("8 rounds")
    assert facts["evidence"] == "independent builds"
    assert dict(scope_facts(report(confirmation=None)))["evidence"] == "the search alone"


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (report(1.0), "but no difference above 0.10 % is detected in the confirmation: 1.00"),
        (report(1.1), "but is slower in the confirmation: 1.10"),
        (report(candidate=None, confirmation=None), "no alternative leads the default"),
        (report(confirmation=None), "leads the search, and is not confirmed"),
    ],
)
def test_without_a_confirmation_there_is_no_winner(found, text) -> None:
    answer = answer_text(found)
    assert answer.startswith("no winner for net.onnx")
    assert text in answer
    assert "use" not in dict(scope_facts(found))


def test_every_alternative_has_its_interval_the_round_of_its_end_and_trtexec_s_time() -> None:
    default, leader, *others = report().alternatives
    table = alternative_table(report())
    rows = {row[0]: row for row in table.rows}
    assert rows["intra_op_num_threads=1"][-1] == "dropped at 3"
    assert "…" in rows["intra_op_num_threads=3"][3]
    assert rows["ort-cpu:fp16"][-1] == "wrong outputs"
    assert rows["ort-cpu"][-1] == "default"
    assert "trtexec" not in table.known().headers
    timed = (default, replace(leader, trtexec_ms=0.5), *others)
    table = alternative_table(replace(report(), alternatives=timed))
    assert table.headers[-2] == "trtexec"
    assert table.rows[1][-2] == "0.5000 ms"


def test_a_label_is_what_differs_from_the_default() -> None:
    default = Alternative(number=0, backend="trt:fp16?refit=1", batch=1)
    found = replace(report(), alternatives=(default,))

    def label(backend: str, batch: int = 1) -> str:
        return label_of(found, replace(default, number=1, backend=backend, batch=batch))

    assert label("trt:fp16?refit=1&sparsity=enable") == "sparsity=enable"
    assert label("trt:fp16?refit=1", batch=4) == "batch 4"
    assert label("trt?refit=1", batch=4) == "trt?refit=1, batch 4"
    assert label("trt:fp16") == "trt:fp16"


def test_picture_page_json_and_csv_have_the_figures() -> None:
    rows = tune_answer(report()).charts[0].spec["data"]["values"]
    assert [(row["name"], row["kind"]) for row in rows[:2]] == [
        ("intra_op_num_threads=2", "confirmation"),
        ("intra_op_num_threads=2", "search"),
    ]
    assert json.loads(tune_json(report()))["report"]["confirmation"]["kind"] == "faster"
    rows = list(csv.DictReader(io.StringIO(tune_csv(report()).decode("utf-8-sig"))))
    assert [row["state"] for row in rows] == ["default", "candidate", "left", "dropped", "wrong"]
    assert rows[3]["dropped_after"] == "3"
    assert float(rows[1]["ratio"]) == pytest.approx(0.885, abs=0.006)
    page = tune_page(report()).decode()
    order = ["inner for net.onnx", "Alternatives against the default", "dropped at 3"]
    assert [page.index(text) for text in order] == sorted(page.index(text) for text in order)
    assert "no option x" in page
    assert "dropped at 3" in answer_html(tune_answer(report()))
