"""From a function's result to the same result with a display."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, TypeVar

if TYPE_CHECKING:
    from enginescope.notebook.chart import ChartDisplay
    from enginescope.render.html.answer_page import Answer

P = ParamSpec("P")
R = TypeVar("R")
D = TypeVar("D")


def displayed(function: Callable[P, R], display: Callable[[R], D]) -> Callable[P, D]:
    """Return `function` with a display on its result; signature and documentation stay."""

    @wraps(function)
    def displaying(*args: P.args, **kwargs: P.kwargs) -> D:
        return display(function(*args, **kwargs))

    return displaying


def shown_as(display: type[D]) -> Callable[[Any], D]:
    """Return a function that copies the fields of a result to its subclass with a display."""

    def copied(result: Any) -> D:
        fields = getattr(result, "__struct_fields__", None) or result.__dataclass_fields__
        return display(**{name: getattr(result, name) for name in fields})

    return copied


def shown_by(name: str) -> Callable[[Any], str]:
    """Return a display by a function of `html_fragments`, which is imported when it is needed."""

    def show(self: Any) -> str:
        text: str = getattr(import_module("enginescope.notebook.html_fragments"), name)(self)
        return text

    return show


class Answered:
    """A result that prints as its answer; in notebooks with its tables, plain HTML."""

    __slots__ = ()

    #: Module and function of `enginescope.render` that answer; imported when they are needed.
    answered_by: ClassVar[str]

    def _answer(self) -> Answer:
        module, _, name = self.answered_by.partition(":")
        answer: Answer = getattr(import_module(f"enginescope.render.{module}"), name)(self)
        return answer

    @property
    def charts(self) -> dict[str, ChartDisplay]:
        """The charts of the page by key, such as ``"waterfall"`` of a ladder."""
        from enginescope.notebook.chart import displays
        from enginescope.render.html.answer_page import every_chart

        return displays(every_chart(self._answer()))

    def _summary(self) -> str:
        return self._answer().answer

    def _repr_html_(self) -> str:
        from enginescope.notebook.html_fragments import answer_html

        return answer_html(self._answer())
