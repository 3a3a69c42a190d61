"""Suite files that no parser survives unaided."""

import pytest

from enginescope.core.errors import EnginescopeError, FormatError
from enginescope.formats.suites.suite_file import read_suite_file
from enginescope.services.suites.request import SuiteRequest, resolve_suite
from enginescope.store.archive import Store


@pytest.mark.timeout(20)
@pytest.mark.parametrize("suffix", ["toml", "yaml", "json"])
@pytest.mark.parametrize("depth", [990, 5000])
def test_brackets_in_brackets(tmp_path, suffix, depth) -> None:
    path = tmp_path / f"suite.{suffix}"
    path.write_text({"toml": "[suite]\nmodels = ", "yaml": "suite: "}.get(suffix, "") + "[" * depth)
    with pytest.raises(FormatError, match="suite"):
        read_suite_file(path)


@pytest.mark.parametrize("name", ["x" * 5000, "a/" * 3000, "\\u0000"])
@pytest.mark.parametrize("key", ["path", "data"])
def test_paths_that_no_file_can_have(tmp_path, name, key) -> None:
    path = tmp_path / "suite.toml"
    keys = {"path": "net.onnx", key: name}
    path.write_text("[[model]]\n" + "".join(f'{key} = "{text}"\n' for key, text in keys.items()))
    with pytest.raises(EnginescopeError, match=r".") as refused:
        resolve_suite(SuiteRequest(source=path), Store(tmp_path / "store"))
    assert refused.value.exit_code == 2


def test_many_models_of_a_pattern(tmp_path) -> None:
    path = tmp_path / "suite.toml"
    path.write_text(f'[suite]\nmodels = ["{"y" * 5000}/*.onnx"]\n')
    with pytest.raises(EnginescopeError, match=r".") as refused:
        resolve_suite(SuiteRequest(source=path), Store(tmp_path / "store"))
    assert refused.value.exit_code == 2
