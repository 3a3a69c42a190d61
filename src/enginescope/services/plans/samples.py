"""The samples that the package brings: models, and recordings of their engines on a GPU."""

from __future__ import annotations

import gzip
import importlib.util
from importlib.resources import files
from os import PathLike
from pathlib import Path

from enginescope.core.errors import UsageError
from enginescope.core.jsonio import write_atomic
from enginescope.runner.inputs.sample_models import SAMPLES, SLOWER_SAMPLE, sample_models
from enginescope.services.store_access import place_of
from enginescope.store.archive import Store
from enginescope.store.location import StorePlace


def samples(
    folder: str | PathLike[str] | None = None, *, store: str | PathLike[str] | None = None
) -> Path:
    """Write the bundled samples that are not there yet, and return their folder.

    ``small_convnet.onnx``, ``small_convnet_split.onnx`` with the same outputs, and
    ``small_transformer.onnx`` where the onnx package is installed;
    ``small_convnet/`` and ``resnet18/``: plans, layer times and logs of engines in FP16, recorded
    with TensorRT 8.6 on an NVIDIA H200, and the layer times of ``resnet18`` as a CUDA graph.

    Args:
        folder: By default ``samples`` in the store.
        store: By default the command line's.

    Raises:
        UsageError: The folder cannot be written.

    Examples:
        >>> es.open_plan(es.samples() / "resnet18" / "resnet18.graph.json")   # doctest: +SKIP
    """
    return write_samples(Path(folder) if folder is not None else None, place_of(store))


def write_samples(folder: Path | None, store: StorePlace | None) -> Path:
    target = folder if folder is not None else Store(store).path / "samples"
    try:
        for group in (files("enginescope.services.plans") / "recorded").iterdir():
            (target / group.name).mkdir(parents=True, exist_ok=True)
            for packed in group.iterdir():
                path = target / group.name / packed.name.removesuffix(".gz")
                if not path.exists():
                    write_atomic(path, gzip.decompress(packed.read_bytes()))
        if importlib.util.find_spec("onnx") is not None:
            sample_models(target, SAMPLES | SLOWER_SAMPLE)
    except OSError as error:
        raise UsageError(f"cannot write {target}", why=error.strerror or str(error)) from error
    return target
