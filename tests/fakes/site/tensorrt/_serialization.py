"""How an engine is written, and how its contexts take memory (from version 10)."""

from typing import Any

import onnx
from tensorrt import _plan
from tensorrt._bound import Made, need
from tensorrt._enums import ALL

SerializationFlag = ALL.get("SerializationFlag", object)
Strategy = ALL.get("ExecutionContextAllocationStrategy", object)


class ISerializationConfig(Made):
    """What is left out of a plan."""

    def __init__(self) -> None:
        self._flags = 0

    @property
    def flags(self) -> int:
        return self._flags

    @flags.setter
    def flags(self, value: int) -> None:
        self._flags = value

    def set_flag(self, flag: Any) -> bool:
        need("set_flag", (flag, SerializationFlag))
        self._flags |= 1 << int(flag)
        return True

    def clear_flag(self, flag: Any) -> bool:
        need("clear_flag", (flag, SerializationFlag))
        self._flags &= ~(1 << int(flag))
        return True

    def get_flag(self, flag: Any) -> bool:
        need("get_flag", (flag, SerializationFlag))
        return bool(self._flags >> int(flag) & 1)


class IRuntimeConfig(Made):
    """How a context takes its memory."""

    def __init__(self) -> None:
        self._strategy = getattr(Strategy, "STATIC", None)

    def set_execution_context_allocation_strategy(self, strategy: Any) -> None:
        need("set_execution_context_allocation_strategy", (strategy, Strategy))
        self._strategy = strategy

    def get_execution_context_allocation_strategy(self) -> Any:
        return self._strategy


def stripped(engine: Any, config: ISerializationConfig) -> bytes:
    """Return an engine's plan, without weights where that is asked."""
    if not config.get_flag(SerializationFlag.EXCLUDE_WEIGHTS):
        return engine._data
    model = onnx.ModelProto()
    model.CopyFrom(engine._model)
    for one in model.graph.initializer:
        if one.raw_data:
            one.raw_data = bytes(len(one.raw_data))
    return _plan.write(engine._facts, model)
