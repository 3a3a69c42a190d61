import json
import sys
from importlib.metadata import PackageNotFoundError

import pytest

from enginescope.cli.main import main
from enginescope.records.notice import Hint
from enginescope.services.measurement import doctor as capabilities
from enginescope.services.measurement.doctor import doctor
from tests.plants.in_process import workers_in_process
from tests.probe.test_nvml import fake_nvml
from tests.test_lock import PROJECT


def test_screen_json_and_the_command_of_a_self_test(verb) -> None:
    code, shown, _ = verb("doctor")
    assert code == 0
    assert "ort-cpu" in shown
    assert "timer" in shown
    assert "no self-test of this machine; enginescope doctor --self-test" in shown
    code, shown, _ = verb("doctor", "--json")
    usable = {one["name"]: one["usable"] for one in json.loads(shown)["backends"]}
    assert (code, usable["ort-cpu"]) == (0, True)


def test_a_self_test_is_measured_stored_and_shown(verb, tmp_path) -> None:
    model, page, table = (tmp_path / name for name in ("m.onnx", "t.html", "t.md"))
    model.touch()
    quick = ("--on", "fake", "--rounds", "8", "--max-time", "1ms", "--duration", "10ms")
    with workers_in_process():
        files = ("--html", page, "--markdown", table)
        code, out, err = verb("doctor", "--self-test", model, *quick, *files)
    assert code == 0, err
    answer, *lines = out.splitlines()
    starts = tuple(f"comparisons on this machine {what} " for what in ("find", "miss"))
    assert answer.startswith(starts)
    assert lines[0].split() == ["model", "m.onnx", "on", "fake"]
    assert "enginescope compare --store" in err
    assert answer in table.read_text(encoding="utf-8")
    assert answer[1:] in page.read_text(encoding="utf-8")
    code, out, _ = verb("doctor")
    assert code == 0
    assert "self-test of m.onnx on fake: comparisons of 8 rounds find " in out
    assert "measured today" in out


def test_a_gpu_and_hints_are_shown_with_what_to_type(monkeypatch, capsys) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml())
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert "Example GPU · driver 555.1 · " in shown
    assert "at most SM 1,980 MHz, memory 2,619 MHz" in shown
    hint = Hint(code="H-GOVERNOR", message="the CPU governor is powersave", command="cpupower x")
    monkeypatch.setattr(capabilities, "machine_hints", lambda _: (hint,))
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert "! the CPU governor is powersave (H-GOVERNOR)\n    cpupower x\n" in shown


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("m.onnx",), "MODEL without --noise or --self-test"),
        (("--on", "fake"), "--on without --noise or --self-test"),
        (("--max-time", "2min"), "--max-time without --noise or --self-test"),
        (("--noise", "--self-test"), "exclude each other"),
        (("--noise", "--threshold", "2"), "--threshold without --self-test"),
        (("--self-test", "--continue"), "--continue with --self-test"),
        (("--self-test", "--rounds", "121"), "is not between 8 and 120"),
    ],
)
def test_options_of_one_measurement_are_refused_in_another(verb, arguments, why) -> None:
    code, _, err = verb("doctor", *arguments)
    assert code == 2
    assert why in err


def test_what_is_missing_comes_with_the_way_to_get_it(monkeypatch, capsys) -> None:
    found = doctor()
    for part in (*found.backends, *found.extras):
        assert part.usable or part.hint
    assert {one.name for one in found.extras} == set(PROJECT["project"]["optional-dependencies"])
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(capabilities, "is_installed", lambda _: False)
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    for name in capabilities.EXTRAS:
        assert f"pip install 'enginescope[{name}]'\n" in shown  # which can be copied


@pytest.mark.parametrize(
    ("version", "there"), [("12.9.4", {"trt", "cu12"}), ("13.0.1", {"trt", "cu13"}), (None, set())]
)
def test_the_extra_of_a_cuda_is_there_with_its_bindings(monkeypatch, version, there) -> None:
    def installed(name: str) -> str:
        assert name == "cuda-bindings"
        if version is None:
            raise PackageNotFoundError(name)
        return version

    monkeypatch.setattr(capabilities.metadata, "version", installed)
    monkeypatch.setattr(capabilities, "is_installed", lambda _: version is not None)
    found = [capabilities._extra(one) for one in ("trt", "cu12", "cu13")]
    assert {one.name for one in found if one.usable} == there
    assert all(one.usable or one.hint == f"pip install 'enginescope[{one.name}]'" for one in found)
