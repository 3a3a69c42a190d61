"""Which flags trtexec takes, by version: from the option parser in its source, 8.0 to 11.1."""

#: Taken by every version from 8.6 on.
ALWAYS = """
    allowGPUFallback avgRuns avgTiming buildDLAStandalone builderOptimizationLevel consistency
    device directIO dumpLayerInfo dumpOutput dumpProfile dumpRawBindingsToFile dumpRefit
    duration dynamicPlugins excludeLeanRuntime exportLayerInfo exportOutput exportProfile
    exportTimes exposeDMA hardwareCompatibilityLevel help idleTime ignoreParsedPluginLibs
    infStreams inputIOFormats iterations layerDeviceTypes leanDLLPath loadEngine loadInputs
    maxAuxStreams maxShapes memPoolSize minShapes noBuilderCache noDataTransfers noTF32 onnx
    optShapes outputIOFormats percentile persistentCacheRatio plugins preview
    profilingVerbosity refit safe saveEngine separateProfileRun setPluginsToSerialize shapes
    skipInference sleepTime sparsity staticPlugins streams tacticSources tempdir
    tempfileControls threads timeDeserialize timeRefit timingCacheFile useCudaGraph useDLACore
    useManagedMemory useRuntime useSpinWait vc verbose versionCompatible warmUp
"""
#: First and last version -> the flags that it takes.
SPANS = {
    ((8, 0), (8, 6)): "batch deploy maxBatch model output uff uffInput uffNHWC",
    ((8, 0), (9, 3)): "buildOnly explicitBatch explicitPrecision minTiming nvtxMode workspace",
    ((8, 0), (10, 16)): "best calib fp16 int8 maxShapesCalib minShapesCalib optShapesCalib",
    ((8, 2), (10, 16)): "precisionConstraints restricted",
    ((8, 4), (10, 16)): "layerOutputTypes layerPrecisions",
    ((8, 5), (9, 3)): "heuristic",
    ((8, 6), (9, 3)): "nativeInstanceNorm ni",
    ((8, 6), (10, 16)): "fp8",
    ((9, 0), (10, 16)): "bf16 calibProfile",
    ((9, 0), (11, 1)): (
        "dumpOptimizationProfile errorOnTimingCacheMiss getPlanVersionOnly noCompilationCache "
        "profile stronglyTyped useProfile"
    ),
    ((9, 2), (10, 16)): "weightless",
    ((10, 0), (11, 1)): (
        "allocationStrategy allowWeightStreaming pi pluginInstanceNorm saveDebugTensors "
        "stripWeights weightStreamingBudget"
    ),
    ((10, 1), (10, 16)): "int4",
    ((10, 1), (11, 1)): "stripAllWeights",
    ((10, 2), (11, 1)): "runtimePlatform",
    ((10, 4), (11, 1)): "maxTactics",
    ((10, 6), (11, 1)): "monitorMemory",
    ((10, 7), (11, 1)): "asyncFileReader",
    ((10, 8), (11, 1)): "l2LimitForTiling tilingOptimizationLevel",
    ((10, 11), (11, 1)): "uint8AsymmetricQuantizationDLA",
    ((10, 12), (11, 1)): (
        "distributiveIndependence markDebug markUnfusedTensorsAsDebugTensors saveAllDebugTensors"
    ),
    ((10, 13), (11, 1)): "dumpKernelText remoteAutoTuningConfig safetyPlugins",
    ((10, 14), (11, 1)): "decomposableAttentions refitFromOnnx",
    ((10, 15), (11, 1)): "cpuOnly enablePluginOverride",
    ((10, 16), (11, 1)): "adjustForDLA reportCapabilityDLA",
    ((11, 0), (11, 1)): "includeDataTransfers noCudaGraph noSpinWait",
    ((11, 1), (11, 1)): (
        "accuracyAlgorithm accuracyThreshold atol continue dryRun helpBuildRoute loadRefOutputs "
        "refPair rtol saveAllEngines setBuildRoute tuneBuildRouteFile tuneBuildRoutes "
        "tuningCacheFile tuningResultFile tuningSearch tuningTimeOut"
    ),
}


def taken_by(version: tuple[int, int]) -> frozenset[str]:
    within = [names for (first, last), names in SPANS.items() if first <= version <= last]
    return frozenset(" ".join((ALWAYS, *within)).split())
