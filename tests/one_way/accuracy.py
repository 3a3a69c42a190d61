from pathlib import Path
from typing import Any

import numpy as np
from onnx import helper

import enginescope as es
from enginescope.analysis.validation.validation import Validation
from enginescope.records.run.job import InputRange, InputShape, StopRule, Workload
from enginescope.records.run.sample_set import Preprocessing
from enginescope.render.depth.depth_answer import depth_json
from enginescope.render.sensitivity.sensitivity_answer import sensitivity_answer
from enginescope.render.validation.validate_answer import output_diff_json
from tests.depth_models import depth_model, scene
from tests.fakes.models import WEIGHTS, save, value
from tests.one_way.case import Case, case, stored
from tests.render.outputs import outputs

sensitivity_json, *_ = outputs(sensitivity_answer)
EXACT = "ort-cpu?graph_optimization_level=disable"
TWICE = tuple(InputShape(name="x", dims=(n, 4)) for n in (1, 2))


def _models(folder: Path) -> None:
    for name, factor in (("net", 1.0), ("worse", 1.02)):
        nodes = [
            helper.make_node("MatMul", ["x", "w"], ["m"], name="product"),
            helper.make_node("Tanh", ["m"], ["y"], name="squash"),
        ]
        ends = ([value("x", ["n", 4])], [value("y", ["n", 3])])
        save(folder / f"{name}.onnx", nodes, *ends, w=np.float32(factor) * WEIGHTS)
    broken = [helper.make_node("Frobnicate", ["x"], ["y"], domain="fake.missing")]
    save(folder / "broken.onnx", broken, [value("x", ["n", 4])], [value("y", ["n", 4])])


def _files(folder: Path) -> None:
    """Write the models, a sample, right outputs, and a file that is not a sample."""
    _models(folder)
    x = np.random.default_rng(0).standard_normal((2, 4)).astype(np.float32)
    for name, values in (("data", {"x": x}), ("outputs", {"z": np.tanh(x @ WEIGHTS)})):
        (folder / name).mkdir()
        np.savez(folder / name / "0.npz", **values)
    (folder / "data" / "notes.txt").write_text("not a sample")


def _pictures(folder: Path) -> None:
    """Write a depth-estimation model, two pictures, and ground truth."""
    depth_model(folder / "net.onnx")
    for number in range(2):
        scene(folder / "images", folder / "gt", f"p{number}", number)


def _status(result: Validation) -> int:
    if any(side.failure for side in result.sides) or not result.is_complete:
        return 3
    return 0 if result.passes else 1


def _validate(name: str, prepare, models: str, flags: str = "", **options: Any) -> Case:
    files = [f"@/{model}.onnx" for model in models.split()]
    return case(
        f"validate: {name}",
        prepare,
        f"validate {' '.join(files)} {flags}",
        (es.validate, *files, options),
        output_diff_json,
        "command created latency_ms latency_interval_ms interval",
        status=_status,
    )


def _depth(name: str, flags: str, **options: Any) -> Case:
    usual = {"image": "@/images/p0.png", "output_dir": "@/out"}
    return stored(
        f"depth: {name}",
        _pictures,
        f"depth --engines @/net.onnx --image @/images/p0.png --output-dir @/out {flags}",
        (es.depth, "@/net.onnx", {**usual, **options}),
        depth_json,
        "command run latency throughput_per_s notices gpu",
    )


def _sensitivity(name: str, flags: str = "", file: str = "net.onnx", **options) -> Case:
    usual = {"samples": 3, "rounds": 3, "workload": Workload(stop=StopRule(iterations=5))}
    return stored(
        f"sensitivity: {name}",
        _models,
        f"sensitivity @/{file} --samples 3 --rounds 3 --iterations 5 {flags}",
        (es.sensitivity, f"@/{file}", {**usual, **options}),
        sensitivity_json,
        "answer time runs front kind ordered_by baseline_ms comparisons duration_s created command "
        "notices",
    )


