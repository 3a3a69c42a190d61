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
    from enginescope.opened_plan import plan

__all__ = [
    "EnginescopeError",
    "RunView",
    "__version__",
    "bench",
    "build",
    "compare_plans",
    "import_artifacts",
    "lint",
    "load_run",
    "plan",
    "write_report",
]

_HOMES = {
    "EnginescopeError": "enginescope.core.errors",
    "RunView": "enginescope.analysis.run_view",
    "bench": "enginescope.facade",
    "build": "enginescope.facade",
    "compare_plans": "enginescope.facade",
    "import_artifacts": "enginescope.facade",
    "lint": "enginescope.linted_plan",
    "load_run": "enginescope.facade",
    "plan": "enginescope.opened_plan",
    "write_report": "enginescope.facade",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'enginescope' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
