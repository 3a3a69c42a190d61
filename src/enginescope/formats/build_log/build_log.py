"""A verbose build log, TensorRT 7 to 10, as the story of the build."""

import re
from collections.abc import Callable, Iterator

from enginescope.core.errors import FormatError
from enginescope.formats import log_facts, log_lines
from enginescope.formats.build_log.build_log_stages import GraphReader, StageReader, TuningReader
from enginescope.formats.plan.tensor_format import parse_joined
from enginescope.judge.notice import Notice
from enginescope.records.plan.build import LogMessage
from enginescope.records.plan.build_trace import BuildTrace, ChosenLayer, ChosenTensor

_HEADERS = frozenset({"Engine Layer Information:", "Layers:"})
_SHORT = re.compile(r"^Layer\(([^()]+)\): (.*), Tactic: ([-+\w]+), ?(.*)$")
# "x (Half[1,64:8,56,56])" from 8.0 on; "x[Half(1,64,56,56)]" before
_NEXT = re.compile(r"(?<=\]\)), |(?<=\)\]), ")
_FORMAT = re.compile(r"^(\w+)\[([^\]]*)\]\)$|^(\w+)\(([^)]*)\)\]$")
_LONG_END = re.compile(r"(?:^|\})\s*\](?:, |$)")
_LOCATION = re.compile(r", Location: \w+$")
_TACTIC = re.compile(r"(?:^|, )TacticValue: (\S+?)(?:,|$)")
_TACTIC_NAME = re.compile(r"(?:^|, )TacticName: ([^,]*)(?:,|$)")
_DIMENSION = re.compile(r"^\s*(-?\d{1,18})(?::(\d{1,6}))?\s*$")


class LayerListReader:
    """Collects the first list of layers; later ones repeat it."""

    def __init__(self) -> None:
        self.layers: list[ChosenLayer] = []
        self._lists = 0

    def header(self, text: str) -> bool:
        """Open a list, if the line says so."""
        if text not in _HEADERS:
            return False
        self._lists += not self._lists or bool(self.layers)
        return True

    def short(self, text: str, line: int) -> bool:
        """Take a line of ``Layer(type): name, Tactic: …``."""
        if (match := _SHORT.match(text)) is None:
            return False
        if self._lists > 1:
            return True
        kind, name, tactic, rest = match.groups()
        before, arrow, after = f" {rest} ".partition(" -> ")
        self.layers.append(
            ChosenLayer(
                index=len(self.layers),
                name=name,
                type=kind,
                tactic=tactic,
                inputs=_tensors(before) if arrow else (),
                outputs=_tensors(after if arrow else before),
                line=line,
            )
        )
        return True

    def long(self, text: str, line: int) -> bool:
        """Take a line of ``Name: …, LayerType: …``."""
        name, _, after_name = text.removeprefix("Name: ").partition(", LayerType: ")
        kind, _, after_kind = after_name.partition(", Inputs: [")
        inputs, found, after_inputs = after_kind.partition("], Outputs: [")
        end = _LONG_END.search(after_inputs)
        if not found or end is None:
            return False
        if self._lists > 1:
            return True
        rest = after_inputs[end.end() :]
        tactic, tactic_name = _TACTIC.search(rest), _TACTIC_NAME.search(rest)
        self.layers.append(
            ChosenLayer(
                index=len(self.layers),
                name=name,
                type=kind,
                tactic=tactic[1] if tactic else None,
                tactic_name=tactic_name[1].strip() or None if tactic_name else None,
                inputs=_long_tensors(inputs),
                outputs=_long_tensors(after_inputs[: end.start() + 1]),
                line=line,
            )
        )
        return True


def _tensors(text: str) -> tuple[ChosenTensor, ...]:
    found = []
    for part in _NEXT.split(text.strip()):
        name, _, shown = part.rpartition(" (" if part.endswith(")") else "[")
        match = _FORMAT.match(shown)
        if name and match is not None:
            kind, dims = match.groups()[:2] if match[1] else match.groups()[2:]
            found.append(_tensor(name, kind, f"{kind}[{dims}]", dims))
    return tuple(found)


