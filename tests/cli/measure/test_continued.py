"""compare --continue and bench --compare --continue: rounds that are added to recorded ones."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import enginescope as es
from enginescope.cli.main import main
from enginescope.core.record import replace
from enginescope.judge.comparison.looks import LOOKS
from enginescope.probe import environment
from enginescope.records.environment import Environment
from enginescope.records.progress import RoundPosition
from enginescope.runner import session
from enginescope.store.archive import Store
from tests.analysis.in_turn import HOST, process

HERE = Environment(host=HOST, versions={"onnxruntime": "1.20"})


@pytest.fixture
def convnet(convnet, tmp_path) -> Path:
    """A copy that a test may change."""
    copy = tmp_path / convnet.name
    copy.write_bytes(convnet.read_bytes())
    return copy


@pytest.fixture
def played(monkeypatch):
    """Jobs that end at once; the n-th process of a backend has the same samples in every store."""

    class Played:
        noise = 0.04
        interrupted_after: int | None = None

        @classmethod
        def restart(cls) -> None:
            cls.seen, cls.jobs, cls.interrupted_after = Counter(), [], None

    Played.restart()

    def at_once(jobs, sink, *, command=None, watcher=None) -> None:
        (one,) = jobs
        watcher.started(0, one)
        if Played.interrupted_after == sum(Played.seen.values()):
            raise KeyboardInterrupt
        seed = 1_000 * int(one.backend.options["seed"]) + Played.seen[str(one.backend)]
        Played.seen[str(one.backend)] += 1
        Played.jobs.append(one)
        draw = np.random.default_rng(seed)
        median = float(one.backend.options["latency_us"]) / 1e3
        median *= np.exp(Played.noise * draw.standard_normal())
        sink(process(median, seed=seed, job=one, command=command, environment=HERE))

    monkeypatch.setattr(session, "run_jobs", at_once)
    monkeypatch.setattr(environment, "probe_environment", lambda: HERE)
    return Played


def two(latency_us: int = 203) -> list[str]:
    return ["--on", "fake?latency_us=200&seed=1", "--on", f"fake?latency_us={latency_us}&seed=2"]


def comparison_in(store: Store) -> str:
    (tag,) = {tag for row in store.rows() for tag in row.tags}
    return tag


def judged(text: str) -> dict:
    """Return the headline's verdict."""
    (pair,) = json.loads(text)["measured"]["pairs"]
    return pair["verdicts"][0]


def counts(verdict: dict) -> dict:
    """Return what counts the process of a round that was cut off too."""
    names = ("processes", "samples", "effective")
    return {name: one for name, one in verdict.items() if name.startswith(names)}


def asked_at(store: Store) -> list[int]:
    return sorted({store.load(row.id).turn.round for row in store.rows()})


def test_interrupted_and_continued_it_ends_alike(store, played, convnet, capsys) -> None:
    command = ["bench", str(convnet), *two(), "--compare"]
    assert main([*command, "--json"]) == 0
    whole, rounds = judged(capsys.readouterr().out), asked_at(store)
    assert len(rounds) == LOOKS[2]  # beyond all the interruptions
    for after in (2, 15, 16, 17, 40):
        played.restart()
        folder = store.path.with_name(f"other-{after}")
        other = ["--store", str(folder)]
        played.interrupted_after = after
        assert main([*command, *other]) == 130
        said = capsys.readouterr().err
        tag = comparison_in(Store(folder))
        assert f"enginescope compare {tag} --continue" in said
        played.interrupted_after = None
        if after % 2:  # a round that was cut off is not finished, hours later, but left out
            played.seen = Counter(dict.fromkeys(played.seen, min(played.seen.values())))
        assert main(["compare", tag, "--continue", "--json", *other]) == 0
        assert {**judged(capsys.readouterr().out), **counts(whole)} == whole, after


def test_the_order_of_the_sides_goes_on_where_it_ended(store, played, convnet, tmp_path) -> None:
    def places(place: Store) -> dict:
        turns = [place.load(row.id).turn for row in place.rows()]
        return {(one.side, one.round): one.place for one in turns}

    command = ["bench", str(convnet), *two(), "--compare", "--seed", "7"]
    main(command)
    played.restart()
    played.interrupted_after = 22
    other = Store(tmp_path / "other")
    assert main([*command, "--store", str(other.path)]) == 130
    played.interrupted_after = None
    main(["compare", comparison_in(other), "--continue", "--store", str(other.path)])
    assert places(other) == places(store)


def test_inconclusive_it_gets_twice_as_many_rounds(store, played, convnet, capsys) -> None:
    """At a higher confidence."""
    played.noise = 0.2
    assert main(["bench", str(convnet), *two(), "--compare", "--rounds", "8"]) == 0
    tag = comparison_in(store)
    shown = " ".join(capsys.readouterr().out.split())
    assert "(99 % CI" in shown
    assert f"enginescope compare {tag} --continue" in shown
    assert main(["compare", tag, "--continue", "-v"]) == 0
    shown = capsys.readouterr()
    assert asked_at(store) == list(range(16))
    assert "(99.5 % CI" in " ".join(shown.out.split())
    assert "those of a continued comparison too" in " ".join(shown.out.split())
    assert f"{tag} after 8 rounds: continuing" in shown.err
    assert "at most 16 rounds" in shown.err
    main(["compare", tag, "--continue", "--rounds", "40"])
    assert asked_at(store) == list(range(64))
    assert "(99.88 % CI" in " ".join(capsys.readouterr().out.split())


