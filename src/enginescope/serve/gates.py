"""Gates of a server: a verdict against a baseline as a page, as JSON, and as a badge."""

import html
import threading
from collections.abc import Hashable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from enginescope.core.errors import EnginescopeError
from enginescope.core.record import Record, replace
from enginescope.records.verdict.gate import GateReport, GateRow
from enginescope.render.verdicts.gate_answer import answer_text
from enginescope.serve.configuration import GatePart
from enginescope.serve.kept_pages import KeptRows
from enginescope.serve.kept_runs import NotHereError
from enginescope.serve.list_views import framed, packed, page, script_address
from enginescope.services.observer import PlanObserver
from enginescope.services.verdicts.gate import GateRequest, gate_runs
from enginescope.store.archive import Store
from enginescope.store.machine_records import FLOORS, SPREADS
from enginescope.store.row import Filter
from enginescope.store.run_names import changed_at
from enginescope.store.suite_folder import suite_named

#: ``unknown``: there is no verdict, and the page says why.
Level = Literal["passing", "failing", "inconclusive", "unknown"]
_LEVELS: dict[str, Level] = {
    "passed": "passing",
    "inconclusive": "inconclusive",
    "failed": "failing",
}
#: White on these has a contrast of 4.5 or more.
_COLORS: dict[Level, str] = {
    "passing": "#15803d",
    "failing": "#b91c1c",
    "inconclusive": "#9a5b00",
    "unknown": "#57606a",
}
#: How long others may show a public badge without asking again.
BADGE_S = 60


class GateResult(Record, frozen=True, kw_only=True, eq=False):
    """What a gate came to.

    Attributes:
        report: ``None``: there is no verdict, because of `error`.
        warnings: What was skipped.
        at: When it was computed, UTC.
    """

    level: Level
    report: GateReport | None
    error: EnginescopeError | None
    warnings: tuple[str, ...]
    at: str

    @property
    def text(self) -> str:
        """What it came to, or why there is no verdict, in a sentence."""
        return answer_text(self.report) if self.report else f"no verdict: {self.error}"


class _Collector(PlanObserver):
    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warn(self, text: str) -> None:
        self.warnings.append(text)


class KeptGates:
    """The gates of a configuration, each computed again once something that it reads changed."""

    def __init__(self, store: Store, rows: KeptRows, gates: Sequence[GatePart] = ()) -> None:
        self._store = store
        self._rows = rows
        self.gates = {gate.name: gate for gate in gates}
        self._results: dict[str, tuple[Hashable | None, GateResult]] = {}
        self._computing = {gate.name: threading.Lock() for gate in gates}

    @property
    def public_badges(self) -> tuple[str, ...]:
        """The paths of badges that need no token."""
        return tuple(f"/gate/{gate.name}.svg" for gate in self.gates.values() if gate.public_badge)

    def result(self, name: str) -> GateResult:
        """Return what a gate comes to; while it is computed, what it came to before."""
        if (gate := self.gates.get(name)) is None:
            raise NotHereError("this gate", why="no gate with that name")
        key, (known, result) = self._key(gate), self._results.get(name, (None, None))
        if result is not None and key is not None and key == known:
            return result
        lock = self._computing[name]
        if not lock.acquire(blocking=result is None) and result is not None:
            return result
        try:
            known, result = self._results.get(name, (None, None))
            if result is None or key is None or key != known:  # nobody else was first
                result = self._compute(gate)
                self._results[name] = (key, result)
            return result
        finally:
            lock.release()

    def results(self) -> dict[str, GateResult]:
        return {name: self.result(name) for name in self.gates}

    def _key(self, gate: GatePart) -> Hashable | None:
        """Return what differs once the result may; ``None``: that is not known."""
        home = self._store.suite_home()
        path = self._store.path
        states: list[Hashable | None] = [changed_at(path / FLOORS.file, path / SPREADS.file)]
        for name in (*gate.baseline, *gate.current):
            if (suite := suite_named(name, home)) is not None:
                states.append(suite.state())
            elif Path(name).exists():  # files that are not of the store
                return None
        state = self._store.state()
        states.append(self._rows.select(Filter()) if state is None else state)
        return None if None in states else tuple(states)

    def _compute(self, gate: GatePart) -> GateResult:
        collector = _Collector()
        request = GateRequest(
            baseline=gate.baseline, current=gate.current, terms=gate.terms, store=self._store.place
        )
        report, failure = None, None
        try:
            report = gate_runs(request, collector)
        except EnginescopeError as error:
            failure = error
        level = "unknown" if report is None else _LEVELS[report.result]
        warnings = tuple(dict.fromkeys(collector.warnings))
        at = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        return GateResult(level=level, report=report, error=failure, warnings=warnings, at=at)


