"""A stretch of a job."""

from __future__ import annotations

from enginescope.core.record import Record


class Phase(Record, frozen=True, kw_only=True):
    """A named stretch of a job, measured on its own.

    Names used: ``cooldown``, ``process_start``, ``imports``, ``parse``, ``build``, ``convert``,
    ``infer_shapes``, ``cold_load``, ``cold_first_inference``, ``load``, ``first_inference``,
    ``warm_up``, ``steady_state``, ``telemetry``, ``layer_profile``.
    """

    name: str
    duration_ms: float
