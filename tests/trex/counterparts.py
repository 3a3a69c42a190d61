"""trex's tests and known faults, and the tests of ours that stand in their place.

A test is named by its file under ``tests/`` and its function. `test_counterparts` holds the names
to the files.
"""

#: trex's test -> ours.
ITS_TESTS: dict[str, tuple[str, ...]] = {
    "test_activations::test_create_activations": (
        "trex/test_its_own_tests.py::test_tensors_of_the_first_convolution",
    ),
    "test_activations::TestActivation::test_initialization": (
        "trex/test_its_own_tests.py::test_a_tensor",
    ),
    # an engine with what explains it, kept in one file: ours is a folder, and a run as a ZIP file
    "test_archive": (
        "cli/measure/test_build.py::test_an_engine_with_all_that_explains_it",
        "cli/store/test_runs.py::test_export",
    ),
    "test_clocks::test_get_max_clocks": (
        "probe/test_nvml.py::test_the_highest_clocks",
        "probe/test_nvml.py::test_a_gpu_that_does_not_tell_its_memory_clock",
    ),
    "test_compare::test_get_plans_names": ("trex/test_its_own_tests.py::test_names_of_plans",),
    "test_compare::test_match_layers": (
        "trex/test_its_own_tests.py::test_every_layer_is_paired_or_left_over",
        "analysis/plan_comparison/test_alignment.py::test_pairs_of_the_goldens",
    ),
    "test_df_preprocessing::test_change_col_order": (
        "trex/test_its_own_tests.py::test_the_first_columns",
    ),
    "test_df_preprocessing::test_drop_columns": (
        "trex/test_its_own_tests.py::test_columns_that_say_nothing_of_a_type_are_left_out",
    ),
    "test_engine_plan::test_summary_dict": ("trex/test_its_own_tests.py::test_the_summary",),
    "test_engine_plan::TestEnginePlan::test_df": (
        "trex/test_its_own_tests.py::test_the_data_frame",
    ),
    "test_layer": ("trex/test_its_own_tests.py::test_a_layer",),
    "test_lint::tc_lint": ("rules/test_recorded_plans.py::test_findings_of_the_examples",),
    "test_lint::mixed_precision_lint": (
        "rules/test_recorded_plans.py::test_findings_of_the_examples",
    ),
    "test_lint::alignment_lint": ("rules/test_recorded_plans.py::test_findings_of_the_examples",),
    "test_lint::ReformatLinter": ("rules/test_recorded_plans.py::test_findings_of_the_examples",),
    "test_misc::test_group_count": ("trex/test_its_own_tests.py::test_counts_by_type",),
    "test_misc::test_group_sum_attr": ("trex/test_its_own_tests.py::test_sums_by_type",),
    "test_raw_preprocessing": ("trex/test_its_own_tests.py::test_the_plan_as_it_is_read",),
}

