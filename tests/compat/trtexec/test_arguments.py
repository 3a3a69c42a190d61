import pytest

from enginescope.compat.trtexec.arguments import read_arguments, wants_help
from enginescope.core.errors import UsageError
from tests.compat.trtexec.runs import version

TRT10 = version("10.16.1")


def test_values_switches_and_aliases() -> None:
    found = read_arguments(["--onnx=a=b.onnx", "--fp16", "--int8=true", "--es-store=runs"], TRT10)
    assert found.text("--onnx") == "a=b.onnx"
    assert found.has("--fp16")
    assert found.has("--int8")
    assert found.text("--fp16", "x") == ""
    assert found.store == "runs"
    found = read_arguments(["--streams=3", "--vc"], TRT10)
    assert found.integer("--infStreams", 1) == 3
    assert found.has("--versionCompatible")
    assert found.warnings == ("--streams is deprecated; use --infStreams",)


def test_a_tilde_is_the_home_folder(monkeypatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    found = read_arguments(["--onnx=~/model.onnx", "--tempdir=~"], TRT10)
    assert found.text("--onnx") == "/home/someone/model.onnx"
    assert found.text("--tempdir") == "~"


@pytest.mark.parametrize("value", ["false", "0", "off", "no", ""])
def test_a_switch_set_to_off_is_refused(value) -> None:
    with pytest.raises(UsageError, match="--fp16=") as caught:
        read_arguments([f"--fp16={value}"], TRT10)
    assert "leave --fp16 out" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("model.onnx", "is not a flag"),
        ("-v", "is not a flag"),
        ("--onnx", "--onnx needs a value"),
        ("--onnx=", "--onnx needs a value"),
        ("--es-store", "--es-store needs a value"),
        ("--avgRuns=10abc", "--avgRuns=10abc: a whole number is expected"),
        ("--warmUp=soon", "a number is expected"),
        ("--duration=nan", "a number is expected"),
        ("--duration=inf", "a number is expected"),
    ],
)
def test_what_is_not_of_the_form_is_refused(argument, message) -> None:
    with pytest.raises(UsageError, match=message):
        read_arguments([argument], TRT10)


def test_a_flag_is_given_once_unless_it_repeats() -> None:
    with pytest.raises(UsageError, match="--onnx is given more than once"):
        read_arguments(["--onnx=a", "--onnx=b"], TRT10)
    with pytest.raises(UsageError, match="--streams is given more than once"):
        read_arguments(["--infStreams=1", "--streams=2"], TRT10)
    found = read_arguments(["--staticPlugins=a.so", "--plugins=b.so", "--fp16", "--fp16"], TRT10)
    assert found.texts("--staticPlugins") == ("a.so", "b.so")


def test_numbers_have_a_least_value() -> None:
    found = read_arguments(["--avgRuns=0", "--idleTime=-1"], TRT10)
    with pytest.raises(UsageError, match="must be 1 or more"):
        found.integer("--avgRuns", 10, least=1)
    with pytest.raises(UsageError, match="must be 0 or more"):
        found.number("--idleTime", 0)


def test_help_is_wanted_without_arguments_too() -> None:
    assert wants_help([])
    assert wants_help(["--onnx=a", "-h"])
    assert wants_help(["--help"])
    assert not wants_help(["--onnx=a"])
