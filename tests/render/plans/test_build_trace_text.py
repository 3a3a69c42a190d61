from pathlib import Path

import pytest
from rich.console import Group

from enginescope.analysis.build_log.build_log_summary import compare_choices
from enginescope.render.base.figures import TextTable
from enginescope.render.base.text import as_text, table
from enginescope.render.plans.build_text import build_story_rows, choice_table
from enginescope.render.plans.explore_text import titled
from tests.formats import build_logs
from tests.formats.build_logs import CONV, story_of


def tables_of(data: bytes, **options: int) -> dict[str, TextTable]:
    return {one.title: one for one in build_story_rows(story_of(data), **options)}


WARNED = b"[W] low\n[W] lower\n" + build_logs.log_86()


def test_every_table_has_its_cells_in_order() -> None:
    for one in build_story_rows(story_of(WARNED)):
        assert {len(row) for row in one.rows} == {len(one.headers)}
        assert set(one.numbers) <= set(one.headers)
        assert as_text(table(one.headers, one.rows, right=one.numbers), width=80)
    assert list(tables_of(WARNED)) == [
        *("The build", "Layers after each step", "Fusions", "Chosen against fastest tried"),
        *("What tuning cost", "Inserted conversions", "Memory by stage", "Warnings and errors"),
    ]
    limited = tables_of(WARNED, limit=1)
    assert limited["Warnings and errors"].rows == (("warning", "1", "low"),)
    assert limited["Warnings and errors"].left_out == 1
    assert limited["What tuning cost"].left_out == 2
    plain = build_logs.prefixed(build_logs.MEMORY, "[03/14/2025-09:26:53] [I] [TRT] ")
    assert list(tables_of(plain)) == ["Memory by stage"]


def test_overview_steps_conversions_and_memory() -> None:
    figures = dict(tables_of(build_logs.log_86())["The build"].rows)
    assert (figures["layers"], figures["tactics timed"]) == ("5 → 2", "6")
    assert (figures["tactics rejected"], figures["tuning took"]) == ("8", "1.50 s")
    assert figures["timing cache"] == "7 entries loaded, 9 stored, 7 hits"
    steps = tables_of(build_logs.log_86())["Layers after each step"]
    assert [row[0] for row in steps.rows] == [
        *("Original", "Myelin optimization", "scale fusion", "concat removal"),
        "reformat layers",
    ]
    assert steps.rows[3] == ("concat removal", "1", "−2", "2", "0", "0")
    assert steps.note == "skipped steps that changed nothing: 1"
    (row,) = tables_of(build_logs.log_86())["Inserted conversions"].rows
    assert row[:4] == (f"Input Tensor 0 to {CONV}", "FP32", "FP16:8", "4.000")
    free = build_logs.log_86().replace(b"Layer(Reformat)", b"Layer(NoOp)")
    assert tables_of(free)["Inserted conversions"].rows[0][-2] == "NoOp"
    memory = tables_of(build_logs.log_86())["Memory by stage"]
    assert memory.rows == (
        ("Init CUDA", "+2.00 MiB", "25.0 MiB", "−1.00 MiB", "526 MiB"),
        ("Builder begin", "—", "490 MiB", "—", "335 MiB"),
    )
    assert memory.note is not None
    assert "Total Host Persistent Memory 131 KiB" in memory.note


def test_fusions_choices_and_tuning() -> None:
    fusions = tables_of(build_logs.log_86())["Fusions"]
    assert fusions.rows[0] == (CONV, "3", "ConvEltwiseSumFusion, ConvReluFusion", "a layer")
    assert [row[-1] for row in fusions.rows[1:]] == ["a part of others"]
    unlisted = tables_of(build_logs.prefixed(build_logs.GRAPH))["Fusions"]
    assert [row[-1] for row in unlisted.rows] == ["a part of others"] * 2
    chosen = tables_of(build_logs.log_86())["Chosen against fastest tried"]
    assert chosen.rows[0] == (CONV, "FP16:8", "15.00", "10.00", "5.000", "FP32", "4")
    assert chosen.rows[1][1:3] == ("FP32 → FP16:8", "4.00")
    assert chosen.note.startswith("the builder minimizes the sum")
    data = build_logs.log_86().replace(b"0x00000000000000ac, Ref", b"0x00000000000000ff, Ref")
    rows = tables_of(data)["Chosen against fastest tried"].rows
    assert [row[2] for row in rows] == ["4.000", "from the timing cache"]
    cost = tables_of(build_logs.log_86())["What tuning cost"]
    assert cost.rows[0] == (CONV, "2", "4", "8", "0.7500", "85.7")
    assert (cost.rows[-1][:3], cost.rows[-1][-2:]) == (("unnamed: layers", "1", "0"), ("—", "—"))
    assert cost.note == "timing took 0.875 s in all"
    assert tables_of(build_logs.prefixed(build_logs.TUNING_84))["What tuning cost"].note is None


def test_two_builds() -> None:
    a = build_logs.log_86()
    b = a.replace(b"Time: 0.015", b"Time: 0.035").replace(
        b"0x00000000000003e8, x", b"0x0000000000000000, x"
    )
    b = b.replace(b"Layer(Constant): bias", b"Layer(Constant): new")
    found = choice_table(compare_choices(story_of(a), story_of(b)))
    assert [row[1] for row in found.rows] == ["tactic", "layer", "layer"]
    assert found.rows[0][2:] == (
        "Reformat FP32 → FP16:8 4.00 µs",
        "Reformat FP32 → FP16:8 3.00 µs",
        "−1.00",
    )
    assert found.rows[1][2:] == ("Constant FP16", "no such layer", "—")
    assert found.note == "1 of 4 layers were chosen alike"


@pytest.mark.parametrize("width", [80, 140])
def test_a_real_log_fits(shared: Path, width: int) -> None:
    raw = (shared / "trt86-h200" / "resnet18.engine.build.log").read_bytes()
    text = as_text(Group(*titled(build_story_rows(story_of(raw)), width)), width=width)
    assert max(len(line) for line in text.splitlines()) <= width
