"""Every verb exists once: the command line and Python give the same result for the same inputs."""

from pathlib import Path

import pytest

from tests.one_way import accuracy, measurement, plans, suites, verdicts
from tests.one_way.case import Case, from_python, on_the_command_line
from tests.plants.in_process import workers_in_process

CASES: tuple[Case, ...] = (
    *accuracy.CASES,
    *measurement.CASES,
    *plans.CASES,
    *suites.CASES,
    *verdicts.CASES,
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("undisturbed")
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_command_line_and_python_agree(case: Case, tmp_path: Path, capsys) -> None:
    with workers_in_process(), case.context():
        command = on_the_command_line(case, tmp_path / "inputs", capsys)
        python = from_python(case, tmp_path / "inputs")
    assert (command.status, command.error) == (python.status, python.error)
    assert command.data == python.data
    for text in python.warnings:  # a warning of Python is a note on standard error
        assert any(text in line for line in command.warnings), text
