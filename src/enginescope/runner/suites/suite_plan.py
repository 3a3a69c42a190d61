"""What a suite file says, with its words, paths and quantities resolved.

Its words stand for files, patterns, folders, or bundled models.
"""

import importlib.util
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeVar

from enginescope.backends.registry import is_environment, load_backend, read_spec
from enginescope.core.errors import UsageError
from enginescope.core.record import Record, copied, replace
from enginescope.core.suggest import closest, did_you_mean
from enginescope.core.units import parse_bytes, parse_duration_ms
from enginescope.formats.plan.engine_file import ENGINE_SUFFIXES
from enginescope.formats.suites.suite_file import GeneralPart, ModelPart, SuiteFile, TimingPart
from enginescope.records.run.job import (
    CPU_BACKEND,
    ENGINE_BACKEND,
    DimSize,
    InputRange,
    InputShape,
    Limits,
    StopRule,
    WarmUp,
    Workload,
)
from enginescope.records.suite.suite import Checking, Needs, Suite, SuiteModel
from enginescope.runner.inputs.sample_feeds import data_sets_beside
from enginescope.runner.inputs.sample_models import sample_models
from enginescope.runner.jobs import limits_for

#: The nine topologies that the onnx package carries for its own tests, a few KiB each.
LIGHT = "onnx:light"
#: The two small models that ``bench`` measures where it is given none.
SAMPLES = "samples"
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
    """
    if word == LIGHT:
        return light_models()
    if word == SAMPLES:
        return _named(sample_models(samples))
    path = base / os.path.expanduser(word)  # noqa: PTH111 - Path's raises where there is no such user
    if path.is_dir():
        found = models_in(path)
    elif any(sign in word for sign in "*?["):
        # the first part with a sign and the rest are the pattern
        at = next(n for n, part in enumerate(path.parts) if any(sign in part for sign in "*?["))
        fitting = sorted(Path(*path.parts[:at]).glob("/".join(path.parts[at:])))
        inside = [Path(one.path) for each in fitting if each.is_dir() for one in models_in(each)]
        found = _named(dict.fromkeys([*filter(_is_model, fitting), *inside]))
    else:
        found = _named([path])
    if not found or not all(Path(one.path).is_file() for one in found):
        near = closest(word, (LIGHT, SAMPLES))
        hint = f"did you mean {near}?" if near else f"a file, a folder, a pattern, or {LIGHT}"
        raise UsageError(f"models {word}", why=f"no model at {path}", hint=hint)
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
    light = "backend/test/data/light"
    folder = Path(spec.origin).parent / light if spec and spec.origin else Path(LIGHT)
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


#: Precisions that are no precision of a backend's name.
_AS_IT_IS = ("", "default")

N = TypeVar("N", int, float)


def suite_of(file: SuiteFile, base: Path, *, name: str, samples: Path) -> Suite:
    """Return the suite that a file describes.

    Args:
        base: What its relative paths start from.
        name: Of the suite, where the file says none.
        samples: Where the bundled models are written if it names them.
    """
    general = file.suite
    named = [one for word in general.models for one in models_named(word, base, samples=samples)]
    each = {model.path: (model, ModelPart(path=model.path)) for model in named}
    found = [*each.values(), *((_own(one, base), one) for one in file.model)]
    kept = {one.name for one in chosen([f for f, _ in found], general.include, general.exclude)}
    workload = Workload(warmup=_warmup(file.timing), stop=_stop(file.timing))
    environments = {key: _python(key, text, base) for key, text in file.environments.items()}
    models = tuple(
        replace(_model(one, part, general, base), limits=_own_limits(part, general, workload))
        for one, part in found
        if one.name in kept
    )
    _check_models(models, len(found))
    _check_environments(models, environments)
    checked = file.validation
    checking = copied(
        Checking,
        checked,
        reference=_reference(checked.reference, base),
        samples=Checking().samples if checked.samples is None else checked.samples,
        mismatch_pct=checked.percent_mismatch,
    )
    return Suite(
        name=general.name or name,
        models=models,
        mode=general.mode or "benchmark",
        input=general.input or "random",
        baseline=general.baseline,
        layers=general.layers,
        retries=_count("retries", general.retries),
        processes=file.timing.processes or 1,
        seed=_count("seed", general.seed),
        warmup=workload.warmup,
        stop=workload.stop,
        limits=_limits(general, workload),
        environments=environments,
        checking=checking,
    )


def _own(part: ModelPart, base: Path) -> FoundModel:
    path = base / os.path.expanduser(part.path)  # noqa: PTH111 - Path's raises where there is no such user
    if not path.is_file():
        raise UsageError(f"model {part.name or part.path}", why=f"there is no file {path}")
    found = models_named(str(path.resolve()), base, samples=base)[0]
    return FoundModel(name=part.name or found.name, path=found.path)


def _model(found: FoundModel, part: ModelPart, general: GeneralPart, base: Path) -> SuiteModel:
    path = Path(found.path)
    is_engine = path.suffix.lower() in ENGINE_SUFFIXES
    usual = general.backends or ((ENGINE_BACKEND if is_engine else CPU_BACKEND),)
    gpu = part.gpu if part.gpu is not None else general.gpu
    exclusive = part.exclusive if part.exclusive is not None else general.exclusive
    return SuiteModel(
        name=found.name,
        path=found.path,
        # backends of a model of its own bring their own precisions
        backends=_crossed(
            part.backends or usual, part.precisions or (() if part.backends else general.precisions)
        ),
        data_sets=_data_sets(part, path, base) if general.input == "dataset" else (),
        shapes=tuple(map(_shapes, part.shapes)) or ((),),
        batches=part.batches or general.batches or (None,),
        dims=tuple(
            tuple(DimSize(name=name, size=size) for name, size in dim.items()) for dim in part.dims
        )
        or ((),),
        ranges=tuple(
            InputRange(name=name, low=low, high=high) for name, (low, high) in part.ranges.items()
        ),
        decode=part.decode,
        needs=Needs(gpu=gpu, exclusive=exclusive),
    )


def _crossed(backends: tuple[str, ...], precisions: tuple[str, ...]) -> tuple[str, ...]:
    """Return every backend in every precision; one that names its own has that alone."""
    made: list[str] = []
    for backend in backends:
        spec = read_spec(backend)
        load_backend(spec.name)  # an unknown name is the file's mistake, not a cell's
        if spec.precision is not None or not precisions:
            made.append(backend)
            continue
        named = (None if precision in _AS_IT_IS else precision for precision in precisions)
        made += [str(replace(spec, precision=precision)) for precision in named]
    return tuple(dict.fromkeys(made))


def _data_sets(part: ModelPart, path: Path, base: Path) -> tuple[str, ...]:
    if part.data is None:
        return tuple(map(str, data_sets_beside(path)))
    folder = base / os.path.expanduser(part.data)  # noqa: PTH111 - Path's raises where there is no such user
    if not folder.is_dir():
        raise UsageError(f"data of {part.name or part.path}", why=f"there is no folder {folder}")
    if any(folder.glob("input_*.pb")):
        return (str(folder.resolve()),)
    inside = data_sets_beside(folder / path.name)
    if not inside:
        why = f"{folder} holds neither input_*.pb nor test_data_set_* folders"
        raise UsageError(f"data of {part.name or part.path}", why=why)
    return tuple(map(str, inside))


def _shapes(given: dict[str, str | tuple[int, ...]]) -> tuple[InputShape, ...]:
    made = []
    for name, dims in given.items():
        if isinstance(dims, str):
            try:
                sizes = tuple(int(one) for one in dims.lower().replace("×", "x").split("x"))
            except ValueError:
                raise UsageError(
                    f"shape {dims!r} of {name}", why="it is not a shape", hint='as in "1x3x224x224"'
                ) from None
        else:
            sizes = dims
        if not sizes or min(sizes) < 0:
            raise UsageError(f"shape {dims!r} of {name}", why="dimensions are not below 0")
        made.append(InputShape(name=name, dims=sizes))
    return tuple(made)


def _check_models(models: tuple[SuiteModel, ...], found: int) -> None:
    if not models:
        why, hint = "it names none", "models = […] or [[model]]"
        if found:
            why = f"include and exclude remove all of {found}"
            hint = "they are parts or patterns of models' names: enginescope models list WORD"
        raise UsageError("a suite without models", why=why, hint=hint)
    names = [model.name for model in models]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        why = f"{names.count(twice[0])} models have that name"
        raise UsageError(f"model {twice[0]}", why=why, hint="name = … in [[model]]")
    for model in models:
        if any(batch is not None and batch < 1 for batch in model.batches):
            raise UsageError(f"batches of {model.name}", why="a batch is 1 or more")


def _python(name: str, text: str, base: Path) -> str:
    if not is_environment(name):
        raise UsageError(f"environment {name!r}", why="a name has letters, digits, . _ and - alone")
    if "/" not in text:  # a command, as in a shell
        return shutil.which(text) or text
    given = os.path.expanduser(text)  # noqa: PTH111 - Path's raises where there is no such user
    return os.path.abspath(base / given)  # noqa: PTH100 - a link to a Python is the environment


def _reference(text: str | None, base: Path) -> str | None:
    path = base / os.path.expanduser(text or "")  # noqa: PTH111 - Path's raises where there is no such user
    return str(path.resolve()) if text and path.exists() else text


def _check_environments(models: tuple[SuiteModel, ...], known: dict[str, str]) -> None:
    named = {read_spec(text).environment: text for model in models for text in model.backends}
    for name, text in named.items():
        if name is not None and name not in known:
            table = f'[environments] with {name} = "FOLDER/bin/python", or --environment'
            hint = did_you_mean(name, known) if known else table
            why = f"no environment is called {name!r}"
            raise UsageError(f"backend {text!r}", why=why, hint=hint)


def _warmup(timing: TimingPart) -> WarmUp:
    given = timing.warmup
    if given is None:
        return WarmUp()
    if isinstance(given, int) or given.strip().isdecimal():
        return WarmUp(time_ms=0.0, iterations=int(given))
    time_ms = _quantity("warmup", given, parse_duration_ms, may_be_nothing=True)
    limit_ms = max(WarmUp().limit_ms, 10 * time_ms)
    return WarmUp(time_ms=time_ms, iterations=0, limit_ms=limit_ms)


def _stop(timing: TimingPart) -> StopRule:
    usual = StopRule()
    if timing.iterations is not None and timing.duration is not None:
        raise UsageError("iterations and duration", why="each alone ends the measurement")
    if timing.iterations is not None and timing.iterations < 1:
        raise UsageError(f"iterations {timing.iterations}", why="1 or more")
    duration_ms = _span_ms("duration", timing.duration)
    max_time_ms = _span_ms("max_time", timing.max_time) or usual.max_time_ms
    return StopRule(
        iterations=timing.iterations,
        duration_ms=duration_ms,
        precision_pct=usual.precision_pct if timing.precision is None else timing.precision,
        max_time_ms=max_time_ms,
        min_samples=usual.min_samples if timing.min_samples is None else timing.min_samples,
        min_time_ms=min(usual.min_time_ms, max_time_ms),
    )


def _limits(general: GeneralPart, workload: Workload) -> Limits:
    memory = general.memory_limit
    memory_bytes = None if memory is None else _quantity("memory_limit", memory, parse_bytes)
    timeout_ms = _span_ms("timeout", general.timeout)
    timeout_s = timeout_ms and timeout_ms / 1e3
    limits = limits_for(workload, timeout_s=timeout_s, memory_bytes=memory_bytes)
    build_ms = _span_ms("build_timeout", general.build_timeout)
    return limits if build_ms is None else replace(limits, build_timeout_s=build_ms / 1e3)


def _own_limits(part: ModelPart, general: GeneralPart, workload: Workload) -> Limits | None:
    if part.timeout is None and part.memory_limit is None:
        return None
    memory_limit = part.memory_limit or general.memory_limit
    own = replace(general, timeout=part.timeout or general.timeout, memory_limit=memory_limit)
    return _limits(own, workload)


def _span_ms(key: str, text: str | None) -> float | None:
    return None if text is None else _quantity(key, text, parse_duration_ms)


def _quantity(key: str, text: str, parse: Callable[[str], N], *, may_be_nothing: bool = False) -> N:
    try:
        value = parse(text)
    except UsageError as error:
        raise UsageError(f"{key}: {error.what}", hint=error.hint) from None
    if value <= 0 and not may_be_nothing:
        raise UsageError(f"{key}: {text!r} is not above 0", hint="omit it for its default")
    return value


def _count(name: str, value: int) -> int:
    if value < 0:
        raise UsageError(f"{name} {value}", why="0 or more")
    return value
