"""A decode loop on an engine: present outputs become the past without a copy to the host."""

from contextlib import closing
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from enginescope.backends.tensorrt.backend import TrtBackend
from enginescope.backends.tensorrt.build.profiles import NetworkInput, spans_of
from enginescope.backends.tensorrt.libraries import load
from enginescope.backends.tensorrt.run.varying_shapes import TrtDecodeSession
from enginescope.core.errors import UnsupportedError, UsageError
from enginescope.core.record import replace
from enginescope.records.run.job import DimSize, Job, Mode, Workload
from enginescope.runner.inputs.inputs import make_feeds
from enginescope.runner.model_inputs import settled_workload
from tests.backends.tensorrt import driving
from tests.backends.tensorrt.driving import (
    build,
    codes,
    job,
    listening,
    measure,
    series,
    with_engine,
)
from tests.suites.language import HEADS, WIDTH, decoder

LENGTHS = {
    "optimum": ("sequence_length", "past_sequence_length"),
    "fused": ("seq_len", "past_seq_len"),
}
TOKENS = 6


def decoding(model: Path, style: str, length: int, past: int, **more: object) -> Job:
    """Return the job of a decode loop on two rows."""
    sizes = zip(LENGTHS[style], (length, past), strict=True)
    dims = tuple(DimSize(name=name, size=size) for name, size in sizes)
    asked = driving.workload(5, batch=2, dims=dims, mode=replace(Mode(decode=TOKENS), **more))
    return job(model, workload=settled_workload([model], asked))


def greedy(model: Path, first: dict[str, np.ndarray], past: int) -> list[np.ndarray]:
    """Return the tokens of whole prompts on ONNX Runtime, the past before them included."""
    runtime = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    types = {"tensor(float)": np.float32, "tensor(int64)": np.int64}
    typed = {one.name: types[one.type] for one in runtime.get_inputs()}
    ids, chosen = first["input_ids"], []
    for _ in range(TOKENS):
        count = ids.shape[1]
        fed = {
            **first,
            "input_ids": ids,
            "attention_mask": np.ones((2, past + count)),
            "position_ids": np.tile(np.arange(past, past + count), (2, 1)),
        }
        logits = runtime.run(["logits"], {name: fed[name].astype(typed[name]) for name in typed})
        chosen.append(logits[0][:, -1].argmax(-1))
        ids = np.concatenate([ids, chosen[-1].reshape(2, 1)], axis=1)
    return chosen


@pytest.mark.parametrize("style", ["optimum", "fused"])
@pytest.mark.parametrize("past", [0, 7])
def test_the_tokens_are_those_of_whole_prompts(each, style, past, tmp_path, engines) -> None:
    model = decoder(tmp_path / "net.onnx", style)
    one = with_engine(decoding(model, style, 5, past), engines)
    backend = TrtBackend()
    backend.prepare()
    with closing(TrtDecodeSession(load(None), one)) as session:
        feeds = make_feeds(session.input_specs, one.workload)
        session.bind(feeds)
        for _ in range(2):  # the second request begins with the prompt again
            session.step()
            session.settle()
            found = np.array(session.loop.generated)
            assert (found == np.array(greedy(model, feeds.arrays, past))).all()
        shapes = {tensor.name: tensor.shape for side in session.tensors() for tensor in side}
        name = "present.0.key" if style == "optimum" else "present_0"
        assert shapes[name][-3:] == (HEADS, past + 5 + TOKENS - 1, WIDTH // HEADS)
        assert shapes["input_ids"] == (2, 5)
        pairs = 8 if style == "optimum" else 4  # two buffers of each pair of two layers
        assert session.device_memory().buffer_bytes >= (np.prod([*shapes[name], 4]) * pairs)
    assert each.device.memory.live() == ()


def test_a_run_copies_tokens_and_logits_only_and_has_times_of_tokens(
    use, tmp_path, engines
) -> None:
    fake = use()
    one = with_engine(decoding(decoder(tmp_path / "net.onnx"), "optimum", 5, 7), engines)
    with closing(TrtDecodeSession(load(None), one)) as session:
        session.bind(make_feeds(session.input_specs, one.workload))
        session.step()
        copies = listening(fake, "cudaMemcpyAsync")
        session._run(1, np.zeros(2, np.int64))
    copied = [nbytes for _, _, nbytes, _, _ in copies]
    past = 2 * HEADS * 7 * (WIDTH // HEADS) * 4  # bytes of the shortest
    assert len(copied) == 5  # ids, mask, positions; the logits of two rows
    assert max(copied) < past
    found = measure(replace(one, layer_profile=True))
    first, further, whole = (
        series(found, name) for name in ("time_to_first_token", "time_per_token", "latency")
    )
    assert len(whole) == 5
    assert np.allclose(first + (TOKENS - 1) * further, whole)
    assert (found.mode.decode, found.mode.cuda_graph) == (TOKENS, False)
    assert found.profile is None
    assert "I-DECODE" in codes(found)
    assert found.answers == ()


def test_an_engine_of_one_length_says_how_to_build_it(use, tmp_path, engines) -> None:
    use()
    one = decoding(decoder(tmp_path / "net.onnx"), "optimum", 4, 8)
    fixed = replace(one, workload=replace(one.workload, mode=Mode()))
    engine = with_engine(fixed, engines).engine
    assert engine != with_engine(one, engines).engine
    with pytest.raises(UsageError, match="shape 2x1 for input input_ids") as caught:
        measure(replace(one, engine=engine))
    assert "--max-shape" in (caught.value.hint or "")


def test_what_a_decode_loop_or_model_lacks_is_refused(use, tmp_path, perceptron, engines) -> None:
    fake = use()
    model = decoder(tmp_path / "net.onnx")
    for fields, option in (
        ({"kind": "throughput"}, "--mode throughput"),
        ({"cuda_graph": True}, "--graph on"),
        ({"transfers": False}, "--transfers off"),
        ({"cold": True}, "--cold"),
    ):
        with pytest.raises(UsageError, match=option):
            build(decoding(model, "optimum", 4, 8, **fields))
    one = job(perceptron, workload=driving.workload(batch=2, mode=Mode(decode=3)))
    with pytest.raises(UnsupportedError, match=r"no past_\* input"):
        measure(with_engine(one, engines))
    assert fake.device.memory.live() == ()


def test_a_profile_spans_the_lengths_from_the_prompt_to_the_last_token() -> None:
    inputs = [
        NetworkInput(name="input_ids", shape=(1, None)),
        NetworkInput(name="attention_mask", shape=(1, None)),
        NetworkInput(name="past_0", shape=(2, 1, 4, None, 16)),
        NetworkInput(name="temperature", shape=(1,)),
    ]
    shapes = {"input_ids": (1, 5), "attention_mask": (1, 5), "past_0": (2, 1, 4, 0, 16)}
    load = Workload(shapes=driving.shapes(**shapes), mode=Mode(decode=10))
    (found,), notices = spans_of(inputs, {}, load)
    assert notices == ()
    assert {name: (span.low, span.opt, span.high) for name, span in found.items()} == {
        "input_ids": ((1, 1), (1, 1), (1, 5)),
        "attention_mask": ((1, 5), (1, 10), (1, 14)),
        "past_0": ((2, 1, 4, 0, 16), (2, 1, 4, 9, 16), (2, 1, 4, 13, 16)),
    }
