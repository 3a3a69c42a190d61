"""bench --compare and noise: processes that end at once, with planted medians; some real ones."""

import errno
import json
import re
import signal
import sys
from typing import ClassVar

import numpy as np
import pytest

from enginescope.cli.main import main
from enginescope.core.record import replace
from enginescope.judge.comparison.looks import LOOKS
from enginescope.judge.experiment import Experiment
from enginescope.records.run import rounds as recorded_rounds
from enginescope.records.tensor import DataType, Tensor
from enginescope.runner import session
from enginescope.services.measurement.interleaved import PROCESS_STOP
from enginescope.store import run_folder
from enginescope.store.machine_records import FLOORS
from enginescope.store.sql import index_repair
from tests.analysis.in_turn import crashed, process
from tests.plants.in_process import workers_in_process


@pytest.fixture
def played(monkeypatch):
    """Jobs of the fake backend that end at once with the latency they ask for, ± `noise`."""
    draw = np.random.default_rng(5)

    class Played:
        noise = 0.002
        failing = ""
        interrupted_after: int | None = None
        jobs: ClassVar[list] = []

    def at_once(jobs, sink, *, command=None, watcher=None) -> None:
        (one,) = jobs
        watcher.started(0, one)
        if Played.interrupted_after == len(Played.jobs):
            raise KeyboardInterrupt
        Played.jobs.append(one)
        asked = one.backend.options
        median = float(asked.get("latency_us", "200")) / 1e3
        median *= np.exp(Played.noise * draw.standard_normal())
        run = process(median, seed=len(Played.jobs), job=one, command=command)
        sink(crashed(run) if asked.get("seed", "none") == Played.failing else run)

    monkeypatch.setattr(session, "run_jobs", at_once)
    return Played


def fakes(*latencies: int) -> list[str]:
    return [part for one in latencies for part in ("--on", f"fake?latency_us={one}")]


def test_a_planted_slowdown_ends_at_the_first_look(store, played, convnet, capsys) -> None:
    assert main(["bench", str(convnet), *fakes(200, 206), "--compare", "--tag", "mine"]) == 0
    shown = capsys.readouterr()
    text = " ".join(shown.out.split())
    assert "B is slower: 1.0" in text
    assert f"{LOOKS[0]} rounds, interleaved" in text
    most = LOOKS[-1]
    assert f"comparing 2 sides, interleaved, at most {most} rounds …" in shown.err
    assert f"after {LOOKS[0]} rounds: B is slower" in shown.err
    rows = store.rows()
    assert len(rows) == 2 * LOOKS[0]
    (tag,) = {tag for row in rows for tag in row.tags if tag != "mine"}
    assert all(set(row.tags) == {tag, "mine"} for row in rows)
    assert f"enginescope compare {tag}" in shown.err
    turns = [store.load(row.id).turn for row in rows]
    assert {one.side for one in turns} == {"A", "B"}
    assert {tag} == {f"cmp-{one.comparison}" for one in turns}
    assert main(["compare", tag]) == 0
    assert " ".join(capsys.readouterr().out.split()) == text


def test_a_comparison_and_a_run_have_a_card(store, played, convnet, tmp_path) -> None:
    pytest.importorskip("vl_convert")
    for name, given in (("two.png", [*fakes(200, 230), "--compare"]), ("run.png", fakes(200))):
        card = tmp_path / name
        assert main(["bench", str(convnet), *given, "--card", str(card)]) == 0
        assert card.read_bytes().startswith(b"\x89PNG")


