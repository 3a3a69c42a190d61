from pathlib import Path

from enginescope.records.run.sample_set import Preprocessing, Sample, SampleFile, SampleShape
from enginescope.runner.inputs.images import height_width, picture_shape
from enginescope.services.accuracy.output_files import with_picture_shapes
from tests.depth_models import depth_model

PICTURE = Sample(name="a.png", images=(SampleFile(input=None, path="a.png"),))
HOW = Preprocessing(size=(32, 48))


def test_pictures_get_the_size_that_was_said_else_that_of_the_model(tmp_path: Path) -> None:
    net = depth_model(tmp_path / "net.onnx", size=("height", "width"))
    other = Sample(name="random 0")
    shaped, plain = with_picture_shapes((PICTURE, other), [net], HOW)
    assert shaped.shapes == (SampleShape(input="image", dims=(1, 3, 32, 48)),)
    assert plain == other
    assert with_picture_shapes((PICTURE,), [net], Preprocessing()) == (PICTURE,)
    assert with_picture_shapes((PICTURE,), [tmp_path / "a.engine"], HOW) == (PICTURE,)
    net = depth_model(tmp_path / "net.onnx")
    assert with_picture_shapes((PICTURE,), [net], HOW) == (PICTURE,)
    assert picture_shape((None, 3, None, None), (5, 7)) == (1, 3, 5, 7)
    assert picture_shape((None, None, 9, 3), (5, 7)) == (1, 5, 9, 3)
    assert picture_shape((None, None, None, None), (5, 7), "nhwc") == (1, 5, 7, 3)
    assert height_width((1, 5, 7, 3)) == (5, 7)
    assert height_width((1, 3, 5, 7)) == (5, 7)
