"""What a run of trtexec left, as `Measured`."""

import shlex
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from enginescope.backends.base import Measured
from enginescope.backends.trtexec import process
from enginescope.backends.trtexec.command import GRAPH, PROFILE, TIMES, Command
from enginescope.core.errors import BackendError, FormatError
from enginescope.core.record import replace
from enginescope.formats.log_facts import build_failure_hint
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.formats.trtexec.exported_profile import parse_profile
from enginescope.formats.trtexec.exported_times import (
    ExportedTimes,
    parse_times,
    summary_mismatches,
)
from enginescope.formats.trtexec.trtexec_log import TrtexecLog, parse_trtexec_log
from enginescope.judge.notice import Notice, Notices
from enginescope.judge.stats.autocorrelation import quantile_interval
from enginescope.records.plan.build import DeviceMemory, ToolReport
from enginescope.records.plan.plan import Plan, Profile
from enginescope.records.run.job import Job
from enginescope.records.run.run import Phase, StopReport
from enginescope.records.tensor import Tensor


def read_log(ended: process.Ended, source: str) -> tuple[TrtexecLog, Notices]:
    """Return the log of a run that ended well."""
    try:
        log, notices = parse_trtexec_log(ended.log.encode(), source)
    except FormatError as error:
        raise BackendError(
            _end(ended), why=process.last_line(ended.log, "it printed nothing")
        ) from error
    if ended.status != 0 or log.report.passed is False:
        errors = [one.text for one in log.report.messages if one.level != "warning"]
        why = "; ".join(errors[:3]) or process.last_line(ended.log, "it printed nothing")
        raise BackendError(_end(ended), why=why, hint=_hint(log.report))
    return log, notices


def _end(ended: process.Ended) -> str:
    if ended.status < 0:
        try:
            return f"trtexec died of {signal.Signals(-ended.status).name}"
        except ValueError:
            return f"trtexec died of signal {-ended.status}"
    return f"trtexec failed with exit status {ended.status}"


def _hint(report: ToolReport) -> str | None:
    text = " ".join(one.text for one in report.messages).lower()
    if "unknown option" in text:
        return "check --trtexec-args and the arguments after --: trtexec gets them unchanged"
    return build_failure_hint(one.text for one in report.messages)


T = TypeVar("T")

#: What each file is called when it is kept with the run, behind the subject's name.
_KEPT = {TIMES: "timing.json", PROFILE: "profile.json", GRAPH: "graph.json"}


def measured_from(
    ended: process.Ended, command: Command, job: Job, version: process.Version, folder: Path
) -> Measured:
    """Return what trtexec measured."""
    stem = Path(job.subject.path or job.subject.name).stem
    log, told = read_log(ended, f"{stem}.log")
    report = replace(log.report, command=shlex.join(command.arguments))
    files = _Files(folder, stem)
    times = _times(files, job)
    plan = files.read(GRAPH, lambda data, name: parse_plan(data, name, name=job.subject.name))
    profile = _profile(files, log) if job.layer_profile else None
    inputs, outputs = _tensors(ended.log, command, plan)
    # the first dimension, where all inputs of two axes or more agree on it
    firsts = {one.shape[0] for one in inputs if one.shape is not None and len(one.shape) >= 2}
    context = report.context_memory_bytes
    files.texts[f"{stem}.log"] = ended.log
    return Measured(
        phases=_phases(report, version, times, ended.log),
        inputs=inputs,
        outputs=outputs,
        batch=command.fed.batch or (firsts.pop() if len(firsts) == 1 else None),
        samples=times.samples,
        warmup=process.warm_up_report(ended.log),
        stop=_stop(times, command, report),
        profile=profile,
        plan=plan,
        mode=process.printed_mode(report),
        wall_ms=times.wall_ms,
        trace=times.trace,
        device_memory=None if context is None else DeviceMemory(activation_bytes=context),
        tool=report,
        files=files.texts,
        notices=(
            *command.fed.notices,
            *command.notices,
            *process.mode_notices(report, command.mode),
            *told,
            *files.notices,
            *summary_mismatches(times, report.summaries),
        ),
    )


