"""Small decoders like GPT-2: 2 layers, 64 wide, 4 heads, 256 tokens; past in, present out."""

from pathlib import Path
from typing import Any, Literal

import numpy as np
from onnx import TensorProto, helper
from onnx.numpy_helper import from_array

LAYERS, WIDTH, HEADS, WORDS, PLACES = 2, 64, 4, 256, 96
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


class _Decoder:
    """Nodes and weights as they are added.

    Args:
        style: ``optimum``: ``past_key_values.0.key``, the mask's length a sum of names. ``fused``:
            key and value in one ``past_0``, the mask's length a total of its own name.
    """

    def __init__(self, style: Literal["optimum", "fused"]) -> None:
        self.is_fused = style == "fused"
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self._random = np.random.default_rng(5)

    def weight(self, name: str, values: Any) -> str:
        self.weights.append(from_array(np.asarray(values), name))
        return name

    def add(self, kind: str, *inputs: str, out: str | None = None, **more: Any) -> str:
        made = out or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [made], name=made + "_node", **more))
        return made

    def dense(self, x: str, name: str, rows: int, columns: int) -> str:
        drawn = self._random.standard_normal((rows, columns)).astype(np.float32)
        return self.add("MatMul", x, self.weight(name, drawn / np.float32(np.sqrt(rows))))

    def norm(self, x: str, name: str) -> str:
        scale = self.weight(f"{name}.scale", np.ones(WIDTH, np.float32))
        bias = self.weight(f"{name}.bias", np.zeros(WIDTH, np.float32))
        return self.add("LayerNormalization", x, scale, bias)

    def table(self, name: str, rows: int) -> str:
        return self.weight(name, self._random.standard_normal((rows, WIDTH)).astype(np.float32))

    def heads(self, x: str) -> str:
        return self.add("Transpose", self.add("Reshape", x, "by_head"), perm=[0, 2, 1, 3])

    def attention(self, x: str, layer: int, bias: str) -> str:
        parts = [self.heads(self.dense(x, f"{layer}.{one}", WIDTH, WIDTH)) for one in "qkv"]
        query, key, value = parts
        if self.is_fused:
            past = self.add("Split", f"past_{layer}", "ones", axis=0, out=f"{layer}.past_key")
            self.nodes[-1].output.append(f"{layer}.past_value")
            before = [self.add("Squeeze", one, "zero") for one in (past, f"{layer}.past_value")]
        else:
            before = [f"past_key_values.{layer}.{one}" for one in ("key", "value")]
        names = (
            [None, None] if self.is_fused else [f"present.{layer}.{k}" for k in ("key", "value")]
        )
        key, value = (
            self.add("Concat", old, new, axis=2, out=name)
            for old, new, name in zip(before, (key, value), names, strict=True)
        )
        if self.is_fused:
            pair = [self.add("Unsqueeze", one, "zero") for one in (key, value)]
            self.add("Concat", *pair, axis=0, out=f"present_{layer}")
        scores = self.add("MatMul", query, self.add("Transpose", key, perm=[0, 1, 3, 2]))
        scores = self.add("Add", self.add("Div", scores, "root"), bias)
        mixed = self.add("MatMul", self.add("Softmax", scores, axis=-1), value)
        joined = self.add("Reshape", self.add("Transpose", mixed, perm=[0, 2, 1, 3]), "by_token")
        return self.dense(joined, f"{layer}.out", WIDTH, WIDTH)

    def bias(self) -> str:
        """Return what is added to scores: large and negative ahead of a token and where masked."""
        last = self.add("Gather", self.add("Shape", "input_ids"), "one_index")
        total = self.add("Gather", self.add("Shape", "attention_mask"), "one_index")
        shape = self.add(
            "Concat", *(self.add("Unsqueeze", x, "zero") for x in (last, total)), axis=0
        )
        one = helper.make_tensor("value", FLOAT, [1], [1.0])
        square = self.add("ConstantOfShape", shape, value=one)
        seen = self.add("Trilu", square, self.add("Sub", total, last), upper=0)
        mask = self.add("Cast", self.add("Unsqueeze", "attention_mask", "middle"), to=FLOAT)
        return self.add("Mul", self.add("Sub", self.add("Mul", seen, mask), "unit"), "large")


def decoder(path: Path, style: Literal["optimum", "fused"] = "optimum") -> Path:
    """Write a decoder: ``input_ids``, ``attention_mask``, ``position_ids``, past in; logits out."""
    made = _Decoder(style)
    for name, values in {
        "by_head": np.array([0, 0, HEADS, WIDTH // HEADS]),
        "by_token": np.array([0, 0, WIDTH]),
        "ones": np.array([1, 1]),
        "zero": np.array([0]),
        "middle": np.array([1, 2]),
        "one_index": np.array(1),
        "root": np.float32(np.sqrt(WIDTH // HEADS)),
        "unit": np.float32(1),
        "large": np.float32(1e4),
    }.items():
        made.weight(name, np.asarray(values))
    words, places = made.table("words", WORDS), made.table("places", PLACES)
    x = made.add(
        "Add", made.add("Gather", words, "input_ids"), made.add("Gather", places, "position_ids")
    )
    bias = made.bias()
    for layer in range(LAYERS):
        x = made.add("Add", x, made.attention(made.norm(x, f"{layer}.a"), layer, bias))
        wide = made.add("Relu", made.dense(made.norm(x, f"{layer}.b"), f"{layer}.up", WIDTH, 256))
        x = made.add("Add", x, made.dense(wide, f"{layer}.down", 256, WIDTH))
    made.add("MatMul", made.norm(x, "end"), made.weight("head", _head()), out="logits")
    graph = helper.make_graph(made.nodes, "decoder", *_ends(made.is_fused), made.weights)
    opsets = [helper.make_opsetid("", 17)]
    path.write_bytes(
        helper.make_model(graph, ir_version=8, opset_imports=opsets).SerializeToString()
    )
    return path


def _head() -> Any:
    return np.random.default_rng(6).standard_normal((WIDTH, WORDS), dtype=np.float32)


def _ends(is_fused: bool) -> tuple[list[Any], list[Any]]:
    seq, past = (
        ("seq_len", "past_seq_len") if is_fused else ("sequence_length", "past_sequence_length")
    )
    total = "total_seq_len" if is_fused else f"{past} + {seq}"
    batch, own = "batch_size", WIDTH // HEADS

    def info(name: str, kind: int, *dims: int | str) -> Any:
        return helper.make_tensor_value_info(name, kind, dims)

    inputs = [
        info("input_ids", INT64, batch, seq),
        info("attention_mask", INT64, batch, total),
        info("position_ids", INT64, batch, seq),
    ]
    outputs = [info("logits", FLOAT, batch, seq, WORDS)]
    for layer in range(LAYERS):
        if is_fused:
            inputs.append(info(f"past_{layer}", FLOAT, 2, batch, HEADS, past, own))
            outputs.append(info(f"present_{layer}", FLOAT, 2, batch, HEADS, total, own))
            continue
        for one in ("key", "value"):
            name = f"{layer}.{one}"
            inputs.append(info(f"past_key_values.{name}", FLOAT, batch, HEADS, past, own))
            outputs.append(info(f"present.{name}", FLOAT, batch, HEADS, total, own))
    return inputs, outputs
