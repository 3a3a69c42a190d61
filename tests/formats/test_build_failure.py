"""A failed build says whether memory or an implementation was missing."""

import pytest

from enginescope.formats.importing.importer import import_artifacts
from enginescope.formats.log_facts import build_failure_hint
from tests.formats import logs

NONE = "Error Code 10: Internal Error (Could not find any implementation for node conv1.)"
MEMORY = "Requested amount of GPU memory (8589934592 bytes) could not be allocated."


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([NONE], "no implementation of conv1 with"),
        ([MEMORY, NONE], "the GPU's memory was too small"),
        (["Cuda Runtime (out of memory)"], "the GPU's memory was too small"),
        (["Device memory is insufficient to use tactic.", NONE], "the GPU's memory was too small"),
        (["CUDA_ERROR_OUT_OF_MEMORY"], "the GPU's memory was too small"),
        ([NONE.replace("conv1.", "a.0 + relu. In computeCosts at x.cpp:1")], "of a.0 + relu with"),
        ([NONE.replace(".)", "")], "no implementation of conv1 with"),
        (
            [NONE.replace(".)", " due to insufficient workspace. See verbose log.)")],
            "the workspace was too small for conv1: allow a larger one",
        ),
        ([MEMORY, "Skipping tactic 1 due to insufficient workspace"], "the GPU's memory"),
        (["parse error"], None),
        ([], None),
    ],
)
def test_which_of_the_two_it_is(messages, words) -> None:
    hint = build_failure_hint(messages)
    assert hint is None if words is None else words in (hint or "")


def test_an_imported_log_of_a_failed_build_says_it(tmp_path) -> None:
    failed = logs.PASSED.replace("PASSED", "FAILED")
    lines = [f"[03/14/2025-09:26:53] [E] {text}\n" for text in (MEMORY, NONE)]
    (tmp_path / "net.log").write_text("".join((logs.OPTIONS_10, *lines, failed)))
    (run,) = import_artifacts([tmp_path]).runs
    assert run.outcome.message == MEMORY
    assert "memory was too small" in (run.outcome.hint or "")
