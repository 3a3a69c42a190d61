import pytest

from enginescope.core.errors import UsageError
from enginescope.records.tensor import DataType, Tensor
from enginescope.services.accuracy.validation_run import check_space

DEPTH = Tensor(name="depth", dtype=DataType.FP32, shape=(None, 1, 512, 512))
ODD = Tensor(name="parts", dtype=None, shape=None)


def test_answers_that_do_not_fit_are_refused_before_they_are_made(tmp_path) -> None:
    check_space(tmp_path, [[DEPTH, ODD], [DEPTH]], 8)
    with pytest.raises(UsageError, match="2,097,152 TiB or more") as caught:
        check_space(tmp_path, [[DEPTH], [DEPTH]], 1 << 40)
    assert "1,099,511,627,776 samples" in str(caught.value)
    assert "TMPDIR" in str(caught.value.hint)
