"""Which files are serialized TensorRT engines, what they tell, and the passport beside them.

The header, 64 bytes, was read from engines of TensorRT 8.6 to 11 and of TensorRT for RTX 1.7: the
tag at 0, the serialization's version at 4, the version of TensorRT at 24. In an engine of TensorRT
for RTX the bits at 32 say which compute capabilities can run it.
"""

from pathlib import Path

from enginescope.core.errors import FormatError
from enginescope.core.jsonio import decode, read_bytes
from enginescope.core.record import Record, replace
from enginescope.judge.notice import Notice
from enginescope.records.run.passport import Passport
from enginescope.records.run.run import Run

#: Endings of serialized TensorRT engines; everything else is taken for an ONNX model.
ENGINE_SUFFIXES = frozenset({".engine", ".plan", ".trt"})
_TAG, _RTX_TAG = b"ftrt", b"vtrt"
#: What they begin with.
ENGINE_TAGS = (_TAG, b"ptrt", _RTX_TAG)
_VERSION_AT = 24
_CAPABILITIES_AT = 32
_HEADER_BYTES = {_TAG: 28, _RTX_TAG: 36}
#: Compute capabilities of the bits, from the lowest; the last bit: newer ones too.
_CAPABILITIES = ("7.5", "8.0", "8.6", "8.9", "12.0", "12.1", ">12.0")


class EngineHeader(Record, frozen=True, kw_only=True):
    """What the first bytes of an engine tell.

    Attributes:
        version: Of the library that built it, four numbers with dots.
        is_rtx: Whether that was TensorRT for RTX.
        compute_capabilities: Those that can run it, such as ``"8.9"``; ``">12.0"``: newer ones.
            Empty: the header does not say.
    """

    version: str
    is_rtx: bool = False
    compute_capabilities: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Builder and GPUs, as a clause."""
        product = f"TensorRT{' for RTX' if self.is_rtx else ''} {self.version}"
        if not self.compute_capabilities:
            return f"built by {product}"
        return f"built by {product} for compute capability {', '.join(self.compute_capabilities)}"


def is_engine_file(head: bytes, suffix: str) -> bool:
    """Whether a file that begins with `head` and is no text is an engine, by tag or by name."""
    return head.startswith(ENGINE_TAGS) or suffix.lower() in ENGINE_SUFFIXES


def engine_header(head: bytes, source: str) -> EngineHeader:
    """Return what the header of an engine tells.

    Args:
        head: The first 64 bytes or more.
    """
    tag = head[:4]
    if tag not in _HEADER_BYTES or len(head) < _HEADER_BYTES[tag]:
        raise FormatError(source, why="it does not begin as an engine does", expected="a plan")
    if head[4:8] != bytes(4):
        why = f"its serialization is version {int.from_bytes(head[4:8], 'little')}"
        raise FormatError(source, why=why, expected="version 0, whose head is known")
    bits = int.from_bytes(head[_CAPABILITIES_AT : _CAPABILITIES_AT + 4], "little")
    is_rtx = tag == _RTX_TAG
    return EngineHeader(
        version=".".join(str(number) for number in head[_VERSION_AT : _VERSION_AT + 4]),
        is_rtx=is_rtx,
        compute_capabilities=tuple(
            name for at, name in enumerate(_CAPABILITIES) if is_rtx and bits >> at & 1
        ),
    )


def header_of(path: Path) -> EngineHeader | None:
    """Return what the header of a file tells; ``None`` if it is none that is known."""
    try:
        with path.open("rb") as file:
            return engine_header(file.read(64), path.name)
    except (OSError, FormatError):
        return None


def capability_numbers(capability: str) -> tuple[int, ...]:
    """Return a compute capability as numbers that compare: ``"8.9"`` as (8, 9)."""
    return tuple(int(part) for part in capability.split("."))


#: Added to the name of the engine.
PASSPORT_ENDING = ".passport.json"


def read_passport(engine: Path, sha256: str | None) -> tuple[Passport | None, Notice | None]:
    """Return the passport beside an engine, if there is one and it is that engine's."""
    path = engine.with_name(engine.name + PASSPORT_ENDING)
    if not path.is_file():
        return None, None
    try:
        passport = decode(read_bytes(path), Passport, source=path.name)
    except FormatError as error:
        message = f"{path.name}, next to the engine, could not be used: {error}"
        return None, Notice("W-PASSPORT", message, {"file": str(path)})
    written = passport.engine.sha256 if passport.engine else None
    if written is not None and written == sha256:
        return passport, None
    message = f"{path.name} belongs to another build of {engine.name}; enginescope ignores it"
    evidence = {"file": str(path), "passport_sha256": written, "engine_sha256": sha256}
    return None, Notice("W-PASSPORT", message, evidence)


def with_passport(run: Run, engine: Path, sha256: str | None) -> Run:
    """Return the run of an engine file with the build that the passport beside the file tells of.

    A passport that is damaged or belongs to other bytes is a notice of the run.
    """
    passport, notice = read_passport(engine, sha256)
    if notice is not None:
        return replace(run, notices=(*run.notices, notice))
    if passport is None or passport.build is None:
        return run
    build = replace(passport.build, engine=str(engine), from_cache=True)
    known = {(notice.code, notice.message) for notice in run.notices}
    said = [each for each in build.notices if (each.code, each.message) not in known]
    return replace(run, build=build, notices=(*said, *run.notices))
