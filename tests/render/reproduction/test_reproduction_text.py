"""An upgrade that ran again, as text, JSON and notebook: the answer leads, names are escaped."""

import json

import pytest

from enginescope.analysis.upgrade.reproduced import environment_changes, reproduced_models
from enginescope.core.record import replace
from enginescope.notebook.html_fragments import answer_html
from enginescope.records.verdict.upgrade import (
    OutputChange,
    OutputReason,
    ReproducedOutputs,
    Reproduction,
    UpgradedModel,
    UpgradeKind,
)
from enginescope.render.reproduction.reproduction_answer import (
    answer_text,
    reproduction_answer,
    scope_facts,
)
from tests.render.outputs import outputs
from tests.render.verdicts.test_gate_files import NASTY
from tests.render.verdicts.test_upgrade_files import measured, report

reproduction_json, reproduction_markdown, reproduction_page, _ = outputs(reproduction_answer)


def reproduction_rows(found: Reproduction) -> tuple[tuple[str, ...], ...]:
    return reproduction_answer(found).screen[0].rows


def reproduction_html(found: Reproduction) -> str:
    return answer_html(reproduction_answer(found))


def result(
    *different: str, unclear: tuple[str, ...] = (), clear: bool = True, name: str = "net"
) -> Reproduction:
    """Return a reproduction in which metrics became worse or inconclusive; or all, if not clear."""
    recorded = report(measured(name, 1.0))
    model = recorded.models[0]
    unclear = unclear if clear else tuple(row.metric for row in model.rows)
    again = replace(recorded, models=(_changed(model, different, unclear),))
    again = replace(again, new=replace(again.new, versions={"onnxruntime": NASTY, "numpy": "2"}))
    return Reproduction(
        folder=f"of {name}",
        files=12,
        size_bytes=3_000_000,
        sha256="ab" * 32,
        enginescope="0.2.0",
        recorded=recorded,
        again=again,
        models=reproduced_models(recorded, again),
        environment=environment_changes(recorded, again),
    )


def _changed(
    model: UpgradedModel, worse: tuple[str, ...], unclear: tuple[str, ...]
) -> UpgradedModel:
    kinds = dict.fromkeys(worse, UpgradeKind.WORSE) | dict.fromkeys(
        unclear, UpgradeKind.INCONCLUSIVE
    )
    rows = [replace(row, kind=kinds.get(row.metric, row.kind)) for row in model.rows]
    return replace(model, rows=tuple(rows))


@pytest.mark.parametrize(
    ("found", "answer"),
    [
        (result(), "reproduced: 3 verdicts, all the same"),
        (result("latency"), "not reproduced: 1 of 3 verdicts differs: net (latency)"),
        (
            result("latency", "outputs"),
            "not reproduced: 2 of 3 verdicts differ: net (outputs), net (latency)",
        ),
        (
            result(unclear=("latency",)),
            "no verdict differs: 2 of 3 verdicts are the same, 1 is inconclusive",
        ),
        (result(clear=False), "inconclusive: 3 verdicts, none of them clear in both upgrades"),
        (
            replace(result(), again=None, models=()),
            "bundle is intact: all 12 files match the manifest",
        ),
    ],
)
def test_the_answer(found, answer) -> None:
    assert answer_text(found) == answer


def test_rows_show_both_intervals_and_why_they_differ() -> None:
    shown = dict(reversed(reproduction_rows(result("latency"))))
    recorded, again = shown["different"].splitlines()[1:]
    assert recorded.startswith("recorded safe, ")
    assert again.startswith("again worse, ")
    assert recorded.count("…") == again.count("…") == 1
    assert "beyond the limit of 2 %" in again
    assert "again safe" in shown["same"]


def test_facts_name_the_bundle_and_the_changed_versions() -> None:
    facts = dict(scope_facts(result()))
    assert facts["SHA-256"] == "ab" * 32
    assert facts["recorded"] == "safe; independent builds, 12 runs a side"
    assert facts["versions"].startswith("new: onnxruntime 1.32.0 → ")


def test_json_has_the_answer_and_both_reports() -> None:
    found = json.loads(reproduction_json(result("latency")))
    assert found["reproduced"] is False
    assert any("recorded safe" in one and "again worse" in one for one in found["sentences"])
    assert found["report"]["recorded"]["models"][0]["rows"]


def test_one_model_has_no_column_of_models() -> None:
    page = reproduction_page(result("latency")).decode()
    assert '<th scope="col">Model</th>' not in page
    assert "per round" not in page


def test_markdown_has_the_answer_and_both_verdicts() -> None:
    text = reproduction_markdown(result("latency")).decode()
    assert text.startswith("### enginescope: not reproduced: 1 of 3 verdicts differs")
    assert "| different | Latency | recorded | safe |" in text
    assert "| different | Latency | again | worse |" in text


@pytest.mark.parametrize("write", [reproduction_html, reproduction_page])
def test_names_are_text_in_html(write) -> None:
    made = write(result("latency", name=NASTY))
    text = made if isinstance(made, str) else made.decode()
    assert '<script>alert("1")' not in text
    assert "\x1b" not in text
    assert "ot reproduced: 1 of 3 verdicts differs" in text


def test_names_are_text() -> None:
    found = result("latency", name=NASTY)
    shown = "".join(text for row in reproduction_rows(found) for text in row)
    assert "\x1b" not in shown + answer_text(found) + "".join(dict(scope_facts(found)).values())


def test_outputs_that_are_not_as_recorded_are_named() -> None:
    changes = tuple(
        OutputChange(stack="new", sample=f"{number}{NASTY}", output="y", reason=OutputReason.HASHES)
        for number in range(5)
    )
    found = result()
    outputs = ReproducedOutputs(compared=9, changes=changes)
    found = replace(found, models=(replace(found.models[0], outputs=outputs),))
    text = dict(scope_facts(found))["outputs"]
    assert text.startswith("5 of 9 outputs are not as recorded: y of 0")
    assert text.endswith("; and 2 more")
    assert "y of 4" in reproduction_page(found).decode()
