"""``upgrade --search``: which release of a package made a model worse, by bisection."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Annotated

from enginescope.core.errors import UsageError
from enginescope.core.record import Record, copied, replace
from enginescope.core.temporary_folder import temporary_folder
from enginescope.judge.comparison.hodges_lehmann import rounds_needed
from enginescope.judge.comparison.looks import LOOKS
from enginescope.judge.notice import Notice
from enginescope.judge.units import counted
from enginescope.records.verdict.upgrade import (
    OUTPUTS,
    ReleaseSearch,
    UpgradeKind,
    UpgradeReport,
    UpgradeRow,
)
from enginescope.runner.jobs import subject_of, usual_backend
from enginescope.services.declared import File, Param, python_function
from enginescope.services.measurement.interleaved import paced_workload
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.measurement.rounds import interrupted_notice
from enginescope.services.store_access import made_now, place_of
from enginescope.services.upgrade import releases
from enginescope.services.upgrade.checks import Effort
from enginescope.services.upgrade.evidence import REDUCED, check_evidence_folder
from enginescope.services.upgrade.request import StacksRequest, UpgradeRequest
from enginescope.services.upgrade.upgrade import checked_upgrade, with_evidence
from enginescope.store.archive import Store

#: Largest chance that all comparisons of a search together name a wrong release.
ERROR = 0.05
#: Inconclusive comparisons that a search can afford besides those of a bisection.
_SPARE = 2
#: A comparison that is inconclusive after the usual looks is measured on.
_LOOKS = (*LOOKS, 2 * LOOKS[-1], 4 * LOOKS[-1])


class SearchRequest(Record, frozen=True, kw_only=True):
    """The releases to search, and how each is compared.

    Attributes:
        upgrade: Of one model; `old` and `new` are not used, and the evidence is that of the last
            comparison.
        span: Range of releases: ``1.19..1.32``.
        pythons: Interpreters as ``[VERSION=]PYTHON``; empty: the releases of the index.
    """

    upgrade: UpgradeRequest
    span: str
    package: str = "onnxruntime"
    pythons: tuple[str, ...] = ()


def search_upgrade(request: SearchRequest, observer: MeasurementObserver) -> ReleaseSearch:
    """Search the first release that is worse than the first of a range.

    The last release is compared with the first. Where it is worse, each release in the middle of
    what is open is compared with the first, in the metric that is worse. At the end the two
    releases on both sides of the change are compared with each other.
    """
    search = _Search(request, observer)
    try:
        search.run()
    except (KeyboardInterrupt, SystemExit) as error:
        observer.interrupted(error)
    return search.result()


class _Search:
    def __init__(self, request: SearchRequest, observer: MeasurementObserver) -> None:
        upgrade = request.upgrade
        if len(upgrade.models) != 1:
            why = f"{len(upgrade.models)} models"
            raise UsageError("`search` needs one model", why=why, hint="search one after another")
        self._request, self._observer = request, observer
        self._upgrade = replace(upgrade, workload=paced_workload(upgrade.workload))
        self._store = Store(place_of(upgrade.store))
        self._store.check_writable()
        if upgrade.evidence is not None:
            check_evidence_folder(upgrade.evidence, continues=upgrade.continues)
        span = releases.parse_span(request.span)
        if request.pythons:
            self.releases = releases.named_releases(request.pythons, request.package, span)
        else:
            self.releases = releases.indexed_releases(request.package, span)
        self._begin = perf_counter()
        self._steps: list[UpgradeReport] = []
        self._metric: str | None = None
        self._good = self._bad = 0
        self._most = 2 + math.ceil(math.log2(max(len(self.releases) - 1, 1))) + _SPARE
        chance = ERROR / (self._most * len(_LOOKS) * len(upgrade.regressions))
        most = upgrade.rounds or _LOOKS[-1]
        looks = [look for look in _LOOKS if rounds_needed(1 - chance) <= look <= most]
        self._effort = Effort(looks=tuple(looks or (most,)), confidence=1 - chance)

    def run(self) -> None:
        numbers = range(len(self.releases))
        first, last = self._usable(numbers), self._usable(numbers[::-1])
        if first is None or last is None or first >= last:
            usable = [one.version for one in self.releases if one.python and not one.failure]
            why = f"usable releases in {self._request.span}: {', '.join(usable) or 'none'}"
            raise UsageError("`search` needs two releases", why=why, hint="name a wider range")
        self._good, self._bad = first, last
        row = self._step(first, last, self._effort)
        if row.kind is not UpgradeKind.WORSE:
            return
        self._metric = row.metric
        effort = self._effort if row.metric != OUTPUTS else Effort(looks=(), confidence=1.0)
        unknown: set[int] = set()
        while len(self._steps) < self._most - 1:
            between = [at for at in range(self._good + 1, self._bad) if at not in unknown]
            if not between:
                break
            middle = between[len(between) // 2]
            if not self._is_usable(middle):
                unknown.add(middle)
                continue
            row = self._step(first, middle, effort)
            if self._observer.interruption is not None or self._left_s() == 0.0:
                return
            if row.kind is UpgradeKind.WORSE:
                self._bad = middle
            elif row.kind is UpgradeKind.INCONCLUSIVE:
                unknown.add(middle)
            else:
                self._good = middle
        evidence = self._upgrade.evidence
        with temporary_folder() as folder:
            reduced = Path(evidence or folder) / REDUCED
            effort = replace(effort, has_layers=True, reduced=reduced)
            self._step(self._good, self._bad, effort, evidence)

    def _usable(self, numbers: Sequence[int]) -> int | None:
        return next(filter(self._is_usable, numbers), None)

    def _is_usable(self, number: int) -> bool:
        folder, tell = self._store.path / "releases", self._observer.process_started
        release = releases.installed(self.releases[number], self._request.package, folder, tell)
        if release.failure is not None and self.releases[number].failure is None:
            self._observer.warn(f"skipping {release.version}: {release.failure}")
        self.releases[number] = release
        return release.failure is None

    def _left_s(self) -> float | None:
        most = self._upgrade.max_time_s
        return None if most is None else max(0.0, most - (perf_counter() - self._begin))

    def _step(
        self, good: int, bad: int, effort: Effort, evidence: File | None = None
    ) -> UpgradeRow:
        old, new = self.releases[good], self.releases[bad]
        spec, *_ = self._upgrade.backends or (usual_backend(self._upgrade.models[0]),)
        left_s = self._left_s()
        upgrade = replace(
            self._upgrade,
            old=f"{old.version}={old.python}",
            new=f"{new.version}={new.python}",
            reference=self._upgrade.reference or f"{spec}@{old.version}",
            max_time_s=left_s and max(left_s, 1e-3),
        )
        self._observer.stands(f"comparing {new.version} with {old.version}")
        if evidence is None:
            report, _ = checked_upgrade(upgrade, self._observer, effort=effort)
        else:
            report = with_evidence(upgrade, self._observer, effort)
        self._steps.append(report)
        return self.result().row(report)

    def result(self) -> ReleaseSearch:
        notices: tuple[Notice, ...] = ()
        if self._observer.interruption is not None:
            notices = (interrupted_notice(counted(len(self._steps), "comparison")),)
        ends = (self._good, self._bad) if self._metric else ()
        good, bad = (self.releases[at].version for at in ends) if ends else (None, None)
        subject = subject_of(self._upgrade.models[0])
        return ReleaseSearch(
            package=self._request.package,
            model=subject.name,
            sha256=subject.sha256,
            releases=tuple(self.releases),
            error=ERROR,
            metric=self._metric,
            steps=tuple(self._steps),
            good=good,
            bad=bad,
            **made_now(self._upgrade.command) | {"notices": notices},
        )


class _SearchedModel(StacksRequest, frozen=True):
    model: Annotated[File, Param("ONNX model.")]
    span: Annotated[str, Param('The first and the last release, as ``"1.19..1.32"``.')]


class SearchParameters(_SearchedModel, frozen=True, kw_only=True):
    """The parameters of `search_releases`."""

    on: Annotated[
        str | Sequence[str], Param("Backend of all releases.", usual="ort-cpu; trt for an engine")
    ] = ()
    package: Annotated[
        str, Param("The releases are those of the index that pip is configured for.")
    ] = "onnxruntime"
    pythons: Annotated[
        Sequence[str], Param("Search these interpreters instead, each ``[VERSION=]PYTHON``.")
    ] = ()


def _search_releases(request: SearchParameters, observer: MeasurementObserver) -> ReleaseSearch:
    """Search the release of a package that made a model slower, wrong or larger.

    Returns:
        ``result.kind``, ``result.bad``, ``result.metric``, ``result.steps``.

    Raises:
        UsageError: The range has fewer than two usable releases.
        StoreError: The store cannot be written.
    """
    upgrade = copied(UpgradeRequest, request, models=(Path(request.model),), old="")
    search = copied(SearchRequest, request, upgrade=upgrade, pythons=tuple(request.pythons))
    return search_upgrade(search, observer)


search_releases = python_function("search_releases", SearchParameters, _search_releases)
