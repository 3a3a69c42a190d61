"""A command line of trtexec: read, checked anywhere, and written for a version."""

import pytest

from enginescope.compat.trtexec import arguments
from enginescope.compat.trtexec.arguments import check, check_known, checked_line, read_arguments
from enginescope.core.errors import UsageError
from enginescope.formats.log_facts import version_text
from enginescope.formats.trtexec.trtexec_flags import all_flags
from tests.compat.trtexec.runs import version

TRT10 = version("10.16.1")


def test_values_switches_and_aliases() -> None:
    found = read_arguments(["--onnx=a=b.onnx", "--fp16", "--int8=true", "--es-store=runs"], TRT10)
    assert (found.text("--onnx"), found.text("--fp16", "x")) == ("a=b.onnx", "")
    assert found.has("--fp16")
    assert found.has("--int8")
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
        *((flag, "a number is expected") for flag in ("--warmUp=a", "--duration=nan")),
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
    lines = ([], ["--onnx=a", "-h"], ["--help"], ["--onnx=a"])
    assert [arguments.wants_help(line) for line in lines] == [True, True, True, False]


@pytest.mark.parametrize(
    ("text", "number", "shown"),
    [
        *(("8.6.1", 8601, "8.6.1"), ("8.6.1.6", 8601, "8.6.1")),
        *(("9.3.0.post12.dev1", 9300, "9.3.0"), ("10.16.0.72", 101600, "10.16.0")),
        ("11.4", 110400, "11.4.0"),
    ],
)
def test_a_version_is_printed_as_the_parser_reads_it(text, number, shown) -> None:
    found = arguments.parse_version(text)
    assert found.number == number
    assert str(found) == version_text(str(number)) == shown


def test_versions_compare_as_numbers() -> None:
    found = arguments.parse_version("10.13.2.6")
    assert found.build == 6
    reached = [found.at_least(*least) for least in ((9,), (10, 13, 2), (10, 13, 3))]
    assert reached == [True, True, False]
    assert arguments.parse_version("next") is None


OLD = ("--onnx=m.onnx", "--fp16", "--workspace=512", "--buildOnly", "--streams=2", "--useCudaGraph")


def states(arguments: tuple[str, ...], text: str) -> dict[str, str]:
    return {flag.argument: flag.state for flag in check(arguments, version(text)).flags}


def test_each_flag_has_its_state_in_a_version() -> None:
    assert set(states(OLD, "8.6.1").values()) == {"accepted"}
    found = states(OLD, "11.1.0")
    assert (found["--fp16"], found["--useCudaGraph"]) == ("refused", "without effect")
    assert found["--workspace=512"] == found["--buildOnly"] == "accepted"


def test_the_line_is_written_for_the_version() -> None:
    assert check(OLD, version("10.16.1")).written == (
        *("--onnx=m.onnx", "--fp16", "--memPoolSize=workspace:512", "--skipInference"),
        *("--infStreams=2", "--useCudaGraph"),
    )
    assert "--useCudaGraph" not in check(OLD, version("11.1.0")).written
    assert check(("--skipInference",), version("8.5.0")).written == ("--buildOnly",)


def test_the_asked_version_counts_and_one_flag_may_be_given_twice() -> None:
    line = ("--check", "--for", "8.6", "--workspace=1", "--memPoolSize=workspace:2")
    checked = checked_line(line, version("11.1.0"))
    assert (checked.version, checked.is_accepted) == ("8.6", True)
    assert checked_line(("--check", "--for=10.16"), None).version == "10.16"
    assert checked_line(("--onnx=m",), None) is None
    with pytest.raises(UsageError, match="not a version"):
        checked_line(("--check", "--for=new"), None)


def test_a_wrong_flag_is_named_without_any_tensorrt() -> None:
    check_known(OLD)
    check_known(("--includeDataTransfers", "--buildOnly"))
    wrong = {"--nosuch=3": "no flag --nosuch", "--threads": "not supported"}
    for argument, reason in (wrong | {"--iterations=many": "whole number"}).items():
        with pytest.raises(UsageError, match=reason):
            check_known((argument,))


@pytest.mark.parametrize("text", ["8.6.1", "10.16.1", "11.1.0"])
def test_every_refused_flag_says_why_and_what_to_do(text) -> None:
    flags = [flag for flag in all_flags().values() if flag.is_in(version(text).release)]
    refused = [flag for flag in flags if flag.is_refused]
    assert refused
    for flag in refused:
        argument = flag.name if flag.kind == "flag" else f"{flag.name}=1"
        (checked,) = check((argument,), version(text)).flags
        assert checked.state == "refused"
        assert checked.why
        assert checked.instead, flag.name


@pytest.mark.parametrize("text", ["8.6.1", "10.16.1", "11.1.0"])
def test_values_as_the_versions_accept_them(text) -> None:
    assert states(("--plugins", "--memPoolSize=workspace:4096MiB"), text) == {
        "--plugins": "without effect",
        "--memPoolSize=workspace:4096MiB": "accepted",
    }
