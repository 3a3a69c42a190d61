import pytest

from enginescope.backends.trtexec.options import merged, split_arguments, with_arguments
from enginescope.core.errors import UsageError
from enginescope.records.run.job import BackendSpec, Job, Subject


def job(name: str = "trtexec", **options: str) -> Job:
    return Job(subject=Subject(name="net"), backend=BackendSpec(name=name, options=options))


def test_split_as_a_shell_does() -> None:
    assert split_arguments("--avgRuns=100  --tempdir='a b'") == ("--avgRuns=100", "--tempdir=a b")
    assert split_arguments("") == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("--tempdir='a", "No closing quotation"),
        ("avgRuns=100", "is not an argument of trtexec"),
        ("-h", "is not an argument of trtexec"),
        ("--=3", "is not an argument of trtexec"),
        ("--exportTimes=t.json", "enginescope sets it"),
        ("--onnx=other.onnx", "enginescope sets it"),
        ("--skipInference", "without having measured"),
    ],
)
def test_what_cannot_be_handed_through(text, message) -> None:
    with pytest.raises(UsageError, match=message):
        split_arguments(text)


def test_the_users_arguments_take_the_place_of_ours() -> None:
    ours = [
        "--onnx=m",
        "--useCudaGraph",
        "--infStreams=1",
        "--staticPlugins=a.so",
        "--iterations=9",
    ]
    users = ("--noCudaGraph", "--streams=4", "--staticPlugins=b.so", "--iterations=5")
    assert merged(ours, users) == ("--onnx=m", "--staticPlugins=a.so", *users)


def test_jobs_on_trtexec_get_them() -> None:
    jobs = with_arguments([job(), job("ort-cpu")], ["--avgRuns=7", "--tempdir=a b"])
    assert jobs[0].backend.options == {"args": "--avgRuns=7 '--tempdir=a b'"}
    assert jobs[1] == job("ort-cpu")


def test_they_join_those_of_the_specification() -> None:
    (one,) = with_arguments([job(args="--avgRuns=7", device="1")], ["--percentile=50"])
    assert one.backend.options == {"args": "--avgRuns=7 --percentile=50", "device": "1"}


def test_none_change_nothing() -> None:
    assert with_arguments([job("ort-cpu")], []) == (job("ort-cpu"),)


def test_no_job_on_trtexec() -> None:
    with pytest.raises(UsageError, match="no --on is trtexec"):
        with_arguments([job("ort-cpu")], ["--avgRuns=7"])


def test_bad_ones_are_refused_before_they_are_kept() -> None:
    with pytest.raises(UsageError, match="enginescope sets it"):
        with_arguments([job()], ["--exportTimes=x"])
