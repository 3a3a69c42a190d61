"""Every symbol of TensorRT and CUDA that the product uses, and in which versions it is."""

#: (first, last) of the recorded versions, ``None``: the newest too -> class -> its names that they
#: have. "." is the class itself; under "" are classes and functions without members in use.
_ROWS: dict[tuple[str, str | None], dict[str, str]] = {
    ("10.16.1", "10.16.1"): {
        "BuilderFlag": "BF16 FP4 INT4",
        "ICudaEngine": "weight_streaming_budget",
    },
    ("10.16.1", None): {
        "BuilderFlag": (
            "DISABLE_COMPILATION_CACHE DISTRIBUTIVE_INDEPENDENCE ERROR_ON_TIMING_CACHE_MISS "
            "MONITOR_MEMORY REFIT_IDENTICAL REFIT_INDIVIDUAL STRIP_PLAN WEIGHT_STREAMING"
        ),
        "DataType": "BF16 E8M0 FP4 INT4 INT64",
        "EngineStat": ". STRIPPED_WEIGHTS_SIZE",
        "ErrorCode": "UNSUPPORTED_NODE_ATTR",
        "ExecutionContextAllocationStrategy": ". ON_PROFILE_CHANGE STATIC USER_MANAGED",
        "IBuilderConfig": (
            "l2_limit_for_tiling max_num_tactics progress_monitor runtime_platform "
            "tiling_optimization_level"
        ),
        "ICudaEngine": (
            "device_memory_size_v2 get_engine_stat get_tensor_profile_values "
            "get_weight_streaming_automatic_budget streamable_weights_size "
            "weight_streaming_budget_v2"
        ),
        "IOutputAllocator": "reallocate_output_async",
        "IProgressMonitor": ". phase_finish phase_start step_complete",
        "NetworkDefinitionCreationFlag": "STRONGLY_TYPED",
        "OnnxParser": "clear_flag set_flag",
        "OnnxParserFlag": ". ENABLE_PLUGIN_OVERRIDE NATIVE_INSTANCENORM",
        "OnnxParserRefitter": ". refit_from_file",
        "ParserError": "node_name node_operator",
        "TilingOptimizationLevel": ". FAST FULL MODERATE NONE",
        "": "RuntimePlatform",
    },
    ("11.4.0", None): {"IBuilderConfig": "build_route"},
    ("8.6.0", "10.16.1"): {
        "BuilderFlag": "FP16 FP8 INT8 OBEY_PRECISION_CONSTRAINTS",
        "IBuilderConfig": "int8_calibrator",
        "ICudaEngine": "device_memory_size has_implicit_batch_dimension",
        "IInt8EntropyCalibrator2": (
            ". get_batch get_batch_size read_calibration_cache write_calibration_cache"
        ),
        "ILayer": "precision set_output_type",
        "NetworkDefinitionCreationFlag": "EXPLICIT_BATCH",
    },
    ("8.6.0", "8.6.0"): {"ICudaEngine": "get_binding_index get_profile_shape_input"},
    ("8.6.0", None): {
        "Builder": (
            ". build_serialized_network create_builder_config create_network "
            "create_optimization_profile max_threads"
        ),
        "BuilderFlag": (
            ". DEBUG DIRECT_IO DISABLE_TIMING_CACHE EXCLUDE_LEAN_RUNTIME GPU_FALLBACK REFIT "
            "SPARSE_WEIGHTS TF32 VERSION_COMPATIBLE"
        ),
        "DataType": ". BOOL FLOAT FP8 HALF INT32 INT8 UINT8",
        "DeviceType": ". DLA",
        "EngineInspector": ". execution_context get_engine_information",
        "ErrorCode": "INTERNAL_ERROR UNSUPPORTED_GRAPH UNSUPPORTED_NODE",
        "IBuilderConfig": (
            "DLA_core add_optimization_profile avg_timing_iterations builder_optimization_level "
            "clear_flag create_timing_cache default_device_type get_flag get_tactic_sources "
            "get_timing_cache hardware_compatibility_level max_aux_streams plugins_to_serialize "
            "profiling_verbosity set_device_type set_flag set_memory_pool_limit "
            "set_preview_feature set_tactic_sources set_timing_cache"
        ),
        "ICudaEngine": (
            "create_engine_inspector create_execution_context get_tensor_components_per_element "
            "get_tensor_dtype get_tensor_format get_tensor_format_desc get_tensor_location "
            "get_tensor_mode get_tensor_name get_tensor_profile_shape get_tensor_shape "
            "get_tensor_vectorized_dim num_aux_streams num_io_tensors num_optimization_profiles "
            "refittable"
        ),
        "IExecutionContext": (
            "enqueue_emits_profile execute_async_v3 get_tensor_shape infer_shapes "
            "persistent_cache_limit profiler report_to_profiler set_input_shape "
            "set_optimization_profile_async set_output_allocator set_tensor_address"
        ),
        "ILayer": "get_output name num_outputs type",
        "ILogger": ". ERROR INFO INTERNAL_ERROR VERBOSE WARNING log",
        "INetworkDefinition": "get_input get_layer get_output num_inputs num_layers num_outputs",
        "IOptimizationProfile": "set_shape set_shape_input",
        "IOutputAllocator": ". notify_shape reallocate_output",
        "IPluginRegistry": "load_library",
        "IProfiler": ". report_layer_time",
        "ITensor": "allowed_formats dtype is_shape_tensor name shape",
        "ITimingCache": "serialize",
        "LayerInformationFormat": ". JSON",
        "LayerType": ". QUANTIZE",
        "MemoryPoolType": ". WORKSPACE",
        "OnnxParser": ". get_error num_errors parse_from_file",
        "ParserError": "code desc node",
        "Refitter": ". refit_cuda_engine",
        "Runtime": (
            ". DLA_core deserialize_cuda_engine engine_host_code_allowed tempfile_control_flags "
            "temporary_directory"
        ),
        "TempfileControlFlag": ". ALLOW_IN_MEMORY_FILES ALLOW_TEMPORARY_FILES",
        "TensorFormat": (
            ". CDHW32 CHW16 CHW2 CHW32 CHW4 DHWC DHWC8 DLA_HWC4 DLA_LINEAR HWC HWC16 HWC8 LINEAR"
        ),
        "TensorIOMode": ". INPUT NONE",
        "TensorLocation": ". HOST",
        "": (
            "HardwareCompatibilityLevel NetworkDefinitionCreationFlag PreviewFeature "
            "ProfilingVerbosity TacticSource get_plugin_registry init_libnvinfer_plugins"
        ),
    },
    ("rtx-1.7.1", None): {
        "IBuilderConfig": "num_compute_capabilities set_compute_capability",
        "": "ComputeCapability",
    },
}


