"""Shapes on the command line, and the rules that fill in what was not given."""

from __future__ import annotations

import re

from enginescope.compat.trtexec.arguments import Arguments, whole_number
from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.records.run.job import InputShape

Shapes = tuple[InputShape, ...]

_ROLES = {"--minShapes": "min", "--optShapes": "opt", "--maxShapes": "max"}
_DIMS = re.compile(r"^\d+(x\d+)*$")
_MOST = 2**31 - 1


class ProfileSpec(Record, frozen=True, kw_only=True):
    """The shapes of one optimization profile, all three filled in."""

    minimum: Shapes = ()
    optimum: Shapes = ()
    maximum: Shapes = ()


def parse_shapes(flag: str, text: str) -> Shapes:
    """Return the shapes in ``name:1x3x224x224,name2:scalar``.

    The last colon splits; names may stand in single quotes.

    Raises:
        UsageError: Not of that form, or a name with a wildcard.
    """
    return tuple(_shape(flag, part) for part in split_outside_quotes(text))


def parse_files(flag: str, text: str) -> tuple[tuple[str, str], ...]:
    """Return (name, file) of each part in ``name:file,'a:b':file``.

    Raises:
        UsageError: Not of that form.
    """
    pairs = []
    for part in split_outside_quotes(text):
        quoted = re.match(r"^'([^']*)':(.+)$", part)
        name, colon, file = (quoted[1], ":", quoted[2]) if quoted else part.partition(":")
        if not colon or not name or not file:
            raise UsageError(f"{flag}: {part!r} is not NAME:FILE")
        pairs.append((name, file))
    return tuple(pairs)


def split_outside_quotes(text: str) -> list[str]:
    """Return the parts between commas; commas in single quotes stay."""
    return [part for part in re.findall(r"(?:'[^']*'|[^,'])+", text) if part]


def profiles_of(arguments: Arguments) -> tuple[tuple[ProfileSpec, ...], tuple[str, ...]]:
    """Return the optimization profiles asked for, and trtexec's remarks on what it filled in.

    Shapes belong to the ``--profile=N`` before them, to profile 0 without one.

    Raises:
        UsageError: Indices with a gap, shapes given twice for a profile, or a spec of the wrong
            form.
    """
    found: dict[int, dict[str, Shapes]] = {}
    current = 0
    for one in arguments.given:
        if one.name == "--profile":
            current = whole_number(one.name, one.value)
            found.setdefault(current, {})
        elif one.name in _ROLES:
            roles = found.setdefault(current, {})
            if _ROLES[one.name] in roles:
                raise UsageError(f"{one.name} is given twice for profile {current}")
            roles[_ROLES[one.name]] = parse_shapes(one.name, one.value)
    if sorted(found) != list(range(len(found))):
        raise UsageError(
            f"--profile={','.join(map(str, sorted(found)))}",
            why="the indices must be 0, 1, 2, … without a gap",
        )
    filled = [_filled(index, found[index]) for index in sorted(found)]
    remarks = tuple(remark for _, remarks in filled for remark in remarks)
    return tuple(profile for profile, _ in filled if profile is not None), remarks


def dims_text(dims: tuple[int | None, ...]) -> str:
    """Return ``1x3x224x224``; ``-1`` for a dimension that is not known."""
    return "x".join("-1" if dim is None else str(dim) for dim in dims)


def option_text(shapes: Shapes) -> str:
    """Return shapes as the backend's options have them: ``x:1x3,ids:1x128``."""
    return ",".join(f"{one.name}:{dims_text(one.dims) or 'scalar'}" for one in shapes)


def _filled(index: int, roles: dict[str, Shapes]) -> tuple[ProfileSpec | None, tuple[str, ...]]:
    """Fill in a missing role from its neighbor: min and max from opt, opt from max, then min."""
    if not roles:
        raise UsageError(f"--profile={index}", why="no shapes follow it")
    sources = {
        "min": next(one for one in ("min", "opt", "max") if one in roles),
        "opt": next(one for one in ("opt", "max", "min") if one in roles),
        "max": next(one for one in ("max", "opt", "min") if one in roles),
    }
    profile = ProfileSpec(
        minimum=roles[sources["min"]], optimum=roles[sources["opt"]], maximum=roles[sources["max"]]
    )
    _check_same_inputs(index, profile)
    remarks = tuple(
        f"{source}Shapes is being broadcasted to {role}Shapes for tensor {one.name}"
        for role, source in sources.items()
        if role != source
        for one in roles[source]
    )
    return profile, remarks


def _check_same_inputs(index: int, profile: ProfileSpec) -> None:
    names = [
        {one.name for one in shapes}
        for shapes in (profile.minimum, profile.optimum, profile.maximum)
    ]
    if names[0] != names[1] or names[1] != names[2]:
        everywhere = names[0] & names[1] & names[2]
        missing = ", ".join(sorted((names[0] | names[1] | names[2]) - everywhere))
        raise UsageError(
            f"the shapes of profile {index}",
            why=f"minShapes, optShapes and maxShapes do not name the same inputs: {missing}",
        )


def _shape(flag: str, part: str) -> InputShape:
    name, colon, dims = part.rpartition(":")
    name = name[1:-1] if len(name) > 1 and name[0] == name[-1] == "'" else name
    if not colon or not name:
        raise UsageError(f"{flag}: {part!r} is not NAME:DIMS", hint="as in image:1x3x224x224")
    if "*" in name:
        raise UsageError(
            f"{flag}: {name!r} has a wildcard",
            why="the inputs' names are not known before the model is parsed",
            hint="name each input",
        )
    if "," in name or ";" in name:
        raise UsageError(f"{flag}: {name!r}", why="a name with , or ; cannot be passed on")
    if dims in ("", "scalar"):
        return InputShape(name=name, dims=())
    sizes = tuple(int(one) for one in dims.split("x")) if _DIMS.match(dims) else ()
    if not sizes or max(sizes) > _MOST:
        raise UsageError(f"{flag}: {part!r} is not NAME:DIMS", hint="as in image:1x3x224x224")
    return InputShape(name=name, dims=sizes)