ON_EXACT = f"--on {EXACT}"
CASES: tuple[Case, ...] = (
    _depth(
        "two backends and ground truth",
        f"--on ort-cpu {EXACT} --gt @/gt/p0.npy --iterations 5 --warmup 1 --max-depth 8 "
        "--normalise plain --image-filter bilinear",
        on=("ort-cpu", EXACT),
        gt="@/gt/p0.npy",
        iterations=5,
        warmup=1,
        max_depth=8,
        preprocessing=Preprocessing(),
    ),
    _depth(
        "a folder of pictures without ground truth",
        "--metric-images-dir @/",
        metric_images_dir="@/",
    ),
    _depth("a size that the model does not have", "--input-size 99", input_size=99),
    _validate(
        "a side that fails",
        _models,
        "net worse",
        f"{ON_EXACT} --samples 2 --batch 3 --seed 5",
        on=EXACT,
        samples=2,
        workload=Workload(batch=3, seed=5),
    ),
    _validate(
        "limits of the user's own",
        _models,
        "worse",
        "--reference @/net.onnx --rtol y:0.5 --atol 0.1 --percent-mismatch 1 --percent 2 "
        "--samples 1",
        reference="@/net.onnx",
        rtol={"y": 0.5},
        atol=0.1,
        percent_mismatch=1,
        percent=2,
        samples=1,
    ),
    _validate(
        "files, one of which is not a sample",
        _files,
        "net",
        "--data @/data --reference @/outputs --map y=z",
        data="@/data",
        reference="@/outputs",
        map={"y": "z"},
    ),
    _validate(
        "random samples in spite of files",
        _files,
        "net",
        f"{ON_EXACT} --random --samples 1 --seed 3",
        on=EXACT,
        random=True,
        samples=1,
        workload=Workload(seed=3),
    ),
    _validate(
        "a task with targets",
        _pictures,
        "net",
        "--task depth?max_depth=8 --images @/images --limit d1:1.1 --targets @/gt "
        "--image-input image",
        task="depth?max_depth=8",
        images="@/images",
        targets="@/gt",
        task_limits={"d1": 1.1},
        image_input="image",
    ),
    _validate(
        "a side that cannot be loaded",
        _models,
        "net broken",
        f"{ON_EXACT} --samples 1",
        on=EXACT,
        samples=1,
    ),
    _validate(
        "where the error starts",
        _models,
        "worse",
        "--reference @/net.onnx --samples 1 --bisect --marks 1 --extract @/report",
        reference="@/net.onnx",
        samples=1,
        bisect=True,
        marks=1,
        extract="@/report",
    ),
    _validate(
        "files without samples",
        _models,
        "net",
        f"{ON_EXACT} --samples 1 --output @/out --skip-output-save",
        on=EXACT,
        samples=1,
        output="@/out",
        skip_output_save=True,
    ),
    *(
        _validate(name, _files, "net", flags, **options)
        for name, flags, options in (
            ("nothing to compare", "", {}),
            (
                "a tolerance that has nothing left",
                f"{ON_EXACT} --tolerance fp16 --rtol 0.1",
                {"on": EXACT, "tolerance": "fp16", "rtol": 0.1},
            ),
            (
                "a tolerance nobody knows",
                f"{ON_EXACT} --tolerance fp17",
                {"on": EXACT, "tolerance": "fp17"},
            ),
            ("targets without a task", "--targets gt", {"targets": "gt"}),
            ("a limit without a task", "--limit d1:1", {"task_limits": {"d1": 1}}),
            (
                "extract without bisect",
                f"{ON_EXACT} --extract new",
                {"on": EXACT, "extract": "new"},
            ),
            ("marks without bisect", "--marks 2", {"marks": 2}),
            ("random and data", "--random --data .", {"random": True, "data": "."}),
            ("no folder to skip", "--skip-output-save", {"skip_output_save": True}),
            (
                "an input twice, with data",
                "--data . --shape x:1,4 --shape x:2,4",
                {"data": ".", "workload": Workload(shapes=TWICE)},
            ),
            (
                "a range of an unknown input",
                f"{ON_EXACT} --range z:0:9",
                {"on": EXACT, "workload": Workload(ranges=(InputRange(name="z", low=0, high=9),))},
            ),
        )
    ),
    _sensitivity("layers in fp16", "--max-error 0.1", max_error=0.1),
    _sensitivity(
        "blocks in int8 without time",
        "--to int8 --by block --max-time 1ms",
        to="int8",
        by="block",
        max_time_s=1e-3,
    ),
    _sensitivity("a backend in fp16", "--on ort-cpu:fp16", on="ort-cpu:fp16"),
    _sensitivity("a backend that has none", "--on fake", on="fake"),
    _sensitivity("no such model", file="absent.onnx"),
)
