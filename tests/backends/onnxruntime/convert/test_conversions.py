"""AutoCast in an interpreter of its own, shapes inferred, and a converted model end to end."""

import sys
from pathlib import Path

import onnx
import pytest

from enginescope.backends.onnxruntime.convert.fp16 import Fp16Options
from enginescope.backends.onnxruntime.convert.mixed_precision import autocast_model
from enginescope.backends.onnxruntime.convert.model_files import inferred_model
from enginescope.backends.onnxruntime.providers.opening import parse_reasons
from enginescope.core.errors import BackendError, MissingDependencyError, UsageError
from enginescope.formats.lenient_json import Document
from enginescope.formats.onnxruntime.ort_memory import arenas_of
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.runner.jobs import make_jobs
from enginescope.runner.session import run_jobs
from tests.backends.onnxruntime import models
from tests.backends.onnxruntime.convert.test_fp16 import dense
from tests.backends.onnxruntime.test_backend import QUICK
from tests.backends.onnxruntime.test_gpu_providers import chain

#: Behaves as an environment with ModelOpt: knows its version, takes AutoCast's command line.
_PYTHON = """#!{python}
import shutil, sys
if sys.argv[1] == "-c":
    print("0.47.0")
    sys.exit({version_status})
arguments = sys.argv[3:]
open({log!r}, "a").write(" ".join(sys.argv[1:]) + "\\n")
if {fails}:
    print("Traceback", file=sys.stderr)
    print("ValueError: opset 3 is too old", file=sys.stderr)
    sys.exit(1)
shutil.copyfile(arguments[1], arguments[3])
"""


def python_at(folder: Path, *, version_status: int = 0, fails: bool = False) -> tuple[str, Path]:
    log, path = folder / "calls.txt", folder / "python"
    values = {"version_status": version_status, "fails": fails, "log": str(log)}
    path.write_text(_PYTHON.format(python=sys.executable, **values))
    path.chmod(0o755)
    return str(path), log


def blocked(what: str) -> str:
    return f"net.onnx has no {what}_block_list keeps nothing in FP32 by it"


def ran(source: Path, spec: str, cache: Path | None = None) -> Run:
    (run,) = run_jobs(make_jobs([source], [spec], QUICK, engine_cache=cache), lambda _: None)
    return run


def test_autocast_is_called_once_with_what_stays(tmp_path) -> None:
    python, log = python_at(tmp_path)
    source = dense(tmp_path / "net.onnx")
    options = Fp16Options(op_block_list=("Softmax",), node_block_list=("largest", "least"))
    made = autocast_model(source, tmp_path / "cache", python, options)
    (call,) = log.read_text().splitlines()
    assert call.startswith(f"-m modelopt.onnx.autocast --onnx_path {source} --output_path ")
    assert "--low_precision_type fp16 --keep_io_types" in call
    assert call.endswith("--op_types_to_exclude Softmax --nodes_to_exclude largest least")
    assert made.versions == {"nvidia-modelopt": "0.47.0"}
    assert [one.message for one in made.notices] == [blocked("operator Softmax: op")]
    assert autocast_model(source, tmp_path / "cache", python, options).from_cache
    assert len(log.read_text().splitlines()) == 1


def test_autocast_takes_patterns_of_nodes(tmp_path) -> None:
    python, _ = python_at(tmp_path)
    source = dense(tmp_path / "net.onnx")
    options = Fp16Options(node_block_list=("lea.*", "most"))
    (notice,) = autocast_model(source, tmp_path / "cache", python, options).notices
    assert notice.message == blocked("node most: node")
    with pytest.raises(UsageError, match="no regular expression"):
        autocast_model(source, tmp_path / "cache", python, Fp16Options(node_block_list=("(",)))


def test_autocast_that_fails_says_why(tmp_path) -> None:
    python, _ = python_at(tmp_path, fails=True)
    with pytest.raises(BackendError, match="opset 3 is too old"):
        autocast_model(dense(tmp_path / "net.onnx"), tmp_path / "cache", python, Fp16Options())


def test_no_modelopt_behind_the_interpreter(tmp_path) -> None:
    python, _ = python_at(tmp_path, version_status=1)
    with pytest.raises(MissingDependencyError, match="not installed there") as caught:
        autocast_model(dense(tmp_path / "net.onnx"), tmp_path / "cache", python, Fp16Options())
    assert "nvidia-modelopt[onnx]" in (caught.value.hint or "")
    gone = str(tmp_path / "nobody" / "python")
    with pytest.raises(MissingDependencyError, match="No such file"):
        autocast_model(dense(tmp_path / "net.onnx"), tmp_path / "cache", gone, Fp16Options())


def test_shapes_are_written_into_a_model_of_ours(tmp_path) -> None:
    source = chain(tmp_path / "net.onnx", dims=(2, 8))
    before = source.read_bytes()
    made = inferred_model(source, tmp_path / "cache")
    shapes = {
        one.name: [dim.dim_value for dim in one.type.tensor_type.shape.dim]
        for one in onnx.load(made.path).graph.value_info
    }
    assert {"r": [2, 8], "s": [2, 8]}.items() <= shapes.items()
    assert source.read_bytes() == before
    assert inferred_model(source, tmp_path / "cache").from_cache


