import json
import os

import pytest

from enginescope.cli.main import main
from enginescope.cli.process_options import (
    parse_clock,
    parse_cooldown,
    parse_pin,
    telemetry_of,
    with_clock_named,
)
from enginescope.core.errors import UsageError
from enginescope.records.run.job import BackendSpec, Cooldown, Job, Subject
from enginescope.runner.jobs import watched
from enginescope.services.measurement.jobs import check_telemetry
from tests.fakes.fake_gpus import DATA_CENTRE, GPU, FakeGpus

QUICK = ("--on", "fake", "--iterations", "3", "--warmup", "0", "--no-layers", "--json")


@pytest.fixture
def gpus(tmp_path, monkeypatch):
    """Return a function that makes one GPU, as it is changed."""

    def made(**changes) -> FakeGpus:
        found = FakeGpus(tmp_path, {GPU: DATA_CENTRE | changes})
        found.put_in(monkeypatch, tmp_path)
        return found

    return made


def bench(tmp_path, *options: str) -> int:
    model = tmp_path / "m.onnx"
    model.touch()
    return main(["bench", "--store", str(tmp_path / "store"), str(model), *QUICK, *options])


def run_of(tmp_path):
    (file,) = (tmp_path / "store" / "runs").glob("*/run.json")
    return json.loads(file.read_text())


def test_clocks() -> None:
    texts = ("base", "MAX", "1305", "1305MHz", "1305 mhz")
    assert [*map(parse_clock, texts)] == ["base", "max", 1305, 1305, 1305]
    for text in ("", "0", "fast", "-5", "1305.5", "123456"):
        with pytest.raises(UsageError):
            parse_clock(text)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (["--lock-clocks", "m.onnx"], ["--lock-clocks=base", "m.onnx"]),
        (["--lock-clocks", "--on", "trt"], ["--lock-clocks=base", "--on", "trt"]),
        (["m.onnx", "--lock-clocks"], ["m.onnx", "--lock-clocks=base"]),
        (["--lock-clocks", "1305", "m.onnx"], ["--lock-clocks", "1305", "m.onnx"]),
        (["--lock-clocks=max"], ["--lock-clocks=max"]),
    ],
)
def test_a_model_behind_it_is_no_clock(given, read) -> None:
    assert with_clock_named(given) == read


@pytest.mark.parametrize(
    ("text", "temperature_c", "limit_s"),
    [("60", 60, 180), ("60,2min", 60, 120), ("55.5C,500ms", 55.5, 0.5), ("60 °C", 60, 180)],
)
def test_cooldowns(text, temperature_c, limit_s) -> None:
    assert parse_cooldown(text) == Cooldown(temperature_c=temperature_c, limit_s=limit_s)


def test_what_is_no_cooldown_and_pins() -> None:
    for text in ("", "hot", "0", "200", "60,", "-3"):
        with pytest.raises(UsageError):
            parse_cooldown(text)
    assert parse_pin("0,2-4") == (0, 2, 3, 4)
    with pytest.raises(UsageError, match="not a list of cores"):
        parse_pin("one")


@pytest.mark.usefixtures("in_process")
def test_a_run_says_what_its_clocks_were_held_at(tmp_path, gpus, capfd) -> None:
    machine = gpus()
    assert bench(tmp_path, "--lock-clocks", "1305") == 0
    (device,) = run_of(tmp_path)["environment"]["devices"]
    assert device["clock_lock"] == {"sm_mhz": 1305, "memory_mhz": 3201}
    assert machine.is_free()
    assert [call for call, _ in machine.calls()] == [
        "lock_sm",
        "lock_memory",
        "reset_sm",
        "reset_memory",
    ]


def test_without_the_right_nothing_is_measured(tmp_path, gpus, capfd) -> None:
    gpus(refuses={"lock_sm": 4})
    assert bench(tmp_path, "--lock-clocks", "1305") == 2
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "NVML needs root" in shown.err
    assert f"sudo nvidia-smi -i {GPU} -lgc 1305,1305" in shown.err
    assert list((tmp_path / "store" / "runs").iterdir()) == []


@pytest.mark.parametrize("option", [("--lock-clocks",), ("--cooldown", "50")])
def test_no_gpu(tmp_path, monkeypatch, capfd, option) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pynvml", None)
    assert bench(tmp_path, *option) == 2
    assert "no GPU of these jobs is seen" in capfd.readouterr().err


@pytest.mark.usefixtures("in_process")
def test_a_gpu_that_stays_warm_or_has_no_thermometer(tmp_path, gpus, capfd) -> None:
    gpus(temperatures=[])
    assert bench(tmp_path, "--cooldown", "50") == 2
    assert "does not report its temperature" in capfd.readouterr().err
    gpus(temperatures=[71])
    assert bench(tmp_path, "--cooldown", "60,100ms") == 0
    run = run_of(tmp_path)
    assert "W-COOLDOWN" in [one["code"] for one in run["notices"]]
    assert run["phases"][0]["name"] == "cooldown"


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system pins no process")
def test_a_pinned_worker(tmp_path, capfd) -> None:
    core = max(os.sched_getaffinity(0))
    assert bench(tmp_path, "--pin", str(core)) == 0
    run = run_of(tmp_path)
    assert run["job"]["conditions"]["pinned_cores"] == [core]
    assert run["environment"]["host"]["cores_usable"] == 1


def test_a_core_that_there_is_not(tmp_path, capfd) -> None:
    assert bench(tmp_path, "--pin", "60000") == 2
    shown = capfd.readouterr().err
    assert "--pin: no core 60000 to use here" in shown
    assert "usable: " in shown


NONE = {"telemetry": None, "telemetry_time": None, "gpu_sample_interval": None, "timeout": None}


def test_depth_time_and_interval_of_telemetry() -> None:
    depths = {
        given: telemetry_of(NONE | {"telemetry": given}).depth for given in (None, True, False)
    }
    assert depths == {None: "clock", True: "full", False: "off"}
    asked = NONE | {"telemetry": True, "telemetry_time": 20_000.0, "gpu_sample_interval": 50.0}
    rule = telemetry_of(asked)
    assert (rule.duration_ms, rule.interval_ms) == (20_000, 50)
    assert rule.whole_ms > 20_000


@pytest.mark.parametrize("option", ["telemetry_time", "gpu_sample_interval"])
@pytest.mark.parametrize("wanted", [None, False])
def test_a_part_of_a_pass_that_there_is_not(option, wanted) -> None:
    with pytest.raises(UsageError, match=option.replace("_", "-")) as caught:
        telemetry_of(NONE | {"telemetry": wanted, option: 500.0})
    assert caught.value.hint == "--telemetry"


def test_an_interval_that_no_gpu_can_be_asked_in(capsys) -> None:
    asked = ["--telemetry", "--gpu-sample-interval", "1ms"]
    assert main(["bench", __file__, "--on", "fake", *asked]) == 2
    assert "at least 5ms" in capsys.readouterr().err
    with pytest.raises(UsageError, match="at least 5ms"):
        check_telemetry(telemetry_of(NONE | {"telemetry": True, "gpu_sample_interval": 1.0}))


def test_the_pass_has_time_of_its_own_unless_that_is_bounded() -> None:
    job = Job(subject=Subject(name="a"), backend=BackendSpec(name="fake"))
    rule = telemetry_of(NONE | {"telemetry": True, "telemetry_time": 3_600_000.0})
    (more,) = watched((job,), rule)
    assert more.limits.timeout_s > job.limits.timeout_s + 3_600
    (bounded,) = watched((job,), rule, is_bounded=True)
    assert bounded.limits.timeout_s == job.limits.timeout_s
