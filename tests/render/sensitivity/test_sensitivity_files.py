import csv
import io
import json

import pytest

from enginescope.analysis.sensitivity.layer_ranking import (
    conversion_order,
    front_of,
    proposed,
    ranked,
    saved_time,
)
from enginescope.core.record import replace
from enginescope.judge.comparison.ratio import ratio_of_few_rounds
from enginescope.judge.verdict import EvidenceLevel
from enginescope.notebook.html_fragments import answer_html
from enginescope.records.verdict.sensitivity import (
    ConvertedModel,
    LayerTime,
    OutputError,
    SensitiveLayer,
    SensitivityReport,
)
from enginescope.render.base.figures import TextTable
from enginescope.render.html.images import Chart
from enginescope.render.sensitivity.sensitivity_answer import sensitivity_answer
from tests.render.outputs import outputs, phrases

sensitivity_json, _, sensitivity_page, sensitivity_csv = outputs(sensitivity_answer)
answer_text, scope_facts = phrases(sensitivity_answer)
BASE = tuple(2.0 * (1 + 0.002 * (at % 3)) for at in range(8))
#: Limit of FP16.
LIMIT = 0.01


def timed(factor: float) -> LayerTime:
    values = [factor * (1 + 0.004 * (at % 4)) * one for at, one in enumerate(BASE)]
    return saved_time(BASE[0], values[0], ratio_of_few_rounds(BASE, values), len(BASE))


def model(
    *layers: str, error: float | None, factor: float | None = None, **fields
) -> ConvertedModel:
    output = OutputError(
        output="y",
        passes=bool(error and error <= LIMIT),
        error_to_spread=error,
        max_abs_error=error,
    )
    values = {
        "outputs": (output,),
        "passes": error is not None and error <= LIMIT,
        "error": error,
        "is_finite": error is not None,
        "sample_errors": tuple(error and error * (1 + 0.01 * (at % 2)) for at in range(8)),
        "time": None if factor is None else timed(factor),
    }
    return ConvertedModel(layers=layers, **{**values, **fields})


def layer(name: str, error: float | None, factor: float | None = 0.95, **fields) -> SensitiveLayer:
    return SensitiveLayer(
        name=name,
        operators=("Conv", "Relu"),
        nodes=(name, f"{name}_relu"),
        alone=model(name, error=error, factor=factor, **fields),
    )


def report(
    layers: tuple[SensitiveLayer, ...] | None = None, factor: float | None = 0.9, **fields
) -> SensitivityReport:
    """A model of four layers of which ``loud`` is over the limit, each saving some time."""
    layers = layers or (
        layer("stem", 1e-4),
        layer("loud", 0.4),
        layer("middle", 3e-4),
        layer("head", 2e-4),
    )
    order, by_time = conversion_order(layers)
    errors = {one.name: one.alone.error or 0.0 for one in layers}
    models = [ConvertedModel(layers=(), passes=True, error=0.0, is_finite=True)]
    for size in range(1, len(order) + 1):
        time = None if factor is None else factor ** (size / len(order) * 2)
        error = sum(errors[name] for name in order[:size])
        models.append(model(*order[:size], error=error, factor=time))
    number = proposed(models, lambda _a, _b: True)
    kept = [name for name in order if number and name not in models[number].layers]
    found = SensitivityReport(
        model="net.onnx",
        backend="ort-cpu",
        to="fp16",
        by="layer",
        tolerance="fp16",
        layers=tuple(replace(one, is_kept=one.name in kept) for one in ranked(layers)),
        cumulative=tuple(models),
        order=order,
        ordered_by="error per time saved" if by_time else "error",
        front=front_of(models, lambda a, _b: a != 2),
        proposed=number,
        baseline_ms=BASE[0] if factor else None,
        use=f"ort-cpu:fp16?node_block_list={','.join(kept)}" if kept else "ort-cpu:fp16",
        exclude=tuple(kept),
        samples=8,
        random_samples=True,
        rounds=8,
        evidence=EvidenceLevel.INTERLEAVED if factor else None,
    )
    return replace(found, **fields)


EQUALS = tuple(layer(name, 2e-4, 1.1) for name in ("a", "b", "c"))


def layer_table(found: SensitivityReport) -> TextTable:
    return sensitivity_answer(found).tables[0]


def on_front(found: SensitivityReport) -> list[str]:
    return [row[0] for row in sensitivity_answer(found).tables[1].rows if row[-1]]


def error_time_chart(found: SensitivityReport) -> Chart | None:
    return sensitivity_answer(found).charts[0]


