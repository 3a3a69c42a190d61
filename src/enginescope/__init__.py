"""enginescope measures, explains, compares and checks inference engines.

>>> import enginescope as es
>>> run = es.bench("model.onnx")          # doctest: +SKIP
>>> run.latency.median_ms                 # doctest: +SKIP
4.218

Everything below is imported when it is first used: ``import enginescope`` itself is cheap.
"""

from typing import TYPE_CHECKING, Any

from enginescope._version import __version__

if TYPE_CHECKING:
    from enginescope.analysis.run_view import RunView
    from enginescope.core.errors import EnginescopeError
    from enginescope.facade import (
        bench,
        build,
        compare_plans,
        import_artifacts,
        load_run,
        write_report,
    )
    from enginescope.linted_plan import lint
    from enginescope.measured_in_turn import bench_in_turn, noise_floor
    from enginescope.measured_runs import compare, gate, history
    from enginescope.opened_plan import plan
    from enginescope.opened_suite import suite
    from enginescope.validated_answers import validate

__all__ = [
    "EnginescopeError",
    "RunView",
    "__version__",
    "bench",
    "bench_in_turn",
    "build",
    "compare",
    "compare_plans",
    "gate",
    "history",
    "import_artifacts",
    "lint",
    "load_run",
    "noise_floor",
    "plan",
    "suite",
    "validate",
    "write_report",
]

_HOMES = {
    "EnginescopeError": "enginescope.core.errors",
    "RunView": "enginescope.analysis.run_view",
    "bench": "enginescope.facade",
    "bench_in_turn": "enginescope.measured_in_turn",
    "build": "enginescope.facade",
    "compare": "enginescope.measured_runs",
    "compare_plans": "enginescope.facade",
    "gate": "enginescope.measured_runs",
    "history": "enginescope.measured_runs",
    "import_artifacts": "enginescope.facade",
    "lint": "enginescope.linted_plan",
    "load_run": "enginescope.facade",
    "noise_floor": "enginescope.measured_in_turn",
    "plan": "enginescope.opened_plan",
    "suite": "enginescope.opened_suite",
    "validate": "enginescope.validated_answers",
    "write_report": "enginescope.facade",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'enginescope' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
