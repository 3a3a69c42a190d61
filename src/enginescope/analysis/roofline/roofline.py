"""What GPUs can do at most, and each layer against that."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from enginescope.analysis.roofline.layer_work import MOVING_TYPES, LayerWork
from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.core.suggest import did_you_mean
from enginescope.judge.notice import Notice
from enginescope.records.environment import Device
from enginescope.records.plan.plan import Attribution, Layer, Plan
from enginescope.records.tensor import DataType


class GpuLimits(Record, frozen=True, kw_only=True):
    """A GPU's peaks, as NVIDIA's datasheet or architecture paper of it states them.

    Attributes:
        memory_gb_per_s: 10⁹ bytes per second.
        peak_tflops: 10¹² operations per second at boost clock, an operation being a multiplication
            or an addition, dense (structured sparsity doubles some), by precision: ``"FP32"``
            outside the tensor cores, the others on them where they have it. FP16 and FP8 of GeForce
            and Titan cards: with FP16 sums, which TensorRT may choose.
        multiprocessors: Streaming multiprocessors that are switched on.
    """

    name: str
    memory_gb_per_s: float
    peak_tflops: dict[str, float]
    multiprocessors: int | None = None

    def macs_per_ms(self, precision: str) -> float | None:
        """Return multiply-accumulates per millisecond, two operations each, or ``None``."""
        peak = self.peak_tflops.get(precision)
        return peak * 1e12 / 2 / 1e3 if peak is not None else None

    @property
    def bytes_per_ms(self) -> float:
        """Bytes per millisecond."""
        return self.memory_gb_per_s * 1e9 / 1e3


# name | other names, as CUDA reports or people write them | GB/s |
# FP32, TF32, FP16 (and BF16), FP8, FP4, INT8, INT4; 0: the tensor cores do not have it |
# multiprocessors; 0: not known here
_TABLE = """
V100 PCIe | V100-PCIE-16GB; V100-PCIE-32GB | 900 | 14 0 112 0 0 0 0 | 80
V100 SXM2 | V100-SXM2-16GB; V100-SXM2-32GB | 900 | 15.7 0 125 0 0 0 0 | 80
T4 | | 320 | 8.1 0 65 0 0 130 260 | 40
RTX 2080 Ti | | 616 | 13.4 0 107.6 0 0 215.2 430.3 | 68
TITAN RTX | | 672 | 16.3 0 130.5 0 0 261 522 | 72
A100 40GB PCIe | A100-PCIE-40GB | 1555 | 19.5 156 312 0 0 624 1248 | 108
A100 40GB SXM | A100-SXM4-40GB | 1555 | 19.5 156 312 0 0 624 1248 | 108
A100 80GB PCIe | A100-PCIE-80GB | 1935 | 19.5 156 312 0 0 624 1248 | 108
A100 80GB SXM | A100-SXM4-80GB | 2039 | 19.5 156 312 0 0 624 1248 | 108
A30 | A30 24GB | 933 | 10.3 82 165 0 0 330 661 | 56
A40 | A40 48GB | 696 | 37.4 74.8 149.7 0 0 299.3 598.7 | 84
A10 | | 600 | 31.2 62.5 125 0 0 250 500 | 72
A2 | | 200 | 4.5 9 18 0 0 36 72 | 10
RTX A6000 | | 768 | 38.7 77.4 154.8 0 0 309.7 619.3 | 84
RTX 3050 | | 224 | 9.1 9.1 36.4 0 0 72.8 145.6 | 20
RTX 3060 | | 360 | 12.7 12.7 51 0 0 101.9 203.9 | 28
RTX 3060 Ti | | 448 | 16.2 16.2 64.8 0 0 129.6 259.2 | 38
RTX 3070 | | 448 | 20.3 20.3 81.3 0 0 162.6 325.2 | 46
RTX 3070 Ti | | 608 | 21.7 21.7 87 0 0 174 347.9 | 48
RTX 3080 | | 760 | 29.8 29.8 119 0 0 238 476 | 68
RTX 3080 Ti | | 912 | 34.1 34.1 136 0 0 273 546 | 80
RTX 3090 | | 936 | 35.6 35.6 142 0 0 284 568 | 82
RTX 3090 Ti | | 1008 | 40 40 160 0 0 320 640 | 84
Jetson Orin Nano 8GB | | 68 | 1.3 5.1 10.2 0 0 20.5 0 | 8
Jetson Orin NX 16GB | | 102.4 | 1.9 7.5 15 0 0 30.1 0 | 8
Jetson AGX Orin 32GB | | 204.8 | 3.3 13.3 26.7 0 0 53.3 0 | 14
Jetson AGX Orin 64GB | | 204.8 | 5.3 21.3 42.6 0 0 85.2 0 | 16
L4 | | 300 | 30.3 60 121 242.5 0 242.5 0 | 58
L40 | | 864 | 90.5 90.5 181 362 0 362 724 | 142
L40S | | 864 | 91.6 183 362 733 0 733 0 | 142
RTX 6000 Ada Generation | RTX 6000 Ada | 960 | 91.1 182.1 364.2 728.5 0 728.5 1457 | 142
RTX 4060 | | 272 | 15.1 15.1 60.5 120.9 0 120.9 241.8 | 24
RTX 4060 Ti | | 288 | 22.1 22.1 88.2 176.5 0 176.5 353 | 34
RTX 4070 | | 504.2 | 29.1 29.1 116.6 233.2 0 233.2 466.4 | 46
RTX 4070 SUPER | | 504.2 | 35.5 35.5 141.9 283.9 0 283.9 567.7 | 56
RTX 4070 Ti | | 504.2 | 40.1 40.1 160.4 320.7 0 320.7 641.4 | 60
RTX 4070 Ti SUPER | | 672.3 | 44.1 44.1 176.4 352.8 0 352.8 705.6 | 66
RTX 4080 | | 716.8 | 48.7 48.7 194.9 389.9 0 389.9 779.8 | 76
RTX 4080 SUPER | | 736.3 | 52.2 52.2 208.9 417.8 0 417.8 835.6 | 80
RTX 4090 | | 1008 | 82.6 82.6 330.3 660.6 0 660.6 1321.2 | 128
H20 | | 4000 | 44 74 148 296 0 296 0 | 78
H100 PCIe | | 2039 | 51 378 756 1513 0 1513 0 | 114
H100 SXM | H100 80GB HBM3; H100 SXM5 | 3352 | 67 494.7 989.4 1978.9 0 1978.9 0 | 132
H100 NVL | | 3938 | 60 417.5 835.5 1671 0 1671 0 | 132
GH200 480GB | | 4000 | 67 494.7 989.4 1978.9 0 1978.9 0 | 132
H200 | H200 SXM | 4800 | 67 494.7 989.4 1978.9 0 1978.9 0 | 132
H200 NVL | | 4800 | 60 417.5 835.5 1671 0 1671 0 | 132
B200 | | 8000 | 75 1100 2250 4500 9000 4500 0 | 0
GB200 | | 8000 | 80 1250 2500 5000 10000 5000 0 | 0
RTX 5080 | | 960 | 56.3 56.3 225.1 450.2 900.4 450.2 0 | 84
RTX 5090 | | 1792 | 104.8 104.8 419 838 1676 838 0 | 170
"""
_MAKERS = frozenset({"nvidia", "geforce", "tesla", "quadro"})


def gpu_limits(name: str | None) -> GpuLimits | None:
    """Return the limits of a GPU by the name that the driver or people give it.

    Maker and family (``NVIDIA``, ``GeForce``, ``Tesla``), case and punctuation do not matter; the
    rest must be equal, since a Laptop, Ti or MIG variant is another GPU. ``None`` for one that is
    not in the table, or where a name stands for several (``"A100"``).
    """
    return _BY_KEY.get(_key(name)) if name else None


def limits_of(name: str, devices: Sequence[Device] = ()) -> GpuLimits:
    """Return the limits of a GPU, as `gpu_limits` does.

    A part of a name is enough if it fits one GPU in the table, or one of `devices`.

    Args:
        devices: GPUs that the run or the files name.
    """
    exact = gpu_limits(name)
    if exact is not None:
        return exact
    meant = tuple(one for one in known_gpus() if _holds(_key(one), _key(name)))
    known = {gpu.name: gpu for device in devices if (gpu := gpu_limits(device.name))}
    here = [known[gpu] for gpu in meant if gpu in known]
    if len(here) == 1:
        return here[0]
    if len(meant) == 1:
        return _BY_KEY[_key(meant[0])]
    why, hint = "its limits are not known here by that name", did_you_mean(name, known_gpus())
    if meant:
        why, hint = "the name matches several GPUs", f"take one of: {', '.join(meant)}"
    raise UsageError(f"GPU {name}", why=why, hint=hint)


def other_gpu(given: GpuLimits | str | None, devices: Sequence[Device]) -> Notice | None:
    """Return a warning if the GPU that was named is not the one that the times are of.

    Args:
        given: The GPU that was named.
        devices: GPUs that the run or the files name; without any, nothing contradicts `given`.
    """
    limits = limits_of(given, devices) if isinstance(given, str) else given
    if limits is None or not devices:
        return None
    for device in devices:
        known = gpu_limits(device.name)  # a name may stand for several
        if known.name == limits.name if known else _holds(_key(limits.name), _key(device.name)):
            return None
    names = ", ".join(dict.fromkeys(device.name for device in devices))
    return Notice(
        "W-GPU-DIFFERS",
        f"the limits are those of {limits.name}, but the times are of {names}: shares of a "
        "limit and possible savings are wrong unless the files name the wrong GPU",
        {"given": limits.name, "devices": [device.name for device in devices]},
    )


def known_gpus() -> tuple[str, ...]:
    """Return the names in the table, older architectures first."""
    return tuple(dict.fromkeys(one.name for one in _BY_KEY.values()))


def rate_precision(layer: Layer) -> str | None:
    """Return the precision whose peak bounds a layer: that of its first input.

    FP32 counts as TF32 unless the tactic's name says that it is not (``tf32`` is missing in it),
    and as FP32 on a GPU without TF32; BF16 has the rate of FP16.
    """
    dtype = layer.precision
    if dtype is DataType.FP32:
        tactic = (layer.tactic_name or "tf32").lower()
        return "TF32" if "tf32" in tactic else "FP32"
    if dtype is DataType.BF16:
        return "FP16"
    return dtype.value if dtype else None


def _holds(words: tuple[str, ...], said: tuple[str, ...]) -> bool:
    """Whether each word that was said begins one of `words`: ``rtx 30`` those of ``RTX 3080``."""
    return bool(said) and all(any(word.startswith(one) for word in words) for one in said)


def _key(name: str) -> tuple[str, ...]:
    return tuple(word for word in re.findall(r"[a-z0-9]+", name.lower()) if word not in _MAKERS)


def _entries() -> dict[tuple[str, ...], GpuLimits]:
    found = {}
    precisions = ("FP32", "TF32", "FP16", "FP8", "FP4", "INT8", "INT4")
    for row in _TABLE.strip().splitlines():
        name, others, bandwidth, rates, count = (cell.strip() for cell in row.split("|"))
        numbers = zip(precisions, map(float, rates.split()), strict=True)
        limits = GpuLimits(
            name=name,
            memory_gb_per_s=float(bandwidth),
            peak_tflops={precision: rate for precision, rate in numbers if rate},
            multiprocessors=int(count) or None,
        )
        for alias in (name, *filter(None, (one.strip() for one in others.split(";")))):
            found[_key(alias)] = limits
    return found


_BY_KEY = _entries()


#: Layers that `Roofline.worst` returns by default.
WORST = 10


class LayerRoof(Record, frozen=True, kw_only=True):
    """One layer's limit.

    Attributes:
        position: In the plan's layers.
        bound: What takes longer at the GPU's peaks; ``None`` if neither time is known.
        memory_ms: Time to move its bytes once, without padding, at the peak bandwidth.
        compute_ms: Time of its multiply-accumulates at the peak rate of its precision.
        is_partial: Whether it may compute more than is known: the limit is then too low.
        time_ms: What it took, without the profiler's own time where that is known.
    """

    position: int
    bound: str | None = None
    memory_ms: float | None = None
    compute_ms: float | None = None
    is_partial: bool = False
    time_ms: float | None = None

    @property
    def attainable_ms(self) -> float | None:
        """The longer of both times: no layer is faster, unless a cache holds what it moves."""
        known = [one for one in (self.memory_ms, self.compute_ms) if one is not None]
        return max(known) if known else None

    @property
    def distance(self) -> float | None:
        """Time taken ÷ attainable time; below 1: its tensors came from the cache."""
        limit = self.attainable_ms
        return self.time_ms / limit if self.time_ms is not None and limit else None

    @property
    def excess_ms(self) -> float | None:
        """Time that it would save at its limit; 0 for a layer that is faster already."""
        limit = self.attainable_ms
        return None if self.time_ms is None or limit is None else max(0.0, self.time_ms - limit)


class Roofline(Record, frozen=True, kw_only=True):
    """A plan's layers against one GPU.

    Attributes:
        layers: One for each layer that is not inert, in the plan's order.
        profiler_ms: Estimate of what the profiler added to each layer, which no time here contains;
            ``None``: nothing, or it is unknown.
    """

    gpu: GpuLimits
    layers: tuple[LayerRoof, ...]
    profiler_ms: float | None = None

    def worst(self, count: int = WORST) -> tuple[LayerRoof, ...]:
        """Return the layers that lose most time against their limit, the first loses most.

        Layers whose limit is known in part only are left out: their loss would be overstated.
        """
        losing = [layer for layer in self.layers if layer.excess_ms and not layer.is_partial]
        return tuple(sorted(losing, key=lambda one: -(one.excess_ms or 0.0))[:count])

    def saving_ms(self, count: int | None = None) -> float:
        """Return the time saved if the worst layers, by default all, ran at their limit."""
        worst = self.worst(len(self.layers) if count is None else count)
        return sum(one.excess_ms or 0.0 for one in worst)

    @property
    def lacking(self) -> tuple[LayerRoof, ...]:
        """Layers without a limit, or with a part of it."""
        return tuple(one for one in self.layers if one.is_partial or one.attainable_ms is None)

    @property
    def is_known(self) -> bool:
        """Whether layers with a limit took at least half of the time: else no sum stands for it."""
        times, lacking = ([one.time_ms for one in of] for of in (self.layers, self.lacking))
        return None not in lacking and 2 * sum(filter(None, lacking)) <= sum(filter(None, times))

    @property
    def unknown(self) -> int:
        """Layers with a time and without a limit."""
        return sum(one.time_ms is not None and one.attainable_ms is None for one in self.layers)

    @property
    def unranked(self) -> tuple[LayerRoof, ...]:
        """Layers that took time and whose loss is unknown: without a limit or with a part of it."""
        return tuple(one for one in self.lacking if one.time_ms)

    @property
    def bounds(self) -> dict[str, int]:
        """Number of layers that each bound limits, of those that took time."""
        return Counter(one.bound for one in self.layers if one.time_ms and one.bound)

    @property
    def least_ms(self) -> float:
        """Sum of the layers' limits, as far as they are known: no inference takes less."""
        return sum(one.attainable_ms or 0.0 for one in self.layers)


