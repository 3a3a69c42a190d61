"""``enginescope gate``: jobs that are inconclusive are measured again."""

import hashlib
import json
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import enginescope as es
from enginescope.cli.main import main
from enginescope.core.record import replace
from enginescope.probe import environment
from enginescope.records.run.job import BackendSpec, Job, Subject, Workload
from enginescope.runner import session
from enginescope.store.archive import Store
from tests.analysis.gated_runs import CRASH, HOST, process

#: A process of its own scatter is nothing that a limit of 2 % can be decided on.
ONE_EACH = ["new", "--baseline", "old"]


class Machine:
    """Runs jobs at once: medians by the folder of the model, and how much processes scatter."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.level = {"base": 1.0, "head": 1.0}
        self.scatter = 0.004
        self.jobs: list[Job] = []
        self.draw = np.random.default_rng(1)

    def model(self, side: str, name: str = "net.onnx") -> Job:
        path = self.folder / side / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(f"{side}/{name}".encode())
        sha = hashlib.sha256(path.read_bytes()).hexdigest()
        subject = Subject(name=name, kind="onnx", path=str(path), sha256=sha)
        return Job(subject=subject, backend=BackendSpec(name="fake"), workload=Workload(batch=1))

    def run(self, jobs, sink, *, command=None, watcher=None) -> None:
        (job,) = jobs
        self.jobs.append(job)
        side = Path(job.subject.path).parent.name
        median = 4.0 * self.level[side] * np.exp(self.scatter * self.draw.standard_normal())
        sink(process(median, 100 + len(self.jobs), of=job, command=command))


@pytest.fixture
def machine(tmp_path, monkeypatch, store) -> Machine:
    """One process of either side in the store, 3 % apart, and a machine to measure more."""
    made = Machine(tmp_path)
    monkeypatch.setattr(session, "run_jobs", made.run)
    monkeypatch.setattr(environment, "probe_environment", lambda: HOST)
    store.save(process(4.0, 1, of=made.model("base")), tags=["old"])
    store.save(process(4.12, 2, of=made.model("head")), tags=["new"])
    return made


def gated(capsys, *arguments: str) -> tuple[int, dict]:
    return main(["gate", *arguments, "--json"]), json.loads(capsys.readouterr().out)


def codes(found: dict) -> list[str]:
    return [notice["code"] for row in found["rows"] for notice in row["notices"]]


def confidence(found: dict) -> float:
    return found["rows"][0]["verdict"]["estimate"]["interval"]["confidence"]


def comparisons(store: Store) -> set[str]:
    return {tag for row in store.rows() for tag in row.tags if tag.startswith("cmp-")}


def test_what_is_inconclusive_is_measured_again_and_decided(machine, store, capsys) -> None:
    """It was green: "gate inconclusive", exit code 0."""
    report = es.gate("new", baseline="old", store=store.path)
    assert report.is_passed
    assert all(run.command for run in map(store.load_id, report.rows[0].current))
    machine.jobs.clear()
    code, found = gated(capsys, *ONE_EACH)
    assert (code, found["result"], found["passed"]) == (0, "passed", True)
    (row,) = found["rows"]
    assert row["verdict"]["estimate"]["method"] == "rounds"
    assert "I-MEASURED-AGAIN" in codes(found)
    assert "I-ASSUMED-SCATTER" not in {notice["code"] for notice in found["notices"]}
    assert {Path(job.subject.path).parent.name for job in machine.jobs} == {"base", "head"}
    assert len(store.rows(tag=f"cmp-{store.load('latest').turn.comparison}")) == len(machine.jobs)


def test_a_regression_that_was_found_is_not_measured_once_more(machine, store, capsys) -> None:
    machine.level["head"] = 1.04
    code, first = gated(capsys, *ONE_EACH)
    assert (code, first["result"]) == (1, "failed")
    assert first["rows"][0]["outcome"] == "regression"
    measured = len(machine.jobs)
    code, found = gated(capsys, *ONE_EACH, "--continue")
    assert (code, len(machine.jobs)) == (1, measured)
    assert found["rows"][0]["verdict"] == first["rows"][0]["verdict"]


def test_what_stays_inconclusive_is_not_green(machine, capsys) -> None:
    machine.scatter = 0.2
    code, found = gated(capsys, *ONE_EACH)
    assert (code, found["result"]) == (1, "inconclusive")
    assert found["answer"].startswith("gate inconclusive: ")
    assert len(machine.jobs) >= 2 * 60
    assert "I-MEASURED-AGAIN" in codes(found)


@pytest.mark.parametrize(("policy", "expected"), [("fail", 1), ("pass", 0)])
def test_other_policies_measure_nothing(machine, capsys, policy, expected) -> None:
    asked = [*ONE_EACH, "--inconclusive", policy]
    code, found = gated(capsys, *asked)
    assert code == expected
    assert found["rows"][0]["outcome"] == "inconclusive"
    assert confidence(found) == pytest.approx(0.95)
    assert machine.jobs == []
    for flag in (["--continue"], ["--max-time", "1s"]):
        assert main(["gate", *asked, *flag]) == 2
        assert f"{flag[0]} with --inconclusive {policy}" in capsys.readouterr().err


def test_both_measurements_share_the_error_rate(machine, capsys) -> None:
    """Two looks at 95 % each would raise a false regression in up to twice 5 %."""
    machine.level["head"], machine.scatter = 2.0, 0.0
    _, again = gated(capsys, *ONE_EACH)
    assert confidence(again) == pytest.approx(1 - 0.01 / 2)  # a look has a fifth of the error


def test_nothing_is_measured_where_the_gate_fails_anyway(machine, store, capsys) -> None:
    store.save(process(4.0, 1, of=machine.model("base", "slow.onnx")), tags=["old"])
    store.save(process(9.0, 2, of=machine.model("head", "slow.onnx")), tags=["new"])
    code, found = gated(capsys, *ONE_EACH)
    assert code == 1
    assert sorted(row["outcome"] for row in found["rows"]) == ["inconclusive", "regression"]
    assert machine.jobs == []


def test_only_inconclusive_jobs_are_measured_again(machine, store, capsys) -> None:
    store.save(process(4.0, 1, of=machine.model("base", "quick.onnx")), tags=["old"])
    store.save(process(2.0, 2, of=machine.model("head", "quick.onnx")), tags=["new"])
    code, found = gated(capsys, *ONE_EACH)
    assert code == 0
    assert {job.subject.name for job in machine.jobs} == {"net.onnx"}
    assert sorted(row["outcome"] for row in found["rows"]) == ["improvement", "no regression"]
    before = len(machine.jobs)  # which are not the newer runs of the next gate
    _, found = gated(capsys, "--baseline", "old", "--inconclusive", "fail")
    assert {len(row["current"]) for row in found["rows"]} == {1}
    assert before == len(machine.jobs)


@pytest.mark.parametrize("why", ["net.onnx does not exist", "net.onnx has changed"])
def test_a_job_that_cannot_be_measured_again_says_why(machine, capsys, why) -> None:
    if "exist" in why:
        (machine.folder / "head/net.onnx").unlink()
    else:
        (machine.folder / "base/net.onnx").write_bytes(b"other")
    code = main(["gate", *ONE_EACH])
    shown = "".join(capsys.readouterr().out.split())  # long paths are broken between letters
    assert code == 1
    assert shown.startswith("gateinconclusive:")
    assert why.replace(" ", "") in shown
    assert "(W-NOT-MEASURED-AGAIN)" in shown
    assert machine.jobs == []


def test_another_machine_or_a_failing_process_decides_nothing(machine, monkeypatch, capsys) -> None:
    def crash(jobs, sink, **_more) -> None:
        sink(process(1.0, 9, of=jobs[0], outcome=CRASH, samples=()))

    monkeypatch.setattr(session, "run_jobs", crash)
    code, found = gated(capsys, *ONE_EACH)
    assert (code, found["result"]) == (1, "inconclusive")
    assert "W-NOT-MEASURED-AGAIN" in codes(found)
    other = replace(HOST, host=replace(HOST.host, name="elsewhere"))
    monkeypatch.setattr(environment, "probe_environment", lambda: other)
    code, found = gated(capsys, *ONE_EACH)
    assert code == 1
    notices = {one["code"]: one["message"] for one in found["rows"][0]["notices"]}
    assert "machine: bench-1" in notices["W-NOT-MEASURED-AGAIN"]


def test_an_interleaved_comparison_gets_more_rounds(machine, store, capsys) -> None:
    """What `bench --compare` has decided may be inconclusive for the gate's limit."""
    machine.scatter = 0.2
    gated(capsys, *ONE_EACH)
    (tag,) = comparisons(store)
    machine.scatter, before = 0.001, len(machine.jobs)
    code, found = gated(capsys, "--baseline", tag)
    assert len(machine.jobs) > before
    assert comparisons(store) == {tag}
    assert code == (0 if found["rows"][0]["outcome"] == "no regression" else 1)
    assert confidence(found) == pytest.approx(0.995)  # each further look has half the error


