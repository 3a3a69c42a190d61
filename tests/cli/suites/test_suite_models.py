"""``enginescope models``: what words stand for, and downloads."""

import hashlib
import json

import pytest

from enginescope.cli.main import main
from tests.services.suites.test_model_download import BODY, Served, served


def test_lists_what_is_bundled_and_what_words_stand_for(tmp_path, capsys, convnet) -> None:
    pytest.importorskip("onnx")
    assert main(["models", "list", "--store", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert shown.count("light_") >= 9
    assert "small_convnet" in shown
    assert main(["models", "list", str(convnet), "--json", "--store", str(tmp_path)]) == 0
    (found,) = json.loads(capsys.readouterr().out).values()
    assert found == [{"name": "small_convnet", "path": str(convnet.resolve())}]
    assert main(["models", "list", "nothing.onnx"]) == 2
    assert "no model" in capsys.readouterr().err


def test_fetches_what_it_can_and_says_what_it_cannot(tmp_path, capsys) -> None:
    digest = hashlib.sha256(BODY).hexdigest()
    with served(Served(BODY)) as what:
        (tmp_path / "links.txt").write_text(
            f"{what.url}/a.onnx {digest} good\n{what.url}/b.onnx {'0' * 64} bad\n"
        )
        to = ["models", "fetch", str(tmp_path / "links.txt"), "--to", str(tmp_path / "zoo")]
        assert main(to) == 3
        shown = capsys.readouterr()
        assert "1 of 2 models" in shown.out
        assert f"enginescope suite {tmp_path / 'zoo'}" in shown.out
        assert "[2/2] bad" in shown.err
        assert "SHA-256" in shown.err
        assert main([*to, "--json"]) == 3
    (good,) = json.loads(capsys.readouterr().out)
    assert (good["link"]["name"], good["was_there"]) == ("good", True)
    assert (tmp_path / "zoo" / "good" / "a.onnx").read_bytes() == BODY
