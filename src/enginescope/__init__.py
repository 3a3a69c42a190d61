"""enginescope measures, explains, compares and checks inference engines.

>>> import enginescope as es
>>> run = es.bench("model.onnx")          # doctest: +SKIP
>>> run.latency.median_ms                 # doctest: +SKIP
4.218

`__all__` is the public API. Its names are imported when they are first used, so that
``import enginescope`` itself is cheap.
"""

from typing import TYPE_CHECKING, Any

from enginescope._version import __version__

if TYPE_CHECKING:
    from enginescope.analysis.plan_comparison.comparison import Comparison
    from enginescope.analysis.plans.plan_view import PlanView
    from enginescope.analysis.roofline.gpu_limits import GpuLimits
    from enginescope.analysis.runs.run_view import RunView
    from enginescope.analysis.suites.suite_view import SuiteView
    from enginescope.analysis.tasks.depth_agreement import DepthBenchmark
    from enginescope.analysis.validation.validation import Validation
    from enginescope.analysis.verdicts.measured_sides import MeasuredComparison
    from enginescope.core.errors import (
        BackendError,
        DiskFullError,
        EnginescopeError,
        FormatError,
        MissingDependencyError,
        StoreError,
        UnsupportedError,
        UsageError,
    )
    from enginescope.notebook.measure import (
        bench,
        bench_interleaved,
        build,
        continue_comparison,
        depth,
        doctor,
        explain,
        export_run,
        import_artifacts,
        load,
        noise_floor,
        open_run,
        self_test,
        shapes,
        validate,
    )
    from enginescope.notebook.plan import (
        OpenedPlan,
        archive,
        explore,
        open_plan,
        passport,
        process,
        write_report,
    )
    from enginescope.notebook.verdicts import (
        compare,
        compare_plans,
        contend,
        gate,
        history,
        ladder,
        lint,
        lottery,
        open_suite,
        reproduce,
        run_suite,
        sensitivity,
        tune,
        upgrade,
    )
    from enginescope.records.plan.build import BuildReport
    from enginescope.records.run.job import (
        Conditions,
        Cooldown,
        DimSize,
        FilledInput,
        InputFile,
        InputRange,
        InputShape,
        Limits,
        Mode,
        OpenDims,
        StopRule,
        TelemetryRule,
        WarmUp,
        Workload,
    )
    from enginescope.records.run.passport import Passport
    from enginescope.records.run.sample_set import Preprocessing
    from enginescope.records.verdict.contend import ContendReport
    from enginescope.records.verdict.gate import GateReport
    from enginescope.records.verdict.history import JobHistory
    from enginescope.records.verdict.ladder import LadderReport
    from enginescope.records.verdict.load import LoadReport
    from enginescope.records.verdict.lottery import LotteryReport
    from enginescope.records.verdict.noise_floor import NoiseFloor
    from enginescope.records.verdict.reproduction import Reproduction
    from enginescope.records.verdict.self_test import SelfTest
    from enginescope.records.verdict.sensitivity import SensitivityReport
    from enginescope.records.verdict.shapes import ShapesReport
    from enginescope.records.verdict.tune import TuneReport
    from enginescope.records.verdict.upgrade import UpgradeReport
    from enginescope.render.page.report import WrittenReport
    from enginescope.rules.engine import LintReport
    from enginescope.services.explain import Explanation
    from enginescope.services.measurement.doctor import Diagnosis
    from enginescope.services.plans.archive import CreatedArchive
    from enginescope.services.plans.explore_request import Explored
    from enginescope.services.plans.process import ProcessResult
    from enginescope.services.plans.samples import samples
    from enginescope.services.suites.request import (
        DockerImage,
        PushTarget,
        RayCluster,
        SuiteObserver,
        SuiteRequest,
        ThisMachine,
    )

