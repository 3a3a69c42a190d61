"""PyTorch's profiler trace (Chrome trace events): GPU time by operator, not layers of an engine."""

from collections import defaultdict
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

from enginescope.core.errors import FormatError
from enginescope.core.record import Record
from enginescope.formats.lenient_json import Document, finite_number, whole_number
from enginescope.judge.notice import Notice
from enginescope.records.environment import Device
from enginescope.records.plan.plan import LayerTiming, Profile

_MS_PER_US = 1e-3
_OPERATOR = "cpu_op"
_ON_GPU = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
_STEP = "ProfilerStep#"
#: Key of a runtime's version in the trace -> its name; the number holds thousands and tens.
_RUNTIMES = {"cuda_runtime_version": "cuda"}


class TorchTrace(Record, frozen=True, kw_only=True):
    """What a trace says.

    Attributes:
        profile: Operators that started work on the GPU, by GPU time; without a GPU, by their own
            time on the CPU.
        devices: Those that ran kernels.
    """

    profile: Profile
    devices: tuple[Device, ...]
    versions: dict[str, str]


def is_torch_trace(value: Any) -> bool:
    """Whether JSON values are a trace of PyTorch: operators, or the kernels that it recorded."""
    if not isinstance(value, dict) or not isinstance(value.get("traceEvents"), list):
        return False
    return any(_category(event) in (_OPERATOR, *_ON_GPU) for event in value["traceEvents"])


def torch_trace_of(document: Document) -> tuple[TorchTrace, tuple[Notice, ...]]:
    """Return GPU time by operator: the sum of the kernels and copies that each operator started.

    Means are per profiler step; without steps the whole trace counts as one.
    """
    root, source = document.value, document.source
    events = [
        event for event in root["traceEvents"] if isinstance(event, dict) and event.get("ph") == "X"
    ]
    steps = {str(event.get("name")) for event in events if _is_step(event)}
    on_gpu = [event for event in events if _category(event) in _ON_GPU]
    spent = _by_operator(events, on_gpu) if on_gpu else _own_times(events)
    if not spent:
        raise FormatError(source, why="no operator in it took time", expected="torch.profiler")
    count = len(steps) or 1
    layers = tuple(
        LayerTiming(
            index=index,
            name=name,
            kind=name.rpartition("::")[2],
            total_ms=total_ms,
            mean_ms=total_ms / count,
        )
        for index, (name, total_ms) in enumerate(spent.items())
    )
    where = "GPU time of the kernels that each operator started" if on_gpu else "CPU time"
    span = "" if steps else "; it has no ProfilerStep, so the times are of the whole trace"
    message = f"{source} is a trace of PyTorch: {where}, by operator; not layers of an engine{span}"
    evidence = {"file": source, "steps": len(steps), "kernels": len(on_gpu)}
    used = {_argument(event, "device") for event in on_gpu}
    trace = TorchTrace(
        profile=Profile(source="torch", part="operator", layers=layers, iterations=count),
        devices=tuple(_devices(root.get("deviceProperties"), used)),
        versions=_versions(root),
    )
    return trace, (*document.notices, Notice("I-TORCH-OPERATORS", message, evidence))


def _category(event: Any) -> Any:
    return event.get("cat") if isinstance(event, dict) else None


def _argument(event: dict[str, Any], name: str) -> Any:
    arguments = event.get("args")
    return arguments.get(name) if isinstance(arguments, dict) else None


def _is_step(event: dict[str, Any]) -> bool:
    name = event.get("name")
    return isinstance(name, str) and name.startswith(_STEP) and event.get("cat") != _OPERATOR


def _by_operator(events: list[dict[str, Any]], on_gpu: list[dict[str, Any]]) -> dict[str, float]:
    """Return GPU ms by operator, in the order of their first kernels.

    A kernel without an operator counts under its own name.
    """
    names = {
        _argument(event, "External id"): str(event.get("name"))
        for event in events
        if event.get("cat") == _OPERATOR and _argument(event, "External id") is not None
    }
    spent: dict[str, float] = defaultdict(float)
    for event in sorted(on_gpu, key=lambda event: finite_number(event.get("ts")) or 0.0):
        name = names.get(_argument(event, "External id"), str(event.get("name")))
        spent[name] += _duration_us(event)
    return {name: total_us * _MS_PER_US for name, total_us in spent.items()}


def _own_times(events: list[dict[str, Any]]) -> dict[str, float]:
    """Return CPU ms by operator, without the operators inside it, by thread."""
    threads: dict[Any, list[tuple[float, float, str]]] = defaultdict(list)
    for event in events:
        start = finite_number(event.get("ts"))
        if event.get("cat") == _OPERATOR and start is not None:
            threads[event.get("pid"), event.get("tid")].append(
                (start, -_duration_us(event), str(event.get("name")))
            )
    spent: dict[str, float] = defaultdict(float)
    for rows in threads.values():
        open_until: list[tuple[float, str]] = []
        for start, negative, name in sorted(rows, key=itemgetter(0, 1)):  # ties as in the file
            while open_until and open_until[-1][0] <= start:
                open_until.pop()
            if open_until:
                spent[open_until[-1][1]] += negative
            spent[name] -= negative
            open_until.append((start - negative, name))
    return {name: max(total_us, 0.0) * _MS_PER_US for name, total_us in spent.items()}


def _duration_us(event: dict[str, Any]) -> float:
    return max(finite_number(event.get("dur")) or 0.0, 0.0)


def _devices(raw: Any, used: set[Any]) -> Iterator[Device]:
    for device in raw if isinstance(raw, list) else []:
        if not isinstance(device, dict) or device.get("id") not in used:
            continue
        major, minor = device.get("computeMajor"), device.get("computeMinor")
        is_cuda = major is not None and minor is not None
        yield Device(
            name=str(device.get("name") or "GPU"),
            compute_capability=f"{major}.{minor}" if is_cuda else None,
            memory_bytes=whole_number(device.get("totalGlobalMem")),
            sm_count=whole_number(device.get("numSms")),
        )


def _versions(root: dict[str, Any]) -> dict[str, str]:
    numbers = {name: whole_number(root.get(key)) for key, name in _RUNTIMES.items()}
    return {
        name: f"{number // 1000}.{number % 1000 // 10}"
        for name, number in numbers.items()
        if number is not None and number > 0
    }