#: A fault of trex that was reproduced -> the tests that fail on it.
FAULTS: dict[str, tuple[str, ...]] = {
    # input handling
    "no Bindings: ValueError": (
        "trex/test_defects_reading.py::test_no_bindings",
        "formats/plan/test_plan_json.py::test_tensorrt_8_2_has_its_inputs_and_outputs_deduced",
    ),
    "Layers: []: IndexError": ("trex/test_defects_reading.py::test_no_layers",),
    "a list as the root: rejected": ("trex/test_defects_reading.py::test_a_list_as_the_root",),
    "a raw control character: ValueError": (
        "trex/test_defects_reading.py::test_raw_control_characters",
        "formats/plan/test_plan_json.py::test_tensorrt_8_6_writes_raw_separators",
    ),
    "no Format/Datatype or Dimensions: KeyError": (
        "trex/test_defects_reading.py::test_a_tensor_without_a_field",
        "formats/plan/test_plan_json.py::test_missing_fields_are_not_known",
    ),
    "[profile 10] leaks into profile 0": (
        "trex/test_defects_reading.py::test_profile_numbers_of_several_digits",
        "analysis/layers/test_layer_table.py::test_a_profile_has_its_own_layers_and_tensors",
    ),
    "signal and wait in a row stay": (
        "trex/test_defects_reading.py::test_signals_and_waits_in_a_row",
    ),
    "a NoOp at the graph's input: KeyError": (
        "trex/test_defects_reading.py::test_a_no_op_at_the_engines_input",
        "trex/test_defects_reading.py::test_a_no_op_between_both_ends",
    ),
    "build metadata as profile metadata: KeyError": (
        "trex/test_defects_reading.py::test_metadata_of_the_build_in_the_place_of_the_timings",
        "trex/test_defects_reading.py::test_metadata_without_a_section",
    ),
    "TensorRT 11: ValueError, KeyError": (
        "trex/test_defects_reading.py::test_the_schema_of_tensorrt_11",
        "formats/plan/test_plan_json.py::test_tensorrt_11",
    ),
    "names only: no word on how to build": (
        "trex/test_defects_reading.py::test_names_alone_say_how_to_build",
    ),
    # joining times
    "equal counts are joined by position": (
        "trex/test_defects_joining.py::test_another_order_with_equal_counts",
        "trex/test_defects_joining.py::test_another_engine_with_equal_counts",
    ),
    "a missing time becomes 0": (
        "trex/test_defects_joining.py::test_a_layer_without_a_time_is_no_zero",
    ),
    "shape_call, signal, wait: misleading warning": (
        "trex/test_defects_joining.py::test_what_launches_nothing_is_no_partial_profile",
        "trex/test_defects_joining.py::test_real_plans_open_without_a_wrong_notice",
    ),
    "U+001F in a name: 0 ms": ("trex/test_defects_joining.py::test_names_with_separators",),
    "duplicate names: phantom rows": ("trex/test_defects_joining.py::test_duplicate_names",),
    # sizes
    "weights of a gemm are activations": (
        "trex/test_defects_sizes.py::test_weights_of_a_gemm_are_no_activations",
        "analysis/plans/test_plan_totals.py::test_gemm_weights_are_no_activations",
    ),
    "Constants are ignored": ("trex/test_defects_sizes.py::test_constants_of_a_layer",),
    "weights of ConvActPool: 0 bytes": (
        "trex/test_defects_sizes.py::test_weights_of_conv_act_pool",
        "analysis/roofline/test_layer_work.py::test_conv_act_pool",
    ),
    "BF16, Bool, unknown: 0 bytes": (
        "trex/test_defects_sizes.py::test_types",
        "trex/test_defects_sizes.py::test_a_format_that_is_not_known",
        "trex/test_defects_sizes.py::test_types_of_weights_that_trex_does_not_list",
    ),
    "-1 as a dimension: negative bytes": ("trex/test_defects_sizes.py::test_dynamic_dimensions",),
    # crashes
    "Conv1D, Conv3D: ValueError": (
        "trex/test_defects_crashes.py::test_convolutions_that_are_not_two_dimensional",
        "trex/test_defects_crashes.py::test_a_misaligned_convolution_of_one_dimension_is_found",
    ),
    "a layer without outputs: IndexError": (
        "trex/test_defects_crashes.py::test_a_layer_without_outputs",
    ),
    "a Reformat without Origin: KeyError": (
        "trex/test_defects_crashes.py::test_a_reformat_without_origin",
    ),
    "the SVG button: TypeError, NameError": (
        "trex/test_defects_crashes.py::test_a_picture_from_python",
    ),
    "color by kernel size: TypeError": (
        "trex/test_defects_crashes.py::test_convolutions_by_their_kernels",
    ),
    "comparison without bindings: IndexError": (
        "trex/test_defects_crashes.py::test_plans_without_bindings_side_by_side",
    ),
    "ONNX export of Half": (
        "trex/test_defects_crashes.py::test_a_model_of_half_precision_for_a_viewer",
    ),
    # pictures
    "< or & in a name: dot fails": (
        "trex/test_defects_graph.py::test_names_that_are_markup",
        "render/graph/write/test_svg.py::test_nothing_in_a_name_is_markup",
    ),
    "metadata of 16,384 characters: dot fails": (
        "trex/test_defects_graph.py::test_metadata_of_any_length",
    ),
    "a stray quote in every label": (
        "trex/test_defects_graph.py::test_labels_have_no_stray_quote",
    ),
    # programs
    "versions compared as texts": ("trex/test_defects_tools.py::test_versions_are_numbers",),
    "drawing alone: UnboundLocalError": (
        "trex/test_defects_tools.py::test_a_picture_of_a_plan_alone",
    ),
    "parse_trtexec_log as a program: TypeError": (
        "trex/test_defects_tools.py::test_a_log_on_its_own",
    ),
    "--dev 1 stays a text": ("trex/test_defects_tools.py::test_the_device_is_a_number",),
    "sys.path hack; bin is not found": (
        "trex/test_defects_tools.py::test_modules_find_each_other_by_name_alone",
    ),
}

