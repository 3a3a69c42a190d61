"""Numbers that are none are mistakes of whoever typed them, said before anything is read or run."""

import click
import pytest
from click.testing import CliRunner

from enginescope.cli.main import main
from enginescope.cli.options import Finite
from tests.cli.verb_help import every_verb


def test_every_option_that_is_a_real_number_is_finite() -> None:
    numbers = {
        f"{verb} {one.opts[0]}": one.type
        for verb, command in every_verb()
        for one in command.params
        if isinstance(one.type, click.types.FloatParamType)
    }
    assert [name for name, kind in numbers.items() if not isinstance(kind, Finite)] == []
    assert sum(name.startswith("depth ") for name in numbers) == 4


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e999", "0", "11"])
def test_a_number_within_bounds(text) -> None:
    @click.command()
    @click.option("--factor", type=Finite(0, 10, min_open=True))
    def command(factor: float) -> None:
        print(factor)

    found = CliRunner().invoke(command, ["--factor", text])
    assert (found.exit_code, "'--factor'" in found.output) == (2, True)
    assert CliRunner().invoke(command, ["--factor", "2.5"]).output == "2.5\n"


#: The start of a command line -> its options, each with numbers that are none.
MISTAKES = {
    "validate a.onnx": {
        "--image-divisor": "nan inf 0",
        "--image-mean": "nan inf",
        "--image-std": "nan inf 0.2,0,0.2",
        "--image-size": "70000x3",
        "--samples": "100000000000",
        "--percent": "nan inf",
        "--rtol": "nan scores:nan inf -1",
        "--atol": "nan scores:nan inf -1",
        "--percent-mismatch": "nan scores:nan inf -1 101",
        "--limit": "top1:inf",
    },
    "depth --engines a.onnx --image a.png": {
        "--gt-scale": "nan inf 0",
        "--min-depth": "nan inf 0",
        "--max-depth": "nan inf 0 0.0005",
        "--gpu-sample-interval": "inf",
        "--input-size": "100000",
    },
    "bench a.onnx": {"--precision": "nan", "--cooldown": "60,1e400s 60,0s"},
    "bench a.onnx --compare": {"--threshold": "nan"},
    "compare a b": {"--threshold": "-1 nan 101"},
    "gate --baseline a": {"--confidence": "nan", "--max-regression": "p99=nan"},
}


@pytest.mark.parametrize("command", MISTAKES)
def test_it_is_said_of_the_option_before_anything_is_looked_for(capsys, command: str) -> None:
    """None of the files is there, which would be the next thing to be said."""
    for option, numbers in MISTAKES[command].items():
        for number in numbers.split():
            assert main([*command.split(), option, number]) == 2
            assert option in capsys.readouterr().err
