"""The files that the recipes of docs/how-to find in their folder, made or recorded here."""

import gzip
import shutil
import sys
import tarfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import onnx
from onnx import helper

import enginescope
from enginescope.runner.inputs.sample_models import sample_models
from tests.conftest import DATA
from tests.depth_models import depth_model, scene
from tests.overflowing import overflowing

RECORDED = DATA / "trt86-h200"
PROCESSED = DATA / "trt86-h200-process"
_ONE_PROCESS = """
import gc
from tests.plants.in_process import workers_in_process
context = workers_in_process()
context.__enter__()  # it ends as soon as nothing refers to it
gc.freeze()  # else each measurement collects all modules anew
"""


def prepare(folder: Path) -> None:
    """Fill `folder` with everything that a recipe may name."""
    samples = folder / "samples"
    convnet, transformer = sample_models(samples)
    _of_small_images(convnet)
    shutil.copy(convnet, folder / "model.onnx")
    shutil.copy(convnet, folder / "new.onnx")
    _slower(convnet, folder / "old.onnx")
    for name in ("models", "base/models"):
        (folder / name).mkdir(parents=True)
        shutil.copy(convnet, folder / name / "detector.onnx")
        shutil.copy(transformer, folder / name / "encoder.onnx")
    overflowing(folder / "loud.onnx", by_constant=True)
    recorded(folder)
    _from_a_server(folder / "from-server")
    depth_model(folder / "depth.onnx")
    depth_model(folder / "depth-new.onnx", noise=0.02)
    scene(folder, folder, "street", seed=3)
    another_python(folder / "old-env" / "bin" / "python")
    shutil.rmtree(samples)


def recorded(folder: Path) -> None:
    """Write what a GPU has measured: a plan and a store of runs."""
    for name in ("resnet18.graph.json", "resnet18.profile.json"):
        shutil.copy(RECORDED / name, folder)
    with tarfile.open(DATA / "trt86-h200-runs" / "runs.tar.xz") as packed:
        packed.extractall(folder / "h200", filter="data")


def another_python(path: Path, *, site: Path | None = None) -> None:
    """Write this Python by another name, as an environment with enginescope in it.

    Its jobs measure in their own process, without warm-up, as the commands of recipes do.

    Args:
        site: Folder of further packages.
    """
    path.parent.mkdir(parents=True)
    (path.parent / "sitecustomize.py").write_text(_ONE_PROCESS, encoding="utf-8")
    source, tests = Path(enginescope.__file__).parents[1], Path(__file__).parents[2]
    places = ":".join(map(str, filter(None, (path.parent.resolve(), site, source, tests))))
    path.write_text(f'#!/bin/sh\nPYTHONPATH="{places}" exec "{sys.executable}" "$@"\n')
    path.chmod(0o755)


def _of_small_images(model: Path) -> None:
    """Give a model images of 32×32: a recipe measures it in hundreds of processes."""
    small: Any = onnx.load(model)
    for size in small.graph.input[0].type.tensor_type.shape.dim[2:]:
        size.dim_value = 32
    onnx.save(small, model)


def _slower(model: Path, path: Path) -> None:
    """Write a model that repeats each Relu eight times: the same outputs, later."""
    slow: Any = onnx.load(model)
    nodes = []
    for node in slow.graph.node:
        nodes.append(node)
        if node.op_type == "Relu":
            output = node.output[0]
            node.output[0] = f"{output}/0"
            names = [f"{output}/{at}" for at in range(8)] + [output]
            nodes += [
                helper.make_node("Abs", [before], [after], name=f"{after}/abs")
                for before, after in pairwise(names)
            ]
    del slow.graph.node[:]
    slow.graph.node.extend(nodes)
    onnx.save(slow, path)


def _from_a_server(folder: Path) -> None:
    """Unpack what trtexec left on a server: plan, profile, times, logs."""
    folder.mkdir()
    for path in PROCESSED.iterdir():
        name = path.name.replace("small_convnet.onnx.engine", "detector")
        if path.suffix == ".gz":
            (folder / name.removesuffix(".gz")).write_bytes(gzip.decompress(path.read_bytes()))
        else:
            shutil.copy(path, folder / name)
