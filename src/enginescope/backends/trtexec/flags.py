"""Flags of trtexec by version: which of those that are written here each version has."""

from __future__ import annotations

from enginescope.backends.trtexec.binary import Version, dotted
from enginescope.core.errors import UnsupportedError

_LAST_WEAK: Version = (10, 99)
#: Flag -> (first, last) version that takes it, where that is not "8.6 and all later ones".
_SPANS: dict[str, tuple[Version, Version | None]] = {
    "fp16": ((8, 0), _LAST_WEAK),
    "bf16": ((9, 0), _LAST_WEAK),
    "int8": ((8, 0), _LAST_WEAK),
    "fp8": ((8, 6), _LAST_WEAK),
    "int4": ((10, 1), _LAST_WEAK),
    "best": ((8, 0), _LAST_WEAK),
    "precisionConstraints": ((8, 2), _LAST_WEAK),
    "layerPrecisions": ((8, 4), _LAST_WEAK),
    "layerOutputTypes": ((8, 4), _LAST_WEAK),
    "calib": ((8, 0), _LAST_WEAK),
    "stronglyTyped": ((9, 0), None),
    "profile": ((9, 0), None),
    "useProfile": ((9, 0), None),
    "maxTactics": ((10, 4), None),
    "tilingOptimizationLevel": ((10, 8), None),
    "l2LimitForTiling": ((10, 8), None),
    "nativeInstanceNorm": ((8, 6), (9, 99)),
    "pluginInstanceNorm": ((10, 0), None),
    "distributiveIndependence": ((10, 12), None),
    "stripWeights": ((10, 0), None),
    "refitFromOnnx": ((10, 14), None),
    "allowWeightStreaming": ((10, 0), None),
    "weightStreamingBudget": ((10, 0), None),
    "allocationStrategy": ((10, 0), None),
    "runtimePlatform": ((10, 2), None),
    "errorOnTimingCacheMiss": ((9, 0), None),
    "noCompilationCache": ((9, 0), None),
    "monitorMemory": ((10, 6), None),
    "enablePluginOverride": ((10, 15), None),
    "includeDataTransfers": ((11, 0), None),
    "noSpinWait": ((11, 0), None),
    "noCudaGraph": ((11, 0), None),
}


class Flags:
    """Arguments for one version of trtexec, in order.

    Attributes
    ----------
    version : tuple of int
    arguments : list of str
        ``--name`` or ``--name=value``.
    """

    def __init__(self, version: Version) -> None:
        self.version = version
        self.arguments: list[str] = []

    @property
    def is_strongly_typed(self) -> bool:
        """Whether this version builds strongly typed networks only, with its defaults flipped."""
        return self.version >= (11, 0)

    def add(self, name: str, value: object = None) -> None:
        """Append a flag.

        Raises
        ------
        UnsupportedError
            This version does not have it.
        """
        first, last = _SPANS.get(name, ((8, 6), None))
        if self.version < first:
            raise self._lacking(name, f"it came with {dotted(first)}")
        if last is not None and self.version > last:
            raise self._lacking(name, f"it went with {last[0] + 1}.0")
        self.arguments.append(f"--{name}" if value is None else f"--{name}={value}")

    def _lacking(self, name: str, why: str) -> UnsupportedError:
        return UnsupportedError(
            f"trtexec of TensorRT {dotted(self.version)} has no --{name}", why=why
        )


def name_of(argument: str) -> str:
    """Return ``avgRuns`` for ``--avgRuns=100``."""
    return argument.removeprefix("--").partition("=")[0]
