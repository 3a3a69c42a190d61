import json

import pytest

import enginescope as es
from enginescope.core.record import replace
from enginescope.judge.experiment import Experiment
from enginescope.records.run import rounds as recorded
from enginescope.records.run.job import StopRule, WarmUp, Workload
from enginescope.services.measurement.rounds import used_rounds
from enginescope.store.archive import Store
from enginescope.store.machine_records import SELF_TESTS
from tests.analysis.in_turn import in_turn
from tests.plants.in_process import workers_in_process

SHORT = Workload(warmup=WarmUp(time_ms=0, iterations=0), stop=StopRule(iterations=5))


def measured_test(folder, **more) -> es.SelfTest:
    (folder / "m.onnx").touch()
    usual = {"on": "fake", "max_time_s": 1e-3, "rounds": 8, "workload": SHORT}
    with workers_in_process():
        return es.self_test(folder / "m.onnx", store=folder / "store", **{**usual, **more})


def test_the_first_rounds_are_measured_whatever_the_time_and_recorded(tmp_path) -> None:
    test, store = measured_test(tmp_path), tmp_path / "store"
    assert sum(one.rounds for one in test.comparisons) >= 8
    assert test.counted + test.skipped == sum(one.rounds for one in test.comparisons)
    assert test.curve[0].difference_pct == 0
    assert test.is_recorded
    assert [one.created for one in es.doctor(store).self_tests] == [test.created]
    SELF_TESTS.record(store, replace(test, environment=("other", "2", None)))
    assert len(json.loads((store / SELF_TESTS.file).read_bytes())["tests"]) == 2
    assert [one.created for one in es.doctor(store).self_tests] == [test.created]
    measured_test(tmp_path)
    assert len(json.loads((store / SELF_TESTS.file).read_bytes())["tests"]) == 2


def test_a_file_that_cannot_be_read_or_written_is_named(tmp_path) -> None:
    (tmp_path / SELF_TESTS.file).write_text("[")
    with pytest.warns(UserWarning, match="self tests are skipped"):
        assert es.doctor(tmp_path).self_tests == ()
    (tmp_path / "store" / SELF_TESTS.file).mkdir(parents=True)
    with pytest.warns(UserWarning, match="the self-test is not recorded"):
        assert not measured_test(tmp_path).is_recorded


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        ({"rounds": 7}, es.UsageError, "`rounds` 7: it is not between 8 and 120"),
        ({"max_time_s": 0.0}, es.UsageError, "`max_time_s` 0: it is not above 0"),
        ({"threshold_pct": 101.0}, es.UsageError, "threshold"),
        ({"on": "absent"}, es.UsageError, "absent"),
        ({"on": "fake?fault=segfault"}, es.BackendError, "fake"),
    ],
)
def test_wrong_requests_and_a_process_that_fails(tmp_path, wrong, error, said) -> None:
    with pytest.raises(error, match=said):
        measured_test(tmp_path, **wrong)


@pytest.fixture
def one_second_rounds(monkeypatch) -> None:
    """A clock that moves on by a second with every round."""
    now, measure = [0.0], Experiment.run_round

    def timed(*given, **named):
        now[0] += 1
        return measure(*given, **named)

    monkeypatch.setattr(Experiment, "run_round", timed)
    for module in ("judge.experiment", "services.measurement.noise"):
        monkeypatch.setattr(f"enginescope.{module}.perf_counter", lambda: now[0])


@pytest.mark.usefixtures("one_second_rounds")
def test_comparisons_follow_each_other_until_the_time_is_over(tmp_path) -> None:
    test = measured_test(tmp_path, max_time_s=20.0)
    *ended, last = test.comparisons
    assert [one.rounds for one in ended] == [8, 8]
    assert test.ended == 2
    assert last.rounds < 8
    assert last.kind is None
    tags = {tag for row in Store(tmp_path / "store").rows() for tag in row.tags}
    assert tags == {f"cmp-{one.comparison}" for one in test.comparisons}
    # a threshold that leaves every comparison of the noisy stand-in inconclusive
    test = measured_test(tmp_path, max_time_s=32.0, rounds=60, threshold_pct=1e-4)
    most = [one.most for one in test.comparisons]
    assert most[0] == 8
    assert all(8 <= one < 60 for one in most)
    assert test.ended >= 3


def test_disturbed_rounds_do_not_count(monkeypatch) -> None:
    def used(*places: tuple[int, str], rounds: int):
        """Rounds that are used where processes, pairs of round and side, were disturbed."""

        def uncertainty(run) -> float:
            return 50.0 if (run.turn.round, run.turn.side) in places else 0.5

        monkeypatch.setattr(recorded, "uncertainty_of", uncertainty)
        return used_rounds(in_turn(1.0, rounds=rounds))

    rows, notices = used((0, "A"), (2, "B"), rounds=6)
    assert [row[0].turn.round for row in rows] == [1, 3, 4, 5]
    assert notices == ()
    rows, (notice,) = used((0, "A"), (2, "B"), rounds=4)
    assert (len(rows), notice.code) == (4, "W-DISTURBED-ROUNDS")
    assert notice.message.startswith("2 of 4 rounds were disturbed")
    assert notice.evidence["unstable"] is True
    # All were used without a word: of two sides in turn, one was disturbed in each round.
    rows, (notice,) = used(*((number, "AB"[number % 2]) for number in range(8)), rounds=8)
    assert len(rows) == 8
    assert notice.message.startswith("8 of 8 rounds were disturbed")
    rows, notices = used(*((number, "B") for number in range(12)), rounds=12)
    assert (len(rows), notices) == (12, ())
