"""What is done with a mutated file, and the sound files that mutations begin with."""

import contextlib
import io
import json
import math
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from enginescope.analysis.runs.run_view import RunView
from enginescope.cli.main import main
from enginescope.core.errors import EnginescopeError
from enginescope.formats.importing.importer import import_artifacts
from enginescope.formats.importing.plan_files import PlanFiles, read_plan_files
from enginescope.formats.onnx.onnx_graph import read_onnx_flow, read_onnx_graph
from enginescope.formats.onnx.onnx_inputs import read_onnx_inputs
from enginescope.formats.onnx.onnx_precision import digest_of, large_weights, onnx_precision
from enginescope.formats.suites.suite_file import read_suite_file
from enginescope.store.archive import Store
from tests.formats import logs, plans, times
from tests.fuzz.sessions import forked_workers
from tests.render.screen import summary_text
from tests.store.stored_runs import a_run

DATA = Path(__file__).parents[1] / "data"
_MOST_BYTES = 30_000
#: Exit code of an error that enginescope did not foresee.
_BUG = 4
_SHORT = ("--iterations", "3", "--warmup", "0", "--timeout", "4s", "--no-layers")
_SUITE = """\
[suite]
models = ["samples"]
backends = ["ort-cpu"]
batches = [1, 2]

[timing]
iterations = 10

[validation]
tolerance = 0.1

[[model]]
path = "net.onnx"
name = "net"
"""
_TRACE = {
    "schemaVersion": 1,
    "deviceProperties": [{"id": 0, "name": "GPU", "totalGlobalMem": 1, "numSms": 2}],
    "traceEvents": [
        {
            "ph": "X",
            "cat": cat,
            "name": f"{cat}{at}",
            "pid": 1,
            "tid": 1,
            "ts": at,
            "dur": 2.5,
            "args": {"External id": at // 2, "device": 0},
        }
        for at, cat in enumerate(("cpu_op", "kernel") * 4)
    ],
}
_OUTPUTS = [{"name": "y", "dimensions": "1x3", "values": [1.0, 2.0, 3.0]}]
_LATENCIES = {"/conv/Conv": [0.5, 0.25], "PWN(/relu/Relu)": [0.125, 0.25]}


def seeds() -> dict[str, list[bytes]]:
    """Return sound files: of other tools, suites, documents of stored runs, models."""
    made = (
        *(times.records(6), times.PROFILE, times.METADATA, times.EVENTS, _TRACE),
        *(_OUTPUTS, _LATENCIES),
        *(plans.tensorrt_8_4(), plans.tensorrt_10(), plans.tensorrt_11(), plans.names_only()),
    )
    foreign = [json.dumps(value, indent=1).encode() for value in made]
    whole = logs.prefixed(logs.OPTIONS_10 + logs.SUMMARY + logs.PROFILE) + logs.PASSED
    foreign += [whole.encode(), (logs.OPTIONS_10 + logs.SUMMARY).encode()]
    small = (path for path in sorted(DATA.rglob("*")) if path.suffix in (".json", ".log", ".txt"))
    foreign += [path.read_bytes() for path in small if path.stat().st_size < _MOST_BYTES]
    return {"foreign": foreign, "suite": [_SUITE.encode()]}


class Target:
    """A way in for files, with what it needs in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._store = Store(folder / "store")
        self._store.save(a_run(id="aaa"), tags=["kept"])
        self.runs = {
            name: (self._store.runs_folder / "aaa" / name).read_bytes() for name in ("run.json",)
        }
        self.outcomes: Counter[str] = Counter()
        self.index = (folder / "store" / "index.sqlite").read_bytes()

    def foreign(self, data: bytes) -> None:
        """Import a file, look at its runs, and open it as a plan."""
        path = self._written("file.json", data)
        for run in self._result(lambda: import_artifacts([path]).runs) or ():
            self._result(lambda run=run: summary_text(RunView(run)))  # type: ignore[misc]
        self._result(lambda: read_plan_files(PlanFiles(plan=path)))

    def screens(self, data: bytes) -> None:
        """Import and explore a file by the command line, which stores its runs."""
        path = self._written("file.json", data)
        store = self._folder / "screens"
        self._main("import", str(path), "--store", str(store))
        self._main("explore", str(path))
        self._main("lint", str(path))
        shutil.rmtree(store, ignore_errors=True)

    def suite(self, data: bytes) -> None:
        """Read a suite file, and list its cells."""
        for name in ("suite.toml", "suite.json", "suite.yaml"):
            path = self._written(name, data)
            self._result(lambda path=path: read_suite_file(path))  # type: ignore[misc]
        self._main(
            "suite",
            str(self._folder / "suite.toml"),
            "--list",
            "--store",
            str(self._folder / "store"),
        )

    def run(self, data: bytes) -> None:
        """Load, list and index a run whose document is damaged."""
        (self._store.runs_folder / "aaa" / "run.json").write_bytes(data)
        self._stored()

    def database(self, data: bytes) -> None:
        """List and index runs whose index is damaged."""
        (self._store.runs_folder / "aaa" / "run.json").write_bytes(self.runs["run.json"])
        for left in (self._folder / "store").glob("index*"):
            left.unlink()
        (self._folder / "store" / "index.sqlite").write_bytes(data)
        self._stored()
        rows = self._result(lambda: Store(self._folder / "store").rows())
        if rows is None or [row.id for row in rows] != ["aaa"]:
            raise AssertionError("a run is lost")

    def model(self, data: bytes) -> None:
        """Read the graph, the inputs, the precision and the weights of a model."""
        path = self._written("net.onnx", data)
        for read in _MODEL_READERS:
            self._result(lambda read=read: read(path))  # type: ignore[misc]

    def session(self, data: bytes) -> None:
        """Measure a model: whatever ONNX Runtime does with it, a run with a plain outcome comes."""
        path, folder = self._written("net.onnx", data), self._folder / "sessions"
        with forked_workers():
            self._main("bench", str(path), "--store", str(folder), *_SHORT)
        store = Store(folder)
        for row in store.rows():
            outcome = store.load(row.id).outcome
            if "Traceback (most recent call last)" in (outcome.detail or ""):
                raise AssertionError(outcome.detail)
            self.outcomes[outcome.kind.value] += 1
        shutil.rmtree(folder, ignore_errors=True)

    def _stored(self) -> None:
        store = Store(self._folder / "store")
        self._result(store.rows)
        self._result(lambda: store.load("aaa"))
        self._result(store.reindex)

    def _written(self, name: str, data: bytes) -> Path:
        path = self._folder / name
        path.write_bytes(data)
        return path

    @staticmethod
    def _result(action: Callable[[], object]) -> object:
        try:
            return action()
        except EnginescopeError:
            return None

    @staticmethod
    def _main(*arguments: str) -> None:
        said = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
            code = main(list(arguments))
        if code == _BUG:
            raise AssertionError(said.getvalue()[-2000:])


_MODEL_READERS: tuple[Callable[[Path], object], ...] = (
    *(read_onnx_graph, read_onnx_inputs, read_onnx_flow, onnx_precision),
    lambda path: large_weights(path, 1e3),
    lambda path: digest_of(str(path)),
)


def models() -> Iterator[bytes]:
    """Yield small models: products, a convolution with attributes, branches, weights apart."""
    import onnx

    yield _model("net (float[n,3] x) => (float[n,3] y)", "h = MatMul(x, w) y = Relu(h)", w=(3, 3))
    convolution = """
        c = Conv<kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]>(x, w)
        p = MaxPool<kernel_shape = [2, 2]>(c)
        size = Constant<value = int64[2] {1, -1}>()
        f = Reshape(p, size)
        y = Softmax<axis = -1>(f)
    """
    yield _model("net (float[1,3,16,16] x) => (float[1,m] y)", convolution, w=(4, 3, 3, 3))
    branches = """
        i = Cast<to = 7>(x)
        g = Gather<axis = 0>(w, i)
        s = ReduceSum<keepdims = 0>(g)
        zero = Constant<value = float {0.0}>()
        is_more = Greater(s, zero)
        y = If(is_more) <
            then_branch = t () => (float[n,4] a) { a = Identity(g) },
            else_branch = e () => (float[n,4] b) { b = Neg(g) }
        >
    """
    yield _model("net (int32[n] x) => (float[n,4] y)", branches, w=(1000, 4))
    weight = onnx.TensorProto(name="w", data_type=1, dims=[3, 3], data_location=1)
    weight.external_data.add(key="location", value="net.bin")
    weight.external_data.add(key="offset", value="0")
    yield _model("net (float[n,3] x) => (float[n,3] y)", "y = MatMul(x, w)", weight)


def _model(signature: str, body: str, *others: Any, **weights: tuple[int, ...]) -> bytes:
    from onnx import TensorProto, helper, parser

    head = '<ir_version: 8, opset_import: ["" : 17]>'
    model = parser.parse_model(f"{head} {signature} {{ {body} }}")
    model.graph.initializer.extend(others)
    for name, dims in weights.items():
        values = [0.5] * math.prod(dims)
        model.graph.initializer.append(helper.make_tensor(name, TensorProto.FLOAT, dims, values))
    return bytes(model.SerializeToString())
