from collections.abc import Mapping, Sequence

from enginescope.backends.registry import read_spec
from enginescope.core.record import replace
from enginescope.records.run.job import BackendSpec, Job, Subject
from enginescope.records.suite import suite
from enginescope.store.archive import Store
from enginescope.store.suite_folder import SuiteFolder

HERE = {"enginescope": "1.0", "onnxruntime": "1.31.1", "cpu": "Xeon"}


def keep_suite(store: Store, folder: SuiteFolder) -> None:
    rows = tuple(folder.rows().values())
    store.suites.put_suite(folder.path.name, suite.SuiteChange(plan=folder.plan(), rows=rows))


def cell(
    model: str = "m", spec: str = "ort-cpu", *, batch: int | None = None, **more
) -> suite.Cell:
    name, _, rest = spec.partition(":")
    is_plain = not {"?", "@"} & set(spec)
    backend = BackendSpec(name=name, precision=rest or None) if is_plain else read_spec(spec)
    subject = Subject(name=f"{model}.onnx", kind="onnx", path=f"/zoo/{model}.onnx", sha256="0" * 64)
    job = Job(subject=subject, backend=backend)
    job = replace(job, workload=replace(job.workload, batch=batch))
    known = {"key": f"{model}-{spec}-{batch}", "mode": "benchmark", "input": "random", **more}
    return suite.Cell(model=model, job=job, **known)


def row(
    one: suite.Cell,
    status: suite.CellStatus = suite.CellStatus.OK,
    *,
    figures: Mapping[str, float] | None = None,
    providers: Sequence[tuple[str, int, float | None]] = (),
    **more,
) -> suite.CellRow:
    known = {
        "reason": None if status is suite.CellStatus.OK else "it is said why",
        "started": "2026-11-21T18:00:00+00:00",
        "ended": "2026-11-21T18:00:09+00:00",
        "versions": HERE,
        **more,
    }
    return suite.CellRow(
        cell=one,
        status=status,
        figures=tuple(
            suite.CellFigure(metric=name, value=value, unit="ms")
            for name, value in (figures or {}).items()
        ),
        providers=tuple(
            suite.CellProvider(provider=name, nodes=nodes, time_ms=ms)
            for name, nodes, ms in providers
        ),
        **known,
    )


def timed(one: suite.Cell, ms: float, **more) -> suite.CellRow:
    """A row of a cell that took so long."""
    figures = {"latency": ms, "mean": ms, "sd": ms / 10, "p90": 1.1 * ms, "samples": 200.0}
    return row(one, figures={**figures, **more.pop("figures", {})}, run=f"r{one.key}"[:12], **more)


def result(
    rows: Sequence[suite.CellRow], *, cells: Sequence[suite.Cell] = (), **more
) -> suite.SuiteResult:
    plan = suite.SuitePlan(
        suite=suite.Suite(name="nightly", models=(), **more),
        cells=tuple(cells) or tuple(one.cell for one in rows),
        created="2026-11-21T17:05:06+00:00",
        command="enginescope suite nightly.toml",
    )
    return suite.SuiteResult(plan=plan, rows=tuple(rows))
