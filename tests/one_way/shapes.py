import enginescope as es
from enginescope.render.shapes.shapes_answer import shapes_answer
from tests.fakes import models
from tests.one_way.case import Case, stored
from tests.render.outputs import outputs

shapes_json, *_ = outputs(shapes_answer)
_SHORT = {"rounds": 3, "visits": 2, "requests": 4}


def _shapes(name: str, flags: str = "", file: str = "m.onnx", **options) -> Case:
    counts = " ".join(f"--{key} {value}" for key, value in _SHORT.items())
    return stored(
        f"shapes: {name}",
        lambda folder: models.perceptron(folder / "m.onnx"),
        f"shapes @/{file} {counts} {flags}",
        (es.shapes, f"@/{file}", {**_SHORT, **options}),
        shapes_json,
        "answer build latency_ms interval items_per_s items_interval value_ms ratio knee cliffs "
        "time opt opt_shapes notices created command comparison rounds processes changes",
    )


CASES = (
    _shapes(
        "batch sizes with weights",
        "--batch 1,2,4 --weight 1=3 --weight 4=1 --gain 5",
        batch=(1, 2, 4),
        weights={"1": 3, "4": 1},
        gain_pct=5,
    ),
    _shapes("whole shapes", "--sweep x=1x4,3x4", sweep="x=1x4,3x4"),
    _shapes("a dimension it does not have", "--sweep seq=1,2", sweep="seq=1,2"),
    _shapes("one dimension at a time", "--batch 1,2 --sweep n=1,2", batch=(1, 2), sweep="n=1,2"),
    _shapes("a backend that cannot", "--on fake", on="fake"),
    _shapes("no such model", file="n.onnx"),
)
