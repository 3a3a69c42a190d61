"""Logs as terminals, redirections, several processes at once and failed builds leave them."""

from itertools import chain, zip_longest

import pytest

from enginescope.core.errors import FormatError
from enginescope.formats.importing.importer import import_artifacts
from enginescope.formats.importing.plan_files import PlanFiles, read_plan_files
from enginescope.formats.log_facts import build_failure_hint
from enginescope.formats.plan.plan_json import inspected_plan
from enginescope.formats.trtexec.trtexec_log import parse_trtexec_log, parse_trtexec_logs
from tests.formats import logs

WHOLE = logs.OPTIONS_10 + logs.SUMMARY + logs.PROFILE + logs.PASSED
LINES = logs.prefixed(WHOLE).splitlines()
UNSTATED = [line for line in LINES if not line.startswith("&&&&")]


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(f"\x1b[0;33m{line}\x1b[0m" for line in LINES),
        "\n".join(line.replace("[I]", "\x1b[1;32m[I]\x1b[0m") for line in LINES),
        "\r".join(LINES),
        "".join(line + ("\r\n", "\n", "\r")[at % 3] for at, line in enumerate(LINES)),
    ],
    ids=["colored lines", "colored levels", "redrawn lines", "mixed line ends"],
)
def test_what_a_terminal_adds_changes_no_figure(tmp_path, text) -> None:
    expected, _ = parse_trtexec_log("\n".join(LINES).encode(), "t.log")
    path = tmp_path / "t.log"
    path.write_bytes(text.encode())
    (run,) = import_artifacts([path]).runs
    assert (run.tool, run.profile) == (expected.report, expected.profile)
    assert run.tool.throughput_per_s == 1234.5


def test_processes_whose_first_and_last_lines_are_missing_are_apart() -> None:
    second = [line.replace("1234.5", "99").replace("NVIDIA RTX", "Other") for line in UNSTATED]
    (one, _), (two, _) = parse_trtexec_logs("\n".join((*UNSTATED, *second)).encode(), "t.log")
    assert (one.report.throughput_per_s, two.report.throughput_per_s) == (1234.5, 99)
    assert (one.report.device.name, two.report.device.name) == ("NVIDIA RTX", "Other")
    mixed = "\n".join((*LINES, *second)).encode()  # only those of the second are missing
    found = parse_trtexec_logs(mixed, "t.log")
    assert [log.report.throughput_per_s for log, _ in found] == [1234.5, 99]


@pytest.mark.parametrize("lines", [LINES, UNSTATED, LINES[: len(LINES) * 3 // 4], LINES[:8]])
def test_mixed_lines_of_two_processes_are_refused(lines) -> None:
    text = "\n".join(chain.from_iterable(zip_longest(lines, lines, fillvalue="")))
    with pytest.raises(FormatError, match="at the same time"):
        parse_trtexec_logs(text.encode(), "t.log")


def test_a_table_that_breaks_off_is_said() -> None:
    log, notices = parse_trtexec_log(WHOLE[: WHOLE.index("      16.00")].encode(), "t.log")
    assert len(log.profile.layers) == 2
    (notice,) = (one for one in notices if one.code == "W-TRUNCATED")
    assert notice.message.startswith("t.log: the table of layer times ends before its total")
    assert "W-TRUNCATED" not in {one.code for one in parse_trtexec_log(WHOLE.encode(), "t")[1]}


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "text",
    [
        "Name: " + "a, LayerType: b, Inputs: [{" * 100_000,
        "Name: a, LayerType: b, Inputs: [" + "{ Name: x " * 100_000 + "], Outputs: []",
        "Name: a, LayerType: b, Inputs: [], Outputs: []" + ", K: v" * 100_000,
        '{"Layers": [\n' * 100_000,
    ],
    ids=["words", "tensors", "fields", "nested"],
)
def test_a_line_of_any_length_is_read_in_time(text) -> None:
    inspected_plan(text)


def test_lines_that_only_begin_like_layers_are_no_plan(tmp_path) -> None:
    path = tmp_path / "t.log"
    path.write_text(f"{WHOLE}Name: a, LayerType: b, and more\n")
    with pytest.raises(FormatError, match="not as the inspector prints them"):
        read_plan_files(PlanFiles(plan=path))
    (run,) = import_artifacts([path]).runs
    assert run.plan is None


def test_a_summary_without_its_title_before_others() -> None:
    """READMEs leave the title out of one of several summaries."""
    figures = "GPU Compute Time: min = 1 ms, max = 2 ms, mean = 1.5 ms"
    titled = ["=== Performance summary ===", figures]
    for lines in ([*titled[1:], *titled, *titled], [*titled, *titled, *titled]):
        text = "\n".join(f"{line}\n```" for line in ["=== Model Options ===", *lines])
        found = parse_trtexec_logs(text.encode(), "a")
        assert [log.report.summaries[0].mean_ms for log, _ in found] == [1.5, 1.5, 1.5]


NONE = "Error Code 10: Internal Error (Could not find any implementation for node conv1.)"
WORKSPACE = "the workspace was too small for conv1: allow a larger one"
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
        ([NONE.replace(".)", " due to insufficient workspace. See x.)")], WORKSPACE),
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
