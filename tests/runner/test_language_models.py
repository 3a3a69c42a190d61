"""Language models: what their inputs are fed, in bench, in suites and in a decode loop."""

import json

import numpy as np
import pytest

import enginescope as es
from enginescope.backends.onnxruntime.providers.opening import setup_of
from enginescope.backends.onnxruntime.providers.providers import CPU, CUDA, TENSORRT
from enginescope.backends.onnxruntime.varying_shapes import DecodeSession, check_growing
from enginescope.cli.main import main
from enginescope.core.errors import UnsupportedError, UsageError
from enginescope.formats.onnx.onnx_inputs import presents_of
from enginescope.records.run.job import DimSize, InputRange, Mode, StopRule, WarmUp, Workload
from enginescope.runner.inputs.inputs import make_feeds
from enginescope.runner.jobs import make_jobs
from enginescope.runner.model_inputs import settled_workload
from tests.suites.language import HEADS, WIDTH, WORDS, decoder

ort = pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.usefixtures("in_process")
QUICK = {"stop": StopRule(iterations=5), "warmup": WarmUp(time_ms=0, iterations=1)}
LENGTHS = {
    "optimum": ("sequence_length", "past_sequence_length"),
    "fused": ("seq_len", "past_seq_len"),
}


@pytest.mark.parametrize("style", ["optimum", "fused"])
@pytest.mark.parametrize(("past", "tokens", "batch"), [(None, None, None), (16, 4, 2), (0, 3, 1)])
def test_inputs_follow_from_their_names(style, past, tokens, batch, tmp_path) -> None:
    model = decoder(tmp_path / "net.onnx", style)
    sizes = dict(zip(LENGTHS[style], (tokens, past), strict=True))
    dims = tuple(DimSize(name=name, size=size) for name, size in sizes.items() if size is not None)
    run = es.bench(
        model, workload=Workload(batch=batch, dims=dims, **QUICK), layer_profile=False
    ).run
    shapes = {one.name: one.shape for one in run.inputs}
    rows, length, before = batch or 1, tokens or 1, past or 0
    assert shapes["input_ids"] == shapes["position_ids"] == (rows, length)
    assert shapes["attention_mask"] == (rows, before + length)
    name = "past_key_values.0.key" if style == "optimum" else "past_0"
    assert shapes[name][-3:] == (HEADS, before, WIDTH // HEADS)
    (said,) = (one.message for one in run.notices if one.code == "I-NAMED-INPUTS")
    assert f"position_ids {before}, {before + 1}, …" in said
    assert f"past of {before} tokens" in said


def test_a_file_or_a_range_of_the_user_comes_first(tmp_path) -> None:
    model = decoder(tmp_path / "net.onnx")
    found = settled_workload([model], Workload())
    assert {one.name for one in found.filled} == {"attention_mask", "position_ids"}
    assert settled_workload([model], found).filled == found.filled
    asked = Workload(ranges=(InputRange(name="attention_mask", low=0, high=1),))
    assert {one.name for one in settled_workload([model], asked).filled} == {"position_ids"}
    inputs = ["ids", "past_key_values.0.key", "past_1", "past_key_values.0.decoder.value"]
    outputs = ["logits", "present.0.key", "present_1", "present_key_values.0.decoder.value"]
    assert presents_of(inputs, outputs) == dict(zip(inputs[1:], outputs[1:], strict=True))
    assert presents_of(["past_0"], ["present_1"]) == {}


@pytest.mark.parametrize("style", ["optimum", "fused"])
def test_the_decode_loop_gives_the_tokens_of_whole_prompts(style, tmp_path) -> None:
    model = decoder(tmp_path / "net.onnx", style)
    workload = Workload(
        batch=2, dims=(DimSize(name=LENGTHS[style][0], size=5),), mode=Mode(decode=7), **QUICK
    )
    (job,) = make_jobs([model], ["ort-cpu"], workload)
    session = DecodeSession(ort, job, setup_of(ort, job, CPU, None))
    fed = make_feeds(session.input_specs, job.workload)
    session.bind(fed)
    session.step()
    session.settle()
    plain = ort.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    ids = fed.arrays["input_ids"]
    for token in session.loop.generated:
        count = ids.shape[1]
        whole = {
            **fed.arrays,
            "input_ids": ids,
            "attention_mask": np.ones((2, count), np.int64),
            "position_ids": np.tile(np.arange(count), (2, 1)),
        }
        logits = plain.run(["logits"], whole)[0]
        assert logits.shape == (2, count, WORDS)
        assert (logits[:, -1].argmax(-1) == token).all()
        ids = np.concatenate([ids, token.reshape(2, 1)], axis=1)
    assert len(session.loop.generated) == 7
    present = {one.name: one.shape for one in session.tensors()[1]}
    assert present[("present.0.key" if style == "optimum" else "present_0")][-2] == 5 + 6


def test_a_decode_loop_has_time_to_first_token_and_per_token(tmp_path) -> None:
    model = decoder(tmp_path / "net.onnx")
    work = Workload(mode=Mode(decode=9), stop=StopRule(iterations=30), warmup=QUICK["warmup"])
    view = es.bench(model, workload=work)
    first, each, whole = (
        view.run.series(name).values_ms
        for name in ("time_to_first_token", "time_per_token", "latency")
    )
    assert len(first) == 30
    assert np.allclose(first + 8 * each, whole)
    assert view.run.job.workload.mode.decode == 9
    assert view.run.profile is None
    assert "I-DECODE" in {one.code for one in view.run.notices}


def test_what_decoding_needs_is_said(tmp_path, convnet) -> None:
    work = Workload(mode=Mode(decode=4), **QUICK)
    with pytest.raises(UnsupportedError, match=r"no past_\* input"):
        es.bench(convnet, workload=work)
    with pytest.raises(UsageError, match="fake has no `decode`"):
        es.bench(convnet, on="fake", workload=work)
    with pytest.raises(UnsupportedError, match="an engine for each token") as caught:
        check_growing(TENSORRT, {})
    assert "trt_profile_max_shapes" in (caught.value.hint or "")
    check_growing(TENSORRT, {"trt_profile_max_shapes": "input_ids:1x8"})
    check_growing(CPU, {})
    check_growing(CUDA, {})


def test_a_suite_runs_language_models_out_of_the_box(tmp_path, convnet, capsys) -> None:
    for style in LENGTHS:
        decoder(tmp_path / f"{style}.onnx", style)
    (tmp_path / "conv.onnx").write_bytes(convnet.read_bytes())
    file = tmp_path / "lm.toml"
    file.write_text(
        '[suite]\nmodels = ["*.onnx"]\nmode = "both"\nlayers = false\n'
        'backends = ["ort-cpu", "ort-cpu?intra_op_num_threads=1"]\n'
        "[timing]\niterations = 5\nwarmup = 1\n[validation]\nsamples = 2\n"
        '[[model]]\nname = "loop"\npath = "optimum.onnx"\ndecode = 6\n'
        "dims = [{ sequence_length = 4, past_sequence_length = 8 }]\n"
    )
    assert main(["suite", str(file), "--store", str(tmp_path / "s"), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert len(rows) == 8
    assert {one["status"] for one in rows} == {"ok"}
    cases = {one["cell"]["model"]: one for one in rows}
    metrics = {figure["metric"] for figure in cases["loop"]["figures"]}
    assert {"time_to_first_token", "time_per_token"} <= metrics
    view = es.open_suite("lm", store=tmp_path / "s")
    (label, *_) = {row.cell.case for row in view.rows if row.cell.model == "loop"}
    assert label == "sequence_length 4 · past_sequence_length 8 · decode 6"
    assert {row.cell.case for row in view.rows if row.cell.model != "loop"} == {""}
    assert len({row.cell.key for row in view.rows}) == 8
