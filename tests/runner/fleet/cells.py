"""Cells of nothing, for fleets that do not exist."""

from typing import Any

from enginescope.records.run.job import BackendSpec, Job, Subject
from enginescope.records.suite.suite import Cell, CellRow, CellStatus, Needs
from enginescope.runner.fleet.machines import CellTaskResult, FleetWatch, Lost


def cell(key: str = "k0", backend: str = "ort-cpu", **more: Any) -> Cell:
    needs = Needs(gpu=more.pop("gpu", None), exclusive=more.pop("exclusive", False))
    options = more.pop("options", {})
    job = Job(
        subject=more.pop("subject", Subject(name="net.onnx", kind="onnx")),
        backend=BackendSpec(name=backend, precision=more.pop("precision", None), options=options),
        **more.pop("job", {}),
    )
    known = {"mode": "benchmark", "input": "random", **more}
    return Cell(key=key, model="net", job=job, needs=needs, **known)


def row(one: Cell, status: CellStatus = CellStatus.OK) -> CellRow:
    return CellRow(cell=one, status=status, started="2026-01-01", ended="2026-01-01")


class Heard:
    def __init__(self) -> None:
        self.started: list[tuple[str, str]] = []
        self.returned: list[CellTaskResult] = []
        self.lost: list[Lost] = []
        self.again: list[tuple[str, str]] = []

    @property
    def watch(self) -> FleetWatch:
        return FleetWatch(
            started=lambda one, place: self.started.append((one.key, place)),
            returned=lambda _, returned: self.returned.append(returned),
            lost=self.lost.append,
            again=lambda one, why: self.again.append((one.key, why)),
        )
