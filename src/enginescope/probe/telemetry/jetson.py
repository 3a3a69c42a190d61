"""The integrated GPU of a Jetson, through jetson-stats, where NVML tells little or nothing."""

from __future__ import annotations

from typing import Any

from enginescope.core.errors import UnsupportedError
from enginescope.core.optional import require
from enginescope.probe.telemetry.sampler import Sample
from enginescope.records.run import telemetry as channel
from enginescope.records.run.telemetry import GpuProcess, SampledGpu

_INTERVAL_S = 0.1
#: Places of a process in a row of ``jtop.processes``.
_PID, _MEMORY_KIB, _NAME = 0, -2, -1


def open_jetson(address: str) -> JetsonSampler:
    """Return the sampler of the board's GPU; a Jetson has one, whatever its address."""
    del address
    module = require("jtop", purpose="reading a Jetson's GPU", install="jetson-stats")
    board = module.jtop(interval=_INTERVAL_S)
    try:
        board.start()
        ready = board.ok()
    except Exception as error:
        hint = "sudo systemctl restart jtop"
        raise UnsupportedError("jtop", why=str(error), hint=hint) from error
    if not ready or _gpu_name(board) is None:
        board.close()
        raise UnsupportedError("jtop", why="the board reports no integrated GPU")
    return JetsonSampler(board)


class JetsonSampler:
    """Reads what jtop's service has sent last.

    Power is that of the whole board: the rails of a Jetson do not give the GPU its own on every
    model. There is no energy counter, and no throttle reason.
    """

    def __init__(self, board: Any) -> None:
        self._board = board
        self._name = _gpu_name(board) or "gpu"
        self.gpu = SampledGpu(
            source="jtop",
            name=str(_dig(getattr(board, "board", None), "hardware", "Model") or self._name),
            max_sm_clock_mhz=_mhz(_dig(board.gpu, self._name, "freq", "max")),
            memory_bytes=_bytes(_dig(board.memory, "RAM", "tot")),
            power_is_instant=True,
        )

    def sample(self, pid: int) -> Sample:
        board = self._board
        return {
            channel.POWER: _scaled(_dig(board.power, "tot", "power"), 1e-3),
            channel.UTILIZATION: _scaled(_dig(board.gpu, self._name, "status", "load")),
            channel.MEMORY_UTILIZATION: _scaled(_dig(board.memory, "EMC", "val")),
            channel.DEVICE_MEMORY: _scaled(_dig(board.memory, "RAM", "shared"), 1024),
            channel.PROCESS_MEMORY: self._memory_of(pid),
            channel.MEMORY_CLOCK: _mhz(_dig(board.memory, "EMC", "cur")),
            **self.clock(),
        }

    def clock(self) -> Sample:
        return {
            channel.TEMPERATURE: self._temperature(),
            channel.SM_CLOCK: _mhz(_dig(self._board.gpu, self._name, "freq", "cur")),
        }

    def processes(self) -> tuple[GpuProcess, ...]:
        return tuple(
            GpuProcess(
                pid=int(row[_PID]), name=str(row[_NAME]), memory_bytes=_bytes(row[_MEMORY_KIB])
            )
            for row in self._board.processes or ()
        )

    def close(self) -> None:
        self._board.close()

    def _memory_of(self, pid: int) -> float | None:
        used = [process.memory_bytes for process in self.processes() if process.pid == pid]
        return float(used[0]) if used and used[0] else None

    def _temperature(self) -> float | None:
        """Return the GPU's temperature; a sensor that is off reports -256."""
        sensors = self._board.temperature or {}
        found = next((one for name, one in sensors.items() if name.lower() == "gpu"), None)
        degrees = found.get("temp") if isinstance(found, dict) else found
        return None if degrees is None or degrees < -100 else float(degrees)


def _gpu_name(board: Any) -> str | None:
    kinds = ((name, _dig(one, "type")) for name, one in dict(board.gpu or {}).items())
    return next((name for name, kind in kinds if kind in (None, "integrated")), None)


def _dig(value: Any, *keys: str) -> Any:
    """Return what lies under `keys`; ``None`` where a board has no such part."""
    for key in keys:
        try:
            value = value[key]
        except (KeyError, TypeError, IndexError):
            return None
    return value


def _scaled(value: Any, factor: float = 1.0) -> float | None:
    return None if value is None else float(value) * factor


def _mhz(khz: Any) -> int | None:
    return round(khz / 1e3) if khz else None


def _bytes(kib: Any) -> int | None:
    return int(kib) * 1024 if kib else None