def test_a_model_with_itself_is_the_same(store, played, convnet, capsys) -> None:
    assert main(["bench", str(convnet), *fakes(200, 200), "--compare", "--json"]) == 0
    shown = capsys.readouterr()
    same = "A and B are the same file with the same backend and options"
    assert shown.err.count(same) == 1
    made = json.loads(shown.out)["measured"]
    assert made["tag"] == f"cmp-{made['comparison']}"
    assert main(["compare", made["tag"]]) == 0  # as the document names it
    assert same in capsys.readouterr().err
    (pair,) = made["pairs"]
    assert pair["verdicts"][0]["kind"] == "same"
    assert pair["sentence"].startswith("No difference above 0.")
    assert made["is_decided"] is True
    assert made["throughput_is"] == "1 ÷ mean latency: the batch is unknown, or 0"
    assert [side["processes"] for side in made["sides"]] == [LOOKS[0]] * 2


def test_what_stays_inconclusive_says_how_many_more(store, played, convnet, capsys) -> None:
    played.noise = 0.03
    arguments = ["bench", str(convnet), *fakes(200, 203), "--compare", "--rounds", str(LOOKS[1])]
    assert main(arguments) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Inconclusive whether B is faster than A" in text
    assert "(interval-too-wide)" in text
    assert "more rounds would probably settle it" in text or "no realistic number" in text
    assert len(store.rows()) == 2 * LOOKS[1]


def test_noisy_rounds_say_how_far_it_is(store, played, convnet, monkeypatch, capsys) -> None:
    played.noise = 0.03

    def pct(number: int, side: int) -> float:
        return 40.0 if number > 3 and number % 5 and side == number % 2 else 0.5

    def of_run(run) -> float:
        return pct(run.turn.round, "AB".index(run.turn.side))

    def of_row(_experiment, row) -> list[float]:
        return [pct(row[side].position.round, side) for side in sorted(row)]

    monkeypatch.setattr(recorded_rounds, "uncertainty_of", of_run)
    monkeypatch.setattr(Experiment, "_uncertainties", of_row)
    assert main(["bench", str(convnet), *fakes(200, 203), "--compare", "--rounds", "32"]) == 0
    said = capsys.readouterr().err
    assert len(store.rows()) > 2 * 18
    assert re.search(r"9 of at most 32 rounds measured, at most .* left; 4 noisy or failed", said)
    after = [int(line.split()[0]) for line in said.splitlines() if " rounds measured" in line]
    assert after[:2] == [9, 18]


def test_a_copy_is_the_same_file_until_an_option_differs(store, played, convnet, capsys) -> None:
    copy = store.path.with_name("copy.onnx")
    copy.write_bytes(convnet.read_bytes())
    arguments = ["bench", str(convnet), str(copy), "--compare", "--rounds", str(LOOKS[0])]
    main([*arguments, *fakes(200)])
    assert "A and B are the same file" in capsys.readouterr().err
    main([*arguments, *fakes(200, 230)])  # A and C do one work, B and D another
    assert "A and C are the same file" in capsys.readouterr().err
    main(["bench", str(convnet), "--compare", *fakes(200, 230)])
    assert "same file" not in capsys.readouterr().err


