"""A fresh process that measures ``module:function`` by the JSONL protocol."""

import importlib
import json
import sys
from functools import reduce

from enginescope.judge.sources import Function


def main(function: str) -> int:
    """Measure a function for as long as the first line of standard input says."""
    module, _, attribute = function.partition(":")
    try:
        call = reduce(getattr, attribute.split("."), importlib.import_module(module))
    except (ImportError, AttributeError) as error:
        return _send(type="error", message=f"{function}: {error}")
    if not callable(call):
        return _send(type="error", message=f"{function} is not callable")
    _send(type="hello", name=function, unit="ms")
    wanted = json.loads(sys.stdin.readline())
    measured = Function(call, function).measure(wanted["round"], wanted["seconds"])
    if measured.values is None:
        return _send(type="error", message=measured.failure)
    return _send(type="samples", values=measured.values.tolist(), unit="ms")


def _send(**message: object) -> int:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()
    return 0 if message["type"] != "error" else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
