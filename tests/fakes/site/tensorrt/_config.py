"""What steers a build: flags, pools, profiles, the timing cache."""

from __future__ import annotations

from typing import Any

from tensorrt import _base
from tensorrt._network import ILayer

Span = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


class IOptimizationProfile(_base.Made):
    """Minimum, optimum and maximum, of shapes and of the values of shape tensors."""

    def __init__(self, logger: Any) -> None:
        self._logger = logger
        self._shapes: dict[str, Span] = {}
        self._shape_values: dict[str, Span] = {}

    extra_memory_target = 1.0

    def set_shape(self, input: str, min: Any, opt: Any, max: Any) -> None:  # noqa: A002
        _base.need("set_shape", (input, str))
        span = tuple(_base.dims_of("set_shape", one) for one in (min, opt, max))
        if _base.MAJOR < 11 and not ordered(span):  # from then on the build says so
            raise ValueError("Shapes provided for min/opt/max are inconsistent.")
        self._shapes[input] = span

    def get_shape(self, input: str) -> list[_base.Dims]:  # noqa: A002
        _base.need("get_shape", (input, str))
        if _base.MAJOR >= 11 and input not in self._shapes:
            self._error(f"IOptimizationProfile::getDimensions: no dimensions of {input}")
        return [_base.Dims(one) for one in self._shapes.get(input, ())]

    def set_shape_input(self, input: str, min: Any, opt: Any, max: Any) -> None:  # noqa: A002
        _base.need("set_shape_input", (input, str))
        span = tuple(tuple(int(value) for value in one) for one in (min, opt, max))
        if not ordered(span):
            if _base.MAJOR < 11:
                raise ValueError("min/opt/max shape values are inconsistent.")
            self._error("setShapeValuesV2: min <= opt <= max is violated")
            raise RuntimeError("min/opt/max shape values are inconsistent.")
        self._shape_values[input] = span

    def __bool__(self) -> bool:
        return _base.MAJOR >= 11 or bool(self._shapes or self._shape_values)

    __nonzero__ = __bool__


def ordered(span: Any) -> bool:
    """Whether minimum, optimum and maximum are of one rank and do not fall."""
    low, opt, high = span
    return len(low) == len(opt) == len(high) and all(
        a <= b <= c for a, b, c in zip(low, opt, high, strict=True)
    )


BuilderFlag = _base.ALL["BuilderFlag"]
_CACHE_TAG = b"fake timing cache "
_DEFAULT_POOL = 16 << 30


class ITimingCache(_base.Made):
    """Tactics that were timed, by layer."""

    def __init__(self, version: str, timed: set[str]) -> None:
        self._version, self._timed = version, timed

    def serialize(self) -> _base.IHostMemory:
        lines = "\n".join((self._version, *sorted(self._timed)))
        return _base.IHostMemory(_CACHE_TAG + lines.encode())


def _of(enum: str, member: str) -> tuple[Any, Any]:
    kind = _base.ALL.get(enum, object)
    return kind, getattr(kind, member, None)


