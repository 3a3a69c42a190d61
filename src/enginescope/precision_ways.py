"""How nodes of a side are kept in FP32: by what built or converted it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from enginescope.core.record import Record
from enginescope.formats.onnx_precision import onnx_precision
from enginescope.model.job import BackendSpec, Job

#: What a reduced precision may be, of what a backend is asked for.
_REDUCED = frozenset({"fp16", "bf16", "int8", "fp8", "best"})


class KeepingWay(Record, frozen=True, kw_only=True):
    """A way of keeping nodes in FP32.

    Attributes
    ----------
    words : str
        For people.
    job : Job
        The side as it is.
    option : str or None
        The backend's option that takes the names; ``None``: the reference is converted anew.
    whole : Job
        The same without any reduced precision.
    """

    words: str
    job: Job
    option: str | None
    whole: Job

    @property
    def of_reference(self) -> bool:
        """Whether nodes are named as in the reference's model."""
        return self.option is None

    def keeping(self, nodes: Sequence[str], folder: Path) -> Job:
        """Return the job in which some nodes stay in FP32.

        Parameters
        ----------
        folder : Path
            For a model that is converted for it.

        Raises
        ------
        EnginescopeError
            The model cannot be converted so.
        """
        if not nodes:
            return self.job
        if self.option is not None:
            before = self.job.backend.options.get(self.option)
            names = [*([before] if before else []), *nodes]
            options = {**self.job.backend.options, self.option: ",".join(names)}
            spec = msgspec.structs.replace(self.job.backend, options=options)
            return msgspec.structs.replace(self.job, backend=spec)
        from enginescope.backends.onnxruntime.fp16 import Fp16Options, fp16_model

        source = Path(self.whole.subject.path or "")
        made = fp16_model(source, folder, Fp16Options(node_block_list=tuple(nodes)))
        subject = msgspec.structs.replace(self.job.subject, path=made.path, sha256=None)
        return msgspec.structs.replace(self.job, subject=subject)

    def specification(self, nodes: Sequence[str]) -> str:
        """Return how to have it again, as it is typed."""
        if self.option is None:
            names = f" with node_block_list {','.join(nodes)}" if nodes else ""
            return f"{self.whole.subject.name} converted to fp16{names}"
        return str(self.keeping(nodes, Path()).backend)


def keeping_way(job: Job, reference: Job) -> tuple[KeepingWay | None, str]:
    """Return how nodes of `job` can be kept in FP32; else ``None`` and why not.

    Parameters
    ----------
    job, reference : Job
        The side, and who computes what is right.
    """
    spec = job.backend
    plain = msgspec.structs.replace(spec, precision=None)
    whole = msgspec.structs.replace(job, backend=plain)
    parts = set((spec.precision or "").lower().split("+"))
    if spec.name == "trt" and parts & _REDUCED:
        words = "layers kept in FP32 by keep_fp32, binding"
        return KeepingWay(words=words, job=job, option="keep_fp32", whole=whole), words
    if spec.name.startswith("ort") and parts == {"fp16"}:
        words = "nodes that the conversion to FP16 leaves out (node_block_list)"
        return KeepingWay(words=words, job=job, option="node_block_list", whole=whole), words
    held = onnx_precision(Path(job.subject.path or ""))
    if held == "fp16" and onnx_precision(Path(reference.subject.path or "")) == "fp32":
        words = f"{reference.subject.name} converted to FP16 anew, with nodes left out"
        whole = msgspec.structs.replace(job, subject=reference.subject)
        return KeepingWay(words=words, job=job, option=None, whole=whole), words
    return None, _why_not(spec, held)


def _why_not(spec: BackendSpec, held: str) -> str:
    if held == "fp32":
        return f"{spec} computes in fp32 already; precision is not what is wrong"
    return f"only what is reduced to fp16 can be kept in fp32 in part, and this holds {held}"
