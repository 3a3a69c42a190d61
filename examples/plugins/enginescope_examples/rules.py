"""Lint rules find problems in a plan: `lint`, `explore` and `explain` take them.

The entry point is a module; every function under `rule` in it is a rule. Codes and names differ
from those of other rules. This rule finds a layer that takes more than half of the time.
"""

from collections.abc import Iterator

from enginescope.rules.base import Found, Severity, rule
from enginescope.rules.view import LintView


@rule(
    "EXAMPLE1",
    "dominant-layer",
    "One layer takes more than half of the time",
    severity=Severity.INFO,
    advice="start with this layer",
)
def dominant_layer(view: LintView) -> Iterator[Found]:
    """One layer that dominates.

    What it looks for: a layer with more than half of the engine's time.

    Why it costs time: changes of other layers cannot halve the latency.

    What to do: start with this layer.

    When it is wrong: a plan of one layer.
    """
    for layer, time_ms in view.times_ms.items():
        share = view.share_pct(time_ms)
        if share is not None and share > 50:
            yield Found(layers=(layer,), message=f"takes {share:.0f} % of the engine's time")
