"""A plan and what lies beside it: times and trex's metadata, found by their names.

What a file is that was given as a plan and is none.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from enginescope.core.errors import FormatError, UsageError, foreign
from enginescope.core.packed_files import PACKED_SUFFIXES, plain_bytes, plain_path
from enginescope.core.record import Record, copied
from enginescope.formats.importing.artifact_kinds import (
    LOG_READERS,
    ArtifactKind,
    Recognised,
    kind_of,
    recognise,
)
from enginescope.formats.importing.import_assembly import EngineFacts
from enginescope.formats.importing.import_options import merge_reports, warmup_ms
from enginescope.formats.lenient_json import Document, read_json
from enginescope.formats.log_lines import log_text
from enginescope.formats.plan.plan_json import IS_LAYER, parse_plan, plan_of
from enginescope.formats.trex.trex_metadata import parse_trex_metadata
from enginescope.formats.trtexec.exported_profile import is_profile, parse_profile
from enginescope.formats.trtexec.exported_times import ExportedTimes, summary_mismatches, times_of
from enginescope.formats.trtexec.trtexec_log import parse_trtexec_log
from enginescope.judge.notice import Notice, Notices
from enginescope.records.plan.build import ToolReport
from enginescope.records.plan.plan import Plan, Profile
from enginescope.records.run.run import Artifact

_FOREIGN_KINDS = {
    ArtifactKind.PROFILE: ("layer times", "give the plan, and these with --profile"),
    ArtifactKind.TIMES: ("times of requests", "give the plan; enginescope import reads these"),
    ArtifactKind.TREX_METADATA: ("trex's metadata", "give the plan, and this with --metadata"),
    ArtifactKind.ORT_PROFILE: ("a profile of ONNX Runtime", "enginescope import reads it"),
    ArtifactKind.TORCH_TRACE: (
        "a trace of PyTorch",
        "it has operators, not layers of an engine; enginescope import reads it",
    ),
    ArtifactKind.LAYER_LATENCIES: ("layer times", "give the plan; enginescope import reads these"),
    ArtifactKind.POLYGRAPHY_LOG: ("a log of Polygraphy", "enginescope import reads it"),
    ArtifactKind.SCRIPT_LOG: (
        "a log of a script that uses TensorRT",
        "enginescope import reads it, with the layers that it prints",
    ),
    ArtifactKind.TRTEXEC_LOG: (
        "a log of trtexec",
        "give the plan, and this with --build-log; enginescope import reads it too",
    ),
}


def mistaken_plan(path: Path, data: bytes) -> UsageError | None:
    """Return what to say of a file that holds no plan; ``None`` if its kind is not known."""
    if not data:
        return UsageError(f"{path} is empty", hint="give what trtexec --exportLayerInfo writes")
    if path.suffix.lower() == ".onnx":
        shows = f"enginescope explore {path} measures it, shows its layers, and stores the run"
        builds = "enginescope build makes an engine and its plan; with a plan, use --onnx"
        return UsageError(f"{path} is a model, not a plan", hint=f"{shows}; {builds}")
    if (known := _FOREIGN_KINDS.get(kind_of(data, path.name))) is None:
        return None
    return UsageError(f"{path} is not a plan", why=f"it holds {known[0]}", hint=known[1])


T = TypeVar("T")
_HEAD_BYTES = 4096
# The word in a plan's name that a neighbor has another in the place of.
_ROLE = re.compile(
    r"^(?P<stem>.*?)(?P<joint>[._-]?)(?:graph|plan|layers|layer_?info|engine_?info|profile)\.json$"
)


class PlanFiles(Record, frozen=True, kw_only=True):
    """Which files to read; ``None``: the one that is named like the plan, if it is there.

    Of the timing it is the one that is named like `profile`, where that is named: another timing of
    the plan says nothing of these layer times.

    Attributes:
        metadata: trex's of the timing.
        build_metadata: trex's of the build.
    """

    plan: Path
    profile: Path | None = None
    metadata: Path | None = None
    build_metadata: Path | None = None


#: Times of whole requests, as trex and others name them.
_TIMES_ROLES = ("timing", "times")
_KINDS = {
    "profile": ArtifactKind.PROFILE,
    "log": ArtifactKind.TRTEXEC_LOG,
    **dict.fromkeys(_TIMES_ROLES, ArtifactKind.TIMES),
}


class ReadBeside(Record, frozen=True, kw_only=True):
    """What was read of the files that lie beside a plan, or beside an engine.

    Attributes:
        times: Of whole requests.
        report: Of timing and build together.
        artifacts: The files that were read, where they lie.
    """

    profile: Profile | None
    times: ExportedTimes | None
    report: ToolReport | None
    notices: Notices
    artifacts: tuple[Artifact, ...]

    @property
    def files(self) -> tuple[Path, ...]:
        return tuple(Path(artifact.path) for artifact in self.artifacts)


class ReadPlan(ReadBeside, frozen=True, kw_only=True):
    """What was read of a plan and the files beside it; the plan's own is the first artifact.

    Attributes:
        plan: Named like its file, without the word for its role.
    """

    plan: Plan

    @property
    def facts(self) -> EngineFacts:
        """The same, to make a run of."""
        return copied(EngineFacts, self, name=self.plan.name)


def neighbour(plan: Path, role: str, suffix: str = ".json") -> Path | None:
    """Return the file beside `plan` that holds its `role`: ``"profile"``, ``"build.metadata"`` …

    ``X.graph.json`` has ``X.profile.json`` or ``X.profile.json.gz``; ``None`` if no such file. Of
    several, the one packed like the plan comes first.
    """
    name = plain_path(plan).name
    match = _ROLE.match(name)
    stem = f"{match['stem']}{match['joint']}" if match else f"{name.removesuffix('.json')}."
    plain = plan.with_name(f"{stem}{role}{suffix}")
    packings = (plan.name[len(name) :], "", *PACKED_SUFFIXES)
    places = (Path(f"{plain}{packing}") for packing in packings)
    found = next((one for one in places if one.is_file()), None)
    return found if found != plan else None


def neighbours(plan: Path) -> tuple[Path, ...]:
    """Return every file beside `plan` that is read with it."""
    roles = ("profile", "profile.metadata", "build.metadata", *_TIMES_ROLES)
    found = (neighbour(plan, role) for role in roles)
    return tuple(one for one in (*found, timing_log(plan)) if one is not None)


def timing_log(plan: Path) -> Path | None:
    """Return the log of the timing: ``X.profile.log``, ``X.engine.profile.log`` or ``X.log``.

    The log of another program does not count.
    """
    named = neighbour(plan, "profile", ".log") or neighbour(plan, "engine.profile", ".log")
    return _of_trtexec(named or neighbour(plan, "log", ""))


def build_report(plan: Path) -> ToolReport | None:
    """Return what trtexec's log of the build says: ``X.build.log`` or ``X.engine.build.log``.

    ``None``: there is no such log, or it is not trtexec's.
    """
    log = _of_trtexec(neighbour(plan, "build", ".log") or neighbour(plan, "engine.build", ".log"))
    return None if log is None else parse_trtexec_log(plain_bytes(log), log.name)[0].report


def _of_trtexec(log: Path | None) -> Path | None:
    if log is None:
        return None
    is_its = kind_of(plain_bytes(log), log.name) is ArtifactKind.TRTEXEC_LOG
    return log if is_its else None


def read_plan_files(given: PlanFiles) -> ReadPlan:
    """Return a plan with its times and what trex kept of its logs.

    Raises:
        UsageError: `given.plan` is a file of another kind: an engine, layer times, a log.
        FormatError: The plan, or a file that was named, cannot be used. One that was only found
            beside the plan leaves a notice instead.
    """
    reader = _Reader(given.plan)
    plan = reader.plan()
    return copied(ReadPlan, reader.neighbours(given), plan=plan)


def read_beside_engine(engine: Path, given: PlanFiles) -> ReadBeside:
    """Return what lies beside an engine, as ``net.engine.profile.json`` or ``net.profile.json``.

    Args:
        given: Its `plan` is not looked at.
    """
    names = (f"{engine.name}.graph.json", f"{engine.stem}.graph.json")
    plans = [engine.with_name(name) for name in names]
    roles = ("profile", "profile.metadata", "build.metadata")
    described = (plan for plan in plans if any(neighbour(plan, role) for role in roles))
    return _Reader(next(described, plans[0])).neighbours(given)


class _Reader:
    def __init__(self, plan: Path) -> None:
        self._plan = plan
        self.notices: list[Notice] = []
        self.artifacts: list[Artifact] = []

    def neighbours(self, given: PlanFiles) -> ReadBeside:
        timing = given.profile or self._plan
        profile = self.read(given.profile, "profile", parse_profile)
        reports = [
            self.read(given.metadata, "profile.metadata", parse_trex_metadata, timing),
            self.read(given.build_metadata, "build.metadata", parse_trex_metadata),
        ]
        if reports[0] is None and given.metadata is None:  # what trex cut its metadata out of
            log = timing_log(timing)
            read = self.read(log, "log", parse_trtexec_log) if log else None
            reports.append(read.report if read else None)
        report = merge_reports([one for one in reports if one is not None])
        times = self.times(warmup_ms(report), timing)
        if times is not None and report is not None:
            self.notices += summary_mismatches(times, report.summaries)
        return ReadBeside(
            profile=profile,
            times=times,
            report=report,
            notices=tuple(self.notices),
            artifacts=tuple(self.artifacts),
        )

    def plan(self) -> Plan:
        data, name = plain_bytes(self._plan), self._plan.name
        failure: FormatError | None = None
        if log_text(data[:_HEAD_BYTES], name)[0].lstrip().startswith(("{", "[")):
            try:
                with foreign(name, "a plan"):
                    return self._taken(parse_plan(data, name, name=self._name()))
            except FormatError as error:
                failure = error
        for known in recognise(data, name):
            if known.kind is ArtifactKind.PLAN and known.document and known.number in (None, 1):
                return self._taken(plan_of(known.document, name=self._name()))
            if known.kind in LOG_READERS and IS_LAYER.search(log_text(data, name)[0]):
                return self._printed(known)
        raise (
            mistaken_plan(self._plan, data)
            or failure
            or UsageError(
                f"{self._plan} is not a JSON file",
                hint="give what trtexec --exportLayerInfo writes; bench ENGINE --on trt makes a run"
                " with its plan",
            )
        )

    def _taken(self, read: tuple[Plan, Notices], kind: ArtifactKind = ArtifactKind.PLAN) -> Plan:
        self.notices += read[1]
        self._keep(self._plan, kind)
        return read[0]

    def _name(self) -> str:
        plain = plain_path(self._plan)
        match = _ROLE.match(plain.name)
        name = (match["stem"] if match else plain.stem) or self._plan.absolute().parent.name
        return name or self._plan.name

    def _printed(self, known: Recognised) -> Plan:
        """Return the plan that a log holds as the inspector's text; of several the last."""
        logs = LOG_READERS[known.kind](known.text, self._plan.name)
        printed = [log.inspected for log, _ in logs if log.inspected is not None]
        if not printed:
            why = "its lines of layers are not as the inspector prints them"
            raise FormatError(self._plan.name, why=why)
        document = Document(source=self._plan.name, value=printed[-1])
        return self._taken(plan_of(document, name=self._name()), ArtifactKind.SCRIPT_LOG)

    def times(self, warmup: float | None, timing: Path) -> ExportedTimes | None:
        """Return the times of whole requests that lie beside the file of a timing."""
        role = next((one for one in _TIMES_ROLES if neighbour(timing, one)), None)
        if role is None:
            return None

        def parse(data: bytes, source: str) -> tuple[ExportedTimes, Notices]:
            document = read_json(data, source)
            if is_profile(document.value):
                raise FormatError(source, why="it holds layer times", expected="times of requests")
            return times_of(document, warmup_ms=warmup)

        return self.read(None, role, parse, timing)

    def read(
        self,
        named: Path | None,
        role: str,
        parse: Callable[[bytes, str], tuple[T, Notices]],
        beside: Path | None = None,
    ) -> T | None:
        path = named or neighbour(beside or self._plan, role)
        if path is None:
            return None
        try:
            with foreign(path.name, role):
                found, notices = parse(plain_bytes(path), path.name)
        except FormatError as error:
            if named is not None:
                raise
            message = f"{path.name}, next to the plan, could not be used: {error}"
            evidence = {"file": path.name, "reason": str(error)}
            self.notices.append(Notice("W-DAMAGED-FILE", message, evidence))
            return None
        self.notices += notices
        self._keep(path, _KINDS.get(role, ArtifactKind.TREX_METADATA))
        return found

    def _keep(self, path: Path, kind: ArtifactKind) -> None:
        self.artifacts.append(Artifact(kind=kind.value, path=str(path.absolute())))