class IBuilderConfig(_base.Made):
    def __init__(self, logger: Any) -> None:
        self._logger = logger
        self._flags = 1 << int(BuilderFlag.TF32)
        self._values: dict[str, Any] = {}
        self._pools: dict[int, int] = {}
        resize = _base.number(_base.ALL["PreviewFeature"], "RUNTIME_ACTIVATION_RESIZE_10_10")
        self._previews: dict[int, bool] = {} if resize is None else {resize: _base.MAJOR >= 11}
        self._profiles: list[IOptimizationProfile] = []
        self._cache: ITimingCache | None = None
        self._capabilities: list[str] = []
        self._tactics = sum(1 << int(one) for one in _base.ALL["TacticSource"].__members__.values())

    avg_timing_iterations = _base.Setting(int, 1)
    builder_optimization_level = _base.Setting(
        int,
        3,
        lambda value: 0 <= value <= (5 if _base.MAJOR < 11 else value),
        lambda value: min(value, 5),
    )
    max_aux_streams = _base.Setting(int, -1, limit=lambda value: max(value, -1))
    build_route = _base.Setting(str, "")
    max_num_tactics = _base.Setting(int, -1, lambda value: value >= -1)
    l2_limit_for_tiling = _base.Setting(int, 0, limit=lambda value: max(value, 0))
    profile_stream = _base.Setting(int, 0)
    DLA_core = _base.Setting(int, -1, limit=lambda _: -1)  # the device has none
    plugins_to_serialize = _base.Setting(list, [])
    int8_calibrator = _base.Setting(object, None)
    progress_monitor = _base.Setting(object, None)
    engine_capability = _base.Setting(*_of("EngineCapability", "STANDARD"))
    default_device_type = _base.Setting(*_of("DeviceType", "GPU"))
    profiling_verbosity = _base.Setting(*_of("ProfilingVerbosity", "LAYER_NAMES_ONLY"))
    hardware_compatibility_level = _base.Setting(*_of("HardwareCompatibilityLevel", "NONE"))
    runtime_platform = _base.Setting(*_of("RuntimePlatform", "SAME_AS_BUILD"))
    tiling_optimization_level = _base.Setting(*_of("TilingOptimizationLevel", "NONE"))

    flags = property(lambda self: self._flags)

    def set_flag(self, flag: Any) -> None:
        _base.need("set_flag", (flag, BuilderFlag))
        lean = int(flag) == _base.number(BuilderFlag, "EXCLUDE_LEAN_RUNTIME")
        if _base.MAJOR >= 11 and lean and not self._has("VERSION_COMPATIBLE"):
            text = "kEXCLUDE_LEAN_RUNTIME can only be set if kVERSION_COMPATIBLE is set."
            self._error(f"IBuilderConfig::setFlag: Error Code 3: API Usage Error ({text})")
            return
        self._flags |= 1 << int(flag)

    def clear_flag(self, flag: Any) -> None:
        _base.need("clear_flag", (flag, BuilderFlag))
        self._flags &= ~(1 << int(flag))

    def get_flag(self, flag: Any) -> bool:
        _base.need("get_flag", (flag, BuilderFlag))
        return bool(self._flags >> int(flag) & 1)

    def _has(self, name: str) -> bool:
        """Whether a flag that this version may lack is set."""
        value = _base.number(BuilderFlag, name)
        return value is not None and bool(self._flags >> value & 1)

    def set_memory_pool_limit(self, pool: Any, pool_size: int) -> None:
        _base.need("set_memory_pool_limit", (pool, _base.ALL["MemoryPoolType"]), (pool_size, int))
        _base.need("set_memory_pool_limit", (pool_size if pool_size >= 0 else None, int))
        self._pools[int(pool)] = pool_size

    def get_memory_pool_limit(self, pool: Any) -> int:
        _base.need("get_memory_pool_limit", (pool, _base.ALL["MemoryPoolType"]))
        return self._pools.get(int(pool), _DEFAULT_POOL)

    @property
    def num_compute_capabilities(self) -> int:
        return len(self._capabilities)

    @num_compute_capabilities.setter
    def num_compute_capabilities(self, count: int) -> None:
        _base.need("num_compute_capabilities", (count, int))
        self._capabilities = ["NONE"] * count

    def set_compute_capability(self, compute_capability: Any, index: int) -> bool:
        _base.need("set_compute_capability", (compute_capability, _base.ALL["ComputeCapability"]))
        if compute_capability.name == "NONE" or index >= len(self._capabilities):
            self._error("IBuilderConfig::setComputeCapability: Error Code 3: API Usage")
            return False
        self._capabilities[index] = compute_capability.name
        return True

    def set_tactic_sources(self, tactic_sources: int) -> bool:
        _base.need("set_tactic_sources", (tactic_sources, int))
        known = sum(1 << int(one) for one in _base.ALL["TacticSource"].__members__.values())
        if tactic_sources & ~known:
            return False
        self._tactics = tactic_sources
        return True

    def get_tactic_sources(self) -> int:
        return self._tactics

    def set_preview_feature(self, feature: Any, enable: bool) -> None:
        _base.need("set_preview_feature", (feature, _base.ALL["PreviewFeature"]), (enable, bool))
        self._previews[int(feature)] = enable

    def get_preview_feature(self, feature: Any) -> bool:
        _base.need("get_preview_feature", (feature, _base.ALL["PreviewFeature"]))
        return self._previews.get(int(feature), False)

    def set_device_type(self, layer: ILayer, device_type: Any) -> None:
        _base.need("set_device_type", (layer, ILayer), (device_type, _base.ALL["DeviceType"]))

    def add_optimization_profile(self, profile: IOptimizationProfile) -> int:
        _base.need("add_optimization_profile", (profile, IOptimizationProfile))
        if not profile:
            return -1
        if not all(map(ordered, profile._shapes.values())):
            self._error("IBuilderConfig::addOptimizationProfile: kMIN <= kOPT <= kMAX")
            return -1
        self._profiles.append(profile)
        return len(self._profiles) - 1

    num_optimization_profiles = property(lambda self: len(self._profiles))

    def create_timing_cache(self, serialized_timing_cache: Any) -> ITimingCache | None:
        data = _base.buffer_of("create_timing_cache", serialized_timing_cache)
        if not data:
            return ITimingCache(_base.FULL, set())
        if not data.startswith(_CACHE_TAG):
            self._error("Error Code 4: API Usage Error (the timing cache is corrupt)")
            return None
        version, *timed = data[len(_CACHE_TAG) :].decode().split("\n")
        return ITimingCache(version, set(timed))

    def set_timing_cache(self, cache: ITimingCache, ignore_mismatch: bool) -> bool:
        _base.need("set_timing_cache", (cache, ITimingCache), (ignore_mismatch, bool))
        if cache._version != _base.FULL and not ignore_mismatch:
            self._say("WARNING", "The timing cache was made by another version of TensorRT.")
            return False
        self._cache = cache
        return True

    def get_timing_cache(self) -> ITimingCache | None:
        return self._cache
