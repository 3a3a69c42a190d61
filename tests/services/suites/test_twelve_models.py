import json
from pathlib import Path

import onnx
import pytest

from enginescope.cli.main import main
from enginescope.runner.inputs.sample_models import sample_models
from tests.suites.language import decoder
from tests.wheels import unpacked

pytest.importorskip("onnxruntime")
SUITE = """[suite]
models = [{models}]
backends = ["ort-cpu"]
layers = false
[timing]
iterations = 2
warmup = 1
"""


def twelve(folder: Path, shared: Path) -> list[Path]:
    light = Path(onnx.__file__).parent / "backend/test/data/light/light_squeezenet.onnx"
    return [
        *sorted(shared.glob("models/*/model.onnx")),
        *(decoder(folder / f"{style}.onnx", style) for style in ("optimum", "fused")),
        *sample_models(folder)[:2],
        light,
        *sorted(unpacked("rapidocr-onnxruntime").rglob("*_infer.onnx")),
    ]


@pytest.mark.slow
def test_twelve_models_run_out_of_the_box(tmp_path, shared, capsys) -> None:
    models = twelve(tmp_path, shared)
    assert len(models) == 12
    file = tmp_path / "twelve.toml"
    file.write_text(SUITE.format(models=", ".join(json.dumps(str(one)) for one in models)))
    assert main(["suite", str(file), "--store", str(tmp_path / "s"), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert len(rows) == 12
    assert {row["status"] for row in rows} == {"ok"}, [row.get("reason") for row in rows]
