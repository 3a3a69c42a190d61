"""A backend measures models: every verb takes it after `--on`.

It also gives outputs to `validate`, suites and `upgrade`. This backend is the reference evaluator
of the package onnx. A backend with options starts from `enginescope.backends.base.Backend`.
"""

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from enginescope.backends.base import Availability, InputSpec
from enginescope.backends.plain import PlainBackend, PlainSession
from enginescope.formats.tensors.tensor_files import tensor_of
from enginescope.records.run.job import Job


class ReferenceSession(PlainSession):
    def __init__(self, job: Job) -> None:
        self.evaluator = evaluator = ReferenceEvaluator(str(job.subject.path))
        self.input_specs = tuple(map(self.spec_of, evaluator.input_names, evaluator.input_types))
        self.output_specs = tuple(map(self.spec_of, evaluator.output_names, evaluator.output_types))

    def spec_of(self, name: str, declared: onnx.TypeProto) -> InputSpec:
        kind = declared.tensor_type
        shape = tuple(dim.dim_value or dim.dim_param or None for dim in kind.shape.dim)
        empty = np.empty(0, onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type))
        return InputSpec(name=name, dtype=tensor_of("", empty).dtype, shape=shape, type_text="")

    def step(self) -> None:
        self.values = self.evaluator.run(None, dict(self.arrays))


class ReferenceBackend(PlainBackend):
    def availability(self) -> Availability:
        return Availability(usable=True, detail=f"onnx {onnx.__version__}")

    def open_for_answers(self, job: Job) -> ReferenceSession:
        return ReferenceSession(job)
