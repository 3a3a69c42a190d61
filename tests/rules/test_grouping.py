from __future__ import annotations

from msgspec import structs

from enginescope.rules.base import LintInput
from enginescope.rules.catalogue import LintConfig
from enginescope.rules.causes import together
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
    made = plan(*layers, inputs="t0", outputs=f"t{len(names)}")
    given = LintInput(plan=made, profile=timed(made, *(1.0,) * len(names)))
    return lint(given, LintConfig(select=("PLAN102",)))


def test_repeated_blocks_are_one_group() -> None:
    found = report("/layers.9/fc/Conv", "/layers.10/fc/Conv", "/layers.11/fc/Conv")
    (group,) = found.groups
    assert group.subject() == "each of 3 layers in layers.9 … layers.11"
    assert group.message == "has output channels 67 … 69, not a multiple of 8"
    assert group.stake_ms == sum(one.stake_ms or 0.0 for one in found.findings)
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


def test_known_and_unknown_savings_together_are_an_upper_limit() -> None:
    """A rule stood above others with its small known saving, sorted by its unknown one."""
    known, other = report("Conv_7", "Conv_8").findings
    unknown = structs.replace(other, stake_ms=None, open_ms=0.25)
    assert together([known]) == (known.stake_ms, None)
    assert together([known, other]) == (known.stake_ms + other.stake_ms, None)
    assert together([known, unknown]) == (None, known.stake_ms + 0.25)
    untimed = structs.replace(known, stake_ms=None)
    assert together([untimed]) == (None, None)
