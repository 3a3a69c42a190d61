"""Refitting: other weights into an engine that allows it."""

from typing import Any

import onnx
from tensorrt import _plan
from tensorrt._bound import Bound, need
from tensorrt._engine import ICudaEngine
from tensorrt._execution import Execution
from tensorrt._logger import ILogger
from tensorrt._values import Weights


class Refitter(Bound):
    def __init__(self, engine: ICudaEngine, logger: ILogger) -> None:
        need("Refitter", (engine, ICudaEngine), (logger, ILogger))
        if not engine.refittable:
            logger.log(
                ILogger.ERROR, "3: [refit.cpp] Error Code 3: API Usage Error (not refittable)"
            )
            raise TypeError("pybind11::init(): factory function returned nullptr")
        self._engine, self._logger = engine, logger
        self._new: dict[str, Any] = {}

    def _names(self) -> list[str]:
        return [one.name for one in self._engine._model.graph.initializer]

    def set_named_weights(self, name: str, weights: Any) -> bool:
        need("set_named_weights", (name, str))
        if name not in self._names():
            return False
        self._new[name] = weights.numpy() if isinstance(weights, Weights) else weights
        return True

    def refit_cuda_engine(self) -> bool:
        model = onnx.ModelProto()
        model.CopyFrom(self._engine._model)
        for at, one in enumerate(model.graph.initializer):
            if one.name in self._new:
                model.graph.initializer[at].CopyFrom(
                    onnx.numpy_helper.from_array(self._new[one.name], one.name)
                )
        engine, facts = self._engine, self._engine._facts
        engine._model = model
        engine._execution = Execution(model, facts["io"], facts["precisions"])
        engine._data = _plan.write(facts, model)
        return True


class OnnxParserRefitter(Bound):
    """Takes the weights out of an ONNX model of the same structure."""

    def __init__(self, refitter: Refitter, logger: ILogger) -> None:
        need("OnnxParserRefitter", (refitter, Refitter), (logger, ILogger))
        self._refitter = refitter
        self._errors: list[Any] = []

    def refit_from_file(self, model: str) -> bool:
        need("refit_from_file", (model, str))
        return self._take(onnx.load(model))

    def _take(self, model: Any) -> bool:
        taken = [
            self._refitter.set_named_weights(one.name, onnx.numpy_helper.to_array(one))
            for one in model.graph.initializer
        ]
        return all(taken)

    num_errors = property(lambda self: len(self._errors))

    def get_error(self, index: int) -> Any:
        return self._errors[index]
