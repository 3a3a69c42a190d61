"""Suite files: what they say, and what is wrong with them."""

import json

import pytest

from enginescope.core.errors import EnginescopeError, FormatError
from enginescope.core.toml import parse_toml
from enginescope.formats.suites.suite_file import read_suite_file
from enginescope.services.suites.request import SuiteRequest, example, resolve_suite
from enginescope.store.archive import Store

TEXT = """
[suite]
name = "nightly"
models = ["zoo/*.onnx"]
backends = ["ort-cpu", "trt:fp16"]
batches = [1, 8]
[timing]
warmup = "100ms"
[validation]
rtol = 1e-3
[[model]]
path = "bert/model.onnx"
shapes = [{ ids = "1x128" }, { ids = [1, 512] }]
ranges = { ids = [0, 30521] }
"""


def written(tmp_path, text: str, name: str = "suite.toml"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_tables_become_records(tmp_path) -> None:
    file = read_suite_file(written(tmp_path, TEXT))
    assert (file.suite.backends, file.suite.batches) == (("ort-cpu", "trt:fp16"), (1, 8))
    assert file.suite.mode is None  # not said is not the default: the command line may say it
    assert (file.timing.warmup, file.validation.rtol) == ("100ms", 1e-3)
    assert file.model[0].shapes == ({"ids": "1x128"}, {"ids": (1, 512)})
    assert file.model[0].ranges == {"ids": (0, 30521)}


def test_yaml_says_the_same(tmp_path) -> None:
    path = written(tmp_path, pytest.importorskip("yaml").safe_dump(parse_toml(TEXT)), "suite.yaml")
    assert read_suite_file(path) == read_suite_file(written(tmp_path, TEXT))


@pytest.mark.parametrize(
    ("text", "where", "hint"),
    [
        ('[suite]\nbackend = ["ort-cpu"]', "suite", "backends"),
        ("[timing]\nmax_tim = '1s'", "timing", "max_time"),
        ("[[model]]\npath = 'a.onnx'\n[[model]]\npaht = 'b.onnx'", "model[1]", "path"),
        ("[suites]", "", "suite"),
    ],
)
def test_unknown_keys_are_errors_with_a_suggestion(tmp_path, text, where, hint) -> None:
    with pytest.raises(FormatError) as caught:
        read_suite_file(written(tmp_path, text))
    assert where in caught.value.what
    assert caught.value.hint == f"did you mean {hint}?"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[suite]\nretries = 'two'", "suite.retries"),
        ("[suite]\nmode = 'benchmarks'", "suite.mode"),
        ("[[model]]\nname = 'x'", "model[0]"),
        ("[suite\n", "TOML"),
        ("suite = 3", "suite"),
        ("[suite]\nbatches = [1, 0]", "suite.batches[1]"),
        ("[suite]\nseed = -1", "suite.seed"),
        ("[timing]\niterations = 0", "timing.iterations"),
        ("[timing]\nmin_samples = 1", "timing.min_samples"),
        ("[timing]\nprecision = nan", "timing.precision"),
        ("[timing]\nwarmup = -3", "timing.warmup"),
        ("[environments]\nold = 3", "environments.old"),
        ("[environments]\nold = ' '", "environments.old: it names no Python"),
        ("environments = 3", "environments"),
        ("[validation]\nsamples = 0", "validation.samples"),
        ("[validation]\nrtol = -1.0", "validation.rtol"),
        ("[validation]\npercent_mismatch = 101", "validation.percent_mismatch"),
    ],
)
def test_what_is_not_of_its_type_or_out_of_its_bounds_is_named(tmp_path, text, said) -> None:
    with pytest.raises(FormatError, match=r"suite\.toml") as caught:
        read_suite_file(written(tmp_path, text))
    assert said in str(caught.value)


def test_model_list_of_the_older_scripts(tmp_path) -> None:
    row = {"model_name": "resnet50", "working_directory": "resnet50"}
    row |= {"model_path": "./model.onnx", "test_data_path": "./"}

    def models(row: dict[str, str]) -> list[tuple[str | None, ...]]:
        rows = json.dumps([{"root_working_directory": "/zoo"}, row])
        file = read_suite_file(written(tmp_path, rows, "model_list.json"))
        return [(one.name, one.path, one.data) for one in file.model]

    plain = ("resnet50", "/zoo/resnet50/model.onnx", "/zoo/resnet50")
    assert models(row) == [plain]
    with pytest.raises(FormatError, match="model_path"):
        read_suite_file(written(tmp_path, '[{"model_name": "x"}]', "model_list.json"))
    row |= {"model_path_fp16": "half.onnx", "test_data_path_fp16": "half_data"}
    half = ("resnet50_fp16", "/zoo/resnet50/half.onnx", "/zoo/resnet50/half_data")
    assert models(row) == [plain, half]


def test_the_example_is_a_suite_with_everything_uncommented(tmp_path) -> None:
    read_suite_file(written(tmp_path, example()))
    lines = []
    for line in example().splitlines():
        text = line.removeprefix("# ")
        is_setting = line.startswith("# ") and (text.startswith("[") or " = " in text)
        lines.append(text if is_setting else line)
    once = "\n".join(one for one in lines if not one.startswith("duration"))
    file = read_suite_file(written(tmp_path, once))
    assert (file.suite.retries, file.suite.timeout) == (0, "10min")
    assert file.environments == {"trt86": "/opt/trt86/bin/python"}
    assert file.model[0].shapes[1] == {"ids": "1x512"}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("suffix", ["toml", "yaml", "json"])
@pytest.mark.parametrize("depth", [990, 5000])
def test_brackets_in_brackets(tmp_path, suffix, depth) -> None:
    begin = {"toml": "[suite]\nmodels = ", "yaml": "suite: "}.get(suffix, "")
    with pytest.raises(FormatError, match="suite"):
        read_suite_file(written(tmp_path, begin + "[" * depth, f"suite.{suffix}"))


ODD = ("x" * 5000, "a/" * 3000, "\\u0000")


@pytest.mark.parametrize(
    "text",
    [
        *(f'[[model]]\npath = "{path}"\n' for path in ODD),
        *(f'[[model]]\npath = "net.onnx"\ndata = "{path}"\n' for path in ODD),
        f'[suite]\nmodels = ["{"y" * 5000}/*.onnx"]\n',
    ],
    ids=["path: long", "path: deep", "path: 0", "data: long", "data: deep", "data: 0", "pattern"],
)
def test_paths_that_no_file_can_have(tmp_path, text) -> None:
    with pytest.raises(EnginescopeError, match=r".") as refused:
        resolve_suite(SuiteRequest(source=written(tmp_path, text)), Store(tmp_path / "store"))
    assert refused.value.exit_code == 2
