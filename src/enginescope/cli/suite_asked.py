"""The suite that a file and the command line ask for together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from enginescope.core.errors import UsageError

if TYPE_CHECKING:
    from enginescope.formats.suite_file import SuiteFile
    from enginescope.model.suite import Suite
    from enginescope.store.archive import Store


def suite_asked(source: Path, options: dict[str, Any], store: Store) -> Suite:
    """Return the suite that a file or folder describes, with what was typed in its place.

    Raises
    ------
    UsageError
        There is no such file, or what is asked of every cell cannot be had.
    FormatError
        It is no suite.
    """
    from enginescope.formats.suite_file import read_suite_file
    from enginescope.runner.suite_plan import suite_of

    if source.is_dir():
        file, base, name = _file_of_folder(source), Path.cwd(), source.resolve().name
    elif source.is_file():
        file, base, name = read_suite_file(source), source.resolve().parent, source.stem
    else:
        raise UsageError(
            f"suite {source}",
            why="there is no such file or folder",
            hint="enginescope suite --init writes an example",
        )
    asked = _with_options(file, options)
    found = suite_of(asked, base, name=name, samples=store.path / "samples")
    _check_validation(found)
    return found


def _check_validation(suite: Suite) -> None:
    """Raise for a tolerance or a reference that is none: every cell would fail alike."""
    if suite.mode == "benchmark":
        return
    from enginescope.analysis.output_tolerance import tolerance_named

    checking = suite.checking
    general = next((one for one in ("rtol", "atol") if getattr(checking, one) is not None), None)
    if checking.tolerance is not None and general is not None:
        raise UsageError(
            f"tolerance {checking.tolerance} and {general} {getattr(checking, general):g}",
            why=f"{general} for all outputs leaves nothing to it",
            hint="one of them",
        )
    if checking.tolerance is not None:
        tolerance_named(checking.tolerance)
    given = checking.reference
    if given is not None and not (Path(given).is_absolute() and Path(given).exists()):
        _check_reference(given)


def _check_reference(text: str) -> None:
    """Raise for a reference that is neither there, as a file or folder, nor a backend."""
    from enginescope.backends.registry import parse_backend, read_spec
    from enginescope.formats.engine_file import ENGINE_SUFFIXES

    path = Path(text.partition("?")[0])
    if len(path.parts) > 1 or path.suffix.lower() in (".onnx", *ENGINE_SUFFIXES):
        raise UsageError(
            f"reference {text}",
            why="there is no such file or folder",
            hint="relative paths start from the suite's file; those that are typed, from here",
        )
    if read_spec(text).environment is not None:
        raise UsageError(
            f"reference {text}",
            why="a cell's reference answers in the Python that the cell runs in",
            hint="leave out the @",
        )
    parse_backend(text)


def _file_of_folder(folder: Path) -> SuiteFile:
    from enginescope.formats.suite_file import GeneralPart, SuiteFile

    return SuiteFile(suite=GeneralPart(models=(str(folder.resolve()),)))


#: Option -> the key of the file's table ``[suite]`` in whose place it stands.
_GENERAL = {
    "name": "name",
    "batches": "batches",
    "mode": "mode",
    "fed": "input",
    "baseline": "baseline",
    "layers": "layers",
    "timeout": "timeout",
    "memory_limit": "memory_limit",
    "retries": "retries",
}
_TIMING = ("warmup", "iterations", "duration", "max_time", "processes")
_VALIDATION = ("reference", "samples", "tolerance", "rtol", "atol", "percent_mismatch")


def _with_options(file: SuiteFile, options: dict[str, Any]) -> SuiteFile:
    """Return the file with what the command line says in its place.

    Backends, batches and limits that are given hold for every model; patterns add to the file's.
    """
    from msgspec.structs import replace

    given = {
        key: options[name] for name, key in _GENERAL.items() if options[name] not in (None, ())
    }
    general = replace(
        file.suite,
        **given,
        include=options["include"] or file.suite.include,
        exclude=(*file.suite.exclude, *options["exclude"]),
    )
    models = file.model
    if options["backends"]:
        general = replace(general, backends=options["backends"], precisions=())
        models = tuple(replace(one, backends=(), precisions=()) for one in models)
    if options["batches"]:
        models = tuple(replace(one, batches=()) for one in models)
    for limit in ("timeout", "memory_limit"):
        if options[limit]:
            models = tuple(replace(one, **{limit: None}) for one in models)
    timing, validation = (
        {name: options[name] for name in names if options[name] is not None}
        for names in (_TIMING, _VALIDATION)
    )
    if "reference" in validation and Path(str(validation["reference"])).exists():
        validation["reference"] = str(Path(str(validation["reference"])).absolute())
    return replace(
        file,
        environments={**file.environments, **dict(options["environments"])},
        suite=general,
        model=models,
        timing=replace(file.timing, **timing),
        validation=replace(file.validation, **_in_place(validation), **validation),
    )


def _in_place(given: dict[str, Any]) -> dict[str, None]:
    """Return what of the file's limits those that were typed stand in the place of."""
    if "tolerance" in given:
        return {one: None for one in ("rtol", "atol") if one not in given}
    return {"tolerance": None} if {"rtol", "atol"} & set(given) else {}
