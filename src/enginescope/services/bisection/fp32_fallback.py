"""What to keep in FP32: the ways to do it, and proposals that are built and measured."""

from collections.abc import Sequence
from pathlib import Path

from enginescope.analysis.bisection.error_growth import Bisected
from enginescope.analysis.bisection.precision_proposals import (
    PrecisionTrial,
    PrecisionTrials,
    Proposal,
    proposals_of,
    worst_error,
)
from enginescope.analysis.runs.run_view import RunView
from enginescope.backends.onnxruntime.convert.fp16 import Fp16Options, fp16_model
from enginescope.core.errors import DiskFullError, EnginescopeError
from enginescope.core.record import Record, replace
from enginescope.formats.onnx.onnx_precision import node_names, onnx_precision
from enginescope.records.run.job import InputFile, InputShape, Job, StopRule, WarmUp, Workload
from enginescope.records.run.run import OutcomeKind
from enginescope.records.run.sample_set import Sample
from enginescope.runner.session import run_jobs
from enginescope.services.accuracy.validation_run import compare_folders
from enginescope.services.bisection.search import BisectPlan, BisectRun

#: Enough to tell ways apart that differ by a few percent.
_STOP = StopRule(precision_pct=1.0, max_time_ms=1_000.0, min_time_ms=300.0)
_AS_IT_IS = Proposal(kind="none", title="as it is", nodes=())
_ALL = Proposal(kind="all", title="everything", nodes=())

#: What a reduced precision may be, of what a backend is asked for.
_REDUCED = frozenset({"fp16", "bf16", "int8", "fp8", "best"})


class FallbackStrategy(Record, frozen=True, kw_only=True):
    """A way of keeping nodes in FP32 of the side `job`; `words` are for people.

    Attributes:
        option: Of the backend, that takes the names; ``None``: the reference is converted anew.
        whole: The same without any reduced precision.
    """

    words: str
    job: Job
    option: str | None
    whole: Job

    @property
    def of_reference(self) -> bool:
        """Whether nodes are named as in the reference's model."""
        return self.option is None

    def keeping(self, nodes: Sequence[str], folder: Path) -> Job:
        """Return the job with some nodes in FP32; a model converted for it is in `folder`."""
        if not nodes:
            return self.job
        if self.option is not None:
            before = self.job.backend.options.get(self.option)
            names = [*([before] if before else []), *nodes]
            options = {**self.job.backend.options, self.option: ",".join(names)}
            return replace(self.job, backend=replace(self.job.backend, options=options))
        source = Path(self.whole.subject.path or "")
        made = fp16_model(source, folder, Fp16Options(node_block_list=tuple(nodes)))
        return replace(self.job, subject=replace(self.job.subject, path=made.path, sha256=None))

    def specification(self, nodes: Sequence[str]) -> str:
        """Return how to have it again, as it is typed."""
        if self.option is None:
            names = f" with node_block_list {','.join(nodes)}" if nodes else ""
            return f"{self.whole.subject.name} converted to fp16{names}"
        return str(self.keeping(nodes, Path()).backend)


def fallback_strategy(job: Job, reference: Job) -> tuple[FallbackStrategy | None, str]:
    """Return how nodes of a side's `job` can be kept in FP32; else ``None`` and why not."""
    spec = job.backend
    whole = replace(job, backend=replace(spec, precision=None))
    parts = set((spec.precision or "").lower().split("+"))
    if spec.name == "trt" and parts & _REDUCED:
        words = "layers kept in FP32 by keep_fp32, binding"
        return FallbackStrategy(words=words, job=job, option="keep_fp32", whole=whole), words
    if spec.name.startswith("ort") and parts == {"fp16"}:
        words = "nodes that the conversion to FP16 skips (node_block_list)"
        return FallbackStrategy(words=words, job=job, option="node_block_list", whole=whole), words
    held = onnx_precision(Path(job.subject.path or ""))
    if held == "fp16" and onnx_precision(Path(reference.subject.path or "")) == "fp32":
        words = f"{reference.subject.name} converted to FP16 again, without some nodes"
        whole = replace(job, subject=reference.subject)
        return FallbackStrategy(words=words, job=job, option=None, whole=whole), words
    if held == "fp32":
        return None, f"{spec} computes in FP32 already, so precision is not the cause"
    return None, f"only an FP16 side can keep parts in FP32, and this one has {held}"


