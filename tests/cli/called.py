"""The command line in this process: what it prints and returns, without the start of a Python."""

import io
from contextlib import redirect_stderr, redirect_stdout
from subprocess import CompletedProcess

from enginescope.cli.main import main


def called(*arguments: object) -> CompletedProcess[str]:
    """Run ``enginescope`` with `arguments`; what it starts are processes as ever."""
    words = [str(one) for one in arguments]
    printed, said = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with redirect_stdout(printed), redirect_stderr(said):
        status = main(words)
    texts = []
    for stream in (printed, said):
        stream.seek(0)
        texts.append(stream.read())
    return CompletedProcess(words, status, *texts)
