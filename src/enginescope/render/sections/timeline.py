"""What happens when: one request, and the layers of one inference."""

from __future__ import annotations

from enginescope.render.charts.timeline import layer_timeline, request_timeline
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.sections.section import Section


def timeline(subject: PageSubject) -> Section | None:
    """One request and the layers of one inference on a scale; ``None`` without times of either."""
    run = subject.view.run
    pictures = (
        request_timeline(run.trace),
        layer_timeline(
            subject.view.layers,
            subject.row_of_layer,
            is_own=run.profile is not None and run.profile.has_own_times,
        ),
    )
    charts = tuple(picture for picture in pictures if picture is not None)
    if not charts:
        return None
    return Section(
        key="timeline",
        title="Time line",
        answer=charts[0].title,
        charts=charts,
    )
