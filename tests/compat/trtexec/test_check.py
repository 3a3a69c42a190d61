"""A command line of trtexec, checked anywhere and written for a version."""

import pytest

from enginescope.compat.trtexec.arguments import check, check_known, checked_line
from enginescope.core.errors import UsageError
from enginescope.formats.trtexec.trtexec_flags import all_flags
from tests.compat.trtexec.runs import version

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
        "--onnx=m.onnx",
        "--fp16",
        "--memPoolSize=workspace:512",
        "--skipInference",
        "--infStreams=2",
        "--useCudaGraph",
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
    for argument, reason in (
        ("--nosuch=3", "no flag --nosuch"),
        ("--threads", "not supported"),
        ("--iterations=many", "whole number"),
    ):
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
