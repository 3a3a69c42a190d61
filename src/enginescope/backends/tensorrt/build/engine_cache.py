"""Engines that were built before, by everything that decides what is built.

An entry is a folder ``<key>/`` with the engine, its build report, the build's log and metadata.
The report is written last: a folder without it is an unfinished one.

The timing cache: tactics timed once for a GPU are not timed again.
"""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from enginescope.core.errors import FormatError, UsageError
from enginescope.core.jsonio import decode, encode, read_bytes, sha256_of, write_atomic
from enginescope.core.record import replace
from enginescope.formats.onnx.onnx_precision import digest_of
from enginescope.formats.trtexec.trtexec_flags import build_options, read_shapes
from enginescope.judge.notice import Notice
from enginescope.records.environment import Device
from enginescope.records.plan.build import BuildReport
from enginescope.records.run.job import Job

REPORT = "build.json"


def key_of(job: Job, version: str, device: Device | None) -> str:
    """Return the digest of model, build options, shapes, TensorRT, GPU and driver.

    Files that options name (a calibration cache, plugins) count by their content. The shape of a
    request counts only where it becomes that of the build, and the tokens of a decode loop do.

    Args:
        device: ``None``: the engine does not depend on the GPU of this machine.
    """
    options = build_options(job.backend.options)
    named = [
        path
        for key in ("calibration_cache", "plugins", "serialize_plugins")
        for path in options.get(key, "").split(",")
        if path
    ]
    decode = job.workload.mode.decode
    shaped = _named_in_all_profiles(options)
    parts = (
        digest_of(job.subject.path or ""),
        job.backend.precision or "",
        sorted(options.items()),
        [_content(Path(path)) for path in named],
        [(shape.name, shape.dims) for shape in job.workload.shapes if shape.name not in shaped],
        job.workload.batch,
        version,
        *(("decode", decode) if decode is not None else ()),
        *((device.name, device.compute_capability, device.driver) if device else ()),
    )
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


def lookup(folder: Path, key: str) -> BuildReport | None:
    """Return the report of a kept engine; ``None`` if there is none, or it is not what was kept."""
    entry = folder / key
    try:
        report = decode(read_bytes(entry / REPORT), BuildReport, source=str(entry / REPORT))
    except FormatError:
        return None
    engine = entry / report.engine
    if not engine.is_file() or engine.stat().st_size != report.engine_bytes:
        return None
    if report.engine_sha256 is not None and _content(engine) != report.engine_sha256:
        return None
    return replace(report, engine=str(engine), from_cache=True)


def keep(
    folder: Path, key: str, report: BuildReport, data: memoryview, texts: Mapping[str, str]
) -> BuildReport:
    """Write an engine, texts beside it and its report; return the report with the engine's path.

    Args:
        texts: By what is added to the engine's name: ``.build.log``.
    """
    entry = folder / key
    entry.mkdir(parents=True, exist_ok=True)
    report = replace(report, engine_sha256=hashlib.sha256(data).hexdigest())
    write_atomic(entry / report.engine, data)
    for ending, text in texts.items():
        (entry / f"{report.engine}{ending}").write_text(text, encoding="utf-8")
    write_atomic(entry / REPORT, encode(report))
    return replace(report, engine=str(entry / report.engine))


def _named_in_all_profiles(options: Mapping[str, str]) -> set[str]:
    """Return the inputs whose shapes the build takes from its own options alone."""
    found: set[str] = set()
    for key in ("min_shapes", "opt_shapes", "max_shapes"):
        if key in options:
            profiles = [{one.name for one in profile} for profile in read_shapes(options[key])]
            found |= set.intersection(*profiles)
    return found


def _content(path: Path) -> str:
    try:
        return sha256_of(path)
    except OSError:  # the build says what is wrong with it
        return str(path)


def cache_file(asked: str | None, folder: str | None, version: str, device: str) -> Path | None:
    """Return where the cache lies; ``None``: there is to be none.

    Args:
        asked: A file, ``"none"``, or ``None`` for the one of the engine cache.
        folder: Folder of the engine cache.
    """
    if asked == "none":
        return None
    if asked is not None:
        return Path(asked).expanduser()
    if folder is None:
        return None
    plain = re.sub(r"\W+", "-", f"{device}-{version}")
    return Path(folder) / "timing" / f"{plain}.cache"


def load_cache(config: Any, file: Path | None) -> tuple[Notice, ...]:
    """Give the build what `file` has; a cache that does not fit is noticed and not used."""
    data = _read(file)
    cache = config.create_timing_cache(data)
    if cache is not None and config.set_timing_cache(cache, ignore_mismatch=False):
        return ()
    if not data:
        return ()
    config.set_timing_cache(config.create_timing_cache(b""), ignore_mismatch=False)
    message = f"the timing cache {file} belongs to another TensorRT or GPU; enginescope replaces it"
    return (Notice("W-TIMING-CACHE", message, {"file": str(file)}),)


def _read(file: Path | None) -> bytes:
    if file is None or not file.exists():
        return b""
    try:
        return file.read_bytes()
    except OSError as error:
        raise UsageError(f"timing cache {file}", why=error.strerror or str(error)) from error


def save_cache(config: Any, file: Path | None) -> tuple[Notice, ...]:
    """Write what the build has timed back to `file`; if that fails the engine stands."""
    cache = config.get_timing_cache() if file is not None else None
    if file is None or cache is None:
        return ()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(file, bytes(memoryview(cache.serialize())))
    except OSError as error:
        message = f"the timing cache {file} could not be written: {error.strerror or str(error)}"
        return (Notice("W-TIMING-CACHE", message, {"file": str(file)}),)
    return ()
