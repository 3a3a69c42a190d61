"""What each layer of a plan computes and moves.

Bytes that each layer of a plan reads and writes: activations, weights, biases.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from typing import Any, TypeVar

from enginescope.analysis.layers.reformats import TensorRoles, is_whole_part, tensor_roles
from enginescope.analysis.roofline.matrix_product import (
    MatrixProduct,
    convolution,
    deconvolution,
    matrix_product,
    pooled_extent,
)
from enginescope.core.record import Record
from enginescope.records.plan.plan import Layer, Plan

T = TypeVar("T")


class LayerBytes(Record, frozen=True, kw_only=True, gc=False):
    """Bytes that one layer reads and writes in an iteration, without padding.

    A part is ``None`` if the size of anything in it is unknown, and 0 if it is empty. Inert layers
    launch nothing, so they read and write nothing: a constant counts with the layer that reads it.

    Attributes:
        activation_bytes: Inputs but constants, and outputs. An input that a no-op passes on
            counts at the size that goes into the no-op. Not known of a layer that launches work and
            has no tensors in the file.
        weights_bytes: Kernels it carries, and constants among its inputs at their size in the
            engine. Unknown for a layer that stands for a whole part of the network.
        bias_bytes: Biases it carries.
    """

    activation_bytes: int | None
    weights_bytes: int | None
    bias_bytes: int | None

    @property
    def footprint_bytes(self) -> int | None:
        """Activations and weights, without biases."""
        activations, weights = self.activation_bytes, self.weights_bytes
        return None if activations is None or weights is None else activations + weights

    @property
    def moved_bytes(self) -> int | None:
        """Everything: the least that crosses the memory's bus if no cache holds any of it."""
        return add_known(self.activation_bytes, self.weights_bytes, self.bias_bytes)


class LayerKinds(Record, frozen=True, kw_only=True):
    """A plan's layers by kind: layers of one kind differ in names and ONNX nodes alone.

    A large plan has few kinds: what follows from a layer without its name is computed once.

    Attributes:
        roles: Of the plan's tensors.
        examples: The first layer of each kind.
        of_layer: Number of each layer's kind, in the plan's order.
        constants_read: Names of the constants that layers read which do work.
    """

    roles: TensorRoles
    examples: tuple[Layer, ...]
    of_layer: tuple[int, ...]
    constants_read: frozenset[str]

    def spread(self, values: Iterable[T]) -> tuple[T, ...]:
        """Return a value of each kind as one of each layer."""
        return tuple(map(list(values).__getitem__, self.of_layer))


def layer_kinds(plan: Plan) -> LayerKinds:
    """Return the kinds of a plan's layers."""
    roles = tensor_roles(plan)
    constants, sources = roles.constants, roles.sources
    carried: dict[tuple[int, int], Any] = {}  # layers of a file share these objects
    number: dict[Any, int] = {}
    examples, of_layer, read = list[Layer](), list[int](), set[str]()
    for layer in plan.layers:
        own = id(layer.attributes), id(layer.weights)
        if own not in carried:
            weights = tuple((one.role, id(one.dtype), one.count) for one in layer.weights)
            carried[own] = weights, repr(layer.attributes)
        key: list[Any] = [carried[own]]
        key += (layer.type, layer.subtype, layer.tactic_name, layer.tactic_value, layer.stream)
        key.append(is_whole_part(layer))
        for tensor in layer.inputs:
            source = sources.get(tensor.name, tensor)
            nbytes = constants.get(source.name, -1)
            key += (tensor.shape, id(tensor.dtype), tensor.layout, nbytes)
            if nbytes != -1 and not layer.is_inert:
                read.add(source.name)
            if source is not tensor:
                key.append((source.shape, id(source.dtype)))
        key.append("writes")
        for tensor in layer.outputs:
            key += (tensor.shape, id(tensor.dtype), tensor.layout)
        kind = number.setdefault(tuple(key), len(number))
        if kind == len(examples):
            examples.append(layer)
        of_layer.append(kind)
    return LayerKinds(
        roles=roles,
        examples=tuple(examples),
        of_layer=tuple(of_layer),
        constants_read=frozenset(read),
    )


def layer_bytes(plan: Plan, kinds: LayerKinds | None = None) -> tuple[LayerBytes, ...]:
    """Return the bytes of every layer of `plan`, inert ones included, in the plan's order.

    A tensor is a constant if a ``Constant`` layer writes it, or if none does and the caller does
    not provide it. Where the plan does not say what the caller provides, only the former is known.

    Args:
        kinds: Of its layers, where they are known already.
    """
    kinds = kinds or layer_kinds(plan)
    return kinds.spread(_of_layer(layer, kinds.roles) for layer in kinds.examples)


