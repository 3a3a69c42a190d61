from __future__ import annotations

import json
import sys
from importlib.metadata import metadata

from enginescope.cli.main import main
from enginescope.model.hint import Hint
from enginescope.runner import capabilities
from enginescope.runner.capabilities import diagnose
from tests.probe.test_nvml import fake_nvml


def test_screen(capsys) -> None:
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert "ort-cpu" in shown
    assert "timer" in shown


def test_a_gpu_and_its_highest_clocks(monkeypatch, capsys) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml())
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert "Example GPU · driver 555.1 · " in shown
    assert "at most SM 1,980 MHz, memory 2,619 MHz" in shown


def test_json(capfdbinary) -> None:
    assert main(["doctor", "--json"]) == 0
    found = json.loads(capfdbinary.readouterr().out)
    usable = {one["name"]: one["usable"] for one in found["backends"]}
    assert usable["ort-cpu"] is True


def test_what_is_missing_comes_with_the_way_to_get_it() -> None:
    found = diagnose()
    for part in (*found.backends, *found.extras):
        assert part.usable or part.hint


def test_every_extra_is_listed() -> None:
    declared = set(metadata("enginescope").get_all("Provides-Extra") or ())
    of_trt = {"cu12", "cu13"}  # said with trt
    assert {one.name for one in diagnose().extras} == declared - of_trt


def test_hints_are_shown_with_what_to_type(monkeypatch, capsys) -> None:
    hint = Hint(code="H-GOVERNOR", message="the CPU governor is powersave", command="cpupower x")
    monkeypatch.setattr(capabilities, "machine_hints", lambda _: (hint,))
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert "! the CPU governor is powersave (H-GOVERNOR)\n    cpupower x\n" in shown
