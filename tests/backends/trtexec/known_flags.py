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
#: Name, first and last version that takes it.
SPANS = """
accuracyAlgorithm 11.1 11.1
accuracyThreshold 11.1 11.1
adjustForDLA 10.16 11.1
allocationStrategy 10.0 11.1
allowWeightStreaming 10.0 11.1
asyncFileReader 10.7 11.1
atol 11.1 11.1
batch 8.0 8.6
best 8.0 10.16
bf16 9.0 10.16
buildOnly 8.0 9.3
calib 8.0 10.16
calibProfile 9.0 10.16
continue 11.1 11.1
cpuOnly 10.15 11.1
decomposableAttentions 10.14 11.1
deploy 8.0 8.6
distributiveIndependence 10.12 11.1
dryRun 11.1 11.1
dumpKernelText 10.13 11.1
dumpOptimizationProfile 9.0 11.1
enablePluginOverride 10.15 11.1
errorOnTimingCacheMiss 9.0 11.1
explicitBatch 8.0 9.3
explicitPrecision 8.0 9.3
fp16 8.0 10.16
fp8 8.6 10.16
getPlanVersionOnly 9.0 11.1
helpBuildRoute 11.1 11.1
heuristic 8.5 9.3
includeDataTransfers 11.0 11.1
int4 10.1 10.16
int8 8.0 10.16
l2LimitForTiling 10.8 11.1
layerOutputTypes 8.4 10.16
layerPrecisions 8.4 10.16
loadRefOutputs 11.1 11.1
markDebug 10.12 11.1
markUnfusedTensorsAsDebugTensors 10.12 11.1
maxBatch 8.0 8.6
maxShapesCalib 8.0 10.16
maxTactics 10.4 11.1
minShapesCalib 8.0 10.16
minTiming 8.0 9.3
model 8.0 8.6
monitorMemory 10.6 11.1
nativeInstanceNorm 8.6 9.3
ni 8.6 9.3
noCompilationCache 9.0 11.1
noCudaGraph 11.0 11.1
noSpinWait 11.0 11.1
nvtxMode 8.0 9.3
optShapesCalib 8.0 10.16
output 8.0 8.6
pi 10.0 11.1
pluginInstanceNorm 10.0 11.1
precisionConstraints 8.2 10.16
profile 9.0 11.1
refPair 11.1 11.1
refitFromOnnx 10.14 11.1
remoteAutoTuningConfig 10.13 11.1
reportCapabilityDLA 10.16 11.1
restricted 8.2 10.16
rtol 11.1 11.1
runtimePlatform 10.2 11.1
safetyPlugins 10.13 11.1
saveAllDebugTensors 10.12 11.1
saveAllEngines 11.1 11.1
saveDebugTensors 10.0 11.1
setBuildRoute 11.1 11.1
stripAllWeights 10.1 11.1
stripWeights 10.0 11.1
stronglyTyped 9.0 11.1
tilingOptimizationLevel 10.8 11.1
tuneBuildRouteFile 11.1 11.1
tuneBuildRoutes 11.1 11.1
tuningCacheFile 11.1 11.1
tuningResultFile 11.1 11.1
tuningSearch 11.1 11.1
tuningTimeOut 11.1 11.1
uff 8.0 8.6
uffInput 8.0 8.6
uffNHWC 8.0 8.6
uint8AsymmetricQuantizationDLA 10.11 11.1
useProfile 9.0 11.1
weightStreamingBudget 10.0 11.1
weightless 9.2 10.16
workspace 8.0 9.3
"""


def taken_by(version: tuple[int, int]) -> frozenset[str]:
    rows = (line.split() for line in SPANS.split("\n") if line)
    within = {name for name, first, last in rows if _number(first) <= version <= _number(last)}
    return frozenset(ALWAYS.split()) | within


def _number(text: str) -> tuple[int, int]:
    major, minor = text.split(".")
    return int(major), int(minor)
