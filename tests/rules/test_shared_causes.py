import json
import re
from functools import lru_cache
from pathlib import Path

import pytest

import enginescope as es
from enginescope.analysis.claims.layer_claims import Saving, together
from enginescope.analysis.runs.run_view import RunView
from enginescope.cli.main import main
from enginescope.formats.importing.import_assembly import run_of_engine
from enginescope.formats.importing.plan_files import PlanFiles, read_plan_files
from enginescope.render.page.markdown import report_markdown
from enginescope.render.page.page import report_page
from enginescope.render.plans.findings import first_changes, groups_data, rule_table
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.sections.first_screen import first_screen, next_steps
from enginescope.rules.base import Finding
from enginescope.rules.catalogue import LintConfig
from enginescope.rules.engine import LintReport, lint
from enginescope.rules.view import LintInput, LintView
from enginescope.services.observer import PlanObserver
from enginescope.services.plans.lint import lint_input
from enginescope.services.plans.resolve_plan import resolve_plan
from tests.formats import plans
from tests.rules.checks.test_copies import FOLDING
from tests.rules.made import layer, plan, timed
from tests.trex.examples import MOBILENET

#: Plan -> code of each cause with something at stake or asked -> layers concerned.
CAUSES = {
    "trex-examples/mobilenet.qat.onnx.engine": {
        "PLAN106": 31,  # Q/DQ that do not fuse: no Q/DQ on the residual branches
        "PLAN117": 4,  # the pooling in FP16
        "TIME205": 20,
        "PLAN101": 17,  # depthwise layers that name no tactic: asked
    },
    "trex-examples/mobilenet_v2_residuals.qat.onnx.engine": {
        "PLAN106": 1,  # the engine's input
        "PLAN117": 4,
        "TIME205": 16,
        "PLAN101": 17,
    },
    "trex-examples/resnet18-a100-fp16.engine": {"PLAN104": 2},
    "trex-examples/resnet18-a100-fp32.engine": {
        "PLAN109": 1,  # the pooling wants NHWC
        "PLAN120": 21,  # nothing in FP16
    },
    "trex-examples/resnet18-a100-qat-residual.engine": {"PLAN106": 3, "PLAN117": 3},
    "trt10-rtx3060/alexnet_fp16": {"TIME205": 5, "PLAN109": 1, "PLAN111": 1},
    "trt10-rtx3060/resnet18_fp16": {"PLAN109": 1},
    "trt86-h200/resnet18": {
        "PLAN115": 16,
        "PLAN117": 3,
        "TIME206": 41,
        "PLAN104": 1,
        "TIME205": 15,  # the log beside it names the GPU
    },
    "trt86-h200/resnet18_cudagraph": {"PLAN115": 16, "PLAN117": 3, "TIME205": 15, "PLAN104": 1},
    "trt86-h200/depth_anything_small": {"PLAN115": 23, "PLAN118": 1, "PLAN104": 2},
    "trt86-h100-trtexec/real": {
        "PLAN115": 47,
        "PLAN117": 3,
        "PLAN104": 1,
        "TIME205": 33,  # real.log names the GPU
    },
}
#: Codes of the rules that name a cause.
NAMED = frozenset(
    {
        *("PLAN106", "PLAN109", "PLAN111", "PLAN112", "PLAN113", "PLAN115", "PLAN116", "PLAN117"),
        *("PLAN118", "PLAN119", "PLAN120", "PLAN104", "TIME205", "TIME206"),
    }
)


@lru_cache
def given_of(shared: Path, name: str) -> LintInput:
    return lint_input(resolve_plan(shared / f"{name}.graph.json", observer=PlanObserver()))


@lru_cache
def report_of(shared: Path, name: str) -> LintReport:
    return lint(given_of(shared, name))


def causes(report: LintReport) -> dict[str, int]:
    layers: dict[str, set[int]] = {}
    for one in report.findings:
        if one.code in NAMED or one.is_question:
            layers.setdefault(one.code, set()).update(one.layers)
    return {code: len(some) for code, some in layers.items()}