def test_every_two_of_three_sides_are_decided(store, played, convnet, capsys) -> None:
    assert main(["bench", str(convnet), *fakes(200, 230, 170), "--compare"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "B is slower: 1.1" in text
    assert "C is faster: 0.8" in text
    assert "Latency of every two sides" in text
    assert "C ÷ B 0.7" in text
    tag = f"cmp-{store.load('latest').turn.comparison}"
    assert main(["compare", tag, "--json"]) == 0
    (other,) = json.loads(capsys.readouterr().out)["measured"]["other_pairs"]
    assert (other["a"], other["b"]) == ("B", "C")
    interval = other["verdicts"][0]["estimate"]["interval"]
    assert interval["low"] < 170 / 230 < interval["high"]


def test_the_maximum_time_is_of_all_rounds(store, played, convnet, capsys) -> None:
    """A process is timed for a second, or as was asked."""
    main(["bench", str(convnet), *fakes(200, 300), "--compare", "--max-time", "1ms"])
    assert len(store.rows()) == 2
    shown = capsys.readouterr()
    assert "the maximum time was over after 1 of 60 rounds" in " ".join(shown.err.split())
    main(["bench", str(convnet), *fakes(200, 300), "--compare"])
    assert {job.workload.stop for job in played.jobs} == {PROCESS_STOP}
    played.jobs.clear()
    main(["bench", str(convnet), *fakes(200, 300), "--compare", "--iterations", "30"])
    assert {job.workload.stop.iterations for job in played.jobs} == {30}


def test_a_side_that_cannot_be_measured_is_exit_code_three(store, played, convnet, capsys) -> None:
    played.failing = "9"
    on = ["--on", "fake", "--on", "fake?seed=9"]
    assert main(["bench", str(convnet), *on, "--compare"]) == 3
    shown = capsys.readouterr()
    assert "died of SIGSEGV" in shown.out
    assert "round 1, B failed: died of SIGSEGV" in shown.err
    assert len(store.rows()) == 3  # B is measured again at once, and then given up
    played.interrupted_after = 3 + 5  # an interrupt keeps what is done
    assert main(["bench", str(convnet), *fakes(200, 300), "--compare"]) == 130
    said = capsys.readouterr().err
    assert "interrupted after 2 of at most 60 rounds; 5 runs are stored; enginescope" in said
    assert " compare cmp-" in said
    assert said.count("interrupted") == 1
    assert len(store.rows()) == 3 + 5


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("place", ["files", "index"])
def test_a_signal_while_a_run_is_stored_waits_for_it(
    store, played, convnet, monkeypatch, capsys, caplog, number, place
) -> None:
    owner, name = {"files": (run_folder, "write_run"), "index": (index_repair, "quick_add")}[place]
    usual, sent = getattr(owner, name), []

    def interrupted(*given, **named):
        if len(played.jobs) == 3 and not sent:
            sent.append(number)
            signal.raise_signal(number)
        return usual(*given, **named)

    monkeypatch.setattr(owner, name, interrupted)
    command = ["bench", str(convnet), *fakes(200, 300), "--compare"]
    with pytest.raises(SystemExit) as ended:
        sys.exit(main(command))
    assert ended.value.code == 128 + number
    assert "; 3 runs are stored; enginescope compare cmp-" in capsys.readouterr().err
    assert len(store.rows()) == 3
    assert caplog.records == []


def test_other_inputs_end_it_after_a_round(
    store, played, convnet, transformer, monkeypatch, capsys
) -> None:
    plain = session.run_jobs

    def with_shapes(jobs, sink, **more) -> None:
        def keep(run) -> None:
            shape = (1, 3) if "convnet" in run.job.subject.name else (1, 7)
            sink(replace(run, inputs=(Tensor(name="x", dtype=DataType.FP32, shape=shape),)))

        plain(jobs, keep, **more)

    monkeypatch.setattr(session, "run_jobs", with_shapes)
    assert main(["bench", str(convnet), str(transformer), "--on", "fake", "--compare"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "A and B are not comparable: input shapes: 1×3 → 1×7" in text
    assert len(store.rows()) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--compare"], "--compare without models"),
        (["MODEL", "--compare"], "there is only 1 job; a comparison needs 2"),
        (["MODEL", "--rounds", "9"], "--rounds without --compare"),
        (["MODEL", "--threshold", "2"], "--threshold without --compare"),
        (["MODEL", "--across", "gpu"], "--across without --compare"),
        (["MODEL", "--compare", "--across", "gpus"], "did you mean gpu?"),
        (["MODEL", "--compare", "--rounds", "3"], "--rounds"),
    ],
)
def test_mistakes_are_told_in_a_line(arguments, said, store, played, convnet, capsys) -> None:
    assert main(["bench", *[str(convnet) if one == "MODEL" else one for one in arguments]]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert "Traceback" not in err
    assert not played.jobs


def test_noise_is_recorded_and_read(store, played, convnet, capsys) -> None:
    played.noise = 0.02
    noise = ["doctor", "--noise", str(convnet), "--on", "fake"]
    assert main([*noise, "--rounds", "12"]) == 0
    shown = capsys.readouterr()
    text = " ".join(shown.out.split())
    assert text.startswith("This machine can detect differences from")
    assert "model small_convnet.onnx · fake against itself rounds 12 on Xeon, 2 cores" in text
    assert f"recorded: {store.path / FLOORS.file}" in shown.err
    (floor,) = FLOORS.read(store.path)
    assert (floor.backend, floor.model, floor.rounds) == ("fake", "small_convnet.onnx", 12)
    assert len(store.rows()) == 24
    played.noise = 0.001
    assert main(["bench", str(convnet), *fakes(200, 200), "--compare", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)["measured"]
    assert made["noise_floor"]["comparison"] == floor.comparison
    assert "W-BELOW-FLOOR" in [one["code"] for one in made["notices"]]
    assert main([*noise, "--rounds", "8", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["noise_floor"]["rounds"] == 8
    assert made["measured"]["comparison"] == made["noise_floor"]["comparison"]


def test_noise_of_what_fails_is_not_recorded(store, played, convnet, capsys) -> None:
    played.failing = "9"
    assert main(["doctor", "--noise", str(convnet), "--on", "fake?seed=9"]) == 3
    assert "died of SIGSEGV" in capsys.readouterr().out
    assert FLOORS.read(store.path) == ()
    played.noise = 1.5
    assert main(["doctor", "--noise", str(convnet), "--on", "fake", "--rounds", "8"]) == 3
    shown = capsys.readouterr()
    assert "This machine can detect differences from" in shown.out
    assert "the noise floor is not recorded" in shown.err
    assert "measure again when the machine is idle" in shown.err
    assert FLOORS.read(store.path) == ()


def test_floors_that_cannot_be_read_stop_no_comparison(store, played, convnet, capsys) -> None:
    store.path.mkdir(parents=True, exist_ok=True)
    (store.path / FLOORS.file).write_text("{")
    assert main(["bench", str(convnet), *fakes(200, 300), "--compare"]) == 0
    shown = capsys.readouterr()
    assert "noise floors are skipped" in shown.err
    assert "B is slower" in shown.out


@pytest.mark.slow
def test_in_real_processes_a_planted_slowdown_is_found(store, convnet, capsys) -> None:
    """And ONNX Runtime with itself, in this process, is neither faster nor slower."""
    usual = ["bench", str(convnet), "--compare", "--warmup", "0", "--no-layers"]
    assert main([*usual, *fakes(1_000, 4_000), "--duration", "100ms"]) == 0
    assert "B is slower" in capsys.readouterr().out
    on = ["--on", "ort-cpu?intra_op_num_threads=1", "--rounds", str(LOOKS[0])]
    with workers_in_process():
        assert main([*usual, str(convnet), *on, "--duration", "40ms", "--json"]) == 0
    (pair,) = json.loads(capsys.readouterr().out)["measured"]["pairs"]
    assert pair["verdicts"][0]["kind"] in ("same", "inconclusive")


def test_a_full_store_loses_no_figure(store, played, convnet, monkeypatch, capsys) -> None:
    """A store that fills up with its third run."""
    usual, stored = run_folder.write_run, []

    def write(run, folder, **more):
        if len(stored) == 2:
            raise OSError(errno.ENOSPC, "No space left on device", str(folder))
        stored.append(run.id)
        return usual(run, folder, **more)

    monkeypatch.setattr(run_folder, "write_run", write)
    assert main(["bench", str(convnet), *fakes(200, 230), "--compare", "--json"]) == 3
    shown = capsys.readouterr()
    (pair,) = json.loads(shown.out)["measured"]["pairs"]
    assert pair["verdicts"][0]["kind"] == "slower"
    assert pair["verdicts"][0]["processes_a"] == LOOKS[0]
    assert shown.err.count("No space left on device") == 1
    for part in (f"{2 * LOOKS[0] - 2} runs were measured but not stored", str(store.path)):
        assert part in shown.err
