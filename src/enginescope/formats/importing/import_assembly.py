"""The files of one engine as one run."""

import secrets
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from enginescope.core.errors import FormatError, foreign
from enginescope.core.record import Record, copied
from enginescope.formats.benchmarks.benchmark_series import BenchmarkResult
from enginescope.formats.importing.artifact_kinds import OPERATOR_KINDS, ArtifactKind, Group, Item
from enginescope.formats.importing.import_options import (
    engine_path,
    merge_reports,
    precision_of,
    warmup_ms,
    workload_of,
)
from enginescope.formats.lenient_json import Document
from enginescope.formats.log_facts import build_failure_hint
from enginescope.formats.onnxruntime.ort_memory import arenas_of
from enginescope.formats.onnxruntime.ort_profile import ort_profile_of
from enginescope.formats.plan.plan_json import plan_of
from enginescope.formats.tensors.tensor_files import outputs_of
from enginescope.formats.torch.torch_trace import torch_trace_of
from enginescope.formats.trex.trex_metadata import metadata_of
from enginescope.formats.trtexec import exported_times
from enginescope.formats.trtexec.exported_profile import layer_latencies_of, profile_of
from enginescope.judge.notice import Notice
from enginescope.records.environment import Environment
from enginescope.records.plan.build import ToolReport
from enginescope.records.plan.plan import Plan, Profile
from enginescope.records.run.job import CPU_BACKEND, BackendSpec, Job, Subject
from enginescope.records.run.run import Artifact, Outcome, OutcomeKind, Run, TensorValues