def test_the_layer_that_fails_is_named_first_and_kept() -> None:
    found = report()
    assert found.layers[0].name == "loud"
    assert found.keep == ("loud",)
    text = answer_text(found)
    assert text.startswith(
        "keep 1 of 4 layers of net.onnx in FP32: loud; the rest passes in fp16; faster"
    )
    assert "faster: 0.85" in text
    facts = dict(scope_facts(found))
    assert facts["error"].endswith("; loud alone has error ÷ spread 0.4")
    assert facts["use"] == "--on 'ort-cpu:fp16?node_block_list=loud'"
    assert facts["order"].startswith("by error per time saved")
    assert "3 of 4 (proposed)" in on_front(found)
    assert facts["evidence"] == "interleaved processes, 8 rounds"
    found = report(to="int8", use=None)
    assert "nodes_to_exclude=['loud']" in dict(scope_facts(found))["use"]


def test_harmless_layers_are_not_ranked_and_cost_time() -> None:
    found = report(EQUALS, factor=1.1)
    text = answer_text(found)
    assert text.startswith("every layer of net.onnx is harmless in fp16; fp16 costs time here: 1.2")
    assert "rank" not in layer_table(found).headers
    assert on_front(found) == ["FP32"]


def test_equals_share_a_rank_and_infinities_come_first_without_a_figure() -> None:
    found = report((*EQUALS, layer("loud", 0.4)))
    assert [one.rank for one in found.layers] == [1, 2, 2, 2]
    found = report((layer("loud", 0.4), layer("over", None)))
    assert found.layers[0].name == "over"
    assert found.layers[0].alone.error is None
    assert "NaN or infinite" in layer_table(found).rows[0]


def test_what_was_not_reached_or_measured_says_so_in_one_row() -> None:
    late = {"state": "unreached", "passes": None, "is_finite": None, "why": "no time"}
    found = report((layer("a", 0.3, None), layer("b", None, None, **late)), factor=None)
    assert found.is_harmless is False
    cells = [cell for row in layer_table(found).rows for cell in row]
    assert cells.count("not measured") == 2
    assert "not reached" in cells
    assert "not measured" in sensitivity_answer(found).tables[1].rows[0]
    assert dict(scope_facts(found))["times"] == "not measured"
    assert error_time_chart(found) is None
    assert dict(scope_facts(found))["evidence"] == "outputs only; not timed"
    assert answer_text(found).startswith("inconclusive for net.onnx: ")
    known = report((layer("a", 0.3, None), layer("b", 0.4, None)), factor=None)
    assert answer_text(known).startswith("no fp16 model of net.onnx passes: b alone has")
    layers = (layer("a", 1e-4), *(layer(name, None, None, **late) for name in "bcdef"))
    last = sensitivity_answer(report(layers)).tables[-1]
    assert last.rows == (("b, c, d and 2 more", "no time"),)


def test_models_that_were_not_reached_do_not_fail() -> None:
    late = {"state": "unreached", "passes": None, "is_finite": None}
    short = report(EQUALS, proposed=None)
    converted = tuple(model(*one.layers, error=None, **late) for one in short.cumulative[1:])
    short = replace(short, cumulative=(short.cumulative[0], *converted))
    text = answer_text(short)
    assert text.startswith("inconclusive for net.onnx: 3 of 3 fp16 models not compared; ")
    none = tuple(replace(one, alone=model(one.name, error=None, **late)) for one in EQUALS)
    nothing = replace(short, layers=none, cumulative=short.cumulative[:1])
    assert "3 of 3 fp16 models not compared; no layer is compared" in answer_text(nothing)


def test_json_csv_and_the_page_have_the_figures() -> None:
    assert json.loads(sensitivity_json(report()))["report"]["layers"][0]["rank"] == 1
    rows = list(csv.DictReader(io.StringIO(sensitivity_csv(report()).decode("utf-8-sig"))))
    assert [row["kind"] for row in rows] == ["layer"] * 4 + ["cumulative"] * 5
    assert float(rows[0]["error_to_spread"]) == pytest.approx(0.4)
    assert rows[4]["ratio"] == ""
    assert "3 of 4" in answer_html(sensitivity_answer(report()))
    page = sensitivity_page(report()).decode()
    order = ["Keep 1 of 4 layers", "chart-error_time", '<section id="cumulative"']
    assert [page.index(text) for text in order] == sorted(page.index(text) for text in order)


def test_the_picture_tells_fp32_the_proposal_and_single_layers_apart() -> None:
    many = tuple(layer(f"layer{at}", 1e-4 * (1 + at / 50)) for at in range(40))
    *_, points = error_time_chart(report((*many, layer("loud", 0.4)))).spec["layer"]
    assert points["encoding"]["color"]["scale"]["domain"] == [
        *("FP32", "layers together", "proposed: 40 of 41", "one layer alone")
    ]
    (fp32,) = [row for row in points["data"]["values"] if row["kind"] == "FP32"]
    assert (fp32["error"], fp32["time"]) == (0.0, 1.0)
    assert 0 < fp32["drawn"] < min(row["error"] for row in points["data"]["values"] if row["error"])
    assert points["encoding"]["y"]["axis"]["values"][0] == fp32["drawn"]  # the tick that says 0
