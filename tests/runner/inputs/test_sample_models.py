import hashlib

import onnx
import onnxruntime

from enginescope.runner.inputs.sample_models import SAMPLES, sample_models


def test_bundled_models_are_deterministic_valid_and_written_once(tmp_path) -> None:
    first = sample_models(tmp_path / "one")
    second = sample_models(tmp_path / "two")
    for a, b in zip(first, second, strict=True):
        digests = {hashlib.sha256(path.read_bytes()).hexdigest() for path in (a, b)}
        assert len(digests) == 1
    (first, _) = sample_models(tmp_path)
    stamp = first.stat().st_mtime_ns
    sample_models(tmp_path)
    assert first.stat().st_mtime_ns == stamp
    for path in sample_models(tmp_path):
        onnx.checker.check_model(str(path), full_check=True)
        onnxruntime.InferenceSession(str(path))
    assert len(SAMPLES) == 2