def add_known(*parts: int | None) -> int | None:
    """Return the sum of `parts`, or ``None`` if any of them is not known."""
    return None if None in parts else sum(parts)  # type: ignore[arg-type]


def _of_layer(layer: Layer, roles: TensorRoles) -> LayerBytes:
    if layer.is_inert:
        return LayerBytes(activation_bytes=0, weights_bytes=0, bias_bytes=0)
    if layer.type == "unknown" and not (layer.inputs or layer.outputs):
        return LayerBytes(activation_bytes=None, weights_bytes=None, bias_bytes=None)
    activations: list[int | None] = [tensor.nbytes for tensor in layer.outputs]
    weights: list[int | None] = [None] if is_whole_part(layer) else []
    biases: list[int | None] = []
    constants = roles.constants
    for tensor in map(roles.source, layer.inputs) if roles.sources else layer.inputs:
        if tensor.name in constants:
            weights.append(constants[tensor.name])
        else:
            activations.append(tensor.nbytes)
    for carried in layer.weights:
        (biases if is_bias(carried.role) else weights).append(carried.nbytes)
    if not (layer.inputs or layer.outputs):
        activations = [None]  # it reads or writes something that the file leaves out
    return LayerBytes(
        activation_bytes=add_known(*activations),
        weights_bytes=add_known(*weights),
        bias_bytes=add_known(*biases),
    )


@lru_cache(maxsize=256)
def is_bias(role: str) -> bool:
    """Whether weights in this field are a bias."""
    return role.lower().endswith("bias")


#: Layer types that multiply two matrices.
MATRIX_TYPES = frozenset({"gemm", "Gemm", "MatMul", "MatrixMultiply"})

_MOVING = (
    "Cast Concat Concatenation CudaPooling CudaSoftMax Dequantize ElementWise Fill Gather Identity "
    "LRN MyelinReformat Normalization OneHot Padding ParametricReLU PointWise PointWiseV2 Pooling "
    "Quantize RaggedSoftMax Reduce Reformat Resize Scale Scatter Select Shape Shuffle Slice "
    "SoftMax TopK TrainStation Unary"
)
#: Layer types that multiply no matrices: what they move decides what they take.
MOVING_TYPES = frozenset(_MOVING.split())


class LayerWork(Record, frozen=True, kw_only=True, gc=False):
    """Work of one layer.

    Attributes:
        macs: Multiply-accumulates of its matrix products; ``None`` if it has none or they cannot be
            told. What is fused with them (bias, residual, activation) is not counted.
        product: Their shape, where there is a single one.
        moved_bytes: Inputs, outputs, weights and biases, each once and without padding; of a
            Gather's or Slice's input no more than it writes.
        source: Where `macs` is from.
        is_shared: Whether `macs` is this layer's part of ONNX nodes that several layers hold.
    """

    macs: int | None = None
    product: MatrixProduct | None = None
    moved_bytes: int | None = None
    source: str | None = None
    is_shared: bool = False

    @property
    def arithmetic_intensity(self) -> float | None:
        """Multiply-accumulates per byte moved."""
        return self.macs / self.moved_bytes if self.macs is not None and self.moved_bytes else None

    def compute_efficiency(self, time_ms: float | None) -> float | None:
        """Return multiply-accumulates per millisecond, if it took `time_ms`."""
        return self.macs / time_ms if self.macs is not None and time_ms else None

    def memory_efficiency(self, time_ms: float | None) -> float | None:
        """Return bytes moved per millisecond, if it took `time_ms`."""
        return self.moved_bytes / time_ms if self.moved_bytes is not None and time_ms else None


def layer_work(plan: Plan, kinds: LayerKinds | None = None) -> tuple[LayerWork, ...]:
    """Return the work of every layer of `plan`, in its order, as far as the plan alone tells.

    Args:
        kinds: Of its layers, where they are known already.
    """
    kinds, works = kinds or layer_kinds(plan), []
    for layer in kinds.examples:
        product = matrix_product_of(layer)
        moved = _moved_bytes(layer, _of_layer(layer, kinds.roles))
        work = LayerWork(
            macs=product.macs if product else None,
            product=product,
            moved_bytes=None if layer.is_inert else moved,
            source="plan" if product else None,
        )
        works.append(work)
    return kinds.spread(works)