def test_a_comparison_that_both_sides_name_is_split(machine, store, capsys) -> None:
    """The action names one tag for both, beside the models that only one side has."""
    gated(capsys, *ONE_EACH)
    (tag,) = comparisons(store)
    store.save(process(4.0, 1, of=machine.model("base", "lost.onnx")), tags=["only-base"])
    store.save(process(4.0, 2, of=machine.model("head", "new.onnx")), tags=["only-head"])
    _, found = gated(capsys, tag, "only-head", "--baseline", tag, "--baseline", "only-base")
    outcomes = {row["model"]: row["outcome"] for row in found["rows"]}
    lost_and_new = {"lost.onnx": "lost coverage", "new.onnx": "new"}
    assert outcomes == {"net.onnx": "no regression", **lost_and_new}


def _interrupt_after(machine: Machine, monkeypatch, count: int) -> None:
    def run(jobs, sink, **more) -> None:
        if len(machine.jobs) == count:
            raise KeyboardInterrupt
        machine.run(jobs, sink, **more)

    monkeypatch.setattr(session, "run_jobs", run)


def test_an_interrupted_gate_answers_and_is_continued(machine, store, monkeypatch, capsys) -> None:
    machine.scatter = 0.2
    _interrupt_after(machine, monkeypatch, 21)
    monkeypatch.setattr(sys, "argv", ["enginescope", "gate", *ONE_EACH])
    code = main(["gate", *ONE_EACH])
    shown = capsys.readouterr()
    assert code == 130
    assert shown.out.startswith("gate inconclusive: ")
    assert "measured again in 10 interleaved rounds" in " ".join(shown.out.split())
    said = " ".join(shown.err.split())
    assert "interrupted after 10 of at most 60 rounds; 21 runs are stored: cmp-" in said
    assert said.endswith("; to continue: enginescope gate new --baseline old --continue")
    monkeypatch.setattr(session, "run_jobs", machine.run)
    machine.scatter = 0.004
    code, found = gated(capsys, *ONE_EACH, "--continue")
    assert (code, found["result"]) in {(0, "passed"), (1, "inconclusive")}
    assert found["rows"][0]["verdict"]["estimate"]["n_a"] > 10
    assert len(comparisons(store)) == 1


