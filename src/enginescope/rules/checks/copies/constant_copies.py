"""Constants copied at every inference.

What it looks for: layers that launch work and read constants only. Constants are outputs of
Constant layers and tensors that no layer writes. Outputs of layers that read only constants are
constants too.

Why it costs time: the result is the same at every inference, but a kernel computes it again. An
export that shares weights through Identity nodes leaves such copies in the engine. TensorRT 8.6
keeps each copy as a Reformat.

What to do: fold the constants of the ONNX model, then build again: ``polygraphy surgeon sanitize
model.onnx --fold-constants -o folded.onnx`` or ``onnxsim model.onnx folded.onnx``. To install them:
``pip install polygraphy onnx-graphsurgeon`` or ``pip install onnxsim``.

When it is wrong: the file does not list every input of a layer.
"""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.analysis.layers.reformats import tensor_roles
from enginescope.rules.base import Found, Rule, Severity
from enginescope.rules.tensor_cores import REFORMATS
from enginescope.rules.view import LintView


def constant_layers(view: LintView) -> tuple[int, ...]:
    """Return the layers whose outputs are the same at every inference."""
    plan = view.plan
    constants = set(tensor_roles(plan).constants)
    if not constants:
        return ()
    computed = []
    for layer in plan.layers:
        if layer.type == "Constant" or not layer.inputs:
            continue
        if any(tensor.name not in constants for tensor in layer.inputs):
            continue
        constants.update(tensor.name for tensor in layer.outputs)
        if not layer.is_inert:
            computed.append(layer.index)
    return tuple(computed)


def _check(view: LintView) -> Iterator[Found]:
    indices = constant_layers(view)
    if not indices:
        return
    names = [view.layers[index].name for index in indices]
    copies = sum(view.layers[index].type in REFORMATS for index in indices)
    count = len(indices)
    what = "a constant" if count == 1 else "constants"
    yield Found(
        layers=indices,
        subject=names[0] if count == 1 else f"{count:,} layers ({names[0]} … {names[-1]})",
        message=f"{'copy' if copies == count else 'compute'} {what} at every inference"
        if count > 1
        else f"{'copies' if copies else 'computes'} {what} at every inference",
        evidence={"layers": count, "copies": copies, "names": names[:3]},
    )


RULE = Rule(
    code="PLAN115",
    name="constant-copies",
    summary="Constants are copied or computed at every inference",
    severity=Severity.WARNING,
    advice="fold constants (polygraphy surgeon sanitize --fold-constants), then build again",
    doc=__doc__,
    check=_check,
    explains=("PLAN104", "PLAN105", "PLAN109", "PLAN111", "PLAN116", "TIME202", "TIME204"),
)
