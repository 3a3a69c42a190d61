"""Which files a command line asks for, and what goes into each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from enginescope.compat.trtexec.kept_files import KeptTexts
from enginescope.compat.trtexec.log.exports import layer_info_json, profile_json, times_json
from enginescope.compat.trtexec.log.outputs import output_json, raw_file_name
from enginescope.compat.trtexec.settings import Settings
from enginescope.records.run.run import Run
from enginescope.records.run.tensor_values import TensorValues

Content: TypeAlias = Callable[[Run, KeptTexts], bytes]

_CONTENTS: dict[str, Content] = {
    "layers_file": lambda _run, texts: layer_info_json(texts.inspector),
    "times_file": lambda run, _texts: times_json(run),
    "output_file": lambda run, _texts: output_json(run.answers),
    "profile_file": lambda run, _texts: profile_json(run),
}


def exported(settings: Settings) -> Iterator[tuple[str, Content]]:
    """Yield path and content of the JSON files asked for.

    Where the inference is skipped, that is the layers' alone, as with trtexec.
    """
    for field, content in _CONTENTS.items():
        path = getattr(settings.reporting, field)
        if path is not None and (field == "layers_file" or not settings.skip_inference):
            yield path, content


def raw_files(
    inputs: tuple[TensorValues, ...], outputs: tuple[TensorValues, ...]
) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of ``--dumpRawBindingsToFile``: little-endian values, no header."""
    for role, tensors in (("input", inputs), ("output", outputs)):
        for one in tensors:
            yield raw_file_name(one, role), one.data.tobytes()


def written_paths(settings: Settings) -> tuple[str, ...]:
    """Return every path that will be written, so that it can be tried before measuring."""
    paths = [path for path, _ in exported(settings)]
    return (*paths, *((settings.save_engine,) if settings.save_engine else ()))