def test_continue_begins_what_no_gate_has_begun(machine, store, capsys) -> None:
    code, found = gated(capsys, *ONE_EACH, "--continue")
    assert (code, found["result"]) == (0, "passed")
    assert len(comparisons(store)) == 1
    gated(capsys, *ONE_EACH, "--max-regression", "3%", "--continue")  # looks at another limit
    assert len(comparisons(store)) == 2


def test_an_interrupt_before_the_first_round_still_answers(machine, monkeypatch, capsys) -> None:
    _interrupt_after(machine, monkeypatch, 1)
    code, found = gated(capsys, *ONE_EACH)
    assert (code, found["result"]) == (130, "inconclusive")
    assert "not measured again: interrupted" in str(found["rows"][0]["notices"])


def test_the_maximum_time_is_of_all_jobs_together(machine, store, monkeypatch, capsys) -> None:
    for number, (side, tag) in enumerate((("base", "old"), ("head", "new"))):
        store.save(process(4.0, 31 + number, of=machine.model(side, "other.onnx")), tags=[tag])
    machine.scatter = 0.2

    def run(jobs, sink, **more) -> None:
        time.sleep(0.3)
        machine.run(jobs, sink, **more)

    monkeypatch.setattr(session, "run_jobs", run)
    code, found = gated(capsys, *ONE_EACH, "--max-time", "200ms")
    assert (code, found["result"]) == (1, "inconclusive")
    assert len(machine.jobs) == 2  # one round of the first job
    assert "the maximum time is over" in str(found["rows"])
