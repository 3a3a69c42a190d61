"""Pages of the reference name the outcomes, options, codes, backends and metrics that there are."""

import inspect
import re
from pathlib import Path

import msgspec
import pytest

import enginescope as es
from enginescope.analysis.tasks import classification, depth, detection, segmentation
from enginescope.analysis.verdicts.compared_figures import GATE_METRICS
from enginescope.backends.onnxruntime import options
from enginescope.backends.onnxruntime.providers import providers
from enginescope.backends.registry import BACKENDS, FAMILIES
from enginescope.cli.suites.suite import command
from enginescope.records.run.metric import METRICS
from enginescope.records.verdict.gate import FAILING, GateOutcome
from enginescope.render.verdicts.gate_answer import RULES
from enginescope.runner import assemble as notices
from enginescope.runner.machine import gpu_condition, machine_hints

DOCS = Path(__file__).resolve().parents[2] / "docs"
GATE = (DOCS / "reference" / "gate.md").read_text(encoding="utf-8")


def rows(text: str, heading: str) -> list[list[str]]:
    part = text.partition(heading)[2].partition("\n\n")[0]
    return [
        re.split(r"(?<!\\)\|", line)[1:-1] for line in part.splitlines() if line.startswith("|")
    ]


def test_outcomes_metrics_and_rules_of_gates() -> None:
    table = rows(GATE, "| outcome | fails | when |")
    told = {row[0].strip().partition(" (")[0]: row[1].strip() for row in table}
    told.pop("---", None)
    assert set(told) == {one.value for one in GateOutcome}
    assert {name for name, fails in told.items() if fails == "yes"} == {
        one.value for one in FAILING
    }
    metrics = GATE.partition("## Metrics\n")[2].partition("\n## ")[0]
    assert set(re.findall(r"`([a-z]+_?[a-z]*|p\d\d)`", metrics)) <= set(GATE_METRICS)
    for code, *_ in RULES:
        assert f"`{code}`" in GATE


FLEETS, CONTAINERS = DOCS / "reference" / "fleets.md", DOCS / "how-to" / "containers.md"


def named(file: Path) -> set[str]:
    return set(re.findall(r"(?<![\w-])(--[a-z][a-z0-9-]+)", file.read_text()))


def test_options_files_and_functions_that_are_named_exist() -> None:
    taken = {name for one in command.params for name in one.opts if name.startswith("--")}
    assert {"--on-ray", "--in-docker"} <= named(FLEETS)
    assert named(FLEETS) <= taken
    for file in (FLEETS, CONTAINERS):
        text = file.read_text()
        for path in re.findall(r"`((?:docker|\.github|src)/[\w./-]+)`", text):
            assert (DOCS.parent / path).exists(), path
    text = (DOCS / "reference" / "python.md").read_text()
    names = set(re.findall(r"\bes\.(\w+)\(", text))
    assert {"compare", "bench_interleaved", "noise_floor", "gate", "history"} <= names
    assert names <= set(es.__all__)


REFERENCE = DOCS / "reference"
MACHINE = (REFERENCE / "machine-conditions.md").read_text(encoding="utf-8")
#: Notices on conditions that are described there.
CODES = (REFERENCE / "codes.md").read_text(encoding="utf-8")


def codes_in(*modules) -> set[str]:
    return set(re.findall(r'"([HWI]-[A-Z-]+)"', "".join(map(inspect.getsource, modules))))


def codes_of(heading: str) -> set[str]:
    return set(re.findall(rf"^\| `({heading}-[A-Z-]+)` \|", MACHINE, re.MULTILINE))


def test_hints_and_notices_on_the_machine() -> None:
    assert codes_of("H") == codes_in(machine_hints)
    codes = {code for code in codes_in(notices, gpu_condition) if code.startswith("W")}
    assert codes_of("W") <= codes
    assert {code for code in codes - codes_of("W") if f"`{code}`" not in CODES} == set()


PROVIDERS = (REFERENCE / "providers.md").read_text(encoding="utf-8")


def test_backends_families_options_precisions_and_metrics_of_providers_are_listed() -> None:
    backends = [name for name in BACKENDS.built_in if name.startswith("ort-")]
    named = (
        *(f"| `{name}` |" for name in (*backends, *(f"{one}:NAME" for one in FAMILIES))),
        *(f"`{option}`" for option in (*options._OWN, *options.SESSION_OPTIONS)),
        *(f":{precision}`" for precision in providers.TENSORRT.switches),
        "| `device_latency` |",
    )
    assert [text for text in named if text not in PROVIDERS] == []
    assert "device_latency" in METRICS


TASKS = (DOCS / "reference" / "tasks.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("task", "record"),
    [
        (depth, depth.DepthOptions),
        (classification, classification.ClassificationOptions),
        (segmentation, segmentation.SegmentationOptions),
        (detection, detection.DetectionOptions),
    ],
)
def test_options_and_metrics_of_a_task(task, record) -> None:
    name = task.__name__.rpartition(".")[2]
    text = TASKS.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    named = [f"`{one.name}" for one in msgspec.structs.fields(record)]
    named += [f"`{metric.name}`" for metric in task.METRICS]
    assert [one for one in named if one not in text] == []
