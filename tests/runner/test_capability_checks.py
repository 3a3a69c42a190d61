import pytest

from enginescope.backends.registry import parse_backend
from enginescope.core.errors import MissingDependencyError, UsageError
from enginescope.records.run.job import BackendSpec, Mode, Subject
from enginescope.runner.jobs import check_demands, check_subject
from tests.fakes import loading

ORT = BackendSpec(name="ort-cpu")


CHOICES = {
    "transfers": False,
    "cuda_graph": True,
    "spin_wait": False,
    "streams": 2,
    "idle_ms": 1.0,
    "cold": True,
    "rotate": 2,
}


def test_what_a_backend_would_not_honour_is_refused_by_its_field() -> None:
    for field, value in CHOICES.items():
        with pytest.raises(UsageError, match=f"ort-cpu has no `{field}`"):
            check_demands(ORT, Mode(**{field: value}))
    for mode in (Mode(), Mode(kind="latency"), Mode(in_flight=None)):
        check_demands(ORT, mode)
    with loading.loaded():
        check_demands(parse_backend("trt"), Mode(kind="throughput", in_flight=2, **CHOICES))


def test_what_is_missing_is_said_before_anything_starts() -> None:
    with loading.loaded(fault="no_gpu"), pytest.raises(MissingDependencyError, match="NVIDIA GPU"):
        check_demands(parse_backend("trt"), Mode())


ENGINE = Subject(name="net.plan", kind="engine")


@pytest.mark.parametrize(
    ("spec", "named"), [("trt:fp16", "precision fp16"), ("trt?tf32=0&device=0", "tf32")]
)
def test_what_a_build_decided_is_not_asked_of_an_engine(spec, named) -> None:
    with pytest.raises(UsageError, match=named):
        check_subject(parse_backend(spec), ENGINE)
    check_subject(parse_backend(spec), Subject(name="net.onnx", kind="onnx"))


@pytest.mark.parametrize(
    "spec", ["trt", "trt?device=1&stamps=1", "trt?plugins=a.so&dla_core=0", "ort-cpu"]
)
def test_what_only_runs_is_asked_of_an_engine(spec) -> None:
    check_subject(parse_backend(spec), ENGINE)
