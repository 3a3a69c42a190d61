import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginescope.analysis.claims.layer_claims import WholeRequest
from enginescope.analysis.runs.run_view import RunView
from enginescope.core.record import replace
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.records.environment import Device
from enginescope.records.plan.plan import Layer, Plan
from enginescope.rules.base import Found
from enginescope.rules.catalogue import RULES, LayerIgnore, LintConfig
from enginescope.rules.engine import Place, _merged, explained, lint, savings_of
from enginescope.rules.view import LintInput, LintView
from tests.analysis.gated_runs import job, process
from tests.formats import plans
from tests.rules.made import layer, plan, timed

CONV = layer("Convolution", "in INT8 1x48x8x8", "a FP32 1x5x8x8", name="conv", tactic_name="x_simt")
COPY = layer("Reformat", "a FP32 1x5x8x8", "b FP16 1x5x8x8", name="copy")
END = layer("PointWise", "b FP16 1x5x8x8", "out FP16 1x5x8x8", name="end")
MADE = plan(CONV, COPY, END, outputs="later")


def test_findings_are_sorted_by_time_at_stake_and_have_their_symptoms() -> None:
    report = lint(LintInput(plan=MADE, profile=timed(MADE, 0.25, 0.5, 0.25)))
    assert [one.code for one in report.findings] == ["PLAN104", "PLAN102", "PLAN103"]
    savings = [one.saving for one in report.findings]
    assert [saving.share_pct(saving.bound_ms) for saving in savings] == [50, 25, 0]
    assert [saving.alone_ms for saving in savings[:2]] == [0.5, 0.25]  # conv's time counts once
    assert (report.plan, report.layers, report.sum_ms) == ("made", 3, 1.0)
    assert report.saving.bound_ms == 0.75
    assert report.rules == tuple(rule.code for rule in RULES)
    report = lint(LintInput(plan=MADE))
    assert {one.code for one in report.findings if one.subject == "conv"} == {"PLAN102", "PLAN103"}
    (symptom,) = next(one for one in report.findings if one.code == "PLAN102").symptoms
    assert (symptom.code, symptom.subject, symptom.layers) == ("PLAN101", "conv", (0,))
    alone = lint(LintInput(plan=MADE), LintConfig(ignore=("PLAN102",)))
    assert "PLAN101" in {one.code for one in alone.findings}
    passed = LintConfig(layers=(LayerIgnore(pattern="conv", rules=("PLAN102",)),))
    assert "PLAN101" in {one.code for one in lint(LintInput(plan=MADE), passed).findings}


def test_without_a_known_saving_or_times_the_heavier_come_first() -> None:
    block = layer("Myelin", "out FP16 1x5x8x8", "x FP16 1x5x8x8", name="{ForeignNode[a...b]}")
    made = plan(CONV, COPY, END, block)
    report = lint(LintInput(plan=made, profile=timed(made, 0.1, 0.2, 0.1, 0.6)))
    last = report.findings[-1]
    assert (last.code, last.saving.bound_ms, last.saving.rank) == ("PLAN118", None, (2, -0.6))
    assert last.saving.share_pct(last.saving.unknown_of_ms) == pytest.approx(60)
    ranks = [finding.saving.rank for finding in report.findings]
    assert (ranks, report.groups[-1].code) == (sorted(ranks), "PLAN118")
    few = layer("Convolution", "in FP16 1x64x8x8", "a FP16 1x64x8x8", Groups=64, name="few")
    block = layer("Myelin", "a FP16 1x64x8x8", "out FP16 1x8x8x8", name="{ForeignNode[a...b]}")
    made = plan(few, block)
    report = lint(LintInput(plan=made, profile=timed(made, 0.1, 0.9)))
    assert [one.code for one in report.findings] == ["PLAN118", "PLAN101"]
    assert [one.code for one in report.groups] == ["PLAN118", "PLAN101"]
    slow = layer("Convolution", "in FP16 1x64x8x8", "z FP16 1x64x8x8", Groups=64)
    made = plan(slow, CONV, COPY, END, outputs="later")
    report = lint(LintInput(plan=made), LintConfig(ignore=("PLAN102",)))
    assert report.sum_ms is None
    assert {one.saving.bound_ms for one in report.findings} == {None}
    weights = [one.severity.weight for one in report.findings]
    assert (weights, len(set(weights))) == (sorted(weights, reverse=True), 2)


