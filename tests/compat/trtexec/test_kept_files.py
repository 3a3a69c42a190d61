from enginescope.compat.trtexec.files import KeptTexts, kept_texts
from enginescope.records.run.run import Artifact
from tests.compat.trtexec.runs import measured, settings


def test_texts_are_read_by_what_they_are(tmp_path) -> None:
    files = {"plan": "{}", "build_log": "built", "worker_log": "measured", "trex_metadata": "no"}
    artifacts = []
    for kind, text in files.items():
        (tmp_path / kind).write_text(text)
        artifacts.append(Artifact(kind=kind, path=str(tmp_path / kind)))
    run = measured(settings(), artifacts=tuple(artifacts))
    assert kept_texts(run) == KeptTexts(inspector="{}", build_log="built", run_log="measured")
    gone = (
        Artifact(kind="plan", path=str(tmp_path / "gone")),
        Artifact(kind="worker_log", path=str(tmp_path)),
    )
    assert kept_texts(measured(settings(), artifacts=gone)) == KeptTexts()
