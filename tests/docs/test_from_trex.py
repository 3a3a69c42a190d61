"""docs/reference/trex-counterparts.md: what its column "here" names exists; its Python runs."""

import importlib
import json
import re
from importlib.util import find_spec
from pathlib import Path

import click

import enginescope as es
from enginescope.analysis.runs.run_view import RunView
from enginescope.cli.main import cli
from enginescope.formats.importing.import_assembly import EngineFacts, run_of_engine
from enginescope.render.charts.card.registry import PLAN_CHARTS
from enginescope.render.page.tabs import tabs_of
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.rules.catalogue import RULES
from tests.analysis.card_plans import small_view
from tests.render.runs import measured_run

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "trex-counterparts.md"
RECORDED = ROOT / "tests" / "data" / "trt86-h200-process"
PLAN = RECORDED / "small_convnet.onnx.engine.graph.json"
CODE = re.compile(r"`([^`]+)`")
SECTION = re.compile(r"page: ([^,|;]+)")


def cells() -> list[tuple[str, str, str]]:
    """Rows of the page's tables; a \\| within a cell is no border."""
    rows = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("|") and not line.startswith(("| trex |", "|---")):
            parts = [part.strip() for part in re.split(r"(?<!\\)\|", line)[1:-1]]
            assert len(parts) == 3, line
            rows.append((parts[0], parts[1], parts[2]))
    return rows


ROWS = cells()
SPANS = sorted({span for _, here, _ in ROWS for span in CODE.findall(here)})
#: Word of a name -> the package that it needs.
FRAMES = {"pandas": "pandas", "polars": "polars", "arrow": "pyarrow"}
PYTHON = re.compile(r"(?:es|view|run|found|layer|tensor)\b[.(]")


def check_command(span: str) -> None:
    _, *words = span.split()
    command: click.Command = cli
    for word in words:
        if word.startswith("--"):
            known = {name for one in command.params for name in one.opts}
            assert word in known, f"{command.name} has no {word}"
        else:
            assert isinstance(command, click.Group), span
            found = command.get_command(click.Context(command), word)
            assert found is not None, f"no verb {word}"
            command = found


def check_dotted(span: str) -> None:
    module, _, name = span.rpartition(".")
    assert hasattr(importlib.import_module(module), name), span


def test_what_is_named_exists() -> None:
    view = es.open_plan(PLAN)
    names = {
        "es": es,
        "view": view,
        "run": es.import_artifacts(*RECORDED.glob("*.json"))[0],
        "found": es.compare_plans(view, view),
        "layer": view.layers[0],
        "tensor": view.layers[0].inputs[0],
        "__builtins__": {},
    }
    known = {one.code for one in RULES} | set(PLAN_CHARTS) | set(view.columns())
    for span in SPANS:
        if span.startswith("enginescope "):
            check_command(span)
        elif span.startswith("enginescope."):
            check_dotted(span)
        elif PYTHON.match(span):
            needed = [
                one for one in ("pandas", "polars", "pyarrow") if one.removeprefix("py") in span
            ]
            if all(map(find_spec, needed)):
                eval(span, dict(names))
        elif span.startswith("docs/"):
            assert (ROOT / span).is_file(), span
        else:
            assert span in known, f"{span!r} is no chart, rule or column"


def test_every_row_says_where_and_every_chart_is_named() -> None:
    for trex, here, _ in ROWS:
        assert CODE.search(here) or SECTION.search(here), trex
    named = " ".join(here for _, here, _ in ROWS)
    assert {name for name in PLAN_CHARTS if name not in named} == set()


def test_sections_of_the_page_exist() -> None:
    small = small_view()
    made = run_of_engine(EngineFacts(name="a", plan=small.plan, profile=small.profile))
    (recorded,) = es.import_artifacts(*RECORDED.glob("*.json"))
    every = (made, recorded.run, measured_run())
    titles = {
        section.title
        for run in every
        for tab in tabs_of(PageSubject(RunView(run)))
        for section in tab.sections
    }
    asked = {name.strip() for _, here, _ in ROWS for name in SECTION.findall(here)}
    assert asked <= titles, asked - titles


def test_every_entry_linter_and_function_of_trex_is_there(shared: Path) -> None:
    plans = json.loads((shared / "goldens.json").read_bytes())["plans"]
    entries = {
        entry.partition("/")[2]
        for plan in plans.values()
        for entry in plan["report_card"]
        if "/" in entry and not entry.startswith("runs/")
    }
    assert len(entries) == 29
    named = {part.strip() for trex, _, _ in ROWS for part in trex.split("·")}
    assert entries <= named, entries - named
    text = PAGE.read_text(encoding="utf-8")
    for plan in plans.values():
        for name in plan["report_card"]:
            if name.startswith("runs/") and not name.endswith("_widget"):
                assert name.partition("/")[2] in text, name
        for name in plan["lint"]:
            assert name.partition(".")[0] in text, name