def gates(request: Request) -> Response:
    all_gates: KeptGates = request.app.state.gates
    return page(request, "gates", here="gate", lines=all_gates.results().items())


def gate(request: Request) -> Response:
    """Answer with a gate: the verdict and its rows, which lead to runs; or why there is none."""
    from enginescope.render.html.answer_page import written_page
    from enginescope.render.verdicts.gate_answer import gate_answer

    all_gates: KeptGates = request.app.state.gates
    name: str = request.path_params["name"]
    result = all_gates.result(name)
    if result.report is None:
        title = f"Gate {name} has no verdict"
        return page(
            request, "failure", here="gate", title=title, error=result.error, more=result.warnings
        )
    answer = gate_answer(result.report, link=_address)
    skipped = (("skipped", text) for text in result.warnings)
    computed = ("computed", f"{result.at[:16].replace('T', ' ')} UTC")
    facts = (("gate", name), *answer.facts, *skipped, computed)
    answer = replace(answer, title=f"Gate {name}", facts=facts)
    links = tuple((f"/gate/{quote(name)}.{kind}", kind.upper()) for kind in ("json", "svg"))
    written = written_page(answer, script_address=script_address())
    return framed(request, written, links, here="gate")


def _address(row: GateRow) -> str:
    """Return where the newest runs of a row are compared; else the history of its model."""
    if row.baseline and row.current:
        return f"/compare?{urlencode({'run': (row.baseline[-1], row.current[-1])}, doseq=True)}"
    return f"/history?{urlencode({'model': row.model})}"


def gate_document(request: Request) -> Response:
    """Answer as ``enginescope gate --json`` does; 409 where there is no verdict."""
    from enginescope.render.verdicts.gate_answer import gate_json

    all_gates: KeptGates = request.app.state.gates
    result = all_gates.result(request.path_params["name"])
    if result.report is None:
        error = result.error
        assert error is not None
        return JSONResponse({"error": str(error), "hint": error.hint}, status_code=409)
    return Response(gate_json(result.report), media_type="application/json")


def badge(request: Request) -> Response:
    """Answer with a small picture of a gate's level."""
    all_gates: KeptGates = request.app.state.gates
    name: str = request.path_params["name"]
    headers = {
        "Cache-Control": f"public, max-age={BADGE_S}, must-revalidate",
        "Cross-Origin-Resource-Policy": "cross-origin",  # pages elsewhere may show it
    }
    data = badge_svg(name, all_gates.result(name).level)
    is_public = all_gates.gates[name].public_badge
    return packed(data, "image/svg+xml", headers if is_public else {}).response(request)


#: Widths of characters of Verdana's 11 px, in px; the text is fitted to their sum.
_WIDTHS = {**dict.fromkeys("fijlrt-.", 4.1), **dict.fromkeys("mwMW", 9.6)}
_USUAL_PX = 6.9
_MARGIN_PX = 7
_MOST_CHARACTERS = 40


def badge_svg(name: str, level: Level) -> bytes:
    """Return a badge: a gate's name and its level in words and color."""
    label = name if len(name) <= _MOST_CHARACTERS else f"{name[: _MOST_CHARACTERS - 1]}…"
    left, right = (round(sum(_WIDTHS.get(c, _USUAL_PX) for c in text)) for text in (label, level))
    middle, width = left + 2 * _MARGIN_PX, left + right + 4 * _MARGIN_PX
    label, title = html.escape(label), html.escape(f"{name}: {level}")
    dark = "#3b424a"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img"'
        f' aria-label="{title}"><title>{title}</title>'
        f'<rect width="{width}" height="20" rx="3" fill="{_COLORS[level]}"/>'
        f'<rect width="{middle}" height="20" rx="3" fill="{dark}"/>'
        f'<rect x="{middle - 3}" width="3" height="20" fill="{dark}"/>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f'<text x="{_MARGIN_PX}" y="14" textLength="{left}">{label}</text>'
        f'<text x="{middle + _MARGIN_PX}" y="14" textLength="{right}">{level}</text></g></svg>\n'
    ).encode()