#: Module -> its public names.
_NAMES = {
    "analysis.plan_comparison.comparison": "Comparison",
    "analysis.plans.plan_view": "PlanView",
    "analysis.roofline.gpu_limits": "GpuLimits",
    "analysis.runs.run_view": "RunView",
    "analysis.suites.suite_view": "SuiteView",
    "analysis.tasks.depth_agreement": "DepthBenchmark",
    "analysis.validation.validation": "Validation",
    "analysis.verdicts.measured_sides": "MeasuredComparison",
    "core.errors": (
        "BackendError DiskFullError EnginescopeError FormatError MissingDependencyError "
        "StoreError UnsupportedError UsageError"
    ),
    "notebook.measure": (
        "bench bench_interleaved build continue_comparison depth doctor explain export_run "
        "import_artifacts load noise_floor open_run self_test shapes validate"
    ),
    "notebook.plan": "OpenedPlan archive explore open_plan passport process write_report",
    "notebook.verdicts": (
        "compare compare_plans contend gate history ladder lint lottery open_suite reproduce "
        "run_suite sensitivity tune upgrade"
    ),
    "records.plan.build": "BuildReport",
    "records.run.job": (
        "Conditions Cooldown DimSize FilledInput InputFile InputRange InputShape Limits Mode "
        "OpenDims StopRule TelemetryRule WarmUp Workload"
    ),
    "records.run.passport": "Passport",
    "records.run.sample_set": "Preprocessing",
    "records.verdict.contend": "ContendReport",
    "records.verdict.gate": "GateReport",
    "records.verdict.history": "JobHistory",
    "records.verdict.ladder": "LadderReport",
    "records.verdict.load": "LoadReport",
    "records.verdict.lottery": "LotteryReport",
    "records.verdict.noise_floor": "NoiseFloor",
    "records.verdict.reproduction": "Reproduction",
    "records.verdict.self_test": "SelfTest",
    "records.verdict.sensitivity": "SensitivityReport",
    "records.verdict.shapes": "ShapesReport",
    "records.verdict.tune": "TuneReport",
    "records.verdict.upgrade": "UpgradeReport",
    "render.page.report": "WrittenReport",
    "rules.engine": "LintReport",
    "services.explain": "Explanation",
    "services.measurement.doctor": "Diagnosis",
    "services.plans.archive": "CreatedArchive",
    "services.plans.explore_request": "Explored",
    "services.plans.process": "ProcessResult",
    "services.plans.samples": "samples",
    "services.suites.request": (
        "DockerImage PushTarget RayCluster SuiteObserver SuiteRequest ThisMachine"
    ),
}
#: Public name -> the module that has it.
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = [
    "BackendError",
    "BuildReport",
    "Comparison",
    "Conditions",
    "ContendReport",
    "Cooldown",
    "CreatedArchive",
    "DepthBenchmark",
    "Diagnosis",
    "DimSize",
    "DiskFullError",
    "DockerImage",
    "EnginescopeError",
    "Explanation",
    "Explored",
    "FilledInput",
    "FormatError",
    "GateReport",
    "GpuLimits",
    "InputFile",
    "InputRange",
    "InputShape",
    "JobHistory",
    "LadderReport",
    "Limits",
    "LintReport",
    "LoadReport",
    "LotteryReport",
    "MeasuredComparison",
    "MissingDependencyError",
    "Mode",
    "NoiseFloor",
    "OpenDims",
    "OpenedPlan",
    "Passport",
    "PlanView",
    "Preprocessing",
    "ProcessResult",
    "PushTarget",
    "RayCluster",
    "Reproduction",
    "RunView",
    "SelfTest",
    "SensitivityReport",
    "ShapesReport",
    "StopRule",
    "StoreError",
    "SuiteObserver",
    "SuiteRequest",
    "SuiteView",
    "TelemetryRule",
    "ThisMachine",
    "TuneReport",
    "UnsupportedError",
    "UpgradeReport",
    "UsageError",
    "Validation",
    "WarmUp",
    "Workload",
    "WrittenReport",
    "__version__",
    "archive",
    "bench",
    "bench_interleaved",
    "build",
    "compare",
    "compare_plans",
    "contend",
    "continue_comparison",
    "depth",
    "doctor",
    "explain",
    "explore",
    "export_run",
    "gate",
    "history",
    "import_artifacts",
    "ladder",
    "lint",
    "load",
    "lottery",
    "noise_floor",
    "open_plan",
    "open_run",
    "open_suite",
    "passport",
    "process",
    "reproduce",
    "run_suite",
    "samples",
    "self_test",
    "sensitivity",
    "shapes",
    "tune",
    "upgrade",
    "validate",
    "write_report",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'enginescope' has no attribute {name!r}")
    return getattr(import_module(f"enginescope.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
