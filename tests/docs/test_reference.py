"""docs/reference is what the code says; ``make reference`` writes its pages anew."""

import json
from collections.abc import Iterator
from importlib.metadata import version

import pytest

import enginescope as es
from tests.cli.verb_help import every_verb
from tests.docs.reference import python_api
from tests.docs.reference.csv_columns import files
from tests.docs.reference.marked_page import REFERENCE, Page
from tests.docs.reference.pages import PAGES

LOCK = REFERENCE.parents[1] / "requirements.lock"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_page_is_up_to_date(page: Page) -> None:
    if page.library is not None:
        wanted = f"{page.library}=={version(page.library)}"
        if wanted not in {line.split(" ")[0] for line in LOCK.read_text().splitlines()}:
            pytest.skip(f"the page is written with another version than {wanted}")
    assert page.path.read_text(encoding="utf-8") == page.rendered(), "run make reference"


def test_every_verb_that_writes_csv_has_its_columns() -> None:
    """`contend`, `tune` and `sensitivity` had none."""
    verbs = {
        path
        for path, command in every_verb()
        if any("--csv" in parameter.opts for parameter in command.params)
    }
    listed = {file.removesuffix(" --csv") for file in files() if file.endswith(" --csv")}
    assert verbs - {"compare"} == listed  # it writes three kinds


def listed_names(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if line.startswith("| `es."):
            yield line.split("`")[1].removeprefix("es.").removesuffix("(…)")


def test_every_public_name_has_a_row_and_every_function_a_section() -> None:
    text = "\n".join(python_api.table_of(kind) for kind in python_api.KINDS)
    assert sorted(listed_names(text)) == sorted(set(es.__all__) - {"__version__"})
    text = (REFERENCE / "python.md").read_text(encoding="utf-8")
    assert {f"### es.{name}" for name in python_api.kinds()["functions"]} <= set(text.splitlines())


def test_every_reference_in_a_schema_is_defined() -> None:
    for path in (REFERENCE / "schemas").glob("*.json"):
        document = json.loads(path.read_bytes())
        named = {ref.rpartition("/")[2] for ref in references(document)}
        assert named <= set(document["$defs"]), path.name


def references(value: object) -> Iterator[str]:
    """Yield the targets of all `$ref` in a JSON value."""
    if isinstance(value, dict):
        if isinstance(target := value.get("$ref"), str):
            yield target
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)
