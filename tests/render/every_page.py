"""A page of each kind, as files and as a server shows them."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from enginescope.analysis.plan_comparison.comparison import compare
from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.verdicts.measured_sides import compare_sides
from enginescope.backends.registry import parse_backend
from enginescope.core.record import replace
from enginescope.records.run.run import Run
from enginescope.records.suite.suite import CellStatus, SuiteResult
from enginescope.render.compare.compare_page import compare_page
from enginescope.render.page.page import report_page
from enginescope.render.plan_comparison.compare_tables import Chosen
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.suites.suite_page import suite_page
from enginescope.serve.access import Access
from enginescope.serve.app import Taking
from enginescope.serve.configuration import Configuration, GatePart
from enginescope.serve.uploads import Push, PushLog
from enginescope.services.plans.resolve_plan import resolve_plan
from enginescope.store.archive import Store
from enginescope.store.suite_folder import SUITES, SuiteFolder
from tests.analysis.compared_plans import network_a, run_a, run_b
from tests.analysis.in_turn import named, process
from tests.analysis.runs.test_time_line import trace
from tests.conftest import DATA
from tests.render.gpu_runs import gpu_run
from tests.render.runs import failed_run, imported_run, measured_run
from tests.serve.conftest import TOKEN, served
from tests.store.stored_runs import a_run
from tests.suites.made import cell, result, row, timed

PLAN = DATA / "trt86-h200-process" / "small_convnet.onnx.engine.graph.json"
_LONG = "trt:fp16?tactic_sources=-CUDNN,-CUBLAS,-CUBLAS_LT&builder_optimization_level=2"
_SPECS = ("ort-cpu", "ort-cuda", "ort-cuda:fp16", "ort-trt:fp16", "trt", "trt:fp16", "trt:int8")


def report(*runs: Run) -> bytes:
    """Return the report over runs, by default over one of each kind."""
    some = (measured_run(trace=trace([2.0] * 6)), gpu_run(), failed_run(), imported_run())
    return report_page([RunView(run) for run in runs or some])


@cache
def plan_page(file: Path) -> bytes:
    return report_page([PageSubject(RunView(resolve_plan(str(file)).as_run()))])


def comparison(*runs: Run) -> bytes:
    """Return the page of plans that were measured too, as long as what each is."""
    sides = named(*((process(1 + at / 5),) for at in range(len(runs))))
    return compare_page(compare(runs), Chosen(), measured=compare_sides(sides))


def suite() -> SuiteResult:
    """Return a suite whose table is wider than most windows, and that has every state."""
    rows = [
        timed(cell(f"a_model_with_a_long_name_{at}", spec), 9.0 - number + at, figures={
            "latency_low": 8.9 - number + at, "latency_high": 9.1 - number + at,
            "max_abs_error": 10.0 ** (number - 6),
        })
        for at in range(4)
        for number, spec in enumerate(_SPECS)
    ]  # fmt: skip
    reason = "the process ended by signal 11 while it was built: see its log " * 3
    rows.append(row(cell("broken"), CellStatus.CRASHED, reason=reason))
    rows.append(row(cell("broken", "trt"), CellStatus.UNSUPPORTED, reason="no such operator"))
    return result(rows, cells=[*(one.cell for one in rows), cell("late")])


def write_pages(folder: Path) -> dict[str, Path]:
    made = {
        "plan": plan_page(PLAN),
        "report": report(measured_run(trace=trace([2.0] * 6))),
        "reports": report(),
        "comparison": comparison(run_a(), run_b()),
        "three-sides": comparison(run_a(), run_b(), network_a(1).run("third")),
        "suite": suite_page(suite()),
    }
    for name, page in made.items():
        (folder / f"{name}.html").write_bytes(page)
    return {name: folder / f"{name}.html" for name in made}


def filled_store(folder: Path) -> Store:
    """Return a store of runs, one of which failed, and a suite."""
    store = Store(folder)
    for at in range(30):
        named_run = a_run(f"a_model_with_a_long_name_{at % 3}.onnx", id=f"run{at:03}", at=at)
        store.save(named_run, tags=["main"] if at % 5 else [])
    store.save(replace(failed_run(), id="bad000"))
    for at in range(12):  # a week of two backends, one of which has a long name
        made = a_run("nightly.onnx", id=f"day{at:03}")
        job = replace(made.job, backend=parse_backend(_LONG if at % 2 else "trt:fp16"))
        created = f"2026-11-{1 + at // 2:02}T0{at % 2}:30:00+00:00"
        store.save(replace(made, job=job, created=created))
    (store.runs_folder / "damaged0").mkdir()
    (store.runs_folder / "damaged0" / "run.json").write_text("{")
    found = suite()
    kept = SuiteFolder(store.path / SUITES / "nightly")
    kept.begin(found.plan)
    for one in found.rows:
        kept.keep(one)
    return store


#: What a server shows, by path.
SERVED = (
    *("/", "/runs", "/suites", "/suites/nightly", "/runs/run000", "/runs/run000/files"),
    *("/history?model=a_model_with_a_long_name_0.onnx", "/compare?run=run000&run=run001"),
    "/history?model=nightly.onnx",
    *("/runs?model=nothing", "/runs/none", "/gate", "/gate/nightly", "/gate/unknown", "/pushes"),
)


@contextmanager
def addresses(folder: Path) -> Iterator[dict[str, str]]:
    """Serve a filled store, open and behind a token; yield the pages' addresses by name."""
    store = filled_store(folder)
    gates = (
        GatePart(name="nightly", baseline=("run000",), current=("run001",)),
        GatePart(name="unknown", baseline=("no-such-tag",)),
    )
    push = {"at": "2026-11-23T10:00:00Z", "token": "nightly", "address": "2001:db8:12:fe::1"}
    log = PushLog(store.path)
    log.add(Push(run="run000", status=201, result="stored", **push))
    log.add(Push(run="run001", status=422, result="not a run: it has no run.json", **push))
    shown = (None, Taking(is_on=True), Configuration(gate=gates))
    with served(store, *shown) as at, served(store, Access(token=TOKEN)) as locked:
        yield {**{path: at + path for path in SERVED}, "/login": f"{locked}/login"}
