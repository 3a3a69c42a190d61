"""compare on what was measured: comparisons, tags, runs, imported files."""

import csv
import gzip
import json
import re

import pytest

from enginescope.cli.main import main
from enginescope.core.record import replace
from enginescope.judge.comparison.looks import LOOKS
from enginescope.records.progress import RoundPosition
from enginescope.records.run.job import Mode, Subject, Workload
from enginescope.records.run.run import Outcome, OutcomeKind, Run
from enginescope.store.archive import Store
from tests.analysis.compared_plans import run_a, run_b
from tests.analysis.in_turn import COMPARISON, crashed, in_turn, job, process
from tests.formats import logs

TAG = f"cmp-{COMPARISON}"


@pytest.fixture
def compared(store):
    """A stored comparison in turn, B 5 % slower; with the run of its last process."""
    a, b = in_turn(1.05, jobs=(job(), job(intra_op_num_threads="1")))
    for run in (*a, *b):
        store.save(run, tags=[TAG])
    return b[-1]


def shown(arguments: list[str], capsys, status: int = 0) -> str:
    assert main(["compare", *arguments]) == status
    return " ".join(capsys.readouterr().out.split())


def refused(capsys, *arguments: str) -> str:
    assert main(["compare", *arguments]) == 2
    return " ".join(capsys.readouterr().err.split())


def stored(store: Store, *runs: Run, tag: str | None = None) -> list[str]:
    for run in runs:
        store.save(run, tags=[tag] if tag else [])
    return [run.id for run in runs]


def test_a_comparison_goes_by_its_tag_its_id_or_any_of_its_runs(compared, capsys) -> None:
    text = shown([TAG], capsys)
    assert text.startswith("B is slower: 1.05")
    sides = "A net.onnx · ort-cpu: 1.983 ms B net.onnx · ort-cpu?intra_op_num_threads=1: 2.082 ms"
    assert f"interleaved {sides}" in text
    assert "12 rounds, interleaved" in text
    assert shown([COMPARISON], capsys) == text
    assert shown([compared.id[:8]], capsys) == text
    assert "No difference above 5.3 % between A and B is detected" in shown(
        [TAG, "--threshold", "10"], capsys
    )


def test_runs_alone(store, capsys) -> None:
    ids = stored(store, process(1.0), process(1.2, seed=3))
    text = shown(ids, capsys)
    assert f"one process a side A net.onnx · ort-cpu ({ids[0][:8]})" in text
    assert "B is slower: 1.2" in text
    assert "I-ASSUMED-SCATTER" in text
    assert "incomparable" not in text
    assert "alone cannot be compared" in refused(capsys, ids[0])


def test_tags_are_sides_with_their_runs_as_processes(store, capsys) -> None:
    for tag, level in (("before", 1.0), ("after", 0.9)):
        stored(store, *(process(level * (1 + at / 2_000), seed=at) for at in range(5)), tag=tag)
    text = shown(["before", "after"], capsys)
    assert re.search(
        r"a side A net.onnx · ort-cpu \(before\): 1\S+ ms B net.onnx · ort-cpu \(after\): ", text
    )
    assert "B is faster: 0.900 × A" in text
    assert "5 processes a side" in text
    assert "I-NOT-IN-TURN" in text
    for tag in ("old", "new"):  # imported runs are processes whatever they are called
        for at in range(4):
            of = replace(job(), subject=Subject(name=f"times{at}", kind="unknown"))
            stored(store, process(1.0, seed=at, job=of, origin="imported"), tag=tag)
    assert "4 processes a side" in shown(["old", "new"], capsys)


def test_a_tag_of_several_jobs_is_no_side(compared, store, capsys) -> None:
    stored(store, process(1.0))
    err = refused(capsys, TAG, "latest")
    assert f"tag {TAG} is of 2 jobs" in err
    assert "net.onnx · ort-cpu, net.onnx · ort-cpu?intra_op_num_threads=1" in err


def test_other_conditions_are_incomparable_unless_meant(store, capsys) -> None:
    workloads = [Workload(batch=1, mode=Mode(streams=streams)) for streams in (1, 2)]
    runs = (process(1.0, job=replace(job(), workload=workload)) for workload in workloads)
    ids = stored(store, *runs)
    text = shown(ids, capsys)
    assert "A and B are not comparable: streams: 1 → 2" in text
    assert "--across streams" in text
    text = shown([*ids, "--across", "streams"], capsys)
    assert "not comparable" not in text
    assert "B differs from A in streams: 1 → 2 (I-MEANT)" in text
    assert "did you mean precision?" in refused(capsys, *ids, "--across", "precisoin")


