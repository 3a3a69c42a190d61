"""The keys of a suite file, from the records that it is read into."""

from typing import Any

import msgspec

from enginescope.formats.suites import suite_file
from enginescope.services.suites.request import example
from tests.docs.reference.marked_page import table

#: Table to key to meaning.
MEANINGS: dict[str, dict[str, str]] = {
    "suite": {
        "name": "Name of the suite's folder, and tag of its runs. By default the file's name.",
        "models": "Files, folders, patterns; `onnx:light`: models of the onnx package; `samples`: "
        "the two of `bench`.",
        "mode": "`benchmark`: measure; `validate`: compare outputs; `both`: measure if they match.",
        "input": "`random` values, or the `dataset` folders beside the models.",
        "backends": "As `--on` takes them.",
        "precisions": "Each backend without a precision runs in each of these; `default` is none.",
        "batches": "Sizes of dynamic first dimensions.",
        "baseline": "Backend that speed-up refers to. By default the first of each model.",
        "include": "Keep only models whose name contains or matches one of these.",
        "exclude": "Skip models whose name contains or matches one of these.",
        "layers": "Time layers in a separate pass.",
        "retries": "Further attempts of a process that failed or was disturbed.",
        "seed": "Seed of random inputs.",
        "timeout": "Time limit for each cell.",
        "build_timeout": "Time limit for building an engine.",
        "memory_limit": "Memory limit for each cell.",
        "gpu": "Run only on a machine with such a GPU.",
        "exclusive": "Run nothing else on that machine meanwhile.",
    },
    "timing": {
        "warmup": "Warm-up time, such as `200ms`, or number of requests.",
        "iterations": "Stop after exactly this number of samples.",
        "duration": "Stop after this time.",
        "precision": "Stop when the median's interval is within ± this percentage.",
        "max_time": "Maximum measuring time.",
        "min_samples": "Minimum number of samples.",
        "processes": "Fresh processes for each cell.",
    },
    "validation": {
        "reference": "Backend, model, engine or folder of outputs to compare with.",
        "samples": "Number of random samples, where there is no data set.",
        "tolerance": "Precision whose limits apply. By default the coarsest in use.",
        "rtol": "Relative tolerance, in place of those limits.",
        "atol": "Absolute tolerance, in place of those limits.",
        "percent_mismatch": "Percentage of elements that may exceed the tolerance.",
    },
    "model": {
        "path": "The model file.",
        "name": "Name in the tables. By default the file's name.",
        "data": "Folder of a data set.",
        "backends": "Backends of this model.",
        "precisions": "Precisions of this model.",
        "batches": "Batch sizes of this model.",
        "shapes": "Shapes by input; each entry makes a cell of its own.",
        "dims": "Sizes of named dimensions; each entry makes a cell of its own.",
        "ranges": "Bounds of random integers by input.",
        "decode": "Tokens to generate per request; `present` outputs feed `past` inputs.",
        "timeout": "Time limit for each cell of this model.",
        "memory_limit": "Memory limit for each cell of this model.",
        "gpu": "Run only on a machine with such a GPU.",
        "exclusive": "Run nothing else on that machine meanwhile.",
    },
}
_TYPES = {"str": "text", "int": "integer", "float": "number", "bool": "true or false"}


def keys_part() -> str:
    made = []
    for name, kind in suite_file._TABLES.items():
        rows = [
            (f"`{one.name}`", _type_text(one.type), _default(one), MEANINGS[name][one.name])
            for one in msgspec.structs.fields(kind)
        ]
        title = f"[[{name}]]" if name == "model" else f"[{name}]"
        made.append(f"### {title}\n\n{table(('key', 'type', 'default', 'meaning'), rows)}")
    return "\n\n".join(made)


def example_part() -> str:
    return f"```toml\n{example().strip()}\n```"


def _default(field: msgspec.structs.FieldInfo) -> str:
    if field.default is msgspec.NODEFAULT and field.default_factory is msgspec.NODEFAULT:
        return "required"
    value = None if field.default is msgspec.NODEFAULT else field.default
    return "" if value in (None, ()) else f"`{str(value).lower()}`"


def _type_text(kind: Any) -> str:
    """Return a type in words, with its bounds."""
    return _words(msgspec.inspect.type_info(kind))


def _words(found: msgspec.inspect.Type) -> str:
    if isinstance(found, msgspec.inspect.Metadata):
        found = found.type
    if isinstance(found, msgspec.inspect.UnionType):
        known = [one for one in found.types if not isinstance(one, msgspec.inspect.NoneType)]
        return " or ".join(map(_words, known))
    if isinstance(found, msgspec.inspect.VarTupleType):
        return f"list of {_words(found.item_type)}"
    if isinstance(found, msgspec.inspect.TupleType):
        return f"list of {len(found.item_types)} × {_words(found.item_types[0])}"
    if isinstance(found, msgspec.inspect.DictType):
        return f"table of {_words(found.value_type)}"
    if isinstance(found, msgspec.inspect.LiteralType):
        return " or ".join(f"`{one}`" for one in found.values)
    name = _TYPES[type(found).__name__.removesuffix("Type").lower()]
    low, high = getattr(found, "ge", None), getattr(found, "le", None)
    if low is not None and high is not None:
        return f"{name}, {low:g} … {high:g}"
    return f"{name}, {low:g} or more" if low is not None else name
