"""Every JSON document: those of typed records as JSON Schema, the others by their keys."""

import inspect
import json
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import numpy as np

from enginescope.analysis.plan_comparison.comparison import compare
from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.verdicts.measured_sides import compare_sides
from enginescope.formats.archive.engine_archive import Manifest
from enginescope.records.run.passport import Passport
from enginescope.records.run.run import Run
from enginescope.records.suite.suite import CellRow, SuitePlan
from enginescope.records.verdict.contend import ContendReport
from enginescope.records.verdict.history import JobHistory
from enginescope.records.verdict.ladder import LadderReport
from enginescope.records.verdict.load import LoadReport
from enginescope.records.verdict.lottery import BuildSpread, LotteryReport
from enginescope.records.verdict.noise import NoiseFloor, SelfTest
from enginescope.records.verdict.sensitivity import SensitivityReport
from enginescope.records.verdict.shapes import ShapesReport
from enginescope.records.verdict.tune import TuneReport
from enginescope.records.verdict.upgrade import EvidenceBundle, Reproduction, UpgradeReport
from enginescope.render.compare.compare_answer import compare_json
from enginescope.render.page.export import report_json, summary_json
from enginescope.render.plan_comparison.compare_tables import Chosen
from enginescope.render.plans.explore_data import explore_json
from enginescope.render.plans.findings import findings_json
from enginescope.render.validation.validate_answer import output_diff_json, per_sample_json
from enginescope.render.verdicts.gate_answer import gate_json
from tests.analysis.compared_plans import run_a, run_b
from tests.analysis.in_turn import in_turn, named
from tests.docs.reference.docstrings import attributes, markdown
from tests.docs.reference.marked_page import table
from tests.render.plans.test_explore_text import timed
from tests.render.plans.test_findings import linted
from tests.render.runs import measured_run
from tests.render.validation.test_validate_answer import found, side
from tests.render.verdicts.test_gate_files import report

#: Schema file to its record, and what holds it.
TYPED: dict[str, tuple[type[msgspec.Struct], str]] = {
    "run": (Run, "`run.json` of a stored run; `runs export`"),
    "suite": (SuitePlan, "`suite.json` of a suite's folder"),
    "suite-row": (CellRow, "a line of `cells.jsonl` in a suite's folder"),
    "history": (JobHistory, "an element of `series` of `history --json`"),
    "noise-floor": (NoiseFloor, "an element of `floors` of `noise-floors.json`"),
    "self-test": (SelfTest, "`report` of `doctor --self-test --json`"),
    "passport": (Passport, "`explore --passport --json`; `net.engine.passport.json`"),
    "load": (LoadReport, "`report` of `load --json`"),
    "lottery": (LotteryReport, "`report` of `lottery --json`"),
    "tune": (TuneReport, "`report` of `tune --json`"),
    "sensitivity": (SensitivityReport, "`report` of `sensitivity --json`"),
    "build-spread": (BuildSpread, "an element of `spreads` of `build-spreads.json`"),
    "upgrade": (UpgradeReport, "`report` of `upgrade --json`"),
    "reproduction": (Reproduction, "`report` of `upgrade --reproduce --json`"),
    "evidence": (EvidenceBundle, "`evidence.json` of a bundle of `upgrade --evidence`"),
    "shapes": (ShapesReport, "`report` of `shapes --json`"),
    "ladder": (LadderReport, "`report` of `ladder --json`"),
    "contend": (ContendReport, "`report` of `contend --json`"),
    "archive": (Manifest, "`manifest.json` of an archive (`.tea`)"),
}
#: Keys whose value has keys of its own for each document.
_OPEN = {"evidence", "counts", "record", "versions", "options", "environment", "preparation"}
_RECORDED = "object; see the schema of `run.json`"