@pytest.mark.parametrize("name", CAUSES)
def test_causes_are_found_where_they_are_and_time_is_at_stake_once(shared, name) -> None:
    report = report_of(shared, name)
    assert causes(report) == CAUSES[name]
    own = LintView(given_of(shared, name)).times_ms
    assert 0 < report.saving.bound_ms <= report.engine_ms
    assert sum(own.values()) <= report.engine_ms * (1 + 1e-9)
    for one in report.findings:
        most = sum(own.get(index, 0.0) for index in one.layers)
        assert one.saving.bound_ms is None or one.saving.bound_ms <= most + 1e-12


@pytest.mark.parametrize("name", [f"trex-examples/{MOBILENET}", "trt10-rtx3060/alexnet_fp16"])
def test_every_group_of_findings_is_a_line_of_the_terminal(shared, name, capsys) -> None:
    main(["lint", str(shared / f"{name}.graph.json")])
    lines = capsys.readouterr().out.splitlines()
    severities = re.compile(r"^[\s\d.—]*(?:PLAN|TIME)\d{3}  (?:info|warning|error)")
    printed = sum(severities.match(line) is not None for line in lines)
    assert printed == min(12, len(report_of(shared, name).groups))


def only(report: LintReport, code: str) -> Finding:
    (one,) = (it for it in report.findings if it.code == code)
    return one


def test_what_constants_and_a_cuda_graph_would_win(shared: Path) -> None:
    """They are 21 % of the layers' times with the profiler's part, and 12 % without."""
    one = only(report_of(shared, "trt86-h200/resnet18"), "PLAN115")
    assert (one.subject, one.advice) == ("16 layers (Identity_0 … Identity_15)", FOLDING)
    timings = LintView(given_of(shared, "trt86-h200/resnet18")).timings
    raw = {index: timing.raw_ms for index, timing in timings.items()}
    share = sum(raw[index] for index in one.layers) / sum(raw.values())
    assert share == pytest.approx(0.21, abs=5e-3)
    assert one.saving.share_pct(one.saving.alone_ms) == pytest.approx(12.2, abs=0.1)
    assert {it.code for it in one.symptoms} == {"PLAN116"}
    # The engine takes 0.1814 ms eager and 0.1549 ms as a graph.
    one = only(report_of(shared, "trt86-h200/resnet18"), "TIME206")
    saved_ms = len(one.layers) * one.evidence["launch_ms"]
    assert one.saving.bound_ms == one.saving.alone_ms == pytest.approx(saved_ms)
    # "at most" was 0.0246 ms, less than the graph saved
    assert saved_ms > 0.1814 - 0.1549
    assert one.message.endswith("saved 0.6 to 0.9 µs a layer")
    assert saved_ms == pytest.approx(0.0009 * len(one.layers))


def test_what_a_larger_batch_saves_is_no_time_of_one_inference(shared: Path) -> None:
    report = report_of(shared, "trt86-h200/resnet18")
    assert report.saving.item_ms == only(report, "TIME205").saving.item_ms
    others = [it.saving.bound_ms for it in report.findings if it.saving.bound_ms]
    assert report.saving.bound_ms == pytest.approx(sum(others))
    table = rule_table(report)
    rows = [dict(zip(table.headers, row, strict=True)) for row in table.rows]
    (row,) = (one for one in rows if one["code"] == "TIME205")
    assert row["ms"] == "—"
    assert row["ms per item"]