def test_suppressed_findings_are_counted_by_layer_and_subject() -> None:
    conv = layer("Convolution", "in INT8 1x16x8x8", "a FP16 1x16x8x8", name="conv")
    copy = layer("Reformat", "a FP16 1x16x8x8", "b INT8 1x16x8x8", Origin="QDQ", name="quantize")
    add = layer("Convolution", "b INT8 1x16x8x8, a FP16 1x16x8x8", "out FP16 1x16x8x8")
    given = LintInput(plan=plan(conv, copy, add))
    ignored = (LayerIgnore(pattern="quant*", rules=("PLAN106",)),)
    config = LintConfig(select=("PLAN106",), layers=ignored)
    assert lint(given, LintConfig(select=("PLAN106",))).findings[0].layers == (1, 0)
    assert (lint(given, config).findings, lint(given, config).suppressed) == ((), 1)
    ignored = (LayerIgnore(pattern="co*y", rules=("PLAN1",)),)
    config = LintConfig(select=("PLAN101", "PLAN104"), layers=ignored)
    report = lint(LintInput(plan=MADE), config)
    assert [one.code for one in report.findings] == ["PLAN101"]
    assert (report.suppressed, report.rules) == (1, ("PLAN101", "PLAN104"))


def test_a_cause_is_as_severe_as_its_worst_symptom() -> None:
    copies = [layer("Reformat", "in FP32 1x8", "a FP16 1x8", name="copy")]
    made = plan(*copies, layer("PointWise", "a FP16 1x8", "out FP16 1x8"))
    given = LintInput(plan=made, profile=timed(made, 1.0, 1.0), device=Device(name="H200"))
    (copy,) = (one for one in lint(given).findings if one.code == "PLAN104")
    assert [one.code for one in copy.symptoms] == ["TIME204"]
    assert copy.severity.value == "warning"
    report = lint(given, LintConfig(select=("PLAN104",)))
    assert ([one.severity.value for one in report.findings], report.gpu) == (["info"], "H200")


def test_a_symptom_has_the_cause_with_most_of_its_layers_and_a_layer_one_stake() -> None:
    rules = {rule.code: rule for rule in RULES}
    of_rules = (("PLAN115", (0, 1), None), ("PLAN116", (1, 2), {}), ("TIME204", (0, 1), None))
    places = [
        Place(rules[code], Found(layers=layers, message="", stakes_ms=stakes))
        for code, layers, stakes in of_rules
    ]
    assert explained(places) == {0: [2], 1: []}
    view = LintView(LintInput(plan=MADE, profile=timed(MADE, 0.25, 0.5, 0.25)))
    first, second = savings_of(places[:2], view)
    assert (first.alone_ms, first.bound_ms, second.unknown_of_ms) == (0.75, 0.75, 0.25)
    assert _merged(["8.6.1: 1,024 B", "8.6.1: 2 B"]) == "8.6.1: 2 … 1,024 B"
    view = RunView(process(1.0, of=job(cuda_graph=True), plan=MADE))
    given = LintInput.of_run(view)
    assert (given.plan, given.cuda_graph, given.fed) == (MADE, True, view.run.inputs)
    assert given.kinds is view.plan_view.kinds


def test_a_rule_of_a_plug_in_that_fails_is_an_error_of_the_plan(monkeypatch) -> None:
    failing = replace(RULES[0], code="MINE1", name="mine", check=lambda view: view.nothing)
    monkeypatch.setattr("enginescope.rules.catalogue._outside", lambda: ((failing,), {}))
    (one,) = lint(LintInput(plan=MADE), LintConfig(select=("MINE1",))).findings
    assert (one.severity.value, one.subject) == ("error", "made")
    assert one.message.startswith("was not checked: the rule failed (AttributeError: ")


