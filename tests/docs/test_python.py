"""docs/python.md lists the public names; ``python -m tests.docs.test_python`` writes the lists."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import enginescope as es
from enginescope.core.result import Result
from enginescope.render.base.data_table import markdown_row
from tests.api.public_functions import public_functions

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"


def kinds() -> dict[str, list[str]]:
    """Return the public names by kind."""
    values = {name: getattr(es, name) for name in es.__all__ if name != "__version__"}
    errors = [name for name, value in values.items() if _is_class(value, es.EnginescopeError)]
    results = [name for name, value in values.items() if _is_class(value, Result)]
    functions = [*public_functions()]
    options = [name for name in values if name not in {*errors, *results, *functions}]
    return {"functions": functions, "results": results, "options": options, "exceptions": errors}


def table_of(kind: str) -> str:
    """Return the names of a kind with the first lines of their documentation."""
    return "\n".join(
        (markdown_row(("name", "meaning")), "|---|---|", *map(_row, sorted(kinds()[kind])))
    )


def with_tables(text: str) -> str:
    """Return the page with the tables that belong to the code."""
    for kind in kinds():
        begin, end = f"<!-- begin of the {kind} -->", f"<!-- end of the {kind} -->"
        head, has_begin, rest = text.partition(begin)
        _, has_end, tail = rest.partition(end)
        assert has_begin, f"{PAGE.name} has no place for the {kind}"
        assert has_end, f"{PAGE.name} does not mark the end of the {kind}"
        text = f"{head}{begin}\n{table_of(kind)}\n{end}{tail}"
    return text


def _is_class(value: object, base: type) -> bool:
    return isinstance(value, type) and issubclass(value, base)


def _row(name: str) -> str:
    value = getattr(es, name)
    call = "(…)" if inspect.isfunction(value) else ""
    return markdown_row((f"`es.{name}{call}`", _first_line(value)))


def _first_line(value: object) -> str:
    paragraph = (inspect.getdoc(value) or "").partition("\n\n")[0]
    return " ".join(paragraph.replace("``", "`").replace("|", "\\|").split())


def listed_names(text: str) -> Iterator[str]:
    """Yield the names in the first column of the tables."""
    for line in text.splitlines():
        if line.startswith("| `es."):
            yield line.split("`")[1].removeprefix("es.").removesuffix("(…)")


def test_the_page_is_up_to_date() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == with_tables(text), "run python -m tests.docs.test_python"


def test_every_public_name_is_on_the_page_once() -> None:
    listed = sorted(listed_names(PAGE.read_text(encoding="utf-8")))
    assert listed == sorted(set(es.__all__) - {"__version__"})


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
