import pytest

from enginescope.core.errors import UsageError
from enginescope.runner.suites.suite_plan import LIGHT, FoundModel, chosen, models_named


def touched(folder, *names: str):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"onnx")
    return folder


def names(word: str, base) -> list[str]:
    return [one.name for one in models_named(word, base, samples=base / "samples")]


def test_a_zoo_folder_names_models_by_their_folders(tmp_path) -> None:
    zoo = touched(
        tmp_path / "zoo",
        "resnet/model.onnx",
        "resnet/test_data_set_0/input_0.pb",
        "bert/fp32.onnx",
        "bert/int8.onnx",
        "top.onnx",
        "net.engine",
        "readme.md",
    )
    assert names("zoo", tmp_path) == ["fp32", "int8", "net", "resnet", "top"]
    assert names("zoo/re*", tmp_path) == ["resnet"]
    assert names("zoo/**/*.onnx", tmp_path) == ["fp32", "int8", "resnet", "top"]
    assert names(str(zoo / "resnet"), tmp_path) == ["resnet"]
    assert names("zoo/top.onnx", tmp_path) == ["top"]
    twice = touched(
        tmp_path / "twice", "a/net/model.onnx", "b/net/model.onnx", "b/other/model.onnx"
    )
    assert names(".", twice) == ["a_net", "b_net", "other"]


def test_nine_light_topologies_are_bundled(tmp_path) -> None:
    pytest.importorskip("onnx")
    found = names(LIGHT, tmp_path)
    assert len(found) == 9
    assert "light_resnet50" in found


@pytest.mark.parametrize(
    ("word", "hint"), [("onnx:ligth", LIGHT), ("missing.onnx", "pattern"), ("*.onnx", "pattern")]
)
def test_a_word_for_nothing_is_an_error(tmp_path, word, hint) -> None:
    with pytest.raises(UsageError, match="no model") as caught:
        names(word, tmp_path)
    assert hint in (caught.value.hint or "")


def test_include_and_exclude_by_part_or_pattern() -> None:
    models = [
        FoundModel(name=one, path="/") for one in ("resnet18", "resnet50", "bert", "tiny_bert")
    ]

    def left(include=(), exclude=()) -> list[str]:
        return [one.name for one in chosen(models, include, exclude)]

    assert (left(["resnet"]), left(["bert*"])) == (["resnet18", "resnet50"], ["bert"])
    assert left([], ["resnet?8", "tiny"]) == ["resnet50", "bert"]
