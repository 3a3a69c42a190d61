import pytest

from enginescope.analysis.upgrade import reproduced
from enginescope.core.record import replace
from enginescope.judge.verdict import Reason, Verdict, VerdictKind
from enginescope.records.verdict import upgrade

SAFE, WORSE, BETTER, OPEN = (
    upgrade.UpgradeKind[name] for name in ("SAFE", "WORSE", "BETTER", "INCONCLUSIVE")
)


def row(
    kind: upgrade.UpgradeKind, metric: str = "latency", *, decides: bool = True
) -> upgrade.UpgradeRow:
    return upgrade.UpgradeRow(metric=metric, kind=kind, reason="exact", decides=decides)


def report(*rows: upgrade.UpgradeRow, **versions: str) -> upgrade.UpgradeReport:
    model = upgrade.UpgradedModel(model="net", backend="ort-cpu", rows=rows)
    old = upgrade.Stack(name="a", python="/a", versions={"numpy": "2"})
    new = replace(old, name="b", versions=versions)
    return upgrade.UpgradeReport(old=old, new=new, models=(model,))


AGREEMENTS = {
    upgrade.Agreement.SAME: [(SAFE, SAFE)],
    upgrade.Agreement.DIFFERENT: [(SAFE, WORSE), (BETTER, SAFE)],
    upgrade.Agreement.INCONCLUSIVE: [(OPEN, SAFE), (OPEN, OPEN), (None, WORSE)],
}


@pytest.mark.parametrize("agreement", AGREEMENTS)
def test_agreement(agreement) -> None:
    for kinds in AGREEMENTS[agreement]:
        rows = [None if kind is None else row(kind) for kind in kinds]
        assert reproduced.agreement_of(*rows) is agreement, kinds


def test_a_verdict_on_the_same_figures_is_the_same() -> None:
    figures = Verdict(
        metric="latency", kind=VerdictKind.INCONCLUSIVE, reason=Reason.ONE_VALUE, a=1.0
    )
    inconclusive = replace(row(OPEN), verdict=figures)
    assert reproduced.agreement_of(inconclusive, inconclusive) is upgrade.Agreement.SAME
    other = replace(inconclusive, verdict=replace(figures, a=1.1))
    assert reproduced.agreement_of(inconclusive, other) is upgrade.Agreement.INCONCLUSIVE


@pytest.mark.parametrize(
    ("recorded", "again", "is_reproduced"),
    [
        ((row(SAFE),), (row(SAFE),), True),
        ((row(SAFE),), (row(WORSE),), False),
        ((row(OPEN),), (row(OPEN),), None),
        ((row(SAFE), row(SAFE, "load", decides=False)), (row(OPEN), row(WORSE, "load")), False),
        (
            (row(SAFE), row(SAFE, "load", decides=False)),
            (row(SAFE), row(WORSE, "load", decides=False)),
            True,
        ),
    ],
)
def test_what_counts(recorded, again, is_reproduced) -> None:
    reports = report(*recorded), report(*again)
    package = {"folder": "d", "files": 1, "size_bytes": 1, "sha256": "ab", "enginescope": "0.1"}
    models = reproduced.reproduced_models(*reports)
    result = upgrade.Reproduction(**package, recorded=reports[0], again=reports[1], models=models)
    assert result.is_reproduced is is_reproduced


def test_versions_that_changed_by_stack() -> None:
    before, after = report(ort="1", cpu="x"), report(ort="2", gpu0="H100")
    told = [
        (one.stack, one.name, one.recorded, one.again)
        for one in reproduced.environment_changes(before, after)
    ]
    assert told == [("b", "cpu", "x", None), ("b", "gpu0", None, "H100"), ("b", "ort", "1", "2")]
