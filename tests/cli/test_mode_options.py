from typing import Any

import click
import pytest
from click.testing import CliRunner

from enginescope.cli.main import main
from enginescope.cli.measure.bench import mode_of, mode_options
from enginescope.core.errors import UsageError
from enginescope.records.run.job import Mode
from enginescope.runner.model_inputs import with_profile


def parsed(*arguments: str) -> Mode:
    found: list[Any] = []

    @click.command()
    @mode_options
    def command(**options: Any) -> None:
        found.append(mode_of(options))

    result = CliRunner().invoke(command, arguments, standalone_mode=False)
    if result.exception:
        raise result.exception
    return found[0]


def test_nothing_asked_for_leaves_the_choice_to_the_backend() -> None:
    assert parsed() == Mode(in_flight=1)


def test_each_option_sets_its_field() -> None:
    overlapping = {"kind": "throughput", "in_flight": 2}
    for line, wanted in (
        ("--mode latency", {"kind": "latency"}),
        ("--mode throughput", overlapping),
        ("--graph on", {"cuda_graph": True}),
        ("--graph off", {"cuda_graph": False}),
        ("--graph auto", {"cuda_graph": None}),
        ("--transfers on", {"transfers": True}),
        ("--transfers off", {"transfers": False}),
        ("--spin", {"spin_wait": True}),
        ("--no-spin", {"spin_wait": False}),
        ("--idle 5ms", {"idle_ms": 5.0}),
        ("--cold", {"cold": True}),
        ("--rotate 4", {"rotate": 4}),
        ("--mode throughput --streams 3", {**overlapping, "streams": 3}),
    ):
        assert parsed(*line.split()) == Mode(**{"in_flight": 1, **wanted})


@pytest.mark.parametrize("kind", [[], ["--mode", "latency"]])
def test_streams_need_queries_that_overlap(kind, capsys) -> None:
    assert main(["bench", __file__, "--on", "fake", *kind, "--streams", "2"]) == 2
    assert "one request is in flight" in capsys.readouterr().err


def test_what_cannot_be_is_refused() -> None:
    for line in ("--mode both", "--streams 0", "--rotate 0", "--idle 0ms"):
        with pytest.raises(click.UsageError):
            parsed(*line.split())


def test_a_profile_becomes_an_option_of_what_runs_engines() -> None:
    assert with_profile(["ort-cpu"], None) == ["ort-cpu"]
    assert with_profile(["trt", "trt:fp16?workspace=1GiB", "trtexec", "ort-cpu"], 2) == [
        "trt?profile_index=2",
        "trt:fp16?workspace=1GiB&profile_index=2",
        "trtexec?profile_index=2",
        "ort-cpu",
    ]


def test_a_profile_that_nothing_would_take_is_refused() -> None:
    with pytest.raises(UsageError, match="ort-trt runs no engine"):
        with_profile(["ort-cpu", "ort-trt"], 0)
    with pytest.raises(UsageError, match="sets it too"):
        with_profile(["trt?profile_index=1"], 0)