class _Files:
    """Reads the exports, and keeps their texts and what there is to say of them."""

    def __init__(self, folder: Path, stem: str) -> None:
        self._folder = folder
        self._stem = stem
        self.texts: dict[str, str] = {}
        self.notices: list[Notice] = []

    def data(self, name: str) -> tuple[bytes, str] | None:
        """Return the bytes of an export and the name it is kept by; ``None`` without a file."""
        path = self._folder / name
        if not path.is_file() or path.stat().st_size == 0:
            return None
        data, kept = path.read_bytes(), f"{self._stem}.{_KEPT[name]}"
        self.texts[kept] = data.decode("utf-8", errors="replace")
        return data, kept

    def read(self, name: str, parse: Callable[[bytes, str], tuple[T, Notices]]) -> T | None:
        """Return what `parse` gives; a file that is missing or refused becomes a notice."""
        if (found := self.data(name)) is None:
            self._complain(name, "trtexec wrote none")
            return None
        try:
            value, notices = parse(*found)
        except FormatError as error:
            self._complain(name, str(error))
            return None
        self.notices += notices
        return value

    def _complain(self, name: str, reason: str) -> None:
        message = f"{self._stem}.{_KEPT[name]} could not be used: {reason}"
        evidence = {"file": f"{self._stem}.{_KEPT[name]}", "reason": reason}
        self.notices.append(Notice("W-DAMAGED-FILE", message, evidence))


def _times(files: _Files, job: Job) -> ExportedTimes:
    if (found := files.data(TIMES)) is None:
        what, why = "trtexec exported no times", "it reported PASSED and did not write the file"
        raise BackendError(what, why=why, hint="its log is kept with the run")
    try:
        times, notices = parse_times(*found, warmup_ms=job.workload.warmup.time_ms)
    except FormatError as error:
        raise BackendError("trtexec's exported times cannot be used", why=str(error)) from error
    files.notices += notices
    return times


def _profile(files: _Files, log: TrtexecLog) -> Profile | None:
    profile = files.read(PROFILE, parse_profile)
    if profile is not None or log.profile is None:
        return profile
    message = (
        "layer times are those printed in the log: rounded, and without layers that took no time"
    )
    files.notices.append(Notice("I-PRINTED-PROFILE", message))
    return log.profile


def _tensors(
    log: str, command: Command, plan: Plan | None
) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Inputs and outputs with the shapes of this run; types the log does not say from elsewhere."""
    inputs, outputs = process.bindings(log)
    inputs = inputs or command.fed.tensors
    known = {one.tensor.name: one.tensor.dtype for one in plan.io} if plan else {}
    known |= {one.name: one.dtype for one in command.fed.tensors if known.get(one.name) is None}

    def typed(tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(replace(one, dtype=one.dtype or known.get(one.name)) for one in tensors)

    return typed(inputs), typed(outputs)


def _phases(
    report: ToolReport, version: process.Version, times: ExportedTimes, log: str
) -> tuple[Phase, ...]:
    build_s = report.build_s
    if build_s is not None and report.parse_s is not None and version < (9, 0):
        build_s -= report.parse_s  # up to 8.6 the build's time covers the parsing
    loads = [one for one in (report.load_s, report.deserialize_s) if one is not None]
    warm_up = process.warm_up_report(log)
    found = {
        "parse": _milliseconds(report.parse_s),
        "build": _milliseconds(build_s),
        "load": _milliseconds(sum(loads)) if loads else None,
        "warm_up": warm_up.duration_ms if warm_up else None,
        "steady_state": times.wall_ms,
    }
    return tuple(
        Phase(name=name, duration_ms=duration)
        for name, duration in found.items()
        if duration is not None
    )


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else 1e3 * seconds


def _stop(times: ExportedTimes, command: Command, report: ToolReport) -> StopReport | None:
    duration_ms = times.wall_ms or _milliseconds(report.host_walltime_s)
    if duration_ms is None:
        return None
    series = times.samples[0]
    interval = quantile_interval(series.values_ms, 0.5)
    return StopReport(
        rule=command.rule,
        iterations=len(series),
        duration_ms=duration_ms,
        half_width_pct=interval.half_width_pct if interval else None,
    )