class FallbackTrials:
    """Tries what could be kept in FP32 of the side that `run` has searched, with some `samples`."""

    def __init__(self, plan: BisectPlan, run: BisectRun, samples: tuple[Sample, ...]) -> None:
        self._plan, self._run, self._samples = plan, run, samples
        self._count = 0

    def tried(self, found: Bisected) -> PrecisionTrials:
        way, words = fallback_strategy(self._plan.job, self._plan.reference)
        if way is None:
            return PrecisionTrials(way="", why_none=words)
        flow = self._run.reference_flow if way.of_reference else self._run.flow
        present = node_names(Path(way.whole.subject.path or ""))
        proposals = proposals_of(found, flow, present, of_reference=way.of_reference)
        reference = self._answers(self._plan.reference)
        trials = tuple(self._trial(way, one, reference) for one in (_AS_IT_IS, *proposals, _ALL))
        return PrecisionTrials(way=words, trials=trials, samples=len(self._samples))

    def _trial(self, way: FallbackStrategy, proposal: Proposal, reference: Path) -> PrecisionTrial:
        whole = proposal.kind == "all"
        said = str(way.whole.backend) if whole else way.specification(proposal.nodes)
        trial = PrecisionTrial(proposal=proposal, specification=said)
        try:
            cache = Path(self._plan.job.engine_cache or self._run.answers.folder)
            job = way.whole if whole else way.keeping(proposal.nodes, cache)
            plan, folders = self._plan, (reference, self._answers(job))
            diff = compare_folders(
                plan.label, self._samples, folders, plan.tolerance, plan.asked, plan.output_names
            )
        except DiskFullError:
            raise
        except EnginescopeError as error:
            return replace(trial, failure=str(error))
        figures = [output.figures for output in diff.outputs]
        odd = any(
            figure.nan or figure.infinite or figure.finite_only_here for figure in figures if figure
        )
        errors = [figure.error_to_spread if figure else None for figure in figures]
        trial = replace(trial, passes=diff.passes, error=None if odd else worst_error(errors))
        return self._measured(trial, job)

    def _answers(self, job: Job) -> Path:
        self._count += 1
        folder = self._run.answers.folder / f"trial-{self._count}"
        self._run.answers.plain(job, folder, self._samples)
        return folder

    def _measured(self, trial: PrecisionTrial, job: Job) -> PrecisionTrial:
        timed = replace(
            job, workload=_workload(job.workload, self._samples[0]), layer_profile=False
        )
        (run,) = run_jobs([timed], lambda _run: None)  # these are not runs of the user's
        if run.outcome.kind is not OutcomeKind.OK:
            return replace(trial, failure=run.outcome.message)
        latency = RunView(run).latency
        if latency is None:
            return trial
        return replace(trial, latency_ms=latency.median_ms, interval=latency.median_interval)


def _workload(asked: Workload, sample: Sample) -> Workload:
    """Return the workload that feeds one sample's inputs, shortly."""
    files = tuple(
        InputFile(name=file.input, path=file.path)
        for file in sample.files
        if file.input is not None
    )
    shapes = tuple(InputShape(name=shape.input, dims=shape.dims) for shape in sample.shapes)
    named = {shape.name for shape in shapes}
    return replace(
        asked,
        seed=sample.seed,
        data_set=sample.data_set,
        files=(*asked.files, *files),
        shapes=(*(shape for shape in asked.shapes if shape.name not in named), *shapes),
        warmup=WarmUp(time_ms=100.0, limit_ms=1_000.0),
        stop=_STOP,
    )
