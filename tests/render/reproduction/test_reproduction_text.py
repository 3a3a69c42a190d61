import json

from enginescope.analysis.upgrade.reproduced import environment_changes, reproduced_models
from enginescope.core.record import replace
from enginescope.records.verdict import upgrade
from enginescope.render.reproduction.reproduction_answer import (
    answer_text,
    reproduction_answer,
    scope_facts,
)
from tests.render.outputs import outputs
from tests.render.verdicts.test_gate_files import NASTY
from tests.render.verdicts.test_upgrade_files import measured, report

reproduction_json, reproduction_markdown, reproduction_page, _ = outputs(reproduction_answer)


def reproduction_rows(found: upgrade.Reproduction) -> tuple[tuple[str, ...], ...]:
    return reproduction_answer(found).screen[0].rows


def result(
    *different: str, unclear: tuple[str, ...] = (), clear: bool = True, name: str = "net"
) -> upgrade.Reproduction:
    """Return a reproduction in which metrics became worse or inconclusive; or all, if not clear."""
    recorded = report(measured(name, 1.0))
    model = recorded.models[0]
    unclear = unclear if clear else tuple(row.metric for row in model.rows)
    kinds = dict.fromkeys(different, upgrade.UpgradeKind.WORSE)
    kinds |= dict.fromkeys(unclear, upgrade.UpgradeKind.INCONCLUSIVE)
    rows = tuple(replace(row, kind=kinds.get(row.metric, row.kind)) for row in model.rows)
    again = replace(recorded, models=(replace(model, rows=rows),))
    again = replace(again, new=replace(again.new, versions={"onnxruntime": NASTY, "numpy": "2"}))
    return upgrade.Reproduction(
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


def test_the_answer() -> None:
    intact = replace(result(), again=None, models=())
    for found, answer in (
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
        (intact, "bundle is intact: all 12 files match the manifest"),
    ):
        assert answer_text(found) == answer


def test_rows_show_both_intervals_and_why_they_differ_and_steer_no_terminal() -> None:
    shown = dict(reversed(reproduction_rows(result("latency"))))
    recorded, again = shown["different"].splitlines()[1:]
    assert recorded.startswith("recorded safe, ")
    assert again.startswith("again worse, ")
    assert recorded.count("…") == again.count("…") == 1
    assert "beyond the limit of 2 %" in again
    assert "again safe" in shown["same"]
    rows = reproduction_rows(result("latency", name=NASTY))
    assert "\x1b" not in "".join(text for row in rows for text in row)


def test_facts_name_the_bundle_and_the_changed_versions() -> None:
    facts = dict(scope_facts(result()))
    assert facts["SHA-256"] == "ab" * 32
    assert facts["recorded"] == "safe; independent builds, 12 runs a side"
    assert facts["versions"].startswith("new: onnxruntime 1.32.0 → ")


def test_json_markdown_and_page_have_both_verdicts() -> None:
    found = result("latency")
    document = json.loads(reproduction_json(found))
    assert document["reproduced"] is False
    assert any("recorded safe" in one and "again worse" in one for one in document["sentences"])
    assert document["report"]["recorded"]["models"][0]["rows"]
    text = reproduction_markdown(found).decode()
    assert "| different | Latency | recorded | safe |" in text
    assert "| different | Latency | again | worse |" in text
    page = reproduction_page(found).decode()
    assert '<th scope="col">Model</th>' not in page
    assert "per round" not in page


def test_outputs_that_are_not_as_recorded_are_named() -> None:
    changes = tuple(
        upgrade.OutputChange(
            stack="new", sample=f"{number}{NASTY}", output="y", reason=upgrade.OutputReason.HASHES
        )
        for number in range(5)
    )
    found = result()
    outputs = upgrade.ReproducedOutputs(compared=9, changes=changes)
    found = replace(found, models=(replace(found.models[0], outputs=outputs),))
    text = dict(scope_facts(found))["outputs"]
    assert text.startswith("5 of 9 outputs are not as recorded: y of 0")
    assert text.endswith(" and 2 more")
    assert "y of 4" in reproduction_page(found).decode()
