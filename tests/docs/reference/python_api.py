"""The public names with their first lines, and every function with its parameters."""

import inspect

import enginescope as es
from enginescope.analysis.frames import Frames
from enginescope.core.record import Result
from tests.api.public_functions import public_functions
from tests.docs.reference.docstrings import attributes, entries, first_paragraph, markdown, parsed
from tests.docs.reference.marked_page import table

KINDS = ("functions", "results", "options", "exceptions")


def kinds() -> dict[str, list[str]]:
    values = {name: getattr(es, name) for name in es.__all__ if name != "__version__"}
    errors = [name for name, value in values.items() if _is_class(value, es.EnginescopeError)]
    results = [name for name, value in values.items() if _is_class(value, Result)]
    functions = [*public_functions()]
    options = [name for name in values if name not in {*errors, *results, *functions}]
    return dict(zip(KINDS, (functions, results, options, errors), strict=True))


def table_of(kind: str) -> str:
    rows = []
    for name in sorted(kinds()[kind]):
        value = getattr(es, name)
        call = "(…)" if inspect.isfunction(value) else ""
        rows.append((f"`es.{name}{call}`", first_paragraph(value)))
    return table(("name", "meaning"), rows)


def parameters_part() -> str:
    """Return a section for each function: its call, its parameters, what it returns and raises."""
    return "\n\n".join(map(_function, sorted(kinds()["functions"])))


def fields_part() -> str:
    """Return a section for each option and each result: its fields and properties."""
    named = sorted([*kinds()["results"], *kinds()["options"]])
    return "\n\n".join(made for name in named if (made := _record(name)))


def _function(name: str) -> str:
    value = getattr(es, name)
    text, sections = parsed(value)
    parameters = _parameters(value)
    call = [f"es.{name}(", *parameters, ")"] if parameters else [f"es.{name}()"]
    lines = [f"### es.{name}", "", "```python", *call, "```", ""]
    lines.append(markdown(" ".join(text.split("\n\n")[0].split())))
    for paragraph in text.split("\n\n")[1:]:
        lines += ["", markdown(paragraph)]
    rows = [
        (f"`{key}`", markdown(about)) for key, about in entries(sections.get("Args", "")).items()
    ]
    if rows:
        lines += ["", table(("parameter", "meaning"), rows)]
    if "Returns" in sections:
        lines += ["", f"Returns: {markdown(' '.join(sections['Returns'].split()))}"]
    raised = entries(sections.get("Raises", "")).items()
    lines += ["", *(f"- Raises `{key}`: {markdown(about)}" for key, about in raised)]
    return "\n".join(lines).rstrip()


def _parameters(value: object) -> list[str]:
    """Return a line for each parameter, as it is declared."""
    made, is_starred = [], False
    for one in inspect.signature(value).parameters.values():  # type: ignore[arg-type]
        if one.kind is one.VAR_POSITIONAL:
            is_starred = True
        if one.kind is one.KEYWORD_ONLY and not is_starred:
            made.append("    *,")
            is_starred = True
        annotation = str(one.annotation).strip("'")
        default = "" if one.default is one.empty else f" = {one.default!r}"
        stars = "*" * ((one.kind is one.VAR_POSITIONAL) + 2 * (one.kind is one.VAR_KEYWORD))
        made.append(f"    {stars}{one.name}: {annotation}{default},")
    return made


def _record(name: str) -> str:
    """Return the documented fields of a class; empty if it documents none."""
    value = getattr(es, name)
    if not inspect.isclass(value):
        return ""
    rows = [(f"`{key}`", markdown(text)) for key, text in attributes(value).items()]
    inherited = vars(Frames) if issubclass(value, Frames) else {}
    for key, held in sorted({**inherited, **vars(value)}.items()):
        if not key.startswith("_") and _is_shown(held):
            call = "()" if inspect.isfunction(held) else ""
            rows.append((f"`{key}{call}`", first_paragraph(held)))
    return f"### es.{name}\n\n{table(('name', 'meaning'), rows)}" if rows else ""


def _is_shown(held: object) -> bool:
    is_value = isinstance(held, property) or hasattr(held, "func")
    return bool((is_value or inspect.isfunction(held)) and inspect.getdoc(held))


def _is_class(value: object, base: type) -> bool:
    return isinstance(value, type) and issubclass(value, base)
