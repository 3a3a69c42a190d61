"""Options of the backend: flags of each version, and arguments that are handed through."""

import re
from pathlib import Path

import pytest

from enginescope.backends.trtexec import options, process
from enginescope.backends.trtexec.options import Flags, name_of, split_arguments, with_arguments
from enginescope.core.errors import UnsupportedError, UsageError
from enginescope.formats.trtexec.trtexec_flags import PRECISIONS, all_flags
from enginescope.records.run.job import BackendSpec, Job, Subject
from tests.backends.trtexec.known_flags import ALWAYS, SPANS, taken_by


def test_flags_in_order_and_those_that_a_version_lacks() -> None:
    flags = Flags((10, 16, 0))
    flags.add("fp16")
    flags.add("infStreams", 2)
    assert flags.arguments == ["--fp16", "--infStreams=2"]
    with pytest.raises(UnsupportedError, match=r"8\.6\.1 has no --useProfile: it came with 9\.0"):
        Flags((8, 6, 1)).add("useProfile", 1)
    with pytest.raises(UnsupportedError, match=r"11\.1\.0 has no --fp16: it went with 11\.0"):
        Flags((11, 1, 0)).add("fp16")
    assert [name_of(one) for one in ("--avgRuns=100", "--fp16")] == ["avgRuns", "fp16"]


def test_every_span_is_that_of_the_tools_own_parser() -> None:
    first_last = {name: span for span, names in SPANS.items() for name in names.split()}
    for flag in all_flags().values():
        name = flag.name.removeprefix("--")
        if flag.first > (11, 1):  # from release notes: that parser has not been read
            continue
        if name not in first_last:
            assert name in ALWAYS.split()
            assert (flag.first <= (8, 6), flag.last) == (True, None), name
            continue
        assert (flag.first, flag.last or (11, 1)) == first_last[name], name


def test_the_versions_differ() -> None:
    assert "fp16" in taken_by((10, 16)) - taken_by((11, 1))
    assert "noCudaGraph" in taken_by((11, 1)) - taken_by((10, 16))


ROOT = Path(__file__).resolve().parents[3]
CODE = re.compile(r'"([WI]-[A-Z-]+)"')


@pytest.fixture(scope="module")
def text() -> str:
    return (ROOT / "docs" / "reference" / "trtexec-binary.md").read_text(encoding="utf-8")


def test_every_notice_is_explained(text) -> None:
    sources = (ROOT / "src/enginescope/backends/trtexec").glob("*.py")
    codes = {code for path in sources for code in CODE.findall(path.read_text())}
    assert len(codes) > 6
    assert not {code for code in codes if f"`{code}`" not in text}


def test_refused_keys_precisions_and_places_are_named(text) -> None:
    for word in (*options.WITHOUT_FLAG, *PRECISIONS, str(process.USUAL), f"${process.VARIABLE}"):
        assert f"`{word}`" in text


def job(name: str = "trtexec", **options: str) -> Job:
    return Job(subject=Subject(name="net"), backend=BackendSpec(name=name, options=options))


def test_split_as_a_shell_does() -> None:
    assert split_arguments("--avgRuns=100  --tempdir='a b'") == ("--avgRuns=100", "--tempdir=a b")
    assert split_arguments("") == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("--tempdir='a", "No closing quotation"),
        *((text, "is not an argument of trtexec") for text in ("avgRuns=100", "-h", "--=3")),
        ("--exportTimes=t.json", "enginescope sets it"),
        ("--onnx=other.onnx", "enginescope sets it"),
        ("--skipInference", "without having measured"),
    ],
)
def test_what_cannot_be_handed_through(text, message) -> None:
    with pytest.raises(UsageError, match=message):
        split_arguments(text)


def test_the_users_arguments_take_the_place_of_ours() -> None:
    ours = ["--onnx=m", "--useCudaGraph", "--infStreams=1", "--staticPlugins=a.so"]
    users = ("--noCudaGraph", "--streams=4", "--staticPlugins=b.so", "--iterations=5")
    merged = options.merged([*ours, "--iterations=9"], users)
    assert merged == ("--onnx=m", "--staticPlugins=a.so", *users)


def test_jobs_on_trtexec_get_them_beside_those_of_the_specification() -> None:
    jobs = with_arguments([job(), job("ort-cpu")], ["--avgRuns=7", "--tempdir=a b"])
    assert jobs[0].backend.options == {"args": "--avgRuns=7 '--tempdir=a b'"}
    assert jobs[1] == job("ort-cpu")
    (one,) = with_arguments([job(args="--avgRuns=7", device="1")], ["--percentile=50"])
    assert one.backend.options == {"args": "--avgRuns=7 --percentile=50", "device": "1"}
    assert with_arguments([job("ort-cpu")], []) == (job("ort-cpu"),)


@pytest.mark.parametrize(
    ("backend", "argument", "message"),
    [
        ("ort-cpu", "--avgRuns=7", "no --on is trtexec"),
        ("trtexec", "--exportTimes=x", "enginescope sets it"),  # before they are kept
    ],
)
def test_arguments_that_no_job_takes(backend, argument, message) -> None:
    with pytest.raises(UsageError, match=message):
        with_arguments([job(backend)], [argument])