def _long_tensors(text: str) -> tuple[ChosenTensor, ...]:
    found = []
    for part in text.split("}"):
        head, is_sized, rest = part.strip().rpartition(", Dimensions: [")
        dims, is_typed, kind = rest.partition("], Format/Datatype: ")
        if is_sized and is_typed:
            found.append(_tensor(_LOCATION.sub("", head.partition("Name: ")[2]), kind, kind, dims))
    return tuple(found)


def _tensor(name: str, kind: str, shown: str, dims: str) -> ChosenTensor:
    dtype, layout = parse_joined(kind)
    shape, width, axis = _shape(dims)
    if width is None and layout is not None:
        width, axis = layout.vector_width or 1, layout.vector_axis
    elif width is None and shown != kind:  # the short form states it where it is more than one
        width = 1
    return ChosenTensor(
        name=name.strip(),
        format=shown,
        dtype=dtype,
        shape=shape,
        vector_width=width,
        vector_axis=axis,
    )


def _shape(text: str) -> tuple[tuple[int | None, ...] | None, int | None, int | None]:
    """Shape, width and axis of ``1,64:8,56,56``; a dimension below 0 is dynamic."""
    shape: list[int | None] = []
    width = axis = None
    for part in text.split(",") if text.strip() else ():
        if (match := _DIMENSION.match(part)) is None:
            return None, None, None
        size = int(match[1])
        shape.append(size if size >= 0 else None)
        if match[2] is not None and int(match[2]) > 1:
            width, axis = int(match[2]), len(shape) - 1
    return tuple(shape), width, axis


# trtexec's, the C++ samples', the Python logger's of 7 and of 8 and later, Polygraphy's, Jetson's.
_STAMP = r"\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] "
_PREFIX = re.compile(
    rf"^(?:{_STAMP})?(?:\[(?:TRT|TensorRT)\]\s*)?"
    r"(?:\[([VIWEF])\]\s*|(VERBOSE|INFO|WARNING|ERROR|INTERNAL_ERROR): )?(?:\[TRT\]\s*)?"
)
_WORDS = {"VERBOSE": "V", "INFO": "I", "WARNING": "W", "ERROR": "E", "INTERNAL_ERROR": "F"}


def story_lines(text: str) -> Iterator[tuple[int, str | None, str]]:
    """Yield (number from 1, level letter or ``None``, text without its prefix).

    Lines with nothing in them are left out. What TensorRT said through trtexec, by far most of a
    log, has its prefix at fixed columns.
    """
    for number, raw in enumerate(text.split("\n"), start=1):
        if raw[26:32] == "[TRT] " and raw[22:23] == "[":
            yield number, raw[23], raw[32:].strip()
            continue
        line = raw.strip()
        match = _PREFIX.match(line)
        assert match is not None  # every part of it is optional
        if rest := line[match.end() :].strip():
            yield number, match[1] or _WORDS.get(match[2] or ""), rest


_LEVELS = {"W": "warning", "E": "error", "F": "fatal"}
#: Lines about every tensor and node of the model: many, and nothing for the story.
_IGNORED = frozenset({"Searching", "Registering", "Parsing", "Importing", "(foreignNode)"})
#: A log with one of these was not cut off while it tuned.
_ENDS = ("tuning", "engine generation", "whole build")
Handler = Callable[[str, int], bool]


def build_story_of(data: bytes, source: str) -> tuple[BuildTrace, tuple[Notice, ...]]:
    """Return the story in a build log, and what is missing from it.

    A log that is cut off, damaged or not verbose gives what it has, with notices.

    Args:
        data: The file.
    """
    text, notices = log_lines.log_text(data, source)
    reader = _StoryReader()
    for number, level, line in story_lines(text):
        reader.take(number, level, line)
    story = reader.story(source)
    if not reader.known:
        expected = "the log of a build, best with --verbose"
        raise FormatError(source, why="no line of a TensorRT build in it", expected=expected)
    return story, (*notices, *_missing(story, is_verbose=reader.is_verbose))


