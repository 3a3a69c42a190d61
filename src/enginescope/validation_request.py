"""What is to be compared: who answers, on what, with which inputs' shapes."""

from __future__ import annotations

from enginescope.core.record import Record
from enginescope.model.job import Limits, Workload


class ValidationRequest(Record, frozen=True, kw_only=True):
    """Who answers, and how.

    Attributes
    ----------
    models : tuple of str
        Paths of models and engines, each a side on every backend.
    backends : tuple of str
        Empty: ``ort-cpu`` for a model, ``trt`` for an engine.
    reference : str or None
        A backend for the first model, a model, an engine, or a folder of outputs. ``None``: the
        outputs of the data sets, else the first model on ``ort-cpu``, else the first engine.
    workload : Workload
        What holds for all samples.
    limits : Limits
        Of each side's process.
    engine_cache : str
        Where built engines are kept.
    profile_index : int or None
        Optimisation profile of engines.
    rebuild : bool
        Build engines anew.
    alone : bool
        Whether one side is enough, since what is right is known otherwise.
    """

    models: tuple[str, ...]
    backends: tuple[str, ...] = ()
    reference: str | None = None
    workload: Workload = Workload()
    limits: Limits = Limits()
    engine_cache: str
    profile_index: int | None = None
    rebuild: bool = False
    alone: bool = False