def test_who_compares_two_precisions_means_their_difference(store, capsys) -> None:
    for precision, level in (("fp32", 2.0), ("fp16", 1.0)):
        of = job(precision=precision)
        stored(store, *(process(level, seed=at, job=of) for at in range(3)), tag=precision)
    assert main(["compare", "fp32", "fp16"]) == 0
    printed = capsys.readouterr()
    text = " ".join(printed.out.split())
    assert "B is faster: 0.5" in text
    assert main(["compare", "fp32", "fp16", "-v"]) == 0
    assert re.search(r"look\s+no other metric shown worse by over 1 %", capsys.readouterr().out)
    assert text.index("B is faster") < text.index("precision: fp32 → fp16 (I-MEANT)")
    command = "enginescope validate /m/net.onnx --on ort-cpu:fp16 --reference ort-cpu:fp32"
    assert printed.err.index(f"check the outputs: {command}") < printed.err.index("explain faster")
    of = replace(job(), subject=Subject(name="net.onnx", kind="onnx", path="/m/new/net.onnx"))
    stored(store, *(process(1.5, seed=at, job=of) for at in range(3)), tag="new")
    assert main(["compare", "fp32", "new", "--across", "precision"]) == 0
    command = "enginescope validate /m/new/net.onnx --on ort-cpu --reference /m/net.onnx"
    assert f"check the outputs: {command}" in capsys.readouterr().err
    assert main(["gate", "--baseline", "fp32", "fp16", "--across", "precision"]) == 0
    command = "enginescope validate /m/net.onnx --on ort-cpu:fp16"
    assert f"check the outputs: {command}\n" in capsys.readouterr().err