class _StoryReader:
    def __init__(self) -> None:
        self.known = 0
        self.is_verbose = False
        self.graph = GraphReader()
        self.tuning = TuningReader()
        self.layers = LayerListReader()
        self.stages = StageReader()
        self.messages: dict[tuple[str, str], LogMessage] = {}
        self.version: str | None = None
        # By a line's first word: most lines are told apart without a pattern.
        tuning, graph, stages = self.tuning, self.graph, self.stages
        memory = ("[MemUsageChange]", "[MemUsageSnapshot]", "[MemUsageStats]", "Total", "Max")
        self.handlers: dict[str, Handler] = {
            **dict.fromkeys(("Tactic", "Tactic:"), tuning.tactic),
            "***************": tuning.formats,
            "---------------": tuning.runner,
            ">>>>>>>>>>>>>>>": tuning.chose,
            "===============": tuning.costs,
            "Adding": tuning.added,
            "Running:": graph.rule,
            "Fusing": graph.fusion,
            "Removing": graph.removal,
            **dict.fromkeys(("Swap", "Convert"), graph.retyping),
            **dict.fromkeys(("After", "Original:"), graph.step),
            "Layer:": stages.layer,
            "Name:": self.layers.long,
            **dict.fromkeys(memory, stages.take_memory),
            **dict.fromkeys(("Graph", "Engine", "Finished"), stages.stage),
            "Formats": self._tuning_ended,
            **dict.fromkeys(("Loaded", "Serialized", "Deleting"), stages.cache_line),
            **dict.fromkeys(("TensorRT", "&&&&"), self._version),
        }

    def take(self, number: int, level: str | None, text: str) -> None:
        if level == "V":
            self.is_verbose = True
        elif level in _LEVELS:
            message = LogMessage(level=_LEVELS[level], text=text, line=number)
            self.messages.setdefault((message.level, text), message)
            return
        word = text.partition(" ")[0]
        if word not in _IGNORED:
            handler = self.handlers.get(word)
            is_known = handler is not None and handler(text, number)
            self.known += is_known or self._by_content(text, number)

    def story(self, source: str) -> BuildTrace:
        self.tuning.close()
        return BuildTrace(
            source=source,
            steps=tuple(self.graph.steps),
            changes=tuple(self.graph.changes),
            tuned=tuple(self.tuning.tuned),
            reformats=tuple(self.tuning.reformats),
            layers=tuple(self.layers.layers),
            memory=tuple(self.stages.memory),
            memory_totals=self.stages.totals,
            layer_memory=tuple(self.stages.layer_memory),
            stages=tuple(self.stages.seconds),
            cache=self.stages.cache(),
            messages=tuple(self.messages.values()),
            tensorrt_version=self.version,
        )

    def _by_content(self, text: str, number: int) -> bool:
        """Lines that begin with a layer's or a rule's name."""
        if text.startswith("Layer("):
            return self.layers.short(text, number)
        if ": Fusing " in text:
            return self.graph.fusion(text, number)
        return self.tuning.other(text) or self.layers.header(text)

    def _tuning_ended(self, text: str, number: int) -> bool:
        self.tuning.close()
        return self.stages.stage(text, number)

    def _version(self, text: str, _number: int) -> bool:
        """Take the version, the one that is printed whole; logs of other work have it too."""
        printed, status = log_facts.printed_version(text), log_facts.status(text)
        self.version = printed or self.version or (status[1] if status else None)
        return False


def _missing(story: BuildTrace, *, is_verbose: bool) -> list[Notice]:
    """Say what a reader would look for in vain, and why."""
    found: list[Notice] = []

    def add(code: str, text: str, **evidence: int) -> None:
        found.append(Notice(code, f"{story.source} {text}", {"file": story.source, **evidence}))

    tuned, steps = len(story.tuned), len(story.steps)
    builds = sum(step.name == "Original" for step in story.steps)
    if builds > 1:
        text = f"holds {builds} builds; enginescope merges them, with the layers of the first"
        add("W-SEVERAL-BUILDS", text, builds=builds)
    if not is_verbose and not tuned and not steps:
        text = "is not verbose and lacks the builder's choices; build with --verbose"
        add("W-LOG-NOT-VERBOSE", text)
    elif not tuned:
        add("W-NO-TUNING", "has no autotuning: not a build log, or cut off early", steps=steps)
    elif not story.layers and not any(story.stage_s(name) for name in _ENDS):
        text = "ends before the builder had chosen formats and tactics"
        add("W-LOG-UNFINISHED", text, tuned=tuned)
    elif not story.layers:
        text = "does not list the engine's layers, so the choices are unknown"
        add("W-NO-CHOICES", text, tuned=tuned)
    return found