def _moved_bytes(layer: Layer, size: LayerBytes) -> int | None:
    written = add_known(*(output.nbytes for output in layer.outputs))
    # these read a part of an input: a table's rows, a tensor's window
    if layer.type not in ("Gather", "Slice") or written is None:
        return size.moved_bytes
    read = (one.nbytes for one in layer.inputs)
    return add_known(written, *(None if one is None else min(one, written) for one in read))


def matrix_product_of(layer: Layer) -> MatrixProduct | None:
    """Return the matrix product a layer computes, or ``None``."""
    rule = _RULES.get(layer.type)
    return rule(layer) if rule and layer.outputs else None


def _windowed(layer: Layer, rule: Callable[..., MatrixProduct | None]) -> MatrixProduct | None:
    kernel = _whole_numbers(layer.attributes.get("Kernel"))
    groups = layer.attributes.get("Groups", 1)
    if not layer.inputs or kernel is None or not isinstance(groups, int):
        return None
    at = layer.attributes.get("ConvXAsActInputIdx")  # TensorRT 10 says which input is convolved
    source = layer.inputs[at if isinstance(at, int) and 0 < at < len(layer.inputs) else 0]
    return rule(source.shape, layer.outputs[0].shape, kernel, groups)


def _conv_act_pool(layer: Layer) -> MatrixProduct | None:
    """The convolution in front; what it hands to the pooling behind it is not in the plan."""
    own = layer.attributes
    kernel, groups = _whole_numbers(own.get("ConvKernel")), own.get("ConvGroups", 1)
    source = layer.inputs[0].shape if layer.inputs else None
    maps = own.get("ConvOutMaps")
    if source is None or kernel is None or not (isinstance(groups, int) and isinstance(maps, int)):
        return None
    extents = _convolved_extents(source[2:], kernel, own)
    if extents is None:
        return None
    return convolution(source, (source[0], maps, *extents), kernel, groups)


def _convolved_extents(
    before: tuple[int | None, ...], kernel: tuple[int, ...], own: Mapping[str, Any]
) -> tuple[int, ...] | None:
    rank = len(kernel)
    ones, zeros = (1,) * rank, (0,) * rank
    stride = _whole_numbers(own.get("ConvStride")) or ones
    dilation = _whole_numbers(own.get("ConvDilation")) or ones
    pre = _whole_numbers(own.get("ConvPrePadding")) or zeros
    post = _whole_numbers(own.get("ConvPostPadding")) or zeros
    if {len(before), len(stride), len(dilation), len(pre), len(post)} != {rank}:
        return None
    mode = str(own.get("ConvPaddingMode", ""))
    extents = [
        pooled_extent(dim, kernel[at], stride[at], pre[at] + post[at], dilation[at], mode)
        for at, dim in enumerate(before)
        if dim is not None
    ]
    known = tuple(extent for extent in extents if extent is not None)
    return known if len(known) == rank else None


def _matrices(layer: Layer) -> MatrixProduct | None:
    if len(layer.outputs) != 1:
        return None
    return matrix_product(tuple(one.shape for one in layer.inputs), layer.outputs[0].shape)


def _fully_connected(layer: Layer) -> MatrixProduct | None:
    """Every output is a sum over all inputs of its item."""
    kernels = [weight.count for weight in layer.weights if not is_bias(weight.role)]
    shape = layer.outputs[0].shape
    maps = layer.attributes.get("OutMaps", layer.attributes.get("NbOutputChannels"))
    elements = layer.outputs[0].elements
    if len(kernels) != 1 or not kernels[0] or not isinstance(maps, int) or maps < 1 or not shape:
        return None
    if elements is None or elements % maps or kernels[0] % maps:
        return None
    return MatrixProduct(m=elements // maps, n=maps, k=kernels[0] // maps)


_RULES: dict[str, Callable[[Layer], MatrixProduct | None]] = {
    # blocks repeat: a plan of any length convolves few shapes
    "Convolution": partial(_windowed, rule=lru_cache(maxsize=4096)(convolution)),
    "Deconvolution": partial(_windowed, rule=lru_cache(maxsize=4096)(deconvolution)),
    "ConvActPool": _conv_act_pool,
    "FullyConnected": _fully_connected,
    **dict.fromkeys(MATRIX_TYPES, _matrices),
}


def _whole_numbers(value: Any) -> tuple[int, ...] | None:
    """Positive or zero whole numbers of a list; ``None`` for anything else."""
    is_list = isinstance(value, list) and bool(value)
    return tuple(value) if is_list and all(type(one) is int and one >= 0 for one in value) else None
