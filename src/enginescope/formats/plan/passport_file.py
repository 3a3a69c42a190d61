"""The passport beside an engine: ``net.engine.passport.json``."""

from __future__ import annotations

from pathlib import Path

from enginescope.core.errors import FormatError
from enginescope.core.jsonio import decode, read_bytes
from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.records.run.passport import Passport
from enginescope.records.run.run import Run

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
