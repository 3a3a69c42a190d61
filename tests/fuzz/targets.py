"""What is done with a mutated file, and the sound files that mutations begin with."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from enginescope.analysis.runs.run_view import RunView
from enginescope.cli.main import main
from enginescope.core.errors import EnginescopeError
from enginescope.formats.importing.importer import import_artifacts
from enginescope.formats.importing.plan_files import PlanFiles, read_plan_files
from enginescope.formats.onnx.onnx_graph import read_onnx_graph
from enginescope.formats.suites.suite_file import read_suite_file
from enginescope.store.archive import Store
from tests.formats import logs, plans, times
from tests.render.screen import summary_text
from tests.store.stored_runs import a_run

DATA = Path(__file__).parents[1] / "data"
_MOST_BYTES = 30_000
#: Exit code of an error that enginescope did not foresee.
_BUG = 4
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
_EVENTS = [
    {"cat": "Node", "name": "a_kernel_time", "ts": 1, "dur": 5, "args": {"op_name": "If"}},
    {"cat": "Session", "name": "model_run", "ts": 0, "dur": 9, "args": {}},
] * 3
_METADATA = {
    "performance_summary": {"Latency": [1.0, 2.0, 1.5, 1.5, 1.9], "Throughput": 3.0},
    "device_information": {"Selected Device": "GPU", "SMs": 3.0, "Device Global Memory": "1 MiB"},
}
_PROFILE = [{"count": 2}, {"name": "a", "timeMs": 2.0, "averageMs": 1.0, "percentage": 100}]
_OUTPUTS = [{"name": "y", "dimensions": "1x3", "values": [1.0, 2.0, 3.0]}]
_LATENCIES = {"/conv/Conv": [0.5, 0.25], "PWN(/relu/Relu)": [0.125, 0.25]}


def seeds() -> dict[str, list[bytes]]:
    """Return sound files: of other tools, suites, documents of stored runs, models."""
    made = (
        *(times.records(6), _PROFILE, _METADATA, _EVENTS, _TRACE, _OUTPUTS, _LATENCIES),
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
        """Read the graph of a model."""
        path = self._written("net.onnx", data)
        self._result(lambda: read_onnx_graph(path))

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


def models() -> Iterator[bytes]:
    """Yield small models."""
    import onnx
    from onnx import TensorProto, helper

    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])]
    weight = helper.make_tensor("w", TensorProto.FLOAT, [3, 3], [0.5] * 9)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="matmul"),
        helper.make_node("Relu", ["h"], ["y"], name="relu"),
    ]
    graph = helper.make_graph(nodes, "net", inputs, outputs, [weight])
    opsets = [helper.make_opsetid("", 17)]
    yield onnx.helper.make_model(graph, ir_version=8, opset_imports=opsets).SerializeToString()