def test_every_form_begins_with_what_saves_most_by_itself(shared: Path, tmp_path) -> None:
    """The terminal named PLAN115 first, and the page TIME206, in every row of its list."""
    plans.shortened(shared.glob("trt86-h200/resnet18.*"), tmp_path)
    read = read_plan_files(PlanFiles(plan=tmp_path / "resnet18.graph.json"))
    subject = PageSubject(RunView(run_of_engine(read.facts)))
    saving = only(subject.findings, "TIME206").saving
    others = [one.saving for one in subject.findings.findings if one.saving.bound_ms is not None]
    assert saving.bound_ms == saving.alone_ms == max(one.alone_ms or 0.0 for one in others)
    changes = first_changes(subject.findings, 3)
    assert [change[-9:] for change in changes] == ["(TIME206)", "(PLAN115)", "(PLAN104)"]
    assert f": at most {saving.bound_ms:.4f} ms" in changes[0]
    assert next_steps(subject)[0] == ("next", changes[0], "")
    assert changes[0] in report_markdown([subject]).decode()
    assert [group["code"] for group in groups_data(subject.findings)][:2] == ["TIME206", "PLAN115"]
    assert changes[0] in (" ".join(report_page([subject]).decode().split()))
    codes = {one.code for found in subject.findings_of_layer.values() for one in found}
    assert "PLAN115" in codes
    assert "TIME206" not in codes
    assert not any("TIME206" in row.fix for row in first_screen(subject).rows)


def test_a_norm_that_a_slice_keeps_apart(shared: Path, tmp_path: Path) -> None:
    """A published ViT (TensorRT 10): four of its norms are read in the middle."""
    for kind, name in (("layers", "graph"), ("profile", "profile")):
        text = (shared / "field" / f"trt10_vit_int8_{kind}.json").read_bytes()
        (tmp_path / f"vit.{name}.json").write_bytes(text)
    report = es.lint(tmp_path / "vit.graph.json")
    found = [one for one in report.findings if one.code == "PLAN119"]
    assert [len(one.layers) for one in found] == [2] * 4
    assert not [one for one in report.findings if one.code == "PLAN113"]  # attention is fused


def test_a_plan_of_several_profiles_is_checked_as_a_whole(tmp_path) -> None:
    """Work of one profile's layers was paired with the layers of all."""
    document = plans.tensorrt_8_4()
    document["Layers"].append({**plans.convolution(), "Name": "conv + relu [profile 1]"})
    times = [{"name": one["Name"], "averageMs": 0.1} for one in document["Layers"]]
    (tmp_path / "net.graph.json").write_text(json.dumps(document))
    (tmp_path / "net.profile.json").write_text(json.dumps([{"count": 10}, *times]))
    found = es.lint(tmp_path / "net.graph.json", gpu="H200")
    assert "TIME204" in {one.code for one in found.findings}


def report(*names: str, channels: int = 3) -> LintReport:
    wide = [64 + channels + at for at in range(len(names))]
    layers = [
        layer("Convolution", f"t{at} FP16 1x64x8x8", f"t{at + 1} FP16 1x{out}x8x8", name=name)
        for at, (name, out) in enumerate(zip(names, wide, strict=True))
    ]
    made = plan(*layers, inputs="in", outputs="out")
    given = LintInput(plan=made, profile=timed(made, *(1.0,) * len(names)))
    return lint(given, LintConfig(select=("PLAN102",)))


def test_repeated_blocks_are_one_group() -> None:
    found = report("/layers.9/fc/Conv", "/layers.10/fc/Conv", "/layers.11/fc/Conv")
    (group,) = found.groups
    assert group.rule == "misaligned-channels"
    assert group.subject() == "each of 3 layers in layers.9 … layers.11"
    assert group.message == "has output channels 67 … 69, not a multiple of 8"
    assert group.saving.bound_ms == sum(one.saving.bound_ms or 0.0 for one in found.findings)
    assert sorted(group.findings) == [0, 1, 2]
    found = report("/layers.0/Conv", "/heads.0/Conv")
    assert [group.subject() for group in found.groups] == ["/layers.0/Conv", "/heads.0/Conv"]
    (group,) = report("Conv_7", "Conv_8").groups
    assert group.subject() == "each of 2 layers (Conv_7 … Conv_8)"
    assert group.subject(lambda name: name[:4]) == "each of 2 layers (Conv … Conv)"
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
