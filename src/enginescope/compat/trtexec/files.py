"""Which files a command line asks for, and what goes into each.

Texts that a run refers to, read while they are there.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

from enginescope.compat.trtexec.log.outputs import (
    layer_info_json,
    output_json,
    profile_json,
    raw_file_name,
    times_json,
)
from enginescope.compat.trtexec.settings import Settings
from enginescope.core.record import Record
from enginescope.records.run.run import Run, TensorValues


class KeptTexts(Record, frozen=True, kw_only=True):
    """What a report needs of a run's files.

    Attributes:
        inspector: The inspector's JSON, as TensorRT gave it.
    """

    inspector: str | None = None
    build_log: str = ""
    run_log: str = ""


def kept_texts(run: Run) -> KeptTexts:
    """Read the texts of a run; one that cannot be read counts as absent."""
    return KeptTexts(
        inspector=next(filter(None, (*_texts(run, "layer_info"), *_texts(run, "plan"))), None),
        build_log="\n".join(_texts(run, "build_log")),
        run_log="\n".join(_texts(run, "worker_log")),
    )


def _texts(run: Run, kind: str) -> Iterator[str]:
    for artifact in run.artifacts:
        if artifact.kind == kind:
            try:
                yield Path(artifact.path).read_text(encoding="utf-8", errors="replace")
            except OSError:
                yield ""


Content: TypeAlias = Callable[[Run, KeptTexts], bytes]
Values: TypeAlias = tuple[TensorValues, ...]

_CONTENTS: dict[str, Content] = {
    "--exportLayerInfo": lambda _run, texts: layer_info_json(texts.inspector),
    "--exportTimes": lambda run, _texts: times_json(run),
    "--exportOutput": lambda run, _texts: output_json(run.answers),
    "--exportProfile": lambda run, _texts: profile_json(run),
}


def exported(settings: Settings) -> Iterator[tuple[str, Content]]:
    """Yield path and content of the JSON files asked for.

    Where the inference is skipped, that is the layers' alone, as with trtexec.
    """
    for flag, content in _CONTENTS.items():
        path = settings.arguments.text(flag)
        if path and (flag == "--exportLayerInfo" or not settings.skip_inference):
            yield path, content


def raw_files(
    settings: Settings, inputs: Callable[[], Values], outputs: Values
) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of ``--dumpRawBindingsToFile``: little-endian values, no header.

    Args:
        inputs: Makes them: only where they are asked for.
    """
    if settings.arguments.has("--dumpRawBindingsToFile") and not settings.skip_inference:
        for role, tensors in (("input", inputs()), ("output", outputs)):
            for tensor in tensors:
                yield raw_file_name(tensor, role), tensor.data.tobytes()


def written_paths(settings: Settings) -> tuple[str, ...]:
    """Return every path that will be written, so that it can be tried before measuring."""
    paths = [path for path, _ in exported(settings)]
    return (*paths, *((settings.save_engine,) if settings.save_engine else ()))