def _symbols(rows: dict[str, str]) -> list[str]:
    return [
        owner if name == "." else f"{owner}.{name}".lstrip(".")
        for owner, names in rows.items()
        for name in names.split()
    ]


#: Symbol -> (first, last) of the recorded versions that have it.
SYMBOLS = {one: versions for versions, rows in _ROWS.items() for one in _symbols(rows)}

#: Functions, enumerations and constants of ``cuda.bindings.runtime`` 13.
CUDA_SYMBOLS = frozenset(
    _symbols(
        {
            "cudaDeviceAttr": ". cudaDevAttrMaxPersistingL2CacheSize",
            "cudaDeviceProp": (
                "ECCEnabled l2CacheSize major memoryBusWidth minor multiProcessorCount "
                "sharedMemPerMultiprocessor totalGlobalMem"
            ),
            "cudaError_t": (
                ". cudaErrorCompatNotSupportedOnDevice cudaErrorInsufficientDriver "
                "cudaErrorMemoryAllocation cudaErrorNoDevice cudaErrorStubLibrary "
                "cudaErrorSystemDriverMismatch cudaErrorSystemNotReady"
            ),
            "cudaMemcpyKind": ". cudaMemcpyDeviceToHost cudaMemcpyHostToDevice",
            "cudaStreamCaptureMode": ". cudaStreamCaptureModeThreadLocal",
            "": (
                "cudaDeviceGetAttribute cudaDeviceSynchronize cudaEventBlockingSync "
                "cudaEventCreateWithFlags cudaEventDefault cudaEventDestroy cudaEventElapsedTime "
                "cudaEventRecord cudaEventSynchronize cudaFree cudaFreeHost cudaGetDeviceCount "
                "cudaGetDeviceProperties cudaGetErrorName cudaGetErrorString cudaGetLastError "
                "cudaGraphDestroy cudaGraphExecDestroy cudaGraphInstantiate cudaGraphLaunch "
                "cudaHostAlloc cudaHostAllocDefault cudaMalloc cudaMallocManaged "
                "cudaMemAttachGlobal cudaMemGetInfo cudaMemcpy cudaMemcpyAsync cudaMemsetAsync "
                "cudaSetDevice cudaStreamBeginCapture cudaStreamCreate cudaStreamDestroy "
                "cudaStreamEndCapture cudaStreamSynchronize cudaStreamWaitEvent"
            ),
        }
    )
)

#: Symbol that some versions lack -> the symbol whose presence the source asks for first.
GUARDS: dict[str, str] = {
    "ComputeCapability": "ComputeCapability",
    "IBuilderConfig.build_route": "IBuilderConfig.build_route",
    "IBuilderConfig.num_compute_capabilities": "ComputeCapability",
    "IBuilderConfig.set_compute_capability": "ComputeCapability",
    "EngineStat.STRIPPED_WEIGHTS_SIZE": "EngineStat",
    "IBuilderConfig.int8_calibrator": "IInt8EntropyCalibrator2",
    "IBuilderConfig.progress_monitor": "IProgressMonitor",
    "IBuilderConfig.runtime_platform": "RuntimePlatform",
    "IBuilderConfig.tiling_optimization_level": "TilingOptimizationLevel",
    "ICudaEngine.get_weight_streaming_automatic_budget": "ICudaEngine.streamable_weights_size",
    "ICudaEngine.weight_streaming_budget_v2": "ICudaEngine.streamable_weights_size",
    "ILayer.precision": "ILayer.precision",
    "ILayer.set_output_type": "ILayer.set_output_type",
    "OnnxParser.clear_flag": "OnnxParserFlag",
    "OnnxParser.set_flag": "OnnxParserFlag",
    "OnnxParserRefitter.refit_from_file": "OnnxParserRefitter",
}

#: Names that are theirs too, and here of our own or of the language's objects.
OURS = {
    *("append", "builder", "clear", "data", "device_memory", "dims", "engine", "extend", "kind"),
    *("log", "loop", "max", "min", "mode", "nbytes", "opt", "pop", "size", "start"),
    *("tactic_sources", "uuid", "write"),
}
