"""An engine looked into and not run."""

from __future__ import annotations

from pathlib import Path

from enginescope.backends.base import Measured
from enginescope.backends.tensorrt.inspect_engine import inspect
from enginescope.backends.tensorrt.libraries import Libraries
from enginescope.backends.tensorrt.run.session import TrtSession
from enginescope.records.notice import Notice
from enginescope.records.run.job import Job


def inspected(libraries: Libraries, job: Job) -> Measured:
    """Return the plan of an engine, its tensors and its GPU.

    What is dynamic in its inputs is set to the optimum of the optimisation profile: other shapes
    follow from these, and without them the inspector tells none.

    Raises:
        UnsupportedError: It cannot be loaded here.
    """
    session = TrtSession(libraries, job)
    try:
        fixed = _fix_shapes(session)
        name = Path(job.subject.path or job.subject.name).stem
        text, plan, notices = inspect(libraries, session.engine, session.contexts[0], name)
        return Measured(
            plan=plan,
            devices=(session.device,),
            device_memory=session.device_memory(),
            files={f"{name}.graph.json": text} if text else {},
            notices=(*notices, *fixed, *session.notices()),
        )
    finally:
        session.close()


def _fix_shapes(session: TrtSession) -> tuple[Notice, ...]:
    shapes = {
        one.name: one.default_shape
        for one in session.input_specs
        if one.default_shape is not None
        and session.contexts[0].set_input_shape(one.name, one.default_shape)
    }
    if not shapes:
        return ()
    told = ", ".join(f"{name} {'x'.join(map(str, dims))}" for name, dims in shapes.items())
    return (
        Notice(
            code="I-OPTIMUM-SHAPES",
            message=f"shapes are those of the profile's optimum: {told}",
            evidence={name: list(dims) for name, dims in shapes.items()},
            level="info",
        ),
    )
