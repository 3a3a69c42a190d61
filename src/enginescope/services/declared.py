"""One declaration of an option: a request's field, for the command line, Python and the check.

builds: Annotated[int, Param("Number of independent builds.", least=3, most=26)] = 10
"""

import re
import typing
from collections.abc import Callable, Iterator, Sequence
from functools import cache, wraps
from inspect import Parameter, Signature, formatannotation, getdoc, signature
from math import isfinite
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, ParamSpec, TypeAlias, TypeVar

import msgspec

from enginescope.core.errors import UsageError
from enginescope.core.record import Record, replace
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.store_access import own_command

P = ParamSpec("P")
Q = TypeVar("Q", bound=Record)
R = TypeVar("R")

File: TypeAlias = str | PathLike[str]
#: The metavar of a file that must exist.
EXISTING_FILE = "FILE"
#: Field -> the arguments without a name that it has.
_STAR = {"models": "*models"}
_UNIT = re.compile(r"_(pct|s|ms)$")
_MODULE = re.compile(r"(?:\w+\.)+(?=[A-Za-z])")


def path_of(file: File | None) -> Path | None:
    return None if file is None else Path(file)


class Param(NamedTuple):
    """What a field's type does not say of an option.

    Attributes:
        above: The value is larger than this.
        usual: What the default ``None`` means.
        flag: On the command line, where it is not the name without its unit.
        metavar: ``FILE``: a file that must exist.
        is_written: The value is a file to write.
        read: Return the value of a text of the command line.
        heading: Of the help, where the command line has none for the flag, or another one.
        has_flag: False: options that several verbs share give the value.
    """

    text: str
    least: float | None = None
    most: float | None = None
    above: float | None = None
    usual: str | None = None
    flag: str | None = None
    metavar: str | None = None
    read: Callable[[str], Any] | None = None
    is_written: bool = False
    has_flag: bool = True
    heading: str | None = None

    @property
    def bounds(self) -> str:
        """The bounds as a phrase; empty if there are none."""
        if self.least is not None and self.most is not None:
            return f"between {self.least:,} and {self.most:,}"
        ends = ("above", self.above), ("at least", self.least), ("at most", self.most)
        return " and ".join(f"{word} {end:,}" for word, end in ends if end is not None)

    def has(self, value: Any) -> bool:
        """Whether a number is within the bounds; NaN never is."""
        return (
            isinstance(value, int | float)
            and isfinite(value)
            and (self.above is None or value > self.above)
            and (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
        )


def unflagged(text: str, usual: str | None = None) -> Param:
    """Declare a field that options of several verbs give."""
    return Param(text, usual=usual, has_flag=False)


def written(text: str) -> Param:
    """Declare a file to write."""
    return Param(text, is_written=True)


def existing(text: str, usual: str | None = None, heading: str | None = None) -> Param:
    """Declare a file that must exist."""
    return Param(text, usual=usual, metavar=EXISTING_FILE, heading=heading)


class Declared(NamedTuple):
    """A field with its declaration, types of the value and its items, and its kind in Python."""

    name: str
    kinds: tuple[Any, ...]
    param: Param
    default: Any
    annotation: Any
    kind: Any = Parameter.KEYWORD_ONLY

    @property
    def is_required(self) -> bool:
        """Whether a caller must give the value."""
        return self.default is Parameter.empty

    @property
    def flag(self) -> str:
        """The long flag on the command line; ``--name/--no-name``, of a switch that is on."""
        return self.param.flag or f"--{_UNIT.sub('', self.name).replace('_', '-')}"

    @property
    def choices(self) -> tuple[str, ...]:
        """The values of a ``Literal``."""
        return typing.get_args(self.kinds[0]) if typing.get_origin(self.kinds[0]) is Literal else ()

    @property
    def about(self) -> str:
        """The text, with bounds and what the default means."""
        text, bounds, usual = self.param.text, self.param.bounds, self.param.usual
        text = f"{text.removesuffix('.')} ({bounds})." if bounds else text
        return f"{text} By default {usual}." if usual else text

    def is_a(self, kind: type) -> bool:
        """Whether the type, or one of a union, is of this kind."""
        origins = [typing.get_origin(each) for each in self.kinds]
        classes = [origin for origin in origins if isinstance(origin, type)]
        return kind in self.kinds or any(issubclass(origin, kind) for origin in classes)

    def check(self, value: Any) -> None:
        """Raise `UsageError` for a value out of bounds, an unknown choice or a missing file."""
        is_single = isinstance(value, str) or not isinstance(value, Sequence)
        for item in (value,) if is_single else value:
            if self.choices and item not in self.choices:
                hint = f"one of {', '.join(self.choices)}"
                raise UsageError(f"`{self.name}` {item!r}", hint=hint)
            if self.param.bounds and not self.param.has(item):
                shown = f"{item:g}" if isinstance(item, float) else repr(item)
                raise UsageError(f"`{self.name}` {shown}", why=f"it is not {self.param.bounds}")
            if self.param.metavar == EXISTING_FILE and not Path(item).is_file():
                raise UsageError(f"`{self.name}` {item}", why="there is no such file")


@cache
def declared(request: type[Record]) -> tuple[Declared, ...]:
    """Return a request's declared fields: positional ones, its own, then those of each base."""
    home = {
        name: place
        for place, base in enumerate(request.__mro__)
        if issubclass(base, Record)
        for name in base.__struct_fields__
    }
    fields, parameters = [], signature(request).parameters
    for own in msgspec.structs.fields(request):
        if typing.get_origin(own.type) is Annotated:
            kind, param = typing.get_args(own.type)
            default = Parameter.empty if own.required else own.default
            if own.default_factory is not msgspec.NODEFAULT:
                default = own.default_factory()
            how = parameters[own.name].kind
            fields.append(Declared(own.name, tuple(_kinds(kind)), param, default, kind, how))

    def place(field: Declared) -> tuple[bool, bool, int]:
        return field.name not in _STAR, field.kind is Parameter.KEYWORD_ONLY, home[field.name]

    return tuple(sorted(fields, key=place))


def _kinds(annotation: Any) -> Iterator[Any]:
    if typing.get_origin(annotation) in (typing.Union, UnionType):
        for part in typing.get_args(annotation):
            yield from _kinds(part)
    elif annotation is not NoneType:
        yield annotation
        if typing.get_origin(annotation) is Sequence:
            yield from _kinds(typing.get_args(annotation)[0])


def check_declared(request: Record) -> None:
    """Raise `UsageError` for a field that its declaration does not allow."""
    for field in declared(type(request)):
        value = getattr(request, field.name)
        if value is not None:
            field.check(value)
        elif field.default is not None:
            raise UsageError(f"`{field.name}` None", hint="omit it for its default")


def python_function(
    name: str, request: Callable[P, Q], run: Callable[[Q, MeasurementObserver], R]
) -> Callable[P, R]:
    """Return the function of the Python API that runs a request of its arguments.

    Its parameters are the declared fields of `request`; `run` has its documentation.
    """

    def function(*args: P.args, **kwargs: P.kwargs) -> R:
        called = replace(request(*args, **kwargs), command=own_command())
        return run(called, MeasurementObserver())

    function.__name__ = function.__qualname__ = name
    function.__module__ = run.__module__
    function.__doc__ = getdoc(run)
    function.__annotations__ = {"return": typing.get_type_hints(run)["return"]}
    return documented(typing.cast("type[Record]", request))(function)


def documented(request: type[Record]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Give a function the declared fields of a request as its parameters and documentation.

    The field ``models`` has the arguments without a name.
    """

    def document(function: Callable[P, R]) -> Callable[P, R]:
        fields, result = declared(request), function.__annotations__["return"]
        shown = Signature(list(map(_parameter, fields)), return_annotation=result)
        function.__annotations__ = {one.name: one.annotation for one in fields}
        function.__annotations__["return"] = result

        @wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            shown.bind(*args, **kwargs)  # a request has fields of its own too
            return function(*args, **kwargs)

        head, _, rest = (getdoc(function) or "").partition("\n\nReturns:")
        about = "\n".join(f"    {_STAR.get(one.name, one.name)}: {one.about}" for one in fields)
        checked.__doc__ = f"{head}\n\nArgs:\n{about}\n\nReturns:{rest}"
        vars(checked)["__signature__"] = shown
        return checked

    return document


def _parameter(field: Declared) -> Parameter:
    if field.name in _STAR:
        return Parameter(field.name, Parameter.VAR_POSITIONAL, annotation=_annotation(File))
    default, kind = field.default, type(field.default)
    default = _Call(kind) if issubclass(kind, Record) and default == kind() else default
    return Parameter(
        field.name, field.kind, default=default, annotation=_annotation(field.annotation)
    )


def _annotation(kind: Any) -> str:
    """Return a type as it is written, in every version of Python."""
    if typing.get_origin(kind) in (typing.Union, UnionType):
        return " | ".join(map(_annotation, typing.get_args(kind)))
    return "None" if kind is NoneType else _MODULE.sub("", formatannotation(kind))


class _Call(NamedTuple):
    """A record with its defaults, as a signature shows it."""

    kind: type

    def __repr__(self) -> str:
        return f"{self.kind.__name__}()"
