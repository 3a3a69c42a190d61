"""Every command of the site's recipes runs, in a folder with the files that it names."""

import re
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import missing
from tests.docs.recipe_inputs import prepare
from tests.docs.recipes import NEEDS, ROOT, Command, Folder, is_run, short, shown_lines, steps_of
from tests.store.postgresql import running_server

DOCS = ROOT / "docs"
PAGES = [
    page
    for page in (*sorted(DOCS.glob("get-started/*.md")), *sorted(DOCS.glob("how-to/*.md")))
    if any(isinstance(step, Command) for step in steps_of(page))
]
#: Packages without which a page cannot run here.
PACKAGES = {"suite-on-ray": ("ray",)}
URL = "postgresql+psycopg://engineer@db.example/engines"


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recipes")
    prepare(folder)
    return folder


@pytest.fixture
def replaced(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """Addresses of the page -> what stands for them here."""
    if request.node.callspec.params["page"].stem != "postgresql":
        yield {}
        return
    with running_server() as server:
        yield {URL: server.fresh_url()}


@pytest.mark.slow
@pytest.mark.documentation
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_run(
    page: Path, template: Path, replaced: dict[str, str], tmp_path: Path
) -> None:
    for package in PACKAGES.get(page.stem, ()):
        if find_spec(package) is None:
            missing(f"needs {package}")
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    folder = Folder(tmp_path, replaced)
    try:
        for step in steps_of(page):
            if not isinstance(step, Command):
                folder.write(*step)
            elif is_run(step):
                assert folder.run(step) in step.exit_codes, (step.line, folder.shown, folder.errors)
                if step.is_exact:
                    assert shown_lines(step, folder.shown) == [*step.output], step.line
    finally:
        folder.close()


def test_what_is_not_run_says_why() -> None:
    """A command of ours is skipped only if it needs a GPU or a cluster, or runs on another page."""
    skipped = [
        (page.name, step)
        for page in PAGES
        for step in steps_of(page)
        if isinstance(step, Command) and step.line.startswith("enginescope") and not is_run(step)
    ]
    run = [step for page in PAGES for step in steps_of(page) if isinstance(step, Command)]
    for _, step in skipped:
        other = step.mark.removeprefix("run on the page ")
        if other == step.mark:
            assert step.mark.startswith(NEEDS)
        else:
            (page,) = (page for page in PAGES if page.stem == other)
            assert any(
                isinstance(one, Command) and is_run(one) and one.line.startswith(step.line)
                for one in steps_of(page)
            )
    assert len(run) > 3 * len(skipped)


def test_recipes_are_there_short_and_in_the_list_for_language_models() -> None:
    """Prose, without code blocks and tables: what a person reads."""
    assert len(list(DOCS.glob("how-to/*.md"))) >= 15  # fourteen and their list
    words = 0
    for page in (DOCS / "index.md", *DOCS.glob("get-started/*.md"), *DOCS.glob("how-to/*.md")):
        text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        words += sum(len(line.split()) for line in text.splitlines() if not line.startswith("|"))
    assert words <= 12_000
    base = "https://enginescope.github.io/enginescope/"
    listed = set(re.findall(rf"\({base}([\w/-]+)\.html\)", (DOCS / "llms.txt").read_text("utf-8")))
    pages = [*DOCS.glob("get-started/*.md"), *DOCS.glob("how-to/*.md")]
    ours = {str(page.relative_to(DOCS).with_suffix("")) for page in pages} - {"how-to/index"}
    assert ours == {name for name in listed if not name.endswith("/index")}


def test_a_command_is_made_short() -> None:
    assert short("enginescope bench a.onnx") == (
        "enginescope bench a.onnx --max-time 20ms --warmup 0"
    )
    assert short("enginescope bench a.onnx --json > b.json").endswith("--warmup 0 > b.json")
    assert short("enginescope doctor --noise a.onnx --rounds 9   # often") == (
        "enginescope doctor --noise a.onnx --rounds 9 --duration 20ms "
        "--on 'ort-cpu?intra_op_num_threads=1'"
    )
    assert short("enginescope lint a.json") == "enginescope lint a.json"
    assert short("for at in 1 2; do enginescope bench a.onnx; done") == (
        "for at in 1; do enginescope bench a.onnx --max-time 20ms --warmup 0; done"
    )
    assert short("for at in *.onnx; do enginescope bench $at; done") == (
        "for at in *.onnx; do enginescope bench $at --max-time 20ms --warmup 0; done"
    )