def test_fp16_from_the_command_to_the_run(tmp_path) -> None:
    """Converted in one process, measured in another, taken from the cache the next time."""
    cache = tmp_path / "cache"
    source = dense(tmp_path / "net.onnx")
    first, again = (ran(source, "ort-cpu:fp16", cache) for _ in range(2))
    for run in (first, again):
        assert run.outcome.kind is OutcomeKind.OK, run.outcome
        assert run.inputs[0].dtype is not None
        assert [one.kind for one in run.preparation.made] == ["fp16"]
        assert [one.code for one in run.notices].count("I-PRECISION") == 1
    assert first.phase_ms("convert") is not None
    assert again.phase_ms("convert") is None
    assert again.preparation.from_cache


@pytest.mark.usefixtures("in_process")
def test_an_operator_that_a_model_lacks_is_noticed_on_every_run(tmp_path) -> None:
    source = dense(tmp_path / "net.onnx")
    for _ in range(2):
        run = ran(source, "ort-cpu:fp16?op_block_list=Softplus", tmp_path / "cache")
        assert run.outcome.kind is OutcomeKind.OK, run.outcome
        assert [one.code for one in run.notices].count("W-BLOCK-LIST") == 1


@pytest.mark.parametrize("damage", [lambda data: data[:100], models.damaged])
@pytest.mark.usefixtures("in_process")
def test_a_converted_model_that_was_damaged_is_made_again(tmp_path, damage) -> None:
    cache = tmp_path / "cache"
    source = dense(tmp_path / "net.onnx")
    ran(source, "ort-cpu:fp16", cache)
    (made,) = cache.glob("converted/*/*.onnx")
    made.write_bytes(damage(made.read_bytes()))
    again = ran(source, "ort-cpu:fp16", cache)
    assert again.outcome.kind is OutcomeKind.OK, again.outcome
    assert again.phase_ms("convert") is not None


@pytest.mark.usefixtures("in_process")
def test_without_a_cache_nothing_is_left(tmp_path) -> None:
    run = ran(dense(tmp_path / "net.onnx"), "ort-cpu:fp16")
    assert run.outcome.kind is OutcomeKind.OK, run.outcome
    assert [one.name for one in tmp_path.iterdir()] == ["net.onnx"]


@pytest.mark.usefixtures("in_process")
def test_what_cannot_be_converted_is_an_outcome(tmp_path) -> None:
    run = ran(models.strings(tmp_path / "m.onnx"), "ort-cpu:fp16")
    assert run.outcome.kind is OutcomeKind.UNSUPPORTED
    assert "holds no FP32" in (run.outcome.message or "")


@pytest.mark.usefixtures("in_process")
def test_other_inputs_types_reach_the_converted_model(tmp_path) -> None:
    run = ran(dense(tmp_path / "net.onnx"), "ort-cpu:fp16?keep_io_types=0")
    assert run.outcome.kind is OutcomeKind.OK, run.outcome
    assert run.inputs[0].dtype.value == "FP16"


LOG = """\
2026-11-21 [I:onnxruntime:, cuda_execution_provider.cc:2879 GetCapability] CUDA kernel not found in registries for Op type: Pad node name: Pad_13
2026-11-21 [I:onnxruntime:, fallback_cpu_capability.cc:172] Force fallback to CPU execution for node: Gather_5 because the CPU execution path is deemed faster
2026-11-21 [I:onnxruntime:, fallback_cpu_capability.cc:172] Force fallback to CPU execution for node: Nobody_1 because the CPU execution path is deemed faster
[W] No importer registered for op: NonZero. Attempting to import as plugin.
[E] In node 3 with name: crop and operator: Slice (importSlice): UNSUPPORTED_NODE: axes must be known
"""  # noqa: E501


def test_reasons_from_the_log() -> None:
    assert parse_reasons(LOG, {"Gather_5": "Gather"}, "CUDAExecutionProvider") == {
        "Pad": "CUDAExecutionProvider has no kernel for it with these types",
        "Gather": "on shapes, not on data: ONNX Runtime deems the CPU cheaper than copying",
        "NonZero": "TensorRT's parser does not know it",
        "Slice": "TensorRT's parser: axes must be known",
    }


def test_allocators_by_their_own_account() -> None:
    events = [
        {"cat": "Session", "name": "model_run", "args": {}},
        {"args": {"provider": "A", "mem_in_use_peak": "10", "mem_arena_held": "64"}},
        {"args": {"provider": "A", "mem_in_use_peak": "30", "mem_arena_held": "32"}},
        {"args": {"provider": "B", "mem_in_use_peak": "5"}},
        {"args": {"provider": "C"}},
        "not an event",
    ]
    found = arenas_of(Document(value=events, source="p", notices=()))
    marks = [(one.provider, one.in_use_peak_bytes, one.held_bytes) for one in found]
    assert marks == [("A", 30, 64), ("B", 5, None)]
    assert arenas_of(Document(value={}, source="p", notices=())) == ()