def test_the_profiler_s_part_is_not_at_stake() -> None:
    whole = WholeRequest("gpu_compute", 0.997)
    given = LintInput(plan=MADE, profile=timed(MADE, 0.25, 0.5, 0.25), whole=whole)
    report = lint(given, LintConfig(select=("PLAN104",)))
    assert report.profiler_ms == pytest.approx(0.001)
    assert (report.sum_ms, report.engine_ms) == pytest.approx((0.997, 0.997))
    assert report.findings[0].saving.bound_ms == pytest.approx(0.499)
    assert report.findings[0].saving.engine_ms == pytest.approx(0.997)


@pytest.mark.parametrize(
    "raw",
    [
        plans.tensorrt_8_2(),
        plans.tensorrt_8_4(),
        plans.tensorrt_10(),
        plans.tensorrt_11(),
        plans.names_only(),
        {"Layers": []},
        {"Layers": [{"Name": "bare"}, {"Name": "t", "LayerType": "TrainStation", "Inputs": []}]},
    ],
)
def test_plans_of_every_version(raw: object) -> None:
    made = parse_plan(plans.encoded(raw), "plan.json")[0]
    report = lint(LintInput(plan=made, profile=timed(made, *(1.0,) * len(made.layers))))
    assert report.layers == len(made.layers)


KINDS = (
    *("Convolution", "Deconvolution", "ConvActPool", "gemm", "FullyConnected", "Reformat"),
    *("MyelinReformat", "Slice", "Scale", "kgen", "SoftMax", "NoOp", "Constant", "shape_call"),
)
SHAPES = ("", " 1x3x8x8", " ?x3x8x8", " 0x3", " 7", " 4x100", " 1x64x8x8 NHWC8")
TENSORS = st.builds(
    lambda name, dtype, shape: f"{name} {dtype}{shape}",
    st.sampled_from("abcd"),
    st.sampled_from(("FP32", "FP16", "INT8", "FP8", "BOOL", "unknown")),
    st.sampled_from(SHAPES),
)
OWN = {"Kernel": [3, 3], "Origin": "QDQ"}
LAYERS = st.builds(
    lambda kind, reads, writes, **more: layer(
        kind, ", ".join(reads), ", ".join(writes), **OWN, **more
    ),
    st.sampled_from(KINDS),
    st.lists(TENSORS, max_size=3),
    st.lists(TENSORS, max_size=2),
    Groups=st.sampled_from((1, 3, 0, -1, None, "2")),
    tactic_name=st.sampled_from((None, "x_simt", "gemv", "h16816cudnn", "__myl_ResTra", "softmax")),
)


@given(st.lists(LAYERS, max_size=12), st.data())
@settings(max_examples=60, deadline=None)
def test_no_plan_makes_a_rule_fail(layers: list[Layer], data: st.DataObject) -> None:
    made: Plan = plan(*layers, inputs="a", outputs="d")
    times = data.draw(st.lists(st.floats(0, 10), min_size=len(layers), max_size=len(layers)))
    profile = timed(made, *times)
    device = Device(name="H200", compute_capability="9.0", sm_count=132)
    whole_ms = data.draw(st.one_of(st.none(), st.floats(1e-3, 100)))
    whole = None if whole_ms is None else WholeRequest("gpu_compute", whole_ms)
    given = LintInput(plan=made, profile=profile, device=device, whole=whole, enqueue_ms=1.0)
    report = lint(given)
    own = LintView(given).times_ms
    for one in report.findings:
        assert one.subject
        assert all(0 <= index < len(layers) for index in one.layers)
        most = sum(own.get(index, 0.0) for index in one.layers)
        assert one.saving.bound_ms is None or 0 <= one.saving.bound_ms <= most + 1e-9
    assert (report.saving.bound_ms or 0.0) <= (report.engine_ms or 0.0) * (1 + 1e-9)
    held = [at for group in report.groups for at in group.findings]
    assert sorted(held) == list(range(len(report.findings)))
