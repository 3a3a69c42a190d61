"""What measures, builds and validates, with its displays; explanations of codes too."""

from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.tasks.depth_agreement import DepthBenchmark
from enginescope.analysis.validation.validation import Validation
from enginescope.notebook.chart import ChartDisplay, displays
from enginescope.notebook.display import Answered, displayed, shown_as, shown_by
from enginescope.notebook.verdicts import ShownVerdicts
from enginescope.records.plan.build import BuildReport
from enginescope.records.verdict.load import LoadReport
from enginescope.records.verdict.noise import NoiseFloor, SelfTest
from enginescope.records.verdict.shapes import ShapesReport
from enginescope.render.depth.depth_answer import benchmark_title
from enginescope.services import explain as explain_service
from enginescope.services import store_access
from enginescope.services.accuracy import depth as depth_service
from enginescope.services.load import load as load_service
from enginescope.services.measurement import bench as bench_service
from enginescope.services.measurement import build as build_service
from enginescope.services.measurement import continued, interleaved
from enginescope.services.measurement import doctor as doctor_service
from enginescope.services.measurement import noise as noise_service
from enginescope.services.measurement import noise as self_test_service
from enginescope.services.plans import import_artifacts as import_artifacts_service
from enginescope.services.shapes import shapes as shapes_service
from enginescope.services.store import export_runs
from enginescope.services.validation import validate as validate_service


class ShownBuild(BuildReport, frozen=True, kw_only=True):
    """A build; in notebooks its times and sizes, plain HTML."""

    _repr_html_ = shown_by("build_html")


class ShownNoise(Answered, NoiseFloor, frozen=True, kw_only=True):
    """A noise floor; in notebooks the differences that the machine can detect, plain HTML."""

    answered_by = "verdicts.noise_answer:noise_answer"


class ShownSelfTest(Answered, SelfTest, frozen=True, kw_only=True):
    """A self-test; in notebooks the answer, the curve and the comparisons, plain HTML."""

    answered_by = "self_test.self_test_answer:self_test_answer"


class ShownLoad(Answered, LoadReport, frozen=True, kw_only=True):
    """A load test; in notebooks the answer and its figures, plain HTML."""

    answered_by = "load.load_answer:load_answer"


class ShownShapes(Answered, ShapesReport, frozen=True, kw_only=True):
    """A sweep of shapes; in notebooks the answer and its tables, plain HTML."""

    answered_by = "shapes.shapes_answer:shapes_answer"


class ShownDiagnosis(doctor_service.Diagnosis, frozen=True, kw_only=True):
    """The state of the machine; in notebooks its backends and extras, plain HTML."""

    def _summary(self) -> str:
        names = [backend.name for backend in self.backends if backend.usable]
        return f"usable backends: {', '.join(names) or 'none'}; {len(self.hints)} hints"

    _repr_html_ = shown_by("diagnosis_html")


class ShownExplanation(explain_service.Explanation, frozen=True, kw_only=True):
    """The explanation of a code; in notebooks plain HTML."""

    _repr_html_ = shown_by("explanation_html")


class ShownRun(RunView):
    """A run with its figures, and a table of them in notebooks: plain HTML."""

    @property
    def charts(self) -> dict[str, ChartDisplay]:
        """The charts of its page by their keys: ``"latency_hist"``, ``"latency_series"``, …"""
        from enginescope.render.page.page import run_charts

        return displays(run_charts(self))

    _repr_html_ = shown_by("run_html")


def _shown(view: RunView) -> ShownRun:
    return ShownRun(view.run)


class ShownValidation(Answered, Validation, frozen=True, kw_only=True):
    """Compared outputs; in notebooks the result and the figures of each output, plain HTML."""

    answered_by = "validation.validate_answer:validate_answer"


class ShownDepth(DepthBenchmark):
    """Compared depth-estimation models; in notebooks their speeds, plain HTML."""

    def _summary(self) -> str:
        return benchmark_title(self)

    _repr_html_ = shown_by("depth_html")


build = displayed(build_service.build, shown_as(ShownBuild))
doctor = displayed(doctor_service.doctor, shown_as(ShownDiagnosis))
explain = displayed(explain_service.explain, shown_as(ShownExplanation))
load = displayed(load_service.load, shown_as(ShownLoad))
noise_floor = displayed(noise_service.noise_floor, shown_as(ShownNoise))
self_test = displayed(self_test_service.self_test, shown_as(ShownSelfTest))
shapes = displayed(shapes_service.shapes, shown_as(ShownShapes))
bench = displayed(bench_service.bench, _shown)
open_run = displayed(store_access.open_run, _shown)
bench_interleaved = displayed(interleaved.bench_interleaved, shown_as(ShownVerdicts))
continue_comparison = displayed(continued.continue_comparison, shown_as(ShownVerdicts))
validate = displayed(validate_service.validate, shown_as(ShownValidation))
depth = displayed(depth_service.depth, shown_as(ShownDepth))
export_run = displayed(export_runs.export_run, tuple)
import_artifacts = displayed(
    import_artifacts_service.import_artifacts,
    lambda views: tuple(ShownRun(view.given) for view in views),
)