def roofline(
    plan: Plan,
    works: Sequence[LayerWork],
    gpu: GpuLimits,
    attribution: Attribution | None = None,
    profiler_ms: float | None = None,
) -> Roofline:
    """Return the limits of a plan's layers on `gpu`.

    The limit is the roofline model's: max(multiply-accumulates ÷ peak rate, bytes ÷ peak
    bandwidth) (Williams, Waterman and Patterson, 2009).

    Args:
        works: One for each of the plan's layers.
        attribution: The layers' times, of the same plan.
        profiler_ms: See `Roofline`.
    """
    times = [one.timing for one in attribution.layers] if attribution else [None] * len(plan.layers)
    roofs = []
    for position, (layer, work, timing) in enumerate(zip(plan.layers, works, times, strict=True)):
        if layer.is_inert:
            continue
        time_ms = timing.time_ms if timing else None
        roofs.append(layer_roof(layer, work, gpu, time_ms, position=position))
    return Roofline(gpu=gpu, layers=tuple(roofs), profiler_ms=profiler_ms)


def layer_roof(
    layer: Layer,
    work: LayerWork,
    gpu: GpuLimits,
    time_ms: float | None = None,
    *,
    position: int = 0,
) -> LayerRoof:
    """Return the limit of one layer on `gpu`.

    Args:
        work: Its own.
        time_ms: What it took.
        position: In the plan's layers.
    """
    memory_ms = work.moved_bytes / gpu.bytes_per_ms if work.moved_bytes is not None else None
    compute_ms = _compute_ms(work, rate_precision(layer), gpu)
    bound = "compute" if (compute_ms or 0.0) > (memory_ms or 0.0) else "memory"
    return LayerRoof(
        position=position,
        bound=None if memory_ms is None and compute_ms is None else bound,
        memory_ms=memory_ms,
        compute_ms=compute_ms,
        is_partial=compute_ms is None and layer.type not in MOVING_TYPES,
        time_ms=time_ms,
    )


def _compute_ms(work: LayerWork, precision: str | None, gpu: GpuLimits) -> float | None:
    if work.macs is None or precision is None:
        return None
    rate = gpu.macs_per_ms(precision)
    if rate is None and precision == "TF32":
        rate = gpu.macs_per_ms("FP32")
    return work.macs / rate if rate else None
