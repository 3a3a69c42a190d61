"""trex's tests and known faults whose counterparts lie in other folders, or in other words.

A test is named by its file under ``tests/`` and its function, and exists. What a test in
``test_defects_*.py`` finds is said there, in its docstring.
"""

import ast
import re
from pathlib import Path

import pytest

from tests.trex import examples

TESTS = Path(__file__).parents[1]
DIFFERENCES = TESTS.parent / "docs" / "contributing" / "goldens-differences.md"
OWN = "trex/test_its_own_tests.py"
PLAN = "formats/plan/test_plan_json.py"
TOTALS = "analysis/plans/test_plan_totals.py"
TABLE = "analysis/layers/test_layer_table.py"
JOINED = f"{TABLE}::test_layers_and_times_are_joined_by_name_and_occurrence"
GRAPH = "analysis/graph/test_plan_graph.py"
VIEW = "analysis/plans/test_plan_view.py"
GOLDENS = "trex/test_goldens.py"
TENSOR = "records/test_records.py"

#: trex's test -> ours.
ITS_TESTS = {
    "test_activations::test_create_activations": f"{OWN}::test_a_tensor",
    "test_activations::TestActivation::test_initialization": f"{OWN}::test_a_tensor",
    # an engine with what explains it, kept in one file: ours is a folder, and a run as a ZIP file
    "test_archive": "cli/measure/test_build.py::test_an_engine_with_all_that_explains_it",
    "test_clocks::test_get_max_clocks": "probe/test_nvml.py::test_a_device_with_its_highest_clocks",
    "test_compare::test_get_plans_names": f"{OWN}::test_names_of_plans",
    "test_compare::test_match_layers": f"{OWN}::test_every_layer_is_paired_or_left_over",
    "test_df_preprocessing::test_change_col_order": f"{OWN}::test_columns",
    "test_df_preprocessing::test_drop_columns": (f"{OWN}::test_columns"),
    "test_engine_plan::test_summary_dict": f"{OWN}::test_the_summary",
    "test_engine_plan::TestEnginePlan::test_df": f"{VIEW}::test_columns_by_type_and_frames",
    "test_layer": f"{OWN}::test_a_layer",
    **{
        f"test_lint::{one}": "rules/test_recorded_plans.py::test_findings_of_the_examples"
        for one in ("tc_lint", "mixed_precision_lint", "alignment_lint", "ReformatLinter")
    },
    "test_misc::test_group_count": f"{GOLDENS}::test_counts",
    "test_misc::test_group_sum_attr": f"{GOLDENS}::test_shares_on_the_terminal",
    "test_raw_preprocessing": f"{OWN}::test_the_plan_as_it_is_read",
}

#: A fault of trex -> the test that fails on it, where that is not in ``test_defects_*.py``.
FAULTS = {
    "no Bindings": f"{PLAN}::test_tensorrt_8_2_has_its_inputs_and_outputs_deduced",
    "a list as the root": f"{PLAN}::test_a_list_root",
    "a raw control character": f"{PLAN}::test_tensorrt_8_6_writes_raw_separators",
    "TensorRT 11": f"{PLAN}::test_tensorrt_11",
    "names only: no word on how to build": f"{PLAN}::test_names_only",
    "equal counts are joined by position": JOINED,
    "U+001F in a name: 0 ms": f"{TABLE}::test_other_joints_between_fused_names",
    "duplicate names: phantom rows": JOINED,
    "weights of a gemm are activations": f"{TOTALS}::test_gemm_weights_are_no_activations",
    "weights of ConvActPool: 0 bytes": f"{PLAN}::test_weights_of_fused_pooling_and_constants",
    "an unknown format: 0 bytes": f"{TOTALS}::test_no_ops_unknown_sizes_and_memory_used_again",
    "-1 as a dimension: negative bytes": f"{TENSOR}::test_unknown_is_none_not_zero",
    "padding is left out": f"{TOTALS}::test_the_bytes_of_plans_and_chains",
    "half bytes are no bytes": f"{TENSOR}::test_bytes_of_tensors_layouts_and_weights",
    "reuse is drawn as a cycle": f"{GRAPH}::test_a_region_written_again_has_a_node_per_use",
    "versions compared as texts": (
        "compat/trtexec/test_arguments.py::test_versions_compare_as_numbers"
    ),
    "drawing alone: UnboundLocalError": (
        "cli/plans/test_explore_asked.py::test_every_colouring_has_its_legend"
    ),
    "values cut at a colon": "formats/trtexec/test_trtexec_log.py::test_values_are_kept_whole",
    "which statistic is which": (
        "formats/test_trex_metadata.py::test_performance_up_to_8_4_has_one_percentile"
    ),
    "times of profile 0 alone": f"{VIEW}::test_one_optimisation_profile_of_several",
    "tactics of tensor cores that its pattern misses": (
        "rules/test_tensor_cores.py::test_a_tactic_s_name_tells_whether_it_uses_tensor_cores"
    ),
    "one hazard a layer": f"{GOLDENS}::test_one_layer_keeps_all_its_findings",
    "swapped inputs match whatever the outputs": (
        "analysis/plan_comparison/test_alignment_neighbours.py"
        "::test_equal_layers_are_told_apart_by_what_they_read"
    ),
    "tactics ungrouped: means for sums": (f"{TABLE}::test_names_that_differ_in_their_hash_are_one"),
}
EVERY = {**ITS_TESTS, **FAULTS}


def functions(path: Path) -> dict[str, ast.FunctionDef]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {it.name: it for it in tree.body if isinstance(it, ast.FunctionDef)}


@pytest.mark.parametrize("fault", EVERY)
def test_every_counterpart_exists(fault) -> None:
    path, _, name = EVERY[fault].partition("::")
    assert any(isinstance(it, ast.Assert) for it in ast.walk(functions(TESTS / path)[name]))


def test_all_of_its_tests_are_there() -> None:
    """17 that run, and the one that cannot be collected."""
    assert len(ITS_TESTS) == 18


def test_every_test_of_a_fault_says_which() -> None:
    for path in sorted((TESTS / "trex").glob("test_defects_*.py")):
        for name, function in functions(path).items():
            assert not name.startswith("test_") or ast.get_docstring(function), (path.name, name)


def test_every_correction_is_told() -> None:
    rows = set(re.findall(r"^\| (D\d+) \|", DIFFERENCES.read_text(encoding="utf-8"), re.MULTILINE))
    source = Path(examples.__file__).read_text(encoding="utf-8")
    assert set(re.findall(r"\bD\d+\b", source)) <= rows
    assert rows == {f"D{at}" for at in range(1, len(rows) + 1)}
