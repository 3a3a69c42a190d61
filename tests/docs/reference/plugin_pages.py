"""A page for each part that a package can add: the text and the code of its example."""

import ast
from functools import partial
from pathlib import Path

from enginescope.core.toml import parse_toml
from tests.docs.reference.marked_page import Page

FOLDER = Path(__file__).resolve().parents[3] / "examples" / "plugins"
PACKAGE = FOLDER / "enginescope_examples"
#: Module of the example -> title of its page, which is named like the table of its entry point.
TITLES = {
    "backend": "A backend",
    "task": "A task",
    "reader": "A reader of files",
    "exporter": "An exporter",
    "rules": "Lint rules",
    "sampler": "A sampler of GPU telemetry",
    "verb": "A verb",
}


def entry_point(module: str) -> str:
    """Return the lines of ``pyproject.toml`` that name an example."""
    project = parse_toml((FOLDER / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    tables = {f'entry-points."{kind}"': table for kind, table in project["entry-points"].items()}
    for kind, table in (*tables.items(), ("scripts", project["scripts"])):
        for name, where in table.items():
            if where.partition(":")[0] == f"{PACKAGE.name}.{module}":
                return f'[project.{kind}]\n{name} = "{where}"'
    raise AssertionError(f"pyproject.toml does not name {module}")


def plugin_page(module: str) -> str:
    text = (PACKAGE / f"{module}.py").read_text(encoding="utf-8")
    words = ast.get_docstring(ast.parse(text)) or ""
    code = text.split('"""', 2)[2].lstrip("\n")
    parts = (
        f"# {TITLES[module]}",
        f"<!-- begin of the example, made by `make reference` -->\n{words}",
        f"```toml\n{entry_point(module)}\n```",
        f"```python\n{code}```\n<!-- end of the example -->",
    )
    return "\n\n".join(parts) + "\n"


PAGES = tuple(
    Page(f"plugins/{module}.md", {}, whole=partial(plugin_page, module)) for module in TITLES
)
