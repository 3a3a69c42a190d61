"""The reader of uses sees what is used, how, and what is not of the bindings."""

from tests.contract.uses import Use, overrides_in, uses_in

SOURCE = '''
"""FP16 in a docstring is no use."""
flag = trt.BuilderFlag.FP16
name = getattr(trt.BuilderFlag, "BF16", None)
asked = hasattr(layer, "precision")
everyday = "precision"
cache = config.set_timing_cache(cache, ignore_mismatch=False)
runtime.cudaStreamSynchronize(stream)
self.profiler = None
ours = DataType.INT8
numbers.append(1)


class Allocator(trt.IOutputAllocator):
    def __init__(self):
        pass

    def reallocate_output(self, tensor_name, memory, size, alignment):
        return 0


class Other(Base):
    def notify_shape(self):
        pass
'''


def test_uses_are_seen(tmp_path) -> None:
    path = tmp_path / "source.py"
    path.write_text(SOURCE, encoding="utf-8")
    found = set(uses_in(path))
    assert {
        Use("BuilderFlag", "source.py:3"),
        Use("BuilderFlag.FP16", "source.py:3"),
        Use("BF16", "source.py:4", guarded=True),
        Use("precision", "source.py:5", guarded=True),
        Use("set_timing_cache", "source.py:7", arguments=1, keywords=("ignore_mismatch",)),
        Use("cudaStreamSynchronize", "source.py:8", arguments=1),
        Use("IOutputAllocator", "source.py:14"),
        Use("BuilderFlag", "source.py:4"),
    } == found
    assert overrides_in(path) == [("reallocate_output", 5, "source.py:18")]
