from __future__ import annotations

from tests.rules.made import findings, layer

WORK = layer("PointWise", "in FP16", "out FP16")
CALLS = (layer("shape_call", "", "", name="call 1"), layer("shape_call", "", "", name="call 2"))


def test_found() -> None:
    (one,) = findings("PLAN112", WORK, *CALLS, times=(0.9, 0.04, 0.06))
    assert (one.subject, one.layers) == ("call 1 … call 2", (1, 2))
    assert one.saving.bound_ms == 0.04 + 0.06
    assert round(one.evidence["share_pct"]) == 10


def test_found_without_times_where_the_gpu_waits() -> None:
    (one,) = findings("PLAN112", WORK, layer("DeviceToShapeHost", "in FP16", "s INT32", name="to"))
    assert one.subject == "to"
    assert (
        one.message == "computes 1 shape on the host between the layers, and the GPU waits for it"
    )


def test_not_found() -> None:
    assert findings("PLAN112", WORK, *CALLS, times=(1.0, 0.004, 0.004)) == ()
    assert findings("PLAN112", WORK, *CALLS, times=(1.0, 0.0, 0.0)) == ()
    assert findings("PLAN112", WORK, *CALLS) == ()
