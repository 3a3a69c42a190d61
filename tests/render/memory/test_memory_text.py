import json

from enginescope.analysis.memory.fit import Fit, Probe
from enginescope.core.jsonio import encode
from enginescope.render.base.text_table import as_text
from enginescope.render.memory.memory_data import memory_data
from enginescope.render.memory.memory_text import (
    fit_sentence,
    memory_sentences,
    memory_tables,
    memory_text,
)
from tests.analysis.test_memory import MIB, STEPS, view_of

FIT = Fit(
    dim="batch",
    limit_bytes=512 * MIB,
    size=3,
    process_bytes=500 * MIB,
    probes=(Probe(size=3, process_bytes=500 * MIB), Probe(size=4, process_bytes=513 * MIB)),
)


def test_sentences_name_the_peak_the_arena_and_the_first_size_that_does_not_fit() -> None:
    peak, arena, *findings = memory_sentences(view_of(*STEPS))
    assert peak == "Tensors need 5.00 MiB while two runs (Transpose, 2 of 3)."
    assert "reported: 5.00 MiB in use, 20.0 MiB held" in arena
    assert "Two (Transpose) writes a second copy of 4.00 MiB at the peak." in findings
    assert fit_sentence(FIT) == (
        "batch 3 fits 512 MiB: 500.0 MiB at the peak of its process; batch 4 takes 513.0 MiB"
        " (2 sizes measured)"
    )
    none = Fit(dim="batch", limit_bytes=MIB, size=0, process_bytes=None, probes=FIT.probes[:1])
    assert fit_sentence(none) == "no batch fits 1.00 MiB; batch 3 takes 500.0 MiB"


def test_the_screen_has_parts_and_tensors() -> None:
    view = view_of(*STEPS, process_bytes=100 * MIB, runtime_bytes=50 * MIB)
    shown = as_text(memory_text("net", "ort-cpu", view, FIT, top=1), width=80)
    for text in ("100 MiB peak of the process", "runtime itself", "and 1 more", "batch 3 fits"):
        assert text in shown
    parts, tensors = memory_tables(view, 10)
    assert [row[0] for row in tensors.rows] == ["b", "a"]
    assert len(parts.rows) == 7


def test_the_document_holds_what_the_screen_shows() -> None:
    view = view_of(*STEPS)
    data = json.loads(encode(memory_data("net", None, view, FIT, ())))
    assert data["peak"]["layer"] == "two"
    assert [one["names"] for one in data["peak"]["tensors"]] == [["b"], ["a"]]
    assert data["fit"]["size"] == 3
    assert data["arena"]["held_bytes"] == 20 * MIB
    assert [one["bytes"] for one in data["layers"]] == list(view.live_bytes)
