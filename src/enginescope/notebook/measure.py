"""Builds, noise floors and the state of the machine with their displays."""

from __future__ import annotations

from enginescope.notebook.display import displayed, shown_as
from enginescope.records.plan.build import BuildReport
from enginescope.records.verdict.noise_floor import NoiseFloor
from enginescope.services.measurement import build as build_service
from enginescope.services.measurement import doctor as doctor_service
from enginescope.services.measurement import noise as noise_service


class ShownBuild(BuildReport, frozen=True, kw_only=True):
    """A build; in notebooks its times and sizes, plain HTML."""

    def _repr_html_(self) -> str:
        from enginescope.notebook.html.measure import build_html

        return build_html(self)


class ShownNoise(NoiseFloor, frozen=True, kw_only=True):
    """A noise floor; in notebooks the differences that the machine can detect, plain HTML."""

    def _summary(self) -> str:
        from enginescope.render.verdicts.noise_text import noise_answer

        return f"{self.model} on {self.backend}: {noise_answer(self)}"

    def _repr_html_(self) -> str:
        from enginescope.notebook.html.measure import noise_html

        return noise_html(self)


class ShownDiagnosis(doctor_service.Diagnosis, frozen=True, kw_only=True):
    """The state of the machine; in notebooks its backends and extras, plain HTML."""

    def _summary(self) -> str:
        names = [backend.name for backend in self.backends if backend.usable]
        return f"usable backends: {', '.join(names) or 'none'}; {len(self.hints)} hints"

    def _repr_html_(self) -> str:
        from enginescope.notebook.html.measure import diagnosis_html

        return diagnosis_html(self)


build = displayed(build_service.build, shown_as(ShownBuild))
doctor = displayed(doctor_service.doctor, shown_as(ShownDiagnosis))
noise_floor = displayed(noise_service.noise_floor, shown_as(ShownNoise))
