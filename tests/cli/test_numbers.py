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


DEPTH = ("depth", "--engines", "a.onnx", "--image", "a.png")


@pytest.mark.parametrize(
    "arguments",
    [
        *(
            ("validate", "a.onnx", name, number)
            for name in ("--image-divisor", "--image-mean", "--image-std", "--percent")
            for number in ("nan", "inf")
        ),
        ("validate", "a.onnx", "--image-divisor", "0"),
        ("validate", "a.onnx", "--image-std", "0.2,0,0.2"),
        ("validate", "a.onnx", "--image-size", "70000x3"),
        ("validate", "a.onnx", "--samples", "100000000000"),
        *(
            ("validate", "a.onnx", name, number)
            for name in ("--rtol", "--atol", "--percent-mismatch")
            for number in ("nan", "scores:nan", "inf", "-1")
        ),
        ("validate", "a.onnx", "--percent-mismatch", "101"),
        ("validate", "a.onnx", "--limit", "top1:inf"),
        *(
            (*DEPTH, name, number)
            for name in ("--gt-scale", "--min-depth", "--max-depth")
            for number in ("nan", "inf", "0")
        ),
        (*DEPTH, "--gpu-sample-interval", "inf"),
        (*DEPTH, "--max-depth", "0.0005"),
        (*DEPTH, "--input-size", "100000"),
        ("bench", "a.onnx", "--precision", "nan"),
        ("bench", "a.onnx", "--threshold", "nan", "--compare"),
        ("bench", "a.onnx", "--cooldown", "60,1e400s"),
        ("bench", "a.onnx", "--cooldown", "60,0s"),
        ("gate", "--baseline", "a", "--confidence", "nan"),
        ("gate", "--baseline", "a", "--max-regression", "p99=nan"),
    ],
    ids=" ".join,
)
def test_it_is_said_of_the_option_before_anything_is_looked_for(capsys, arguments) -> None:
    """None of the files is there, which would be the next thing to be said."""
    option = next(one for one in arguments[-3:] if one.startswith("--") and one != "--compare")
    assert main(arguments) == 2
    assert option in capsys.readouterr().err