def test_verdicts_stand_before_the_plans(store, capsys) -> None:
    plans = ((run_a(), 16.0), (run_b(), 8.0))  # no less than the layers add up to
    runs = (replace(plan, samples=process(level).samples) for plan, level in plans)
    made = stored(store, *runs)
    text = shown(made, capsys)
    assert "B is faster: 0.50" in text
    assert text.index("B is faster: 0.50") < text.index("The layers of B take 28.7 % less time")
    assert main(["compare", "--json", *made]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["measured"]["pairs"][0]["verdicts"][0]["kind"] == "faster"
    assert document["difference"]["difference_ms"] == -1.6875


def test_layers_do_not_give_a_verdict_that_the_runs_refuse(store, tmp_path, capsys) -> None:
    made = []
    for plan, streams in ((run_a(), 1), (run_b(), 2)):
        workload = Workload(batch=1, mode=Mode(streams=streams))
        run = replace(plan, samples=process(8.0).samples, job=replace(plan.job, workload=workload))
        made += stored(store, run)
    markdown, page = tmp_path / "c.md", tmp_path / "c.html"
    text = shown([*made, "--markdown", str(markdown), "--html", str(page)], capsys)
    less = "28.7 % less time in the profiles than those of A: 4.188 ms against 5.875 ms"
    for told in (text, markdown.read_text(), page.read_text()):
        assert "A and B are not comparable: streams: 1 → 2" in told
        assert f"{less}; the runs were not measured alike" in told
        assert "faster" not in told.partition("<script")[0]
    assert main(["compare", *made]) == 0
    next_step = f"enginescope compare {' '.join(made)} --across streams"
    assert next_step in " ".join(capsys.readouterr().err.split())


def test_a_side_without_samples_leaves_the_plans_and_says_so(store, tmp_path, capsys) -> None:
    ids = stored(store, replace(run_a(), samples=process(2.0).samples), run_b())
    file = tmp_path / "p.md"
    assert main(["compare", *ids, "--markdown", str(file)]) == 0
    shown_ = capsys.readouterr()
    assert f"not measured, so plans alone are compared: {ids[1]}" in shown_.err
    assert "The layers of B take" in shown_.out
    assert "Convolution: FP32 → FP16" in file.read_text()


def test_files_of_trtexec_are_sides(store, data, tmp_path, capsys) -> None:
    packed = data / "trt86-h200" / "depth_anything_small.timing.json.gz"
    whole = json.loads(gzip.decompress(packed.read_bytes()))
    for name, part in (("before.json", whole[: len(whole) // 2]), ("after.json", whole)):
        (tmp_path / name).write_text(json.dumps(part))
    text = shown(["before.json", "after.json"], capsys)
    assert "one process a side" in text
    assert "Latency (trtexec)" in text
    assert "incomparable" not in text


def test_two_logs_are_compared_by_what_they_printed(store, tmp_path, capsys) -> None:
    slower = logs.SUMMARY.replace("1234.5 qps", "1077.7 qps")
    for name, summary in (("a.log", logs.SUMMARY), ("b.log", slower)):
        (tmp_path / name).write_text(logs.prefixed(logs.OPTIONS_10 + summary))
    text = shown(["a.log", "b.log"], capsys)
    assert "Printed figures of B against A: throughput −12.7 %, enqueue time 0.00 %" in text
    assert "printed-only" in text
    assert main(["import", "a.log"]) == 0
    assert "printed by trtexec; no samples" in capsys.readouterr().out
    assert main(["runs"]) == 0
    assert "0.8050 printed" in capsys.readouterr().out
    assert main(["report", "latest", "-o", "out"]) == 0
    assert "0.8050 ms" in (tmp_path / "out" / "report.html").read_text()
    assert "- throughput: 1,234" in (tmp_path / "out" / "report.md").read_text()


def test_a_comparison_that_lost_a_process(store, capsys) -> None:
    a, b = in_turn(1.05)
    stored(store, *a, *b[:-1], crashed(b[-1]), tag=TAG)
    text = shown([TAG], capsys)
    assert "11 rounds, interleaved" in text
    assert "W-LOST-PROCESSES" in text


def test_runs_that_failed_have_nothing_to_compare(store, capsys) -> None:
    bad, good = stored(store, crashed(process(1.0)), process(1.0))
    err = refused(capsys, good, bad)
    assert f"{bad} has neither samples nor printed figures nor a plan" in err
    assert "died of SIGSEGV" in err


@pytest.mark.parametrize(
    ("text", "why", "hint"),
    [
        (logs.OPTIONS_10 + logs.PROFILE, "it has layer times", "together with the plan"),
        (logs.OPTIONS_10, "it is the log of a build", "compare --build-log A --build-log B"),
        (logs.OPTIONS_10.replace("Engine built", "Not built"), "samples", "enginescope bench"),
    ],
)
def test_a_log_without_figures_says_what_to_do(store, tmp_path, capsys, text, why, hint) -> None:
    path = tmp_path / "t.log"
    path.write_text(text + logs.PASSED)
    err = refused(capsys, str(path), str(path))
    assert why in err
    assert hint in err


def test_csv_markdown_and_page(compared, tmp_path, capsys) -> None:
    files = [tmp_path / name for name in ("v.csv", "v.md", "v.html")]
    options = zip(("--csv", "--markdown", "--html"), map(str, files), strict=True)
    assert main(["compare", TAG, *(one for pair in options for one in pair)]) == 0
    rows = list(csv.DictReader(files[0].read_text().splitlines()))
    assert rows[0]["metric"] == "latency"
    assert rows[0]["verdict"] == "slower"
    assert float(rows[0]["low"]) > 1
    text = files[1].read_text()
    assert "### enginescope: B is slower: 1.05" in text
    assert "| Latency | " in text
    page = files[2].read_text()
    assert "<h1>B is slower: 1.05" in page
    assert "chart-sides_hist" in page
    assert "chart-sides_processes" in page


def compare_in_turn(store: Store, comparison: str, rounds: int, **more) -> None:
    """Store a comparison under its own tag and under ``change``."""
    for number in range(rounds):
        for side in "AB":
            turn = RoundPosition(comparison=comparison, side=side, round=number, place=0)
            run = process(1.0, seed=number, turn=turn, **more)
            store.save(run, tags=["change", f"cmp-{comparison}"])


def test_a_tag_of_two_comparisons_names_both(store, capsys) -> None:
    compare_in_turn(store, "aaaa1111", 1)
    compare_in_turn(store, "bbbb2222", 1)
    told = refused(capsys, "change")
    assert "it has 2 comparisons, the newest first: cmp-" in told
    assert "enginescope compare cmp-" in told


def test_a_comparison_that_failed_does_not_count_beside_another(store, capsys) -> None:
    bad = Outcome(kind=OutcomeKind.UNSUPPORTED, message="onnxruntime is not installed")
    compare_in_turn(store, "aaaa1111", LOOKS[0], outcome=bad)
    compare_in_turn(store, "bbbb2222", LOOKS[0])
    assert main(["compare", "change"]) == 0
    shown = capsys.readouterr()
    assert "between A and B is detected" in shown.out
    assert "skipped: cmp-aaaa1111, no run of A and B succeeded" in shown.err
    assert main(["compare", "cmp-aaaa1111"]) == 2