def test_what_is_decided_is_shown_and_not_measured_again(store, played, convnet, capsys) -> None:
    played.noise = 0.002
    main(["bench", str(convnet), *two(230), "--compare"])
    before = capsys.readouterr().out
    count = len(played.jobs)
    tag = comparison_in(store)
    assert main(["compare", tag, "--continue"]) == 0
    shown = capsys.readouterr()
    assert len(played.jobs) == count
    assert f"{tag} after 8 rounds: the answer is final, so no round is added" in shown.err
    assert shown.out == before


def test_the_threshold_is_kept_and_a_round_that_was_cut_off_is_not(store, played, convnet) -> None:
    played.interrupted_after = 5
    main(["bench", str(convnet), *two(230), "--compare", "--threshold", "4"])
    played.interrupted_after, played.noise = None, 0.002
    found = es.continue_comparison(comparison_in(store))
    assert found.verdict.estimate.n_a == 8
    assert asked_at(store) == list(range(9))
    assert (found.verdict.kind.value, found.threshold_pct) == ("slower", 4)


def test_bench_continues_the_newest_comparison_of_its_jobs(store, played, convnet, capsys) -> None:
    played.interrupted_after = 6
    command = ["bench", str(convnet), *two(), "--compare"]
    main([*command, "--tag", "mine"])
    tag = next(tag for tag in store.rows()[0].tags if tag != "mine")
    played.interrupted_after = None
    assert main([*command, "--continue"]) == 0
    assert f"{tag} after 3 rounds: continuing" in capsys.readouterr().err
    rows = store.rows()
    assert all(set(row.tags) == {tag, "mine"} for row in rows)
    assert len(rows) == len(played.jobs)
    assert [one.layer_profile for one in played.jobs[:3]] == [True, True, False]


@pytest.fixture
def begun(store, played, convnet) -> str:
    played.interrupted_after = 6
    main(["bench", str(convnet), *two(), "--compare"])
    played.interrupted_after = None
    return comparison_in(store)


def refused(capsys, *arguments: str) -> str:
    capsys.readouterr()
    assert main([*arguments]) == 2
    err = capsys.readouterr().err
    assert "Traceback" not in err
    return " ".join(err.split())


def test_a_changed_model_is_refused(begun, played, convnet, capsys) -> None:
    convnet.write_bytes(convnet.read_bytes() + b"\0")
    said = refused(capsys, "compare", begun, "--continue")
    assert f"{begun} cannot be continued" in said
    assert "has changed: SHA-256" in said
    convnet.unlink()
    assert "does not exist" in refused(capsys, "compare", begun, "--continue")
    assert sum(played.seen.values()) == 6


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (replace(HERE, versions={"onnxruntime": "1.21"}), "onnxruntime 1.20 then, 1.21 now"),
        (replace(HERE, host=replace(HOST, cpu_model="Atom")), "Atom"),
        (replace(HERE, host=replace(HOST, cores_usable=1)), "machine: Xeon, 2 then, Xeon, 1 now"),
        (replace(HERE, variables={"OMP_NUM_THREADS": "1"}), "OMP_NUM_THREADS none then, 1 now"),
    ],
)
def test_another_machine_is_refused(store, begun, played, monkeypatch, capsys, now, said) -> None:
    monkeypatch.setattr(environment, "probe_environment", lambda: now)
    told = refused(capsys, "compare", begun, "--continue")
    assert f"{begun} cannot be continued" in told
    assert said in told
    assert sum(played.seen.values()) == 6


def test_another_host_is_refused(store, played, convnet, monkeypatch, capsys, begun) -> None:
    this, that = (replace(HERE, host=replace(HOST, name=name)) for name in ("this", "that"))
    for row in store.rows():
        run = store.load(row.id)
        store.delete(row.id)
        store.save(replace(run, environment=this), tags=row.tags)
    monkeypatch.setattr(environment, "probe_environment", lambda: that)
    said = refused(capsys, "compare", begun, "--continue")
    assert "machine: this, Xeon, 2 then, that, Xeon, 2 now" in said


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--iterations", "30"], "stop of A"),
        (["--batch", "2"], "batch of A"),
        (["--threshold", "3"], "threshold and across: 1 % then, 3 % now"),
        (["--pin", "0"], "conditions of A"),
        (["--on", "fake?seed=3"], "no comparison of these models and backends"),
    ],
)
def test_bench_with_other_options_is_refused(begun, played, convnet, capsys, more, said) -> None:
    command = ["bench", str(convnet), *two(), "--compare", "--continue", *more]
    assert said in refused(capsys, *command)
    assert sum(played.seen.values()) == 6


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["compare", "--continue"], "--continue with 0 names"),
        (["compare", "a", "b", "--continue"], "--continue with 2 names"),
        (["compare", "TAG", "--continue", "--threshold", "2"], "--threshold with --continue"),
        (["compare", "TAG", "--continue", "--across", "gpu"], "--across with --continue"),
        (["compare", "TAG", "--rounds", "60"], "--rounds without --continue"),
        (["compare", "nothing", "--continue"], "nothing"),
        (["bench", "MODEL", "--continue"], "--continue without --compare"),
    ],
)
def test_mistakes_are_told_in_a_line(begun, convnet, capsys, arguments, said) -> None:
    given = {"TAG": begun, "MODEL": str(convnet)}
    assert said in refused(capsys, *(given.get(one, one) for one in arguments))


def test_a_comparison_without_recorded_looks_is_refused(store, played, convnet, capsys) -> None:
    for number in range(3):
        for side in "AB":
            turn = RoundPosition(comparison="0a1b2c3d", side=side, round=number, place=0)
            store.save(process(1.0, turn=turn), tags=["cmp-0a1b2c3d"])
    assert "its looks are not recorded" in refused(capsys, "compare", "cmp-0a1b2c3d", "--continue")