def observed() -> dict[str, Callable[[], bytes]]:
    """Return the documents that no record describes, as the tests make them."""
    return {
        "bench --json, runs show --json": lambda: summary_json([RunView(measured_run())]),
        "report.json": lambda: report_json([RunView(measured_run())], topk=2),
        "explore --json": lambda: b"".join(explore_json(timed(), timed().layers)),
        "lint --json": lambda: findings_json([linted()]),
        "compare --json": lambda: compare_json(
            compare([run_a(), run_b()]), Chosen(), measured=compare_sides(named(*in_turn(1.05)))
        ),
        "gate --json": lambda: gate_json(report()),
        "output_diff.json, validate --json": lambda: output_diff_json(found(side("B", 0.01))),
        "per_sample_diff.json": lambda: per_sample_json(found(side("B", 0.01))),
    }


def schema_json(kind: type[msgspec.Struct]) -> str:
    made = msgspec.json.schema(kind, schema_hook=_array)
    made["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    for definition in made["$defs"].values():
        if "description" in definition:
            text = inspect.cleandoc(definition["description"])
            definition["description"] = markdown(text.partition("\n\n")[0])
    _describe(kind, made["$defs"])
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def typed_part() -> str:
    rows = [
        (f"[`{name}.schema.json`](schemas/{name}.schema.json)", where, f"`{kind.__name__}`")
        for name, (kind, where) in TYPED.items()
    ]
    return table(("schema", "describes", "record"), rows)


def observed_part() -> str:
    made = []
    for name, document in observed().items():
        rows = [(f"`{path}`", kind) for path, kind in _keys(json.loads(document()))]
        made.append(f"### {name}\n\n{table(('key', 'type'), rows)}")
    return "\n\n".join(made)


def _array(kind: type) -> dict[str, Any]:
    """Describe an array: the path of its file beside the document."""
    if kind is not np.ndarray:
        raise NotImplementedError(kind)
    return {"type": "object", "properties": {"npy": {"type": "string"}}, "required": ["npy"]}


def _describe(kind: type, definitions: dict[str, Any]) -> None:
    """Add the documented meaning of fields, of `kind` and of all records below it."""
    for one in _records(kind, set()):
        properties = definitions[one.__name__]["properties"]
        for name, text in attributes(one).items():
            if name in properties:
                properties[name] = {**properties[name], "description": markdown(text)}


def _records(kind: Any, seen: set[type]) -> Iterator[type]:
    """Yield a record and those in its fields, each once."""
    for one in msgspec.inspect.multi_type_info([kind]):
        yield from _within(one, seen)


def _within(one: Any, seen: set[type]) -> Iterator[type]:
    if isinstance(one, msgspec.inspect.StructType):
        if one.cls in seen:
            return
        seen.add(one.cls)
        yield one.cls
        for field in one.fields:
            yield from _within(field.type, seen)
        return
    for name in ("types", "item_types"):
        for inner in getattr(one, name, ()):
            yield from _within(inner, seen)
    for name in ("item_type", "value_type", "type"):
        if isinstance(inner := getattr(one, name, None), msgspec.inspect.Type):
            yield from _within(inner, seen)


def _keys(value: Any, path: str = "") -> list[tuple[str, str]]:
    """Return path to type of every key, elements of lists merged."""
    if isinstance(value, list):
        merged: dict[str, str] = {}
        for one in value:
            for key, kind in _keys(one, f"{path}[]"):
                held = merged.get(key)
                merged[key] = kind if held in (None, "null") or held == kind else _both(held, kind)
        return list(merged.items()) or [(f"{path}[]", "")]
    if not isinstance(value, dict):
        return [(path, _kind(value))]
    name = path.rpartition(".")[2]
    if name in _OPEN:
        return [(path, _RECORDED if name in ("record", "environment", "preparation") else "object")]
    made = []
    for key, inner in value.items():
        made += _keys(inner, f"{path}.{key}" if path else key)
    return made


def _both(held: str, kind: str) -> str:
    return held if kind == "null" or kind in held.split(" or ") else f"{held} or {kind}"


def _kind(value: Any) -> str:
    kinds = {bool: "boolean", int: "number", float: "number", str: "text"}
    return "null" if value is None else kinds[type(value)]