#: What reading its code, its documentation and its users' threads adds.
FURTHER_FAULTS: dict[str, tuple[str, ...]] = {
    "tactics of tensor cores that its pattern misses": (
        "rules/test_tensor_cores.py::test_a_tactic_s_name_tells_whether_it_uses_tensor_cores",
        "rules/test_recorded_plans.py::test_trex_s_findings_are_among_ours_but_for_its_faults",
    ),
    "one hazard a layer": ("trex/test_goldens.py::test_one_layer_keeps_all_its_findings",),
    "FP16 NCHW and Half are a conversion": (
        "trex/test_defects_crashes.py::test_one_type_in_two_spellings_is_no_conversion",
    ),
    "the order of bindings changes": (
        "trex/test_defects_graph.py::test_inputs_and_outputs_in_the_files_order",
    ),
    "swapped inputs match whatever the outputs": (
        "analysis/plan_comparison/test_alignment_swaps.py::test_equal_layers_are_told_apart_by_what_they_read",
    ),
    "looking changes the plan": ("trex/test_defects_tools.py::test_looking_changes_nothing",),
    "tactics ungrouped: means for sums": (
        "analysis/layers/test_layer_table.py::test_names_that_differ_in_their_hash_are_one",
        "trex/test_goldens.py::test_tactics",
    ),
    "which statistic is which": ("trex/test_defects_tools.py::test_statistics_are_named",),
    "values cut at a colon": ("trex/test_defects_tools.py::test_values_with_colons_are_whole",),
    "times of profile 0 alone": (
        "trex/test_defects_joining.py::test_times_of_another_optimisation_profile",
        "analysis/layers/test_layer_table.py::test_times_go_with_their_profile",
    ),
    "reuse is drawn as a cycle": (
        "trex/test_defects_graph.py::test_a_region_that_is_used_again_makes_no_cycle",
        "analysis/graph/test_plan_graph.py::test_a_region_written_again_has_a_node_per_use",
    ),
    "If and Loop": (
        "trex/test_defects_graph.py::test_the_branches_of_an_if",
        "trex/test_defects_graph.py::test_a_loop",
    ),
    "a reused region's bytes": (
        "trex/test_defects_sizes.py::test_a_reused_region",
        "trex/test_defects_sizes.py::test_a_name_that_a_no_op_and_a_layer_write",
    ),
    "control channels are counted": (
        "trex/test_defects_reading.py::test_what_steers_the_cache_is_no_tensor",
    ),
    "bindings are counted several times": (
        "trex/test_defects_reading.py::test_a_binding_that_is_read_and_written",
    ),
    "padding is left out": ("trex/test_defects_sizes.py::test_padding_of_vectorised_formats",),
    "half bytes are no bytes": ("trex/test_defects_sizes.py::test_half_a_byte_is_rounded_up",),
    "kernels at the size of the input's type": (
        "trex/test_defects_sizes.py::test_kernels_of_a_type_of_their_own",
    ),
}