class EngineFacts(Record, frozen=True, kw_only=True, eq=False):
    """What was read of one engine.

    Attributes:
        report: Of logs and metadata together.
        artifacts: The files where they lie.
        answers: Values of the outputs.
        backend: What ran the engine, as `BackendSpec` names it; by default the tool whose files
            these are.
        versions: Of libraries; by default TensorRT's of the report.
    """

    name: str
    backend: str | None = None
    versions: Mapping[str, str] = {}
    plan: Plan | None = None
    profile: Profile | None = None
    times: exported_times.ExportedTimes | None = None
    report: ToolReport | None = None
    notices: tuple[Notice, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    answers: tuple[TensorValues, ...] = ()


#: Tools whose version is that of TensorRT.
_TENSORRT_TOOLS = frozenset({"trtexec", "tensorrt"})


def run_of_engine(facts: EngineFacts) -> Run:
    report, plan, times = facts.report, facts.plan, facts.times
    devices = (report.device,) if report and report.device else ()
    version = report.tool_version if report and report.tool in _TENSORRT_TOOLS else None
    stated = {"tensorrt": version} if version else {}
    return copied(
        Run,
        facts,
        **new_identity(),
        job=Job(
            subject=Subject(name=facts.name, kind="engine", path=engine_path(report)),
            backend=BackendSpec(
                name=facts.backend or _tool_of(facts), precision=precision_of(report, plan)
            ),
            workload=workload_of(report, plan),
            layer_profile=facts.profile is not None,
        ),
        outcome=_outcome(report),
        environment=Environment(devices=devices, versions=dict(facts.versions) or stated),
        command=report.command if report else None,
        inputs=tuple(one.tensor for one in plan.inputs) if plan else (),
        outputs=tuple(output.tensor for output in plan.outputs) if plan else (),
        samples=times.samples if times else (),
        timer_resolution_ms=times.clock_step_ms if times else None,
        trace=times.trace if times else None,
        tool=report,
    )


def _tool_of(facts: EngineFacts) -> str:
    """Return whose files they are: a plan alone does not say which tool asked TensorRT for it."""
    if facts.report is not None or facts.times is not None:
        return "trtexec"
    source = facts.profile.source if facts.profile else None
    return source if source in ("trtexec", "torch-tensorrt") else "tensorrt"


def new_identity() -> dict[str, Any]:
    """Return what an imported run is known by."""
    return {
        "id": secrets.token_hex(6),
        "created": datetime.now(timezone.utc).isoformat(timespec="microseconds"),
        "origin": "imported",
    }


def _outcome(report: ToolReport | None) -> Outcome:
    if report is None or report.passed is not False:
        return Outcome()
    errors = [message.text for message in report.messages if message.level != "warning"]
    return Outcome(
        kind=OutcomeKind.FAILED,
        message=errors[0] if errors else f"{report.tool} says FAILED",
        hint=build_failure_hint(message.text for message in report.messages),
        detail="\n".join(errors) or None,
    )


T = TypeVar("T")
_LONELY = "a comparison of outputs without an engine's files; pass it to report --outputs"
_PROVIDERS = {
    "CPUExecutionProvider": CPU_BACKEND,
    "CUDAExecutionProvider": "ort-cuda",
    "TensorrtExecutionProvider": "ort-trt",
}


class Damaged(Record, frozen=True, kw_only=True):
    """A file that was recognized and could not be used."""

    path: Path
    reason: str


class _Parts:
    def __init__(self) -> None:
        self.reports: list[ToolReport] = []
        self.plan: Plan | None = None
        self.profile: Profile | None = None
        self.times: exported_times.ExportedTimes | None = None
        self.answers: tuple[TensorValues, ...] | None = None
        self.notices: list[Notice] = []
        self.used: list[Item] = []
        self.damaged: list[Damaged] = []

    def read(self, item: Item, parse: Callable[[], tuple[T, tuple[Notice, ...]]]) -> T | None:
        """Return what `parse` gives; a file that it refuses becomes a notice."""
        try:
            with foreign(item.path.name, item.kind.value):
                value, notices = parse()
        except FormatError as error:
            reason, name = "; ".join(filter(None, (str(error), error.hint))), item.path.name
            self.damaged.append(Damaged(path=item.path, reason=reason))
            evidence = {"file": name, "kind": item.kind.value, "reason": reason}
            message = f"{name} could not be used: {reason}"
            self.notices.append(Notice("W-DAMAGED-FILE", message, evidence))
            return None
        self.notices += notices
        self.used.append(item)
        return value


def assemble(group: Group) -> tuple[Run | None, tuple[Damaged, ...]]:
    """Return the run of a group of files, and the files that could not be used.

    The run is ``None`` if nothing of the group could be used.
    """
    parts = _Parts()
    if (benchmark := group.items[0].benchmark) is not None:
        return _benchmark_run(group, benchmark), ()
    if group.items[0].kind in OPERATOR_KINDS:
        return _operator_run(group, parts), tuple(parts.damaged)
    _read_reports(group.items, parts)
    report = merge_reports(parts.reports)
    _read_rest(group, parts, report)
    differences = [item for item in group.items if item.kind is ArtifactKind.OUTPUT_DIFF]
    if not parts.used:
        lonely = (Damaged(path=difference.path, reason=_LONELY) for difference in differences)
        return None, (*parts.damaged, *lonely)
    parts.used += differences
    parts.notices += _contradictions(group, parts, report)
    log = next((item.log for item in group.items if item.log is not None), None)
    facts = EngineFacts(
        name=group.name,
        backend=log.backend if log else None,
        versions=log.versions if log else {},
        plan=parts.plan,
        profile=parts.profile,
        times=parts.times,
        report=report,
        notices=tuple(parts.notices),
        artifacts=_artifacts(parts.used),
        answers=parts.answers or (),
    )
    return run_of_engine(facts), tuple(parts.damaged)


def _read_reports(items: Sequence[Item], parts: _Parts) -> None:
    for item in items:
        if item.log is not None:
            parts.reports.append(item.log.report)
            parts.notices += item.notices
            parts.used.append(item)
        elif item.kind is ArtifactKind.TREX_METADATA and item.document is not None:
            found = parts.read(item, partial(metadata_of, item.document))
            parts.reports += [found] if found else []


def _read_rest(group: Group, parts: _Parts, report: ToolReport | None) -> None:
    by_kind = {one.kind: one for one in group.items if one.document is not None}

    def read(kind: ArtifactKind, parse: Callable[[Any], tuple[T, tuple[Notice, ...]]]) -> T | None:
        item = by_kind.get(kind)
        return parts.read(item, partial(parse, item.document)) if item else None

    parts.plan = read(ArtifactKind.PLAN, lambda document: plan_of(document, name=group.name))
    warmup, queries = _query_counts(group)
    counted = partial(exported_times.times_of, warmup_queries=warmup, queries=queries)
    parts.times = read(ArtifactKind.TIMES, partial(counted, warmup_ms=warmup_ms(report)))
    parts.profile = read(ArtifactKind.PROFILE, profile_of)
    if parts.profile is None:
        parts.profile = read(ArtifactKind.LAYER_LATENCIES, layer_latencies_of)
    parts.answers = read(ArtifactKind.OUTPUTS, outputs_of)
    _take_printed(group, parts)


def _take_printed(group: Group, parts: _Parts) -> None:
    """Take layers and their times from logs, where no file has them."""
    for item in group.items:
        log = item.log
        if log is not None and log.inspected is not None and parts.plan is None:
            document = Document(source=item.path.name, value=log.inspected)
            parts.plan = parts.read(item, partial(plan_of, document, name=group.name))
        if log is not None and log.profile is not None and parts.profile is None:
            parts.profile = log.profile
            printed = f"layer times are those printed in {item.path.name}"
            message = f"{printed}: rounded, and without layers that took no time"
            parts.notices.append(Notice("I-PRINTED-PROFILE", message, {"file": item.path.name}))


def _query_counts(group: Group) -> tuple[int | None, int | None]:
    logs = (item.log for item in group.items if item.log is not None)
    log = next((log for log in logs if log.queries is not None), None)
    return (log.warmup_queries, log.queries) if log else (None, None)


def _contradictions(group: Group, parts: _Parts, report: ToolReport | None) -> tuple[Notice, ...]:
    notices = exported_times.report_mismatches(parts.reports)
    if parts.times is not None and report is not None:
        notices += exported_times.summary_mismatches(parts.times, report.summaries)
        notices += exported_times.query_mismatch(parts.times, _query_counts(group)[1])
    printed = next(
        (item.log.profile for item in group.items if item.log and item.log.profile), None
    )
    if printed is not None and parts.profile is not None and parts.profile is not printed:
        notices += exported_times.profile_mismatch(parts.profile, printed)
    return notices


def _benchmark_run(group: Group, benchmark: BenchmarkResult) -> Run:
    report = benchmark.report
    version = {report.tool: report.tool_version} if report.tool_version else {}
    return copied(
        Run,
        benchmark,
        **new_identity(),
        job=Job(
            subject=Subject(name=group.name, kind="unknown"),
            backend=BackendSpec(name=report.tool),
            workload=workload_of(None, None),
            layer_profile=benchmark.profile is not None,
        ),
        outcome=_outcome(report),
        environment=Environment(host=benchmark.host, devices=benchmark.devices, versions=version),
        command=report.command,
        samples=(benchmark.samples,) if benchmark.samples is not None else (),
        tool=report,
        artifacts=_artifacts(group.items),
    )


def _operator_run(group: Group, parts: _Parts) -> Run | None:
    """Return the run of a profile by operator: ONNX Runtime's nodes, or a trace of PyTorch."""
    item = group.items[0]
    document = item.document
    assert document is not None
    environment = Environment()
    providers: tuple[str, ...] = ()
    if item.kind is ArtifactKind.TORCH_TRACE:
        trace = parts.read(item, partial(torch_trace_of, document))
        profile, name = (trace.profile, "torch") if trace else (None, "")
        if trace is not None:
            environment = Environment(devices=trace.devices, versions=trace.versions)
    else:
        profile = parts.read(item, partial(ort_profile_of, document))
        providers = _by_time(profile) if profile else ()
        name = _PROVIDERS.get(providers[0], providers[0]) if providers else "onnxruntime"
    if profile is None:
        return None
    parts.used += [one for one in group.items if one.kind is ArtifactKind.OUTPUT_DIFF]
    subject = Subject(name=group.name, kind="unknown" if name == "torch" else "onnx")
    return Run(
        **new_identity(),
        job=Job(subject=subject, backend=BackendSpec(name=name), workload=workload_of(None, None)),
        environment=environment,
        providers=providers,
        profile=profile,
        arenas=arenas_of(document),
        notices=tuple(parts.notices),
        artifacts=_artifacts(parts.used),
    )


def _by_time(profile: Profile) -> tuple[str, ...]:
    """Providers that ran nodes, the one with most time first."""
    spent: dict[str, float] = defaultdict(float)
    for layer in profile.layers:
        if layer.provider is not None:
            spent[layer.provider] += layer.total_ms or 0.0
    return tuple(sorted(spent, key=lambda provider: -spent[provider]))


def _artifacts(items: Sequence[Item]) -> tuple[Artifact, ...]:
    return tuple(
        copied(Artifact, item, kind=item.kind_name, path=str(item.path.absolute()))
        for item in {item.path: item for item in items}.values()
    )
