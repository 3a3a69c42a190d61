"""The models that a suite's words stand for: files, patterns, folders, what is bundled."""

from __future__ import annotations

import importlib.util
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.core.suggest import closest
from enginescope.formats.plan.engine_file import ENGINE_SUFFIXES
from enginescope.runner.inputs.sample_models import sample_models

#: The nine topologies that the onnx package carries for its own tests, a few KiB each.
LIGHT = "onnx:light"
#: The two small models that ``bench`` measures where it is given none.
SAMPLES = "samples"
_LIGHT_FOLDER = "backend/test/data/light"
MODEL_SUFFIXES = frozenset({".onnx", *ENGINE_SUFFIXES})


class FoundModel(Record, frozen=True, kw_only=True):
    """A model's file and the name it goes by."""

    name: str
    path: str


def models_named(word: str, base: Path, *, samples: Path) -> tuple[FoundModel, ...]:
    """Return the models that a word of a suite's ``models`` stands for.

    Args:
        word: A file, a folder, a pattern of either such as ``zoo/**/*.onnx``, or what is bundled:
            ``onnx:light``, ``samples``.
        base: What relative paths start from.
        samples: Where the bundled models are written.

    Raises:
        UsageError: It stands for none.
    """
    if word == LIGHT:
        return light_models()
    if word == SAMPLES:
        return _named(sample_models(samples))
    path = base / os.path.expanduser(word)  # noqa: PTH111 - Path's raises where there is no such user
    if path.is_dir():
        found = models_in(path)
    elif any(sign in word for sign in "*?["):
        start, pattern = _pattern(path)
        fitting = sorted(start.glob(pattern))
        inside = [Path(one.path) for each in fitting if each.is_dir() for one in models_in(each)]
        found = _named(dict.fromkeys([*filter(_is_model, fitting), *inside]))
    else:
        found = _named([path])
    if not found or not all(Path(one.path).is_file() for one in found):
        hint = closest(word, (LIGHT, SAMPLES))
        raise UsageError(
            f"models {word}",
            why=f"no model at {path}",
            hint=f"did you mean {hint}?" if hint else f"a file, a folder, a pattern, or {LIGHT}",
        )
    return found


def models_in(folder: Path) -> tuple[FoundModel, ...]:
    """Return the models in a folder and its folders, by name.

    A model that is alone in its folder goes by the folder's name, as the folders of a model zoo
    have it; others by their own.
    """
    files = sorted(one for one in folder.rglob("*") if _is_model(one))
    beside = Counter(file.parent for file in files)
    alone = {file for file in files if beside[file.parent] == 1 and file.parent != folder}
    names = {file: file.parent.name if file in alone else _own_name(file) for file in files}
    return _distinct(names)


def light_models() -> tuple[FoundModel, ...]:
    """Return the topologies that the onnx package carries."""
    spec = importlib.util.find_spec("onnx")
    folder = Path(spec.origin).parent / _LIGHT_FOLDER if spec and spec.origin else Path(LIGHT)
    found = _named(sorted(folder.glob("*.onnx")))
    if not found:
        raise UsageError(f"models {LIGHT}", why=f"this onnx package has none in {folder}")
    return found


def chosen(
    models: Iterable[FoundModel], include: Sequence[str], exclude: Sequence[str]
) -> tuple[FoundModel, ...]:
    """Return the models whose names fit a pattern of `include`, if any, and none of `exclude`.

    A pattern without ``*``, ``?`` or ``[`` fits where it stands in the name.
    """
    return tuple(
        model
        for model in models
        if (not include or _fits(model.name, include)) and not _fits(model.name, exclude)
    )


def _fits(name: str, patterns: Sequence[str]) -> bool:
    return any(
        fnmatchcase(name, pattern) if any(sign in pattern for sign in "*?[") else pattern in name
        for pattern in patterns
    )


def _named(paths: Iterable[Path]) -> tuple[FoundModel, ...]:
    return _distinct({path: _own_name(path) for path in paths})


def _own_name(path: Path) -> str:
    return path.resolve().parent.name if path.stem == "model" else path.stem


def _distinct(names: dict[Path, str]) -> tuple[FoundModel, ...]:
    """Return models with a name each; those that would share one have their folders' before it."""
    shown = dict(names)
    for depth in range(1, 9):
        alike = {name for name, count in Counter(shown.values()).items() if count > 1}
        if not alike:
            break
        for path, name in shown.items():
            parents = path.resolve().parents
            if name in alike and depth < len(parents):
                shown[path] = f"{parents[depth].name}_{name}"
    return tuple(FoundModel(name=name, path=str(path.resolve())) for path, name in shown.items())


def _is_model(path: Path) -> bool:
    return path.suffix.lower() in MODEL_SUFFIXES and path.is_file()


def _pattern(path: Path) -> tuple[Path, str]:
    """Return the folder before the first part with a sign, and the rest as a pattern."""
    parts = path.parts
    at = next(n for n, one in enumerate(parts) if any(sign in one for sign in "*?["))
    return Path(*parts[:at]), "/".join(parts[at:])
