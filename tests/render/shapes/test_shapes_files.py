import csv
import io
import json

import pytest

from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.notebook.html_fragments import answer_html
from enginescope.records.verdict.shapes import Knee, TraceUse
from enginescope.render.shapes.shapes_answer import build_command, shapes_answer
from tests.analysis.shapes.simulated import report
from tests.render.outputs import outputs, phrases

shapes_json, _, shapes_page, shapes_csv = outputs(shapes_answer)
answer_text, scope_facts = phrases(shapes_answer)
CLIFF = (1.0, 1.1, 2.4, 1.6, 2.0)


@pytest.mark.parametrize(
    ("knee", "words"),
    [
        (
            Knee(gain_pct=10, label="4", low="2", high="8", support=0.9),
            "run batch 4: larger ones have less than 10 % more throughput (95 %: 2 … 8)",
        ),
        (Knee(gain_pct=10, label="4", low="4", high="4", support=1.0), "(95 %: 4)"),
        (Knee(gain_pct=10, label="4"), "(uncertainty unknown: only 8 processes)"),
        (
            Knee(gain_pct=5, low="16", support=1.0),
            "no knee up to batch 16: throughput still grows by 5 % or more (95 %: beyond 16)",
        ),
        (Knee(gain_pct=5, low="8", support=0.9), "(95 %: 8 … beyond 16)"),
        (
            Knee(gain_pct=10, label="1", low="1", support=0.3),
            "the knee is not decided (95 %: 1 … beyond 16): measure more rounds",
        ),
        (
            Knee(gain_pct=10, why="all shapes have the same number of items"),
            "batch 1 takes 0.9998 ms, batch 16 3.738 ms",
        ),
    ],
)
def test_the_answer_is_the_knee_or_why_there_is_none(knee, words) -> None:
    assert words in answer_text(replace(report(), knee=knee))


def test_an_unstable_measurement_says_so_first() -> None:
    notice = Notice(code="W-LOAD", message="busy", evidence={"unstable": True})
    unstable = replace(report(), notices=(notice,))
    assert answer_text(unstable) == (
        "unstable measurement: no shape is recommended: measure again on an idle machine"
    )
    # "run batch 1" and "build for min 1, opt 4" stood below "unstable"
    assert "build for" not in dict(scope_facts(unstable))
    tables = shapes_answer(unstable).tables
    assert "*" not in "".join(row[0] for row in tables[0].rows)
    assert "Optimization profiles to build" not in {table.title for table in tables}
    assert build_command(unstable) is None


def test_facts_have_costs_slow_shapes_and_profiles() -> None:
    facts = dict(scope_facts(report(CLIFF, new_ms=0.5, again_ms=0.0, switch_ms=0.05)))
    assert facts["change"].startswith("first request of a new shape: +0.500 ms, × 1.")
    assert "of an earlier one: no difference above 0 ms is detected (95 %: " in facts["change"]
    assert facts["change"].endswith("switch of the profile: 0.05000 ms")
    assert facts["slower"].startswith("batch 4 takes 1.49 × as long as 8 (95 %: ")
    assert facts["slower"].endswith("): pad it to 8")
    assert facts["build for"].startswith(
        "min 1, opt 4, max 16: opt is the median shape by time, with equal weights of the shapes"
    )
    decided = dict(scope_facts(report()))["build for"]
    assert decided.startswith("batch 4 alone, or for all shapes: min 1, opt ")
    assert dict(scope_facts(report()))["slower"].startswith(
        "no difference above 2.1 % to a larger shape"
    )


def test_a_trace_disturbed_processes_and_shapes_without_a_figure_are_told() -> None:
    for measured, words in ((8, ""), (9, ", 1 disturbed excluded")):
        facts = dict(scope_facts(replace(report(), measured_rounds=measured)))
        assert facts["evidence"] == f"8 processes{words}, shapes in random order in each"
    use = TraceUse(requests=90, padded=4, beyond=2, changes=30, change_share=0.125)
    assert dict(scope_facts(replace(report(), trace=use)))["trace"] == (
        "90 requests, 30 changes that take 12 % of the time; padded to the next measured "
        "shape: 4; larger than every measured shape and skipped: 2"
    )
    found = report(why=(*["outside"] * 4, None))
    assert answer_text(found) == "only batch 16 was measured: 3.738 ms"
    shapes, *_ = shapes_answer(report(why=(*[None] * 4, "outside"))).tables
    assert shapes.rows[-1][:3] == ("16", "—", "not measured")


def test_only_a_decided_knee_has_a_star() -> None:
    shapes, *_ = shapes_answer(report()).tables
    assert [row[0] for row in shapes.rows] == ["1", "2", "4 *", "8", "16"]
    inconclusive = replace(report(), knee=Knee(gain_pct=10, label="4", low="1", support=0.3))
    assert "*" not in "".join(row[0] for row in shapes_answer(inconclusive).tables[0].rows)


def test_the_command_builds_all_profiles() -> None:
    command = str(build_command(report(count=2)))
    assert command.startswith("enginescope build net.onnx --min-shape x:1x4 --opt-shape x:")
    assert command.count("--max-shape") == 2
    assert build_command(replace(report(), file="net.engine")) is None


def test_json_csv_page_and_notebook_have_every_shape() -> None:
    assert json.loads(shapes_json(report()))["report"]["levels"][2]["label"] == "4"
    lines = list(csv.DictReader(io.StringIO(shapes_csv(report()).decode())))
    assert [line["shape"] for line in lines] == ["1", "2", "4", "8", "16"]
    assert float(lines[0]["latency_ms"]) == pytest.approx(1, rel=0.02)
    page = shapes_page(report()).decode()
    assert "larger ones have less than 10 % more throughput (95 %: 4)</h1>" in page
    assert page.index("shapes_throughput") < page.index('id="shapes"')
    shown = answer_html(shapes_answer(report(switch_ms=0.05)))
    for words in ("run batch 4", "Changes of the shape", "Optimization profiles to build"):
        assert words in shown


def test_the_pictures_mark_the_knee_and_slow_shapes() -> None:
    throughput, _ = shapes_answer(report()).charts
    assert throughput.title.endswith("; the dashed line is the knee, batch 4")
    _, latency = shapes_answer(report(CLIFF)).charts
    (slow,) = [
        layer["data"]["values"]
        for layer in latency.spec["layer"]
        if layer["mark"].get("shape") == "triangle-down"
    ]
    assert [row["shape"] for row in slow] == ["4"]
    inconclusive = replace(report(), knee=Knee(gain_pct=10, why="unknown"))
    throughput, latency = shapes_answer(inconclusive).charts
    assert throughput.title == "Throughput by shape"
    assert len(latency.spec["layer"]) == 3
