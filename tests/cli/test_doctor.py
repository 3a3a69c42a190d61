from __future__ import annotations

import json
import sys

from enginescope.cli.main import main
from enginescope.model.environment import Environment, Host
from enginescope.runner.capabilities import advice, diagnose
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


def test_advice() -> None:
    assert advice(Environment()) == ()
    both = {"onnxruntime": "1.31.1", "onnxruntime-gpu": "1.31.1"}
    host = Host(governor="powersave", load_1min=1.7)
    text = "\n".join(advice(Environment(host=host, versions=both)))
    assert "powersave" in text
    assert "load average is 1.7" in text
    assert "overwrite each other" in text
