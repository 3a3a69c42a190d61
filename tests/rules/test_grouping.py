from __future__ import annotations

from enginescope.analysis.claims.layer_claims import Saving, together
from enginescope.rules.base import LintInput
from enginescope.rules.catalogue import LintConfig
from enginescope.rules.engine import LintReport, lint
from tests.rules.made import layer, plan, timed


def report(*names: str, channels: int = 3) -> LintReport:
    """Misaligned convolutions with one channel more each."""
    layers = [
        layer(
            "Convolution",
            f"t{at} FP16 1x64x8x8",
            f"t{at + 1} FP16 1x{64 + channels + at}x8x8",
            name=name,
        )
        for at, name in enumerate(names)
    ]
    made = plan(*layers, inputs="in", outputs="out")
    given = LintInput(plan=made, profile=timed(made, *(1.0,) * len(names)))
    return lint(given, LintConfig(select=("PLAN102",)))


def test_repeated_blocks_are_one_group() -> None:
    found = report("/layers.9/fc/Conv", "/layers.10/fc/Conv", "/layers.11/fc/Conv")
    (group,) = found.groups
    assert group.subject() == "each of 3 layers in layers.9 … layers.11"
    assert group.message == "has output channels 67 … 69, not a multiple of 8"
    assert group.saving.bound_ms == sum(one.saving.bound_ms or 0.0 for one in found.findings)
    assert sorted(group.findings) == [0, 1, 2]


def test_other_modules_and_other_rules_are_groups_of_their_own() -> None:
    found = report("/layers.0/Conv", "/heads.0/Conv")
    assert [group.subject() for group in found.groups] == ["/layers.0/Conv", "/heads.0/Conv"]


def test_layers_without_a_module_are_grouped_by_what_is_said() -> None:
    (group,) = report("Conv_7", "Conv_8").groups
    assert group.subject() == "each of 2 layers (Conv_7 … Conv_8)"
    assert group.subject(lambda name: name[:4]) == "each of 2 layers (Conv … Conv)"


def test_the_digits_of_a_name_are_no_figures() -> None:
    found = report("features.3.conv.0.weight + QuantizeLinear_104 + Conv_108")
    (group,) = found.groups
    assert group.message == "has output channels 67, not a multiple of 8"
    assert group.subject() == found.findings[0].subject


def test_known_and_unknown_savings_of_a_rule_stand_apart() -> None:
    """A known bound was hidden in the unknown one of its row, and the rows missed the caption."""
    known = report("Conv_7", "Conv_8").findings[0].saving
    unknown = Saving(unknown_of_ms=0.25, engine_ms=known.engine_ms)
    both = together([unknown, known])
    assert (both.bound_ms, both.unknown_of_ms) == (known.bound_ms, 0.25)
    assert both.rank < unknown.rank
    assert together([known, known]).bound_ms == 2 * known.bound_ms
    assert together([Saving()]).fields() == dict.fromkeys(Saving().fields())
