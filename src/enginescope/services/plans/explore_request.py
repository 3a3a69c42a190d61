"""What to explore, what to compare it with, and which files to write: the parameters of `explore`.

Imports no NumPy, so that help needs none.
"""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from enginescope.core.record import Record, Result
from enginescope.records.run.job import StopRule, Workload
from enginescope.services.declared import (
    File,
    Param,
    check_declared,
    declared,
    existing,
    unflagged,
    written,
)

SortColumn: TypeAlias = Literal[
    "time", "plan", "name", "type", "precision", "tactic", "weights", "activations", "footprint"
]
#: Layers matter more than the last digit of the latency.
BRIEF = Workload(stop=StopRule(max_time_ms=3_000.0, min_samples=20))
_FILES = (*("csv", "xlsx", "netron", "model_explorer", "perfetto", "html", "card"), *("svg", "png"))
_DRAWING = ("color", "regions", "constants", "beam", "filter", "fold", "highlight")


class ContextRequest(Record, frozen=True, kw_only=True):
    """What a plan is compared with."""

    gpu: Annotated[
        str | None, Param("Compare each layer with the limits of this GPU.", metavar="NAME")
    ] = None
    onnx: Annotated[
        File | None,
        existing("Read the ONNX model behind the plan, and show the cost of its nodes."),
    ] = None
    build_log: Annotated[
        File | None, existing("Read the verbose build log, and show its summary.")
    ] = None
    overlay: Annotated[
        File | None,
        existing("Color the graph by your own figures: CSV or JSON of layer name and value."),
    ] = None

    def __post_init__(self) -> None:
        check_declared(self)


class _ExploredPlan(ContextRequest, frozen=True):
    what: Annotated[
        File | Result,
        Param(
            "A plan's JSON, with the files that are named like it; an engine, where TensorRT is "
            "installed; a folder or an archive of one engine's files; a stored run, or a view; or "
            "an ONNX model, which is measured first, as `bench` does."
        ),
    ]


class ExploreRequest(_ExploredPlan, frozen=True, kw_only=True):
    """Which plan, what it is compared with, and which files to write.

    The run of a model or engine that is measured is stored (`is_stored`), with the command line.
    """

    on: Annotated[
        str | None,
        Param("Backend to measure a model or an engine on.", usual="ort-cpu for a model"),
    ] = None
    workload: Annotated[Workload, unflagged("Inputs and stop rule of that measurement.")] = BRIEF
    profile: Annotated[
        File | None, existing("Read layer times from this file.", usual="X.profile.json")
    ] = None
    metadata: Annotated[
        File | None, existing("Read trex's profiling metadata.", usual="X.profile.metadata.json")
    ] = None
    build_metadata: Annotated[
        File | None, existing("Read trex's build metadata.", usual="X.build.metadata.json")
    ] = None
    plan_profile: Annotated[
        int, Param("Select the optimization profile if the plan has several.", least=0)
    ] = 0
    sort: Annotated[SortColumn, Param("Sort the layers by this column.")] = "time"
    csv: Annotated[File | None, written("Write the layers as CSV to FILE.")] = None
    xlsx: Annotated[File | None, written("Write all tables to FILE, for Excel.")] = None
    netron: Annotated[
        File | None,
        written(
            "Write the plan, or the ONNX model of the plan, with layer times to FILE, for Netron."
        ),
    ] = None
    model_explorer: Annotated[
        File | None,
        written(
            "Write the plan with its times, or times for its ONNX model, to FILE, for Model "
            "Explorer."
        ),
    ] = None
    perfetto: Annotated[
        File | None,
        written("Write the layers of one inference and recorded requests to FILE, for Perfetto."),
    ] = None
    svg: Annotated[File | None, written("Draw the plan as an SVG graph to FILE.")] = None
    png: Annotated[File | None, written("Draw the plan as a PNG graph to FILE.")] = None
    color: Annotated[
        Literal["type", "precision", "time", "lint"], Param("Color the graph by this property.")
    ] = "type"
    beam: Annotated[
        str | None, Param("Draw only layers within N steps of LAYER.", metavar="LAYER,N")
    ] = None
    filter: Annotated[
        Sequence[str],
        Param(
            "Draw only matching layers and fold the rest: type:T, precision:P, or words.",
            metavar="WHAT",
        ),
    ] = ()
    highlight: Annotated[
        Sequence[str],
        Param("Frame matching layers: type:T, precision:P, or words.", metavar="WHAT"),
    ] = ()
    fold: Annotated[
        Literal["module", "block", "none"],
        Param("Fold each module of the ONNX names, or each repeated block, into one box."),
    ] = "none"
    regions: Annotated[
        Literal["io", "forks", "all"],
        Param("Draw tensors as boxes: inputs, outputs and reused memory; also forks; all."),
    ] = "io"
    constants: Annotated[bool, Param("Also draw constants.")] = False
    html: Annotated[File | None, written("Write one HTML page with everything to FILE.")] = None
    card: Annotated[File | None, written("Write one 16:9 PNG for a slide or a chat to FILE.")] = (
        None
    )
    store: Annotated[
        File | None,
        unflagged(
            "Folder or database of the runs.",
            usual="the command line's, where a model's run is not stored",
        ),
    ] = None
    is_stored: bool = True
    command: str | None = None

    @property
    def is_measured(self) -> bool:
        """Whether what to explore is a model or an engine that is measured first."""
        if not isinstance(self.what, str | PathLike):
            return False
        return self.on is not None or Path(self.what).suffix.lower() == ".onnx"

    @property
    def files(self) -> dict[str, Path]:
        """The files to write."""
        every = {name: getattr(self, name) for name in _FILES}
        return {name: Path(file) for name, file in every.items() if file is not None}

    @property
    def drawing(self) -> tuple[str, ...]:
        """The options of the drawing that are not the default."""
        usual = {field.name: field.default for field in declared(type(self))}
        return tuple(name for name in _DRAWING if getattr(self, name) != usual[name])
